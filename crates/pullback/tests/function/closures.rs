//! Functions from closures, under every transform.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::function::{Batching, Custom};
use pullback::testing::check_function;
use pullback::*;

use crate::{close, forward, value, values};

type Boxed = Box<dyn Fn(&Tensor) -> Result<Tensor>>;

/// x³ by closures: with a reverse rule that reads an intermediate value, with a forward rule, with both, and with a
/// batching rule only.
fn cubes() -> Vec<(&'static str, Boxed)> {
    let cube = |x: &Tensor| x.square()?.mul(x);
    let fwd = |x: &Tensor| {
        let square = x.square()?;
        Ok((square.mul(x)?, square))
    };
    let bwd = |square: &Tensor, g: Cotangent| Ok(g * square * 3.0);
    let rule = |x: &Tensor, _: &Tensor, t: Tangent| Ok(t * x.square()? * 3.0);
    let lanes = |_: &VmapInfo, dim: Option<usize>, x: &Tensor| Ok((x.mul(x)?.mul(x)?, dim));
    vec![
        ("vjp", Box::new(custom_vjp(cube, fwd, bwd))),
        ("jvp", Box::new(custom_jvp(cube, rule))),
        ("vmap", Box::new(custom_vmap(cube, lanes))),
        ("vjp and jvp", Box::new(custom(cube).vjp(fwd, bwd).jvp(rule).into_fn())),
        ("all", Box::new(custom(cube).vjp(fwd, bwd).jvp(rule).vmap(lanes).into_fn())),
        ("none", Box::new(custom(cube).into_fn())),
        ("saving", Box::new(custom(cube).saving(|x, _| x.square(), bwd).into_fn())),
        ("loop", Box::new(custom(cube).vjp(fwd, bwd).batching(Batching::Loop).into_fn())),
        ("leading", Box::new(custom(cube).jvp(rule).batching(Batching::LeadingDims).into_fn())),
    ]
}

#[test]
fn every_order_in_every_mix_of_modes() {
    type Step = fn(Boxed) -> Boxed;
    let steps: [Step; 2] = [|f| Box::new(grad(f)), |f| Box::new(forward(f))];
    let (x, want) = (Tensor::from(2.0), [12.0, 12.0, 6.0, 0.0]);
    for order in 1..=4usize {
        for mix in 0..1 << order {
            for (name, cube) in cubes() {
                let mut g = cube;
                for k in 0..order {
                    g = steps[mix >> k & 1](g);
                }
                assert_eq!(value(&g(&x).unwrap()), want[order - 1], "{name}: order {order}, modes {mix:0order$b}");
            }
        }
    }
}

#[test]
fn every_composition_with_vmap_and_jacobians() {
    let x = Tensor::from([[0.5, -1.25, 2.0], [1.0, 3.0, -0.5]]);
    let row = x.select(0, 0).unwrap();
    let slopes = |v: &[f64]| v.iter().map(|x| 3.0 * x * x).collect::<Vec<_>>();
    let diag = |v: &[f64]| (0..9).map(|k| if k / 3 == k % 3 { v[k / 3] } else { 0.0 }).collect::<Vec<_>>();
    for (name, f) in cubes() {
        let f = &f;
        let sum = |x: &Tensor| f(x)?.sum();
        let want = slopes(&values(&x));
        close(&values(&vmap(f)(&x).unwrap()), &values(&x.powi(3).unwrap()));
        close(&values(&vmap(vmap(grad(f)))(&x).unwrap()), &want);
        close(&values(&vmap(grad(sum))(&x).unwrap()), &want);
        close(&values(&grad(|x: &Tensor| vmap(f)(x)?.sum())(&x).unwrap()), &want);
        close(&values(&Vmap::new().in_dims(1).out_dims(1).of(grad(sum))(&x).unwrap()), &want);
        let ones = Tensor::ones(&[2, 3], DType::F64).unwrap();
        close(&values(&jvp(vmap(f), &x, &ones).unwrap().1), &want);
        close(&values(&vmap(vmap(forward(f)))(&x).unwrap()), &want);
        let jacobian = diag(&slopes(&values(&row)));
        close(&values(&jacrev(f)(&row).unwrap()), &jacobian);
        close(&values(&jacfwd(f)(&row).unwrap()), &jacobian);
        let second = diag(&values(&(&row * 6.0)));
        close(&values(&hessian(sum)(&row).unwrap()), &second);
        close(&values(&jacrev(jacrev(sum))(&row).unwrap()), &second);
        close(&values(&jacfwd(jacfwd(sum))(&row).unwrap()), &second);
        close(&values(&jacrev(jacfwd(sum))(&row).unwrap()), &second);
        assert_eq!(vmap(hessian(sum))(&x).unwrap().shape(), [2, 3, 3], "{name}");
        close(&values(&vmap(hessian(sum))(&x).unwrap())[..9], &second);
        close(&values(&vmap(jacrev(f))(&x).unwrap())[..9], &jacobian);
        close(&values(&vmap(jacfwd(f))(&x).unwrap())[..9], &jacobian);
    }
}

#[test]
fn the_checker_finds_nothing() {
    let x = Tensor::from([0.7, 1.3, 2.1]);
    let cube = || custom(|x: &Tensor| x.square()?.mul(x));
    let fwd = |x: &Tensor| {
        let square = x.square()?;
        Ok((square.mul(x)?, square))
    };
    let bwd = |square: &Tensor, g: Cotangent| Ok(g * square * 3.0);
    fn holds<S: Tree>(f: &Custom<Tensor, Tensor, S>, x: &Tensor) {
        let report = check_function(f, x).unwrap();
        assert!(report.is_ok(), "{report}");
    }
    holds(&cube().vjp(fwd, bwd), &x);
    holds(&cube().jvp(|x, _, t| Ok(t * x.square()? * 3.0)), &x);
    holds(&cube().vjp(fwd, bwd).vmap(|_, dim, x| Ok((x.powi(3)?, dim))), &x);
    holds(&cube(), &x);
    for batching in [Batching::Loop, Batching::LeadingDims, Batching::Expand, Batching::Flatten] {
        holds(&cube().vjp(fwd, bwd).batching(batching), &x);
    }
    // It notices wrong ones.
    let wrong = cube().vjp(fwd, |square: &Tensor, g| Ok(g * square * 2.0));
    assert!(check_function(&wrong, &x).unwrap().failures().any(|name| name == "jvp_matches_differences"));
    let wrong = cube().vmap(|_, dim, x| Ok((x.powi(3)?.mul(1.1)?, dim)));
    assert!(check_function(&wrong, &x).unwrap().failures().any(|name| name == "vmap_is_loop"));
}

#[test]
fn the_rules_that_were_written_are_those_that_run() {
    // Rules that could not be mistaken for the derivatives of the operations inside.
    let f = custom(|x: &Tensor| x.mul(2.0))
        .name("marked")
        .saving(|_, _| Ok(()), |_, g| Ok(g * 10.0))
        .jvp(|_, _, t| Ok(t * 10.0))
        .into_fn();
    let (x, xs) = (Tensor::from(1.0), Tensor::from([1.0, 2.0]));
    assert_eq!(value(&grad(&f)(&x).unwrap()), 10.0);
    assert_eq!(value(&forward(&f)(&x).unwrap()), 10.0);
    assert_eq!(values(&vmap(grad(&f))(&xs).unwrap()), [10.0; 2]);
    assert_eq!(values(&grad(|x: &Tensor| vmap(&f)(x)?.sum())(&xs).unwrap()), [10.0; 2]);
    assert_eq!(values(&jvp(vmap(&f), &xs, &xs).unwrap().1), [10.0, 20.0]);
    assert_eq!(values(&vmap(forward(&f))(&xs).unwrap()), [10.0; 2]);
    let lanes = custom_vmap(|x: &Tensor| x.mul(2.0), |_, dim, x| Ok((x.mul(5.0)?, dim)));
    assert_eq!(value(&lanes(&x).unwrap()), 2.0);
    assert_eq!(values(&vmap(&lanes)(&xs).unwrap()), [5.0, 10.0]);
    assert_eq!(values(&grad(|x: &Tensor| vmap(&lanes)(x)?.sum())(&xs).unwrap()), [5.0; 2]);
    assert_eq!(values(&vmap(grad(&lanes))(&xs).unwrap()), [2.0; 2]);
}

#[test]
fn each_closure_runs_as_often_as_documented() {
    let counts: Arc<[AtomicUsize; 3]> = Arc::default();
    let count = |k: usize| {
        let counts = counts.clone();
        move || counts[k].fetch_add(1, Ordering::Relaxed)
    };
    let take = || -> [usize; 3] { std::array::from_fn(|k| counts[k].swap(0, Ordering::Relaxed)) };
    let (a, b, c) = (count(0), count(1), count(2));
    let f = custom_vjp(
        move |x: &Tensor| {
            a();
            x.mul(x)
        },
        move |x: &Tensor| {
            b();
            Ok((x.mul(x)?, x.clone()))
        },
        move |x: &Tensor, g| {
            c();
            Ok(g * x * 2.0)
        },
    );
    let x = Tensor::from(3.0);
    f(&x).unwrap();
    assert_eq!(take(), [1, 0, 0], "a value");
    grad(&f)(&x).unwrap();
    assert_eq!(take(), [1, 1, 1], "a gradient");
    grad(grad(&f))(&x).unwrap();
    assert_eq!(take(), [1, 2, 1], "second order");
    vmap(grad(&f))(&Tensor::from([1.0, 2.0, 3.0])).unwrap();
    assert_eq!(take(), [1, 1, 1], "all lanes at once");
    vmap(&f)(&Tensor::zeros(&[0], DType::F64).unwrap()).unwrap();
    assert_eq!(take(), [1, 0, 0], "no lanes");
}

#[derive(Clone, Tree)]
struct Model<T = Tensor> {
    w: Vec<T>,
    bias: Option<T>,
    #[tree(static)]
    label: &'static str,
}

#[test]
fn trees_with_auxiliary_saved_trees() {
    // w0·w1 + bias, and w0, with a reverse rule that saves a tree of another type.
    let f = custom(|m: &Model| {
        let product = m.w[0].mul(&m.w[1])?;
        Ok((m.bias.as_ref().map_or(Ok(product.clone()), |b| product.add(b))?, m.w[0].clone()))
    })
    .name("affine")
    .vjp(
        |m: &Model| {
            let product = m.w[0].mul(&m.w[1])?;
            let y = m.bias.as_ref().map_or(Ok(product.clone()), |b| product.add(b))?;
            Ok(((y, m.w[0].clone()), (m.w.clone(), Static((m.bias.is_some(), m.label)))))
        },
        |(w, Static((has_bias, label))): &(Vec<Tensor>, Static<(bool, &'static str)>),
         (g, h): (Cotangent, Cotangent)| {
            let bias = has_bias.then(|| g.clone());
            Ok(Model { w: vec![&g * &w[1] + h, &g * &w[0]], bias, label })
        },
    );
    let m = Model { w: vec![Tensor::from(2.0), Tensor::from(3.0)], bias: Some(Tensor::from(1.0)), label: "m" };
    let first = |m: &Model| Ok(f.apply(m)?.0);
    assert_eq!(value(&first(&m).unwrap()), 7.0);
    let g = grad(first)(&m).unwrap();
    assert_eq!((value(&g.w[0]), value(&g.w[1]), value(g.bias.as_ref().unwrap()), g.label), (3.0, 2.0, 1.0, "m"));
    let g = grad(first)(&Model { bias: None, ..m.clone() }).unwrap();
    assert!(g.bias.is_none());
    let h = hessian(first)(&m).unwrap();
    assert_eq!((value(&h.w[0].w[1]), value(&h.w[0].w[0])), (1.0, 0.0));
    let g = grad(|m: &Model| Ok(f.apply(m)?.1))(&m).unwrap();
    assert_eq!((value(&g.w[0]), value(&g.w[1])), (1.0, 0.0));
    let lanes = Model { w: vec![Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0])], ..m.clone() };
    let dims = Model { w: vec![Some(0), Some(0)], bias: Some(None), label: "m" };
    let g = Vmap::new().in_dims(dims).of(grad(first))(&lanes).unwrap();
    assert_eq!((values(&g.w[0]), values(g.bias.as_ref().unwrap())), (vec![3.0, 4.0], vec![1.0, 1.0]));
}

#[test]
fn an_intermediate_is_right_at_second_order_or_an_error() {
    // m = exp(x) is neither argument nor result of x ↦ exp(x)²; written with operations, it is differentiated.
    let right = custom_vjp(
        |x: &Tensor| x.exp()?.square(),
        |x: &Tensor| {
            let m = x.exp()?;
            Ok((m.square()?, m))
        },
        |m: &Tensor, g| Ok(g * m * m * 2.0),
    );
    let x = Tensor::from(0.3);
    let want = |k: i32| 2f64.powi(k) * 0.6f64.exp();
    close(&[value(&grad(&right)(&x).unwrap())], &[want(1)]);
    close(&[value(&grad(grad(&right))(&x).unwrap())], &[want(2)]);
    close(&[value(&forward(grad(&right))(&x).unwrap())], &[want(2)]);
    close(&[value(&grad(grad(grad(&right)))(&x).unwrap())], &[want(3)]);
    // From raw data, it is a constant: right at first order, and refused where that would be wrong.
    let raw = custom(|x: &Tensor| x.exp()?.square()).name("raw").vjp(
        |x: &Tensor| {
            let m = Tensor::from(x.item::<f64>()?.exp());
            Ok((m.square()?, m))
        },
        |m: &Tensor, g| Ok(g * m * m * 2.0),
    );
    let raw = raw.into_fn();
    close(&[value(&grad(&raw)(&x).unwrap())], &[want(1)]);
    for err in [grad(grad(&raw))(&x).unwrap_err(), hessian(&raw)(&x).unwrap_err()] {
        assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded);
        assert!(err.to_string().contains("`setup_context` of function `raw`"), "{err}");
        assert!(err.to_string().contains("so this derivative would be lost"), "{err}");
    }
    // So is a rule on raw data.
    let raw = custom(|x: &Tensor| x.square()).name("rule").saving(
        |x, _| Ok(x.clone()),
        |x: &Tensor, g| Ok(Tensor::from(2.0 * x.item::<f64>()? * g.tensor()?.item::<f64>()?).into()),
    );
    let raw = raw.into_fn();
    assert_eq!(value(&grad(&raw)(&x).unwrap()), 0.6);
    for err in [grad(grad(&raw))(&x).unwrap_err(), forward(&raw)(&x).unwrap_err()] {
        assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded);
        assert!(err.to_string().contains("of function `rule`"), "{err}");
    }
}

#[test]
fn without_a_derivative_rule_raw_data_is_an_error_and_not_a_zero() {
    let external = |x: &Tensor| Ok(Tensor::from(x.item::<f64>()?.sin()));
    let f = custom(external).name("external").batching(Batching::Loop).into_fn();
    let x = Tensor::from(0.5);
    assert_eq!(value(&f(&x).unwrap()), 0.5f64.sin());
    assert_eq!(values(&vmap(&f)(&Tensor::from([0.5, 1.0])).unwrap()), [0.5f64.sin(), 1f64.sin()]);
    let errors = [
        grad(&f)(&x).unwrap_err(),
        forward(&f)(&x).unwrap_err(),
        vmap(grad(&f))(&Tensor::from([0.5])).unwrap_err(),
        grad(|x: &Tensor| vmap(&f)(x)?.sum())(&Tensor::from([0.5])).unwrap_err(),
    ];
    for err in errors {
        assert_eq!(err.kind(), ErrorKind::ConcreteValueNeeded, "{err}");
        assert!(err.to_string().contains("of function `external`"), "{err}");
        assert!(err.to_string().contains("give it a derivative rule"), "{err}");
    }
    // Integer inputs need none, and reading them is fine.
    let pick = custom(|(x, i): &(Tensor, Tensor)| x.select(0, i.item::<i64>()? as isize)).into_fn();
    let i = Tensor::from(1i64);
    let g = grad(|x: &Tensor| pick(&(x.clone(), i.clone())))(&Tensor::from([1.0, 2.0])).unwrap();
    assert_eq!(values(&g), [0.0, 1.0]);
}

#[test]
fn captured_tensors() {
    let x = Tensor::from(2.0);
    // Constants may be captured.
    let w = Tensor::from(3.0);
    let constant = w.clone();
    let f =
        custom_vjp(move |x: &Tensor| x.mul(&constant), |x: &Tensor| Ok((x.mul(3.0)?, ())), move |_: &(), g| Ok(g * &w));
    assert_eq!(value(&grad(&f)(&x).unwrap()), 3.0);
    // What a transform works on may not: not used, and not returned as it is.
    type Make = fn(Tensor) -> Boxed;
    let makes: [(&str, Make); 8] = [
        ("forward", |w| Box::new(custom(move |x: &Tensor| x.mul(&w)).name("f").into_fn())),
        ("forward", |w| Box::new(custom(move |_: &Tensor| Ok(w.clone())).name("f").into_fn())),
        ("setup_context", |w| {
            let fwd = move |x: &Tensor| Ok((x.clone(), x.mul(&w)?));
            Box::new(custom(|x: &Tensor| Ok(x.clone())).name("f").vjp(fwd, |w: &Tensor, g| Ok(g * w)).into_fn())
        }),
        ("setup_context", |w| {
            let save = move |_: &Tensor, _: &Tensor| Ok(w.clone());
            Box::new(custom(|x: &Tensor| Ok(x.clone())).name("f").saving(save, |w: &Tensor, g| Ok(g * w)).into_fn())
        }),
        ("backward", |w| {
            let bwd = move |_: &(), g: Cotangent| g.map(|g| g.mul(&w));
            Box::new(custom(|x: &Tensor| Ok(x.clone())).name("f").saving(|_, _| Ok(()), bwd).into_fn())
        }),
        ("backward", |w| {
            let bwd = move |_: &(), _: Cotangent| Ok(w.clone().into());
            Box::new(custom(|x: &Tensor| Ok(x.clone())).name("f").saving(|_, _| Ok(()), bwd).into_fn())
        }),
        ("jvp", |w| {
            Box::new(custom(|x: &Tensor| Ok(x.clone())).name("f").jvp(move |_, _, t| t.map(|t| t.mul(&w))).into_fn())
        }),
        ("vmap", |w| {
            let rule = move |_: &VmapInfo, dim: Option<usize>, x: &Tensor| Ok((x.mul(&w)?, dim));
            Box::new(custom(|x: &Tensor| Ok(x.clone())).name("f").vmap(rule).into_fn())
        }),
    ];
    for (k, (method, make)) in makes.into_iter().enumerate() {
        let outer = |w: &Tensor| {
            let f = make(w.clone());
            match method {
                "vmap" => vmap(&f)(&Tensor::from([1.0, 2.0]))?.sum(),
                "jvp" => forward(&f)(&x),
                _ => grad(&f)(&x),
            }
        };
        let err = grad(outer)(&Tensor::from(3.0)).unwrap_err();
        assert_eq!(err.kind(), ErrorKind::CapturedTracer, "{k}: {err}");
        let text = err.to_string();
        assert!(text.contains(&format!("`{method}` of function `f`")) && text.contains("a `grad`"), "{k}: {text}");
    }
}

#[test]
fn names_in_messages() {
    let broken = || |_: &(), _: Cotangent| Ok(Tensor::from([1.0, 2.0]).into());
    let f = custom_vjp(|x: &Tensor| Ok(x.clone()), |x: &Tensor| Ok((x.clone(), ())), broken());
    let x = Tensor::from(1.0);
    assert_eq!(
        grad(&f)(&x).unwrap_err().to_string(),
        "grad > `backward` of function `custom_vjp`: expected a cotangent of type f64[] for input 0, got f64[2]; help: \
         sum over the dimensions that were broadcast, with `sum_to`"
    );
    let f = custom(|x: &Tensor| Ok(x.clone())).name("softplus").vjp(|x: &Tensor| Ok((x.clone(), ())), broken());
    let err = vmap(grad(|x: &Tensor| f.apply(x)))(&Tensor::from([1.0])).unwrap_err();
    assert!(err.to_string().starts_with("vmap > grad > `backward` of function `softplus`: "), "{err}");
    assert_eq!(format!("{f:?}"), "Custom(softplus)");
    let f = custom_jvp(|x: &Tensor| Ok(x.clone()), |_, _, _| Ok(Tensor::from(1.0f32).into()));
    let err = forward(&f)(&x).unwrap_err();
    assert!(err.to_string().contains("`jvp` of function `custom_jvp`: expected a tangent of type f64[]"), "{err}");
    let f = custom_vmap(|x: &Tensor| Ok(x.clone()), |_, _, x| Ok((x.clone(), Some(7))));
    let err = vmap(&f)(&Tensor::from([1.0])).unwrap_err();
    assert!(err.to_string().contains("`vmap` of function `custom_vmap`: "), "{err}");
    // A `fwd` that does not compute what the function does.
    let f = custom_vjp(|x: &Tensor| x.sum(), |x: &Tensor| Ok((x.clone(), ())), |_: &(), g| Ok(g));
    let err = grad(&f)(&Tensor::from([1.0, 2.0])).unwrap_err();
    assert!(err.is_rule());
    assert_eq!(
        err.to_string(),
        "grad > `setup_context` of function `custom_vjp`: expected output 0 of `fwd` to be f64[] as that of the function \
         itself, got f64[2]; help: `fwd` returns the result first and what `bwd` reads second"
    );
    // The user's own errors pass through.
    let f = custom(|_: &Tensor| -> Result<Tensor> { Err(Error::other("no luck")) }).name("unlucky").into_fn();
    let err = vmap(grad(&f))(&Tensor::from([1.0])).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::User);
    assert_eq!(err.message(), "no luck");
}

/// What the help says can be done for a tangent: it said to sum it, and to return a cotangent.
#[test]
fn help_for_tangents_speaks_of_tangents() {
    let x = Tensor::from([1.0, 2.0]);
    let said = |rule: fn(&Tensor, Tangent) -> Result<(Tangent, Tangent)>| {
        let f = custom_jvp(
            |x: &Tensor| Ok((x.square()?, x.to_dtype(DType::I64)?)),
            move |x: &Tensor, _: &(Tensor, Tensor), t| rule(x, t),
        );
        let e = jvp(f, &x, &x).unwrap_err();
        assert!(e.is_rule(), "{e}");
        e.help().unwrap().to_string()
    };
    assert_eq!(said(|x, t| Ok((&t * x, t))), "return `Tangent::zero()` for it");
    assert_eq!(said(|x, _| Ok((x.expand(&[3, 2])?.into(), Tangent::zero()))), "return the shape of the value itself");
    assert_eq!(said(|_, t| Ok((t.map(|t| t.sum())?, Tangent::zero()))), "repeat it as the value was, with `expand`");
}

#[test]
fn the_result_of_fwd_has_the_structure_of_that_of_f() {
    let f = custom_vjp(
        |x: &Tensor| Ok((Some(x.square()?), None)),
        |x: &Tensor| Ok(((None, Some(x.square()?)), x.clone())),
        |x: &Tensor, (g, _): (Option<Cotangent>, Option<Cotangent>)| Ok(g.unwrap_or_else(Cotangent::zero) * x * 2.0),
    );
    let first = |x: &Tensor| f(x)?.0.ok_or_else(|| Error::other("no result"));
    let e = grad(first)(&Tensor::from(3.0)).unwrap_err();
    assert!(e.is_rule() && e.to_string().contains("expected outputs from `fwd` in the structure of those"), "{e}");
}
