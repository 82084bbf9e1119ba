//! Capturing once for each kind of arguments.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pullback::graph::{Cached, Capture};
use pullback::{DType, ErrorKind, Result, Static, Tensor, autograd, checkpoint, grad, jvp, vmap};

use super::{close, refused, value, values};

#[test]
fn c149_the_same_shapes_are_captured_once() -> Result<()> {
    let runs = AtomicUsize::new(0);
    let f = |x: &Tensor| {
        runs.fetch_add(1, Ordering::Relaxed);
        x.square()?.sum()
    };
    let cached = Cached::new(f);
    for k in 0..1000 {
        let x = Tensor::from([f64::from(k), 1.0]);
        close(&[value(&cached.call(&x)?)], &[f64::from(k).powi(2) + 1.0]);
    }
    assert_eq!((cached.traces(), runs.load(Ordering::Relaxed)), (1, 1));
    assert_eq!(cached.report(), "trace 1: the first call, with (f64[2])");
    Ok(())
}

#[test]
fn c149_a_new_number_each_time_is_an_argument() -> Result<()> {
    let cached = Cached::new(|(w, rate): &(Tensor, Tensor)| w.sub(grad(|w: &Tensor| w.square()?.sum())(w)?.mul(rate)?));
    let mut w = Tensor::from([1.0, 2.0]);
    let mut want = 1.0;
    for k in 0..1000 {
        let rate = 0.1 / f64::from(k + 1);
        w = cached.call(&(w, Tensor::from(rate)))?;
        want -= 2.0 * want * rate;
    }
    close(&values(&w), &[want, 2.0 * want]);
    assert_eq!(cached.traces(), 1);
    Ok(())
}

#[test]
fn c149_shapes_that_take_turns() -> Result<()> {
    let cached = Cached::new(|x: &Tensor| x.exp()?.sum());
    for k in 0..300 {
        let n = k % 3 + 1;
        close(&[value(&cached.call(&Tensor::zeros(&[n], DType::F64)?)?)], &[n as f64]);
    }
    assert_eq!(cached.traces(), 3);
    assert_eq!(
        cached.report(),
        "trace 1: the first call, with (f64[1])\n\
         trace 2: argument is f64[2], not f64[1] as in trace 1\n\
         trace 3: argument is f64[3], not f64[2] as in trace 2"
    );
    let graph = cached.graph(&Tensor::from([0.0, 0.0])).expect("it was captured");
    assert!(graph.operations().eq(["exp", "sum"]));
    assert!(cached.graph(&Tensor::from([0.0; 4])).is_none());
    cached.clear();
    cached.call(&Tensor::from([0.0]))?;
    assert!(cached.report().ends_with("trace 4: no graph is kept, with (f64[1])"));
    Ok(())
}

#[test]
fn c149_a_new_closure_starts_anew() -> Result<()> {
    let runs = AtomicUsize::new(0);
    for k in 0..5 {
        let cached = Cached::new(|x: &Tensor| {
            runs.fetch_add(1, Ordering::Relaxed);
            x.mul(f64::from(k))
        });
        assert_eq!(value(&cached.call(&Tensor::from(2.0))?), 2.0 * f64::from(k));
        assert_eq!(cached.traces(), 1);
    }
    assert_eq!(runs.load(Ordering::Relaxed), 5);
    Ok(())
}

#[test]
fn c149_the_report_names_every_reason() -> Result<()> {
    type Arguments = (Vec<Tensor>, Static<usize>, Option<Tensor>);
    let cached = Cached::new(|(xs, n, _): &Arguments| xs[0].powi(n.0 as i32));
    let x = |n: usize| Tensor::ones(&[n], DType::F64);
    cached.call(&(vec![x(1)?], Static(2), None))?;
    cached.call(&(vec![x(1)?], Static(3), None))?;
    cached.call(&(vec![x(1)?, x(1)?], Static(3), None))?;
    cached.call(&(vec![x(1)?], Static(3), Some(x(1)?)))?;
    cached.call(&(vec![x(1)?.to_dtype(DType::F32)?], Static(4), None))?;
    let report = cached.report();
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[1], "trace 2: a static part is 3 (usize), not 2 (usize) as in trace 1");
    assert!(
        lines[2].starts_with("trace 3: the arguments are ([tensor, tensor], static, none), not ([tensor], "),
        "{report}"
    );
    assert!(lines[3].starts_with("trace 4: the arguments are ([tensor], static, tensor), not "), "{report}");
    assert_eq!(
        lines[4],
        "trace 5: a static part is 4 (usize), not 3 (usize); argument.0[0] is f32[1], not f64[1] as in trace 2"
    );
    Ok(())
}

#[test]
fn cached_functions_are_transformed() -> Result<()> {
    let cached = Cached::new(|x: &Tensor| x.sin());
    let x = Tensor::from([0.1, 0.2]);
    let slope = vmap(grad(|x: &Tensor| cached.call(x)))(&x)?;
    close(&values(&slope), &[0.1f64.cos(), 0.2f64.cos()]);
    close(&values(&vmap(grad(grad(|x: &Tensor| cached.call(x))))(&x)?), &[-0.1f64.sin(), -0.2f64.sin()]);
    // Inside, the argument is a number for all of them.
    assert_eq!(cached.traces(), 1);
    Ok(())
}

#[test]
fn threads_share_a_cache() -> Result<()> {
    let cached = Cached::new(|x: &Tensor| x.sin());
    std::thread::scope(|s| {
        for k in 0..8 {
            let cached = &cached;
            s.spawn(move || {
                let x = f64::from(k);
                close(&[value(&cached.call(&Tensor::from(x)).unwrap())], &[x.sin()]);
            });
        }
    });
    assert!((1..=8).contains(&cached.traces()));
    Ok(())
}

#[test]
fn a_function_that_fails_is_not_kept() -> Result<()> {
    let cached = Cached::with_options(Capture::new().closed(true), |x: &Tensor| {
        if x.numel() == 1 { Err(pullback::Error::other("one is too few")) } else { x.mul(2.0) }
    });
    for _ in 0..2 {
        assert_eq!(refused(cached.call(&Tensor::from(1.0))).kind(), ErrorKind::User);
    }
    assert_eq!(cached.traces(), 0);
    cached.call(&Tensor::from([1.0, 2.0]))?;
    assert_eq!(cached.traces(), 1);
    Ok(())
}

#[test]
fn what_a_checkpoint_gives_a_cached_function_is_not_kept() -> Result<()> {
    let twice = |w: &Tensor, x: f64| -> Result<Tensor> {
        let w = w.clone();
        let cached = Arc::new(Cached::new(move |x: &Tensor| x.mul(&w)?.sin()));
        let inside = cached.clone();
        let first = checkpoint(move |x: &Tensor| inside.call(x))(&Tensor::from(x))?;
        // Outside of it, the captured value is the one of the transform again.
        let second = cached.call(&Tensor::from(x))?;
        assert!(cached.traces() >= 2, "one for each run");
        assert!(cached.report().lines().next().unwrap().contains("(not kept: a `checkpoint` or a branch replaces"));
        first.add(&second)
    };
    let (w, x) = (1.3f64, 0.7);
    let want = 2.0 * x * (w * x).cos();
    close(&[value(&grad(|w: &Tensor| twice(w, x))(&Tensor::from(w))?)], &[want]);
    close(&[value(&jvp(|w: &Tensor| twice(w, x), &Tensor::from(w), &Tensor::from(1.0))?.1)], &[want]);
    close(&[value(&grad(grad(|w: &Tensor| twice(w, x)))(&Tensor::from(w))?)], &[-2.0 * x * x * (w * x).sin()]);
    let leaf = autograd::leaf(&Tensor::from(w))?;
    twice(&leaf, x)?.backward()?;
    close(&[value(&leaf.grad()?.unwrap())], &[want]);
    // Without captured values of a transform, one graph serves all runs.
    let cached = Arc::new(Cached::new(|x: &Tensor| x.sin()));
    let inside = cached.clone();
    let layer = checkpoint(move |x: &Tensor| inside.call(&inside.call(x)?));
    close(&[value(&grad(&layer)(&Tensor::from(x))?)], &[x.sin().cos() * x.cos()]);
    assert_eq!(cached.traces(), 1);
    Ok(())
}

#[test]
fn what_was_captured_inside_no_grad_serves_no_grad_only() -> Result<()> {
    let w = autograd::leaf(&Tensor::from(2.0))?;
    let cached = Cached::new(|x: &Tensor| x.mul(&w.square()?));
    let x = Tensor::from(3.0);
    for _ in 0..3 {
        let y = autograd::no_grad(|| cached.call(&x))?;
        assert!(!y.requires_grad());
        close(&[value(&y)], &[12.0]);
    }
    assert_eq!(cached.traces(), 1);
    cached.call(&x)?.backward()?;
    assert!(cached.report().contains("trace 2: trace 1 was made inside a `no_grad` (not kept"), "{}", cached.report());
    close(&[value(&w.grad()?.expect("a gradient"))], &[12.0]);
    let g = |w: &Tensor| {
        let cached = Cached::new(|x: &Tensor| x.mul(&w.square()?));
        autograd::no_grad(|| cached.call(&x))?.add(&cached.call(&x)?)
    };
    close(&[value(&grad(g)(&Tensor::from(2.0))?)], &[12.0]);
    Ok(())
}
