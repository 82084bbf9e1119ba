//! What is refused, what messages say, and that nothing is left behind.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pullback::random::{Generator, Key};
use pullback::{
    DType, Error, ErrorKind, Result, Scan, Tensor, WhileLoop, checkpoint, cond, custom, fori, grad, map, scan, vjp,
    vmap, while_loop,
};

use crate::{close, value, values, vector, zeros};

/// Checks the kind of an error, and its text.
#[track_caller]
fn fails<T>(result: Result<T>, kind: ErrorKind, message: &str) {
    let Err(e) = result else { panic!("expected an error: {message}") };
    assert_eq!((e.kind(), e.to_string().as_str()), (kind, message));
}

fn same(x: &Tensor) -> Result<Tensor> {
    Ok(x.clone())
}

#[test]
fn predicates() {
    let x = Tensor::from(1.0);
    let cond = |p: &Tensor| cond(p, same, same, &x);
    let help = "; help: compare it with something, for example `ne(0)`";
    fails(cond(&x), ErrorKind::Dtype, &format!("cond: expected a predicate of dtype bool, got f64[]{help}"));
    let help =
        "; help: reduce it with `all` or `any`, choose between elements with `where_`, or map over them with `vmap`";
    let message = format!("cond: expected a predicate that is a scalar, got bool[1]{help}");
    fails(cond(&Tensor::from([true])), ErrorKind::Shape, &message);
    let run = |p: Tensor| while_loop(|_| Ok(p.clone()), same, &x);
    let message = format!("while_loop: expected a predicate that is a scalar, got bool[1]{help}");
    fails(run(Tensor::from([true])), ErrorKind::Shape, &message);
    let help = "; help: compare it with something, for example `ne(0)`";
    let message = format!("while_loop: expected a predicate of dtype bool, got i64[]{help}");
    fails(run(Tensor::from(0i64)), ErrorKind::Dtype, &message);
    // Under vmap, with the type of a lane.
    let message =
        format!("vmap: cond: expected a predicate of dtype bool, got f64[]{help}").replace("vmap: cond", "vmap > cond");
    fails(vmap(|x: &Tensor| cond(x))(&vector(&[1.0, 2.0])), ErrorKind::Dtype, &message);
}

#[test]
fn branches_of_different_types() {
    let x = vector(&[-1.0, 1.0]);
    let run = |a: fn(&Tensor) -> Result<Tensor>| vmap(move |x: &Tensor| cond(&x.gt(0.0)?, a, same, x))(&x);
    let help = "; help: convert with `to_dtype`";
    fails(
        run(|x| x.to_dtype(DType::F32)),
        ErrorKind::Dtype,
        &format!(
            "vmap > cond: expected one type, got f32[] from the branch for true and f64[] from the one for false{help}"
        ),
    );
    fails(
        run(|x| x.expand(&[3])),
        ErrorKind::Shape,
        "vmap > cond: expected one type, got f64[3] from the branch for true and f64[] from the one for false",
    );
    let structure = |x: &Tensor| cond(&x.gt(0.0)?, |x| Ok((Some(x.clone()), None)), |x| Ok((None, Some(x.clone()))), x);
    let result: Result<(Option<Tensor>, Option<Tensor>)> = vmap(structure)(&x);
    fails(
        result,
        ErrorKind::Arity,
        "vmap > cond: expected one structure, got (tensor, none) from the branch for true and (none, tensor) from the one \
         for false",
    );
}

#[test]
fn states_that_change() {
    let x = vector(&[1.0, 2.0, 3.0]);
    let help = "; help: convert with `to_dtype`";
    let type_of =
        |what: &str| format!("{what}: expected one type, got f32[3] before a step and f64[3] from the body{help}");
    let x32 = x.to_dtype(DType::F32).unwrap();
    let widen = |x: &Tensor| x.to_dtype(DType::F64);
    fails(while_loop(|_| Ok(Tensor::from(true)), widen, &x32), ErrorKind::Dtype, &type_of("while_loop"));
    fails(fori(0..2, |_, x: &Tensor| widen(x), &x32), ErrorKind::Dtype, &type_of("fori"));
    let lanes = vmap(|x: &Tensor| while_loop(|x| x.sum()?.gt(0.0), widen, x));
    let rows = x32.unsqueeze(0).unwrap().expand(&[2, 3]).unwrap() * Tensor::from([[1.0f32], [-1.0]]);
    fails(lanes(&rows), ErrorKind::Dtype, &type_of("vmap > while_loop"));
    let pair = |(a, b): &(Tensor, Tensor)| Ok((a.clone(), b.unsqueeze(0)?));
    fails(
        fori(0..1, |_, s| pair(s), &(x.clone(), x.clone())),
        ErrorKind::Shape,
        "fori: expected one type at `.1`, got f64[3] before a step and f64[1,3] from the body",
    );
    let grow = |list: &Vec<Tensor>| Ok([list.clone(), vec![Tensor::from(0.0)]].concat());
    fails(
        fori(0..1, |_, s| grow(s), &vec![Tensor::from(1.0)]),
        ErrorKind::Arity,
        "fori: expected one structure, got [tensor] before a step and [tensor, tensor] from the body",
    );
    let message =
        |at: &str| format!("scan: expected one type{at}, got f64[] before a step and f64[1] as the carry from it");
    let step = |c: &Tensor, _: &Tensor| Ok((c.unsqueeze(0)?, ()));
    fails(scan(step, &Tensor::from(1.0), &x), ErrorKind::Shape, &message(""));
    fails(scan(step, &Tensor::from(1.0), &zeros(&[0])), ErrorKind::Shape, &message(""));
    let message = message("").replace("scan: ", "scan > checkpoint: ");
    fails(Scan::new().checkpoint(2).run(step, &Tensor::from(1.0), &x), ErrorKind::Shape, &message);
    let results = |n: &Tensor, x: &Tensor| Ok((n.add(1)?, x.expand(&[if n.item::<i64>()? == 0 { 2 } else { 3 }])?));
    fails(
        scan(results, &Tensor::from(0i64), &x),
        ErrorKind::Shape,
        "scan: expected one type, got f64[2] as the result of the first step and f64[3] of a later one",
    );
}

#[test]
fn slices() {
    let step = |(): &(), _: &(Tensor, Tensor)| Ok(((), ()));
    let (a, b) = (zeros(&[3, 2]), zeros(&[4]));
    fails(
        scan(step, &(), &(a.clone(), b.clone())),
        ErrorKind::Shape,
        "scan: expected one size of dim 0, got different ones: xs.0 has 3 (f64[3,2]), xs.1 has 4 (f64[4])",
    );
    fails(
        Scan::new().length(5).run(step, &(), &(a.clone(), a.clone())),
        ErrorKind::Shape,
        "scan: expected one size of dim 0, got different ones: xs.0 has 3 (f64[3,2]), xs.1 has 3 (f64[3,2]), `length` is 5",
    );
    fails(
        scan(step, &(), &(a, Tensor::from(1.0))),
        ErrorKind::Dim,
        "scan: expected tensors with a dimension to take slices of, got f64[] at xs.1",
    );
    fails(
        scan(|(): &(), _: &()| Ok(((), ())), &(), &()),
        ErrorKind::Arity,
        "scan: expected at least one tensor to take slices of, got none; help: give the number of steps with \
         `length`",
    );
    let none: Result<Vec<Tensor>> = map(|v: &Vec<Tensor>| Ok(v.clone()), &vec![]);
    assert_eq!(none.unwrap_err().context().collect::<Vec<_>>(), ["map"]);
    let parts = Scan::new().checkpoint(0).run(|c: &Tensor, x: &Tensor| Ok((c + x, ())), &Tensor::from(0.0), &b);
    fails(parts, ErrorKind::Value, "scan: expected a `checkpoint` after at least one step, got 0");
}

#[test]
fn errors_of_bodies_pass_through_with_their_place() {
    let x = vector(&[-1.0, 1.0]);
    let broken = |_: &Tensor| -> Result<Tensor> { Err(Error::other("no such thing")) };
    let each = [
        ("cond", vmap(move |x: &Tensor| cond(&x.gt(0.0)?, same, broken, x))(&x)),
        ("while_loop", vmap(move |x: &Tensor| while_loop(|x| x.gt(0.0), broken, x))(&x)),
        ("fori", vmap(move |x: &Tensor| fori(0..2, |_, x| broken(x), x))(&x)),
        (
            "scan",
            vmap(move |x: &Tensor| Ok(Scan::new().length(2).run(|x, _: &()| Ok((broken(x)?, ())), x, &())?.0))(&x),
        ),
        ("checkpoint", vmap(move |x: &Tensor| checkpoint(broken)(x))(&x)),
    ];
    for (name, result) in each {
        let e = result.unwrap_err();
        assert_eq!(e.to_string(), format!("vmap > {name}: no such thing"));
        assert_eq!(e.kind(), ErrorKind::User);
    }
    let predicate = while_loop(broken, same, &Tensor::from(1.0));
    assert_eq!(predicate.unwrap_err().to_string(), "while_loop: no such thing");
}

/// Transforms, random numbers and functions work as ever.
#[track_caller]
fn all_is_well() {
    let x = vector(&[0.5, 1.5]);
    let f = |x: &Tensor| cond(&x.gt(1.0)?, |x| x.log(), |x| x.square(), x);
    close(&values(&vmap(grad(checkpoint(f)))(&x).unwrap()), &[1.0, 1.0 / 1.5]);
    assert!(vmap(|_: &Tensor| Key::new(1).uniform(&[], DType::F64))(&x).is_err());
    let drawn = Key::new(1).uniform(&[], DType::F64).unwrap();
    assert_eq!(drawn.shape(), [0usize; 0]);
    // A generator moves on again.
    let generator = Generator::new(1);
    assert_ne!(generator.next_key(), generator.next_key());
}

#[test]
fn panics_and_errors_leave_nothing_behind() {
    let x = vector(&[-1.0, 1.0]);
    let wrecks: [(&str, fn(&Tensor) -> Result<Tensor>); 2] =
        [("error", |_| Err(Error::other("stop"))), ("panic", |_| panic!("stop"))];
    for (kind, wreck) in wrecks {
        let places: Vec<Box<dyn Fn(&Tensor) -> Result<Tensor>>> = vec![
            Box::new(move |x| cond(&x.gt(0.0)?, wreck, same, x)),
            Box::new(move |x| cond(&x.gt(0.0)?, |()| wreck(x), |()| same(x), &())),
            Box::new(move |x| while_loop(|x| x.gt(0.0), wreck, x)),
            Box::new(move |x| while_loop(wreck, same, x)),
            Box::new(move |x| checkpoint(wreck)(x)),
            Box::new(move |x| checkpoint(move |x: &Tensor| cond(&x.gt(0.0)?, checkpoint(wreck), same, x))(x)),
            Box::new(move |x| {
                Ok(Scan::new().length(3).checkpoint(2).run(move |x, _: &()| Ok((wreck(x)?, ())), x, &())?.0)
            }),
            Box::new(move |x| map(|x: &Tensor| wreck(x), &x.unsqueeze(0)?)?.sum()),
        ];
        for (k, place) in places.iter().enumerate() {
            for nest in 0..3 {
                let run = || match nest {
                    0 => vmap(place)(&x),
                    1 => vmap(grad(place))(&x),
                    _ => grad(|x: &Tensor| vmap(place)(x)?.sum())(&x),
                };
                let result = catch_unwind(AssertUnwindSafe(run));
                assert_eq!(result.is_err(), kind == "panic", "{k}");
                all_is_well();
            }
        }
    }
}

#[test]
fn a_failure_in_the_backward_pass_leaves_nothing_behind() {
    for panics in [false, true] {
        let runs = Arc::new(AtomicUsize::new(0));
        let f = checkpoint(move |x: &Tensor| {
            if runs.fetch_add(1, Relaxed) > 0 {
                if panics {
                    panic!("the second run");
                }
                return Err(Error::other("the second run"));
            }
            x.sin()
        });
        let result = catch_unwind(AssertUnwindSafe(|| vmap(grad(&f))(&vector(&[1.0, 2.0]))));
        match result {
            Ok(result) => assert_eq!(result.unwrap_err().to_string(), "vmap > grad > checkpoint: the second run"),
            Err(_) => assert!(panics),
        }
        all_is_well();
    }
}

#[test]
fn functions_that_do_something_else_again() {
    let help = "; help: the function must do the same each time it runs";
    let runs = Arc::new(AtomicUsize::new(0));
    let again = move || runs.fetch_add(1, Relaxed) % 2 == 1;
    let x = vector(&[1.0, 2.0]);

    let check = again.clone();
    let f = checkpoint(move |x: &Tensor| if check() { x.unsqueeze(0) } else { Ok(x.clone()) });
    fails(
        grad(|x: &Tensor| f(x)?.sum())(&x),
        ErrorKind::Rule,
        &format!("grad > checkpoint: expected results f64[2] as in the first run, got f64[1,2]{help}"),
    );
    let check = again.clone();
    let f = checkpoint(move |x: &Tensor| Ok(if check() { vec![x.clone(), x.clone()] } else { vec![x.clone()] }));
    fails(
        grad(|x: &Tensor| f(x)?[0].sum())(&x),
        ErrorKind::Rule,
        &format!(
            "grad > checkpoint: expected results in the structure of the first run again, got [tensor, tensor]{help}"
        ),
    );
    for more in [true, false] {
        let (check, generator) = (again.clone(), Arc::new(Generator::new(1)));
        let f = checkpoint(move |x: &Tensor| {
            for _ in 0..if check() == more { 3 } else { 2 } {
                generator.next_key();
            }
            x.sum()
        });
        let (n, what) = if more { (2, "more") } else { (3, "fewer") };
        let message = format!(
            "grad > checkpoint: expected {n} keys to be taken from generators as in the first run, got {what}{help}"
        );
        fails(grad(f)(&x), ErrorKind::Rule, &message);
    }
    let check = again.clone();
    let f = |w: &Tensor| {
        let (c, check) = (w.clone(), check.clone());
        checkpoint(move |x: &Tensor| if check() { x.mul(&c)?.sum() } else { x.sum() })(&w.square()?)
    };
    fails(
        grad(f)(&x),
        ErrorKind::Rule,
        &format!(
            "grad > checkpoint: `mul` got a value of a `grad` (f64[2]) that the function did not use in its first run{help}, and \
             get leaves and duals from outside"
        ),
    );
}

#[test]
fn values_of_transforms_that_have_ended() {
    let leaked = Cell::new(None);
    grad(|x: &Tensor| {
        leaked.set(Some(x.clone()));
        Ok(x.clone())
    })(&Tensor::from(1.0))
    .unwrap();
    let x = leaked.take().unwrap();
    let y = x.clone();
    for result in [
        checkpoint(|x: &Tensor| x.sin())(&x),
        checkpoint(move |()| y.sin())(&()),
        cond(&Tensor::from(true), Tensor::sin, same, &x),
        vmap(|p: &Tensor| cond(&p.gt(0.0)?, |()| x.sin(), |()| x.cos(), &()))(&vector(&[-1.0, 1.0])),
        vmap(|p: &Tensor| cond(&p.gt(0.0)?, same, same, &x.add(p)?))(&vector(&[-1.0, 1.0])),
    ] {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::EscapedTracer);
    }
    // Out of a branch.
    let leaked = Cell::new(None);
    let branch = |x: &Tensor| {
        let leak = |x: &Tensor| {
            vmap(|y: &Tensor| {
                leaked.set(Some(y.clone()));
                Ok(y.clone())
            })(&x.expand(&[2])?)
        };
        cond(&x.gt(0.0)?, leak, |x| x.expand(&[2]), x)
    };
    vmap(branch)(&vector(&[-1.0, 1.0])).unwrap();
    assert!(leaked.take().unwrap().sin().is_err_and(|e| e.kind() == ErrorKind::EscapedTracer));
}

#[test]
fn what_a_function_captured_is_still_refused() {
    let f = |w: &Tensor| {
        let w = w.clone();
        custom(move |x: &Tensor| {
            let w = w.clone();
            checkpoint(move |x: &Tensor| x.mul(&w))(x)
        })
        .into_fn()(&Tensor::from(2.0))
    };
    // Without an argument that is being differentiated, the function runs on its own.
    let e = grad(f)(&Tensor::from(3.0)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CapturedTracer, "{e}");
    let f = |w: &Tensor| {
        let w = w.clone();
        custom(move |x: &Tensor| cond(&x.gt(0.0)?, |x| x.mul(&w), same, x)).into_fn()(&Tensor::from(2.0))
    };
    assert_eq!(grad(f)(&Tensor::from(3.0)).unwrap_err().kind(), ErrorKind::CapturedTracer);
    let lanes = vmap(|w: &Tensor| {
        let w = w.clone();
        let f = custom(move |x: &Tensor| vmap(|x: &Tensor| cond(&x.gt(0.0)?, |x| x.mul(&w), same, x))(x)).into_fn();
        f(&vector(&[-1.0, 1.0]))
    });
    assert_eq!(lanes(&vector(&[1.0, 2.0])).unwrap_err().kind(), ErrorKind::CapturedTracer);
}

#[test]
fn pullbacks_of_branches_may_be_called_later() {
    let x = vector(&[-1.0, 4.0]);
    let (_, pull) = vjp(|x: &Tensor| vmap(|x: &Tensor| cond(&x.gt(0.0)?, Tensor::sqrt, same, x))(x), &x).unwrap();
    close(&values(&pull.call(&vector(&[1.0, 1.0])).unwrap()), &[1.0, 0.25]);
    let bound = WhileLoop::new().max_steps(1).run(|x| x.lt(2.0), |x| x.add(1.0), &Tensor::from(1.0)).unwrap();
    close(&[value(&bound)], &[2.0]);
}
