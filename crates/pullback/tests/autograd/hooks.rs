//! Hooks: their order, what they may do, and what they leave behind when they fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use pullback::autograd::{self, Backward, Grad, Hook};
use pullback::{Error, ErrorKind, Function, Tensor, grad, vmap};

use crate::{Cube, close, grad_of, refused, scalar, value, values, vector};

type Log = Arc<Mutex<Vec<String>>>;

/// Logs the gradients of `t` under a name.
fn log(t: &Tensor, name: &'static str, log: &Log) -> Hook {
    let log = log.clone();
    t.register_hook(move |g| {
        log.lock().unwrap().push(format!("{name} {:?}", values(g)));
        Ok(None)
    })
    .unwrap()
}

#[test]
fn hooks_run_in_order_when_the_gradient_is_complete() {
    let (all, x) = (Log::default(), scalar(2.0));
    let y = x.square().unwrap();
    log(&x, "x", &all);
    log(&y, "y first", &all);
    let doubled = all.clone();
    y.register_hook(move |g| {
        doubled.lock().unwrap().push("y doubles".into());
        Ok(Some(g.mul(2.0)?))
    })
    .unwrap();
    log(&y, "y last", &all);
    y.retain_grad().unwrap();
    let accumulated = all.clone();
    x.register_post_accumulate_grad_hook(move |g| {
        accumulated.lock().unwrap().push(format!("x has {:?}", values(g)));
        Ok(())
    })
    .unwrap();
    // y is used twice: its gradient is 1 + 3.
    let z = y.add(&y.mul(3.0).unwrap()).unwrap();
    log(&z, "z", &all);
    z.backward().unwrap();
    let want = ["z [1.0]", "y first [4.0]", "y doubles", "y last [8.0]", "x [32.0]", "x has [32.0]"];
    assert_eq!(*all.lock().unwrap(), want);
    assert_eq!((grad_of(&y), grad_of(&x)), (vec![8.0], vec![32.0]), "what is retained is what the hooks left");
    all.lock().unwrap().clear();
    z.backward().unwrap();
    assert_eq!(all.lock().unwrap().last().unwrap(), "x has [64.0]");
}

#[test]
fn hooks_are_removed_by_their_handle_also_during_a_walk() {
    let (all, x) = (Log::default(), scalar(2.0));
    let y = x.square().unwrap();
    let first = log(&y, "first", &all);
    let later: Arc<Mutex<Option<Hook>>> = Arc::default();
    let handle = later.clone();
    y.register_hook(move |_| {
        if let Some(hook) = handle.lock().unwrap().take() {
            hook.remove();
        }
        Ok(None)
    })
    .unwrap();
    *later.lock().unwrap() = Some(log(&y, "removed while walking", &all));
    first.remove();
    y.backward().unwrap();
    assert!(all.lock().unwrap().is_empty());
    // A handle that is dropped changes nothing; one whose graph is gone does nothing.
    drop(log(&y, "kept", &all));
    let orphan = log(&x.exp().unwrap(), "never", &all);
    orphan.remove();
    y.backward().unwrap();
    assert_eq!(*all.lock().unwrap(), ["kept [1.0]"]);
}

#[test]
fn replacements_are_checked() {
    let x = vector(&[1.0, 2.0]);
    let y = x.square().unwrap();
    let hook = y.register_hook(|_| Ok(Some(Tensor::from([1.0, 2.0, 3.0])))).unwrap();
    refused(y.sum().unwrap().backward(), ErrorKind::Shape, &["backward > hook: expected", "f64[2]", "f64[3]"]);
    hook.remove();
    let hook = y.register_hook(|_| Ok(Some(Tensor::from([1.0f32, 2.0])))).unwrap();
    refused(y.sum().unwrap().backward(), ErrorKind::Dtype, &["hook", "f64[2]", "f32[2]"]);
    hook.remove();
    assert!(x.grad().unwrap().is_none());
    refused(Tensor::from(1.0).register_hook(|_| Ok(None)), ErrorKind::NotDifferentiable, &["register_hook"]);
    let err = y.register_post_accumulate_grad_hook(|_| Ok(()));
    refused(err, ErrorKind::NotDifferentiable, &["leaf", "register_hook"]);
}

#[test]
fn errors_and_panics_in_hooks_leave_everything_as_it_was() {
    let (x, w) = (scalar(2.0), scalar(3.0));
    let y = x.mul(&w).unwrap();
    y.backward().unwrap();
    let fails = x.register_hook(|_| Err(Error::other("not today"))).unwrap();
    refused(y.backward(), ErrorKind::User, &["backward > hook: not today"]);
    fails.remove();
    let panics = x.register_hook(|_| panic!("on purpose")).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| y.backward())).is_err());
    panics.remove();
    assert_eq!((grad_of(&x), grad_of(&w)), (vec![3.0], vec![2.0]), "no half of a walk accumulates");
    assert!(autograd::GradMode::is_on() && x.square().unwrap().requires_grad());
    // Hooks of leaves run when all has accumulated.
    let fails = x.register_post_accumulate_grad_hook(|_| Err(Error::other("too late"))).unwrap();
    refused(y.backward(), ErrorKind::User, &["backward > hook: too late"]);
    fails.remove();
    assert_eq!((grad_of(&x), grad_of(&w)), (vec![6.0], vec![4.0]));
    let panics = x.register_post_accumulate_grad_hook(|_| panic!("on purpose")).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| y.backward())).is_err());
    panics.remove();
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [12.0]);
}

#[test]
fn hooks_of_values_that_are_asked_for_run_though_their_operation_does_not() {
    let (all, x) = (Log::default(), scalar(2.0));
    let y = x.square().unwrap();
    let z = y.square().unwrap();
    log(&y, "y", &all);
    log(&x, "x", &all);
    y.register_hook(|g| Ok(Some(g.mul(10.0)?))).unwrap();
    assert_eq!(value(&autograd::grad(&z, &y).unwrap()), 80.0);
    assert_eq!(*all.lock().unwrap(), ["y [8.0]"]);
    // On leaves they run as well, and nothing accumulates.
    assert_eq!(value(&autograd::grad(&z, &x).unwrap()), 320.0);
    assert_eq!(all.lock().unwrap().len(), 3);
    assert!(x.grad().unwrap().is_none());
    Backward::new().run_to(&z, &x).unwrap();
    assert_eq!(grad_of(&x), [320.0]);
}

#[test]
fn each_output_of_an_operation_has_hooks_of_its_own() {
    let (all, x) = (Log::default(), vector(&[1.0, 2.0, 3.0, 4.0]));
    let parts = x.split(2, 0).unwrap();
    log(&parts[1], "second", &all);
    parts[0].retain_grad().unwrap();
    parts[0].mul(&parts[1]).unwrap().sum().unwrap().backward().unwrap();
    assert_eq!(*all.lock().unwrap(), ["second [1.0, 2.0]"]);
    assert_eq!((grad_of(&parts[0]), grad_of(&x)), (vec![3.0, 4.0], vec![3.0, 4.0, 1.0, 2.0]));
    refused(parts[1].grad(), ErrorKind::NotDifferentiable, &["retain_grad"]);
}

#[test]
fn hooks_stay_with_the_old_value_when_a_handle_is_rebound() {
    let (all, x) = (Log::default(), scalar(2.0));
    let mut y = x.mul(3.0).unwrap();
    log(&y, "before", &all);
    y.mul_(5.0).unwrap();
    log(&y, "after", &all);
    y.backward().unwrap();
    assert_eq!(*all.lock().unwrap(), ["after [1.0]", "before [5.0]"]);
}

#[test]
fn hooks_take_part_in_graphs_of_walks() {
    let (x, w) = (scalar(2.0), scalar(5.0));
    let y = Cube.apply(&x).unwrap();
    let factor = w.clone();
    let hook = y.register_hook(move |g| Ok(Some(g.mul(&factor)?))).unwrap();
    let plain = autograd::grad(&y, &x).unwrap();
    assert_eq!((value(&plain), plain.requires_grad()), (60.0, false));
    let graph = Grad::new().create_graph().of(&y, &x).unwrap();
    let (dx, dw) = autograd::grad(&graph, &(x, w)).unwrap();
    close(&[value(&graph), value(&dx), value(&dw)], &[60.0, 60.0, 12.0]);
    hook.remove();
}

#[test]
fn hooks_may_walk_and_register_themselves() {
    let x = scalar(2.0);
    let y = x.square().unwrap();
    let other = scalar(3.0);
    let inner = other.clone();
    y.register_hook(move |g| {
        // Another walk, on the same thread, and one of a transform. Nothing is recorded in a walk unless told.
        assert!(!inner.square()?.requires_grad());
        let z = autograd::enable_grad(|| inner.square())?;
        z.backward()?;
        assert_eq!(value(&grad(|t: &Tensor| t.square())(&Tensor::from(3.0))?), 6.0);
        z.register_hook(|_| Ok(None))?.remove();
        Ok(Some(g.mul(2.0)?))
    })
    .unwrap();
    y.backward().unwrap();
    assert_eq!((grad_of(&x), grad_of(&other)), (vec![8.0], vec![6.0]));
    // A leaf's hook that walks back to the same leaf again: no lock is held while it runs.
    let x = scalar(2.0);
    let again = Arc::new(Mutex::new(Some(x.clone())));
    x.register_post_accumulate_grad_hook(move |_| {
        let Some(x) = again.lock().unwrap().take() else { return Ok(()) };
        autograd::enable_grad(|| x.mul(100.0))?.backward()
    })
    .unwrap();
    x.square().unwrap().backward().unwrap();
    assert_eq!(grad_of(&x), [104.0]);
}

#[test]
fn hooks_see_values_of_transforms_where_cotangents_are_such() {
    let x = vector(&[1.0, 2.0]);
    let y = x.square().unwrap();
    let seen: Arc<Mutex<Vec<Vec<usize>>>> = Arc::default();
    let shapes = seen.clone();
    y.register_hook(move |g| {
        shapes.lock().unwrap().push(g.shape().to_vec());
        Ok(Some(g.mul(3.0)?))
    })
    .unwrap();
    let rows = Tensor::from([[1.0, 0.0], [0.0, 1.0]]);
    let j = vmap(|g: &Tensor| Grad::new().cotangents(g).of(&y, &x))(&rows).unwrap();
    assert_eq!(values(&j), [6.0, 0.0, 0.0, 12.0]);
    assert_eq!(*seen.lock().unwrap(), [[2]], "once for all lanes");
}
