//! Errors and panics in a function that is captured leave no trace, and what cannot be captured says so.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pullback::random::Generator;
use pullback::{DType, Error, ErrorKind, Randomness, Result, Tensor, Vmap, capture, grad, jvp, linearize, vmap};

use super::{close, refused, value, values};

/// Whether everything still works on this thread.
#[track_caller]
fn intact() {
    let run = || -> Result<()> {
        let f = |x: &Tensor| x.sin()?.mul(x);
        let (x, want) = (Tensor::from(0.7), 0.7f64.sin() + 0.7 * 0.7f64.cos());
        close(&[value(&grad(f)(&x)?)], &[want]);
        close(&[value(&capture(grad(f))(&x)?.call(&x)?)], &[want]);
        close(&[value(&linearize(f, &x)?.1.call(&Tensor::from(1.0))?)], &[want]);
        // A draw is written down by no graph that has ended.
        let (a, b) = (Generator::new(1), Generator::new(1));
        assert_eq!(values(&a.normal(&[3], DType::F64)?), values(&b.normal(&[3], DType::F64)?));
        let noisy = |_: &Tensor| a.normal(&[], DType::F64);
        let lanes = Vmap::new().randomness(Randomness::Different).of(noisy)(&Tensor::from([0.0, 0.0]))?;
        assert_eq!(values(&lanes), values(&b.normal(&[2], DType::F64)?));
        a.next_key();
        Ok(())
    };
    if let Err(e) = run() {
        panic!("{e}");
    }
}

#[test]
fn reading_data_says_what_to_do() {
    let x = Tensor::from([1.0, 2.0]);
    let f = |read: fn(&Tensor) -> Result<()>| refused(capture(|x: &Tensor| read(x))(&x));
    let reads: [(&str, fn(&Tensor) -> Result<()>); 5] = [
        ("to_vec", |x| x.to_vec::<f64>().map(drop)),
        ("item", |x| x.sum()?.item::<f64>().map(drop)),
        ("equal", |x| x.equal(&Tensor::from([1.0, 2.0])).map(drop)),
        ("allclose", |x| Tensor::from([1.0, 2.0]).allclose(x, 0.0, 0.0).map(drop)),
        // Also below other transforms, which let their own values be read.
        ("to_vec", |x| grad(|y: &Tensor| y.to_vec::<f64>().and_then(|_| y.sum()))(x).map(drop)),
    ];
    for (op, read) in reads {
        let e = f(read);
        assert_eq!(e.kind(), ErrorKind::ConcreteValueNeeded);
        let text = e.to_string();
        assert!(
            text.contains(&format!("{op}: the value is a variable of a graph that `capture` writes down (")),
            "{text}"
        );
        assert!(text.contains("help: use tensor operations such as `where_`"), "{text}");
    }
    // Values of transforms outside may be read as before, and so may what does not depend on an argument.
    let inside = |w: &Tensor| {
        let graph = capture(|x: &Tensor| x.mul(w.item::<f64>()?)?.add(Tensor::from(2.0).item::<f64>()?))(w)?;
        graph.call(w)
    };
    assert_eq!(value(&grad(inside)(&Tensor::from(3.0)).unwrap()), 3.0);
    let e = refused(vmap(inside)(&x));
    assert!(e.to_string().contains("the value is batched by `vmap`"), "{e}");
}

#[test]
fn printing_a_value_shows_what_is_known() -> Result<()> {
    capture(|x: &Tensor| {
        let text = format!("{x:.1}");
        assert!(text.starts_with("capture(level ") && text.ends_with(", tensor([1.0, 2.0], f64[2]))"), "{text}");
        Ok(x.clone())
    })(&Tensor::from([1.0, 2.0]))?;
    linearize(
        |x: &Tensor| {
            let text = format!("{x:.1}");
            assert!(text.starts_with("linearize(level ") && text.ends_with(", tensor([1.0, 2.0], f64[2]))"), "{text}");
            assert_eq!(values(x), [1.0, 2.0]);
            Ok(x.clone())
        },
        &Tensor::from([1.0, 2.0]),
    )?;
    Ok(())
}

#[test]
fn errors_leave_everything_intact() {
    let x = Tensor::from([1.0, 2.0]);
    let fails = |_: &Tensor| -> Result<Tensor> { Err(Error::other("on purpose")) };
    let e = refused(capture(fails)(&x));
    assert_eq!(e.to_string(), "capture: on purpose");
    intact();
    let e = refused(capture(vmap(grad(fails)))(&x));
    assert_eq!(e.to_string(), "capture > vmap > grad: on purpose");
    intact();
    refused(vmap(|x: &Tensor| capture(fails)(x)?.call(x))(&x));
    intact();
    refused(linearize(fails, &x));
    intact();
    let e = refused(capture(|x: &Tensor| x.reshape(&[3]))(&x));
    assert!(e.to_string().starts_with("capture: reshape: "), "{e}");
    intact();
    // A replay that fails: the index is in range for one call only.
    let graph = capture(|i: &Tensor| Tensor::from([1.0, 2.0]).index_select(0, i))(&Tensor::from([0i64, 1])).unwrap();
    let e = refused(graph.call(&Tensor::from([0i64, 2])));
    assert_eq!(e.kind(), ErrorKind::Index);
    assert!(e.to_string().starts_with("graph: index_select: index 2 at position [1] is out of range"), "{e}");
    intact();
}

#[test]
fn panics_leave_everything_intact() {
    let x = Tensor::from([1.0, 2.0]);
    let panics = |x: &Tensor| -> Result<Tensor> {
        let _ = x.sin()?;
        panic!("on purpose")
    };
    let runs: [&dyn Fn(); 5] = [
        &|| drop(capture(panics)(&x)),
        &|| drop(capture(vmap(grad(panics)))(&x)),
        &|| drop(vmap(|x: &Tensor| capture(panics)(x)?.call(x))(&x)),
        &|| drop(linearize(panics, &x)),
        &|| drop(capture(|x: &Tensor| capture(|y: &Tensor| Ok(y + x + Tensor::from([1.0, 2.0, 3.0])))(x)?.call(x))(&x)),
    ];
    let outcomes: Vec<bool> = runs.iter().map(|run| catch_unwind(AssertUnwindSafe(run)).is_err()).collect();
    assert_eq!(outcomes, [true; 5]);
    intact();
}

#[test]
fn values_that_escape_are_noticed() -> Result<()> {
    let x = Tensor::from([1.0, 2.0]);
    let leaked = std::sync::Mutex::new(None);
    let graph = capture(|x: &Tensor| {
        *leaked.lock().unwrap() = Some(x.exp()?);
        x.sin()
    })(&x)?;
    let t = leaked.into_inner().unwrap().expect("it was set");
    for e in [
        refused(t.sin()),
        refused(t.add(&x)),
        refused(graph.call(&t)),
        refused(capture(|x: &Tensor| x.add(&t))(&x)),
        refused(capture(|_: &Tensor| Ok(t.clone()))(&x)),
        refused(capture(|x: &Tensor| x.sin())(&t)),
        refused(linearize(|x: &Tensor| x.sin(), &t)),
        refused(t.to_vec::<f64>()),
        refused(graph.with_captured(&[]).and_then(|g| g.call(&t))),
    ] {
        assert_eq!(e.kind(), ErrorKind::EscapedTracer, "{e}");
        assert!(e.to_string().contains("is a value of a `capture` (level "), "{e}");
    }
    Ok(())
}

#[test]
fn integer_results_have_no_derivative_as_without_a_graph() -> Result<()> {
    let x = Tensor::from([1.0, 3.0, 2.0]);
    let graph = capture(|x: &Tensor| x.argmax(0, false))(&x)?;
    assert_eq!(graph.call(&x)?.item::<i64>()?, 1);
    let (y, dy) = jvp(|x: &Tensor| graph.call(x), &x, &x)?;
    assert_eq!((y.item::<i64>()?, dy.item::<i64>()?), (1, 0));
    let graph = capture(|i: &Tensor| i.mul(2)?.add(1))(&Tensor::from([1i64, 2]))?;
    assert_eq!(graph.call(&Tensor::from([5i64, 6]))?.to_vec::<i64>()?, [11, 13]);
    let e = refused(jvp(|i: &Tensor| graph.call(i), &Tensor::from([1i64, 2]), &Tensor::from([1i64, 2])));
    assert_eq!(e.kind(), ErrorKind::NotDifferentiable);
    Ok(())
}
