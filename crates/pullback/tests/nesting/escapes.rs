//! Values that outlive their transform are refused wherever they turn up.

use std::sync::Mutex;

use pullback::{Context, Cotangent, Error, ErrorKind, Function, Result, Tensor, grad, jvp, stack, vjp, vmap};

use super::modes::{Mode, apply, number};

/// A tracer of each kind of level that has ended.
fn escaped() -> Vec<(&'static str, Tensor)> {
    let leak = |modes: &[Mode]| {
        let kept = Mutex::new(None);
        let keep = |x: &Tensor| {
            *kept.lock().unwrap() = Some(x.mul(2.0)?);
            x.mul(x)
        };
        apply(&keep, modes, &Tensor::from(3.0)).unwrap();
        kept.into_inner().unwrap().unwrap()
    };
    use Mode::*;
    vec![
        ("grad", leak(&[Reverse])),
        ("jvp", leak(&[Forward])),
        ("vmap", leak(&[Lanes])),
        ("vmap", leak(&[Reverse, Lanes])),
        ("grad", leak(&[Lanes, Reverse])),
        ("jvp", leak(&[Reverse, Forward])),
    ]
}

#[track_caller]
fn refused<T>(result: Result<T>, what: &str) -> Error {
    match result {
        Ok(_) => panic!("{what}: an escaped value was accepted"),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::EscapedTracer, "{what}: {e}");
            e
        }
    }
}

#[test]
fn operations_refuse_them() {
    let one = Tensor::from(1.0);
    for (transform, t) in escaped() {
        let e = refused(t.sin(), "sin");
        assert!(e.to_string().contains(&format!("`{transform}`")), "{e}");
        assert!(e.help().is_some());
        refused(t.add(&one), "on the left");
        refused(one.add(&t), "on the right");
        refused(t.unsqueeze(0), "unsqueeze");
        refused(stack(&[&one, &t], 0), "stack");
    }
}

#[test]
fn reading_refuses_them() {
    for (_, t) in escaped() {
        refused(t.item::<f64>(), "item");
        refused(t.to_vec::<f64>(), "to_vec");
        // Printing always works.
        assert!(!format!("{t:?}").is_empty());
        assert_eq!(t.shape(), [0usize; 0]);
    }
}

#[test]
fn transforms_refuse_them() {
    let one = Tensor::from(1.0);
    for (_, t) in escaped() {
        refused(grad(|x: &Tensor| x.mul(x))(&t), "argument of grad");
        refused(jvp(|x: &Tensor| x.mul(x), &t, &one), "argument of jvp");
        refused(jvp(|x: &Tensor| x.mul(x), &one, &t), "tangent");
        refused(vjp(|x: &Tensor| x.mul(x), &one).unwrap().1.call(&t), "cotangent");
        refused(grad(|_: &Tensor| Ok(t.clone()))(&one), "result of grad");
        refused(jvp(|_: &Tensor| Ok(t.clone()), &one, &one), "result of jvp");
        refused(vmap(|_: &Tensor| Ok(t.clone()))(&Tensor::from([1.0, 2.0])), "result of vmap");
        refused(grad(|x: &Tensor| x.mul(&t))(&one), "captured in grad");
        refused(vmap(|x: &Tensor| x.mul(&t))(&Tensor::from([1.0, 2.0])), "captured in vmap");
    }
}

/// A function that keeps what its `setup_context` saw, and uses it the next time.
#[derive(Clone)]
struct Keeps(&'static Mutex<Vec<Tensor>>);

impl Function for Keeps {
    type Inputs = Tensor;
    type Outputs = Tensor;
    type Saved = Tensor;

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(x)
    }
    fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        let mut kept = self.0.lock().unwrap();
        let saved = kept.last().cloned().unwrap_or_else(|| x.clone());
        kept.push(x.clone());
        Ok(saved)
    }
    fn backward(&self, _: &Context<Self>, x: &Tensor, g: Cotangent) -> Result<Cotangent> {
        g.map(|g| g.mul(x)?.mul(2.0))
    }
}

#[test]
fn functions_that_hide_them_are_refused() {
    static KEPT: Mutex<Vec<Tensor>> = Mutex::new(Vec::new());
    let f = |x: &Tensor| Keeps(&KEPT).apply(x);
    let x = Tensor::from(3.0);
    // The inner level's `setup_context` keeps a value of the outer level.
    grad(grad(f))(&x).unwrap();
    refused(grad(grad(f))(&x), "kept by setup_context");
}

/// What a pullback holds belongs to older levels, so it may be used after its transform.
#[test]
fn pullbacks_outlive_their_transform() {
    let (y, pull) = vjp(|x: &Tensor| x.sin(), &Tensor::from(0.5)).unwrap();
    assert_eq!(number(&y), 0.5f64.sin());
    let slope = pull.call(&Tensor::from(1.0)).unwrap();
    assert_eq!(number(&slope), 0.5f64.cos());
    assert_eq!(number(&pull.call(&Tensor::from(2.0)).unwrap()), 2.0 * 0.5f64.cos());
    // Made inside an outer transform and called after it, it holds a value that has escaped.
    let kept = Mutex::new(None);
    grad(|x: &Tensor| {
        let (y, pull) = vjp(|x: &Tensor| x.mul(x), x)?;
        *kept.lock().unwrap() = Some(pull);
        Ok(y)
    })(&Tensor::from(2.0))
    .unwrap();
    let pull = kept.into_inner().unwrap().unwrap();
    refused(pull.call(&Tensor::from(1.0)), "a pullback over an ended level");
}
