//! Walks on several threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;

use pullback::autograd::{self, Grad, no_grad};
use pullback::{Function, Tensor, grad};

use crate::{Cube, grad_of, scalar, value, values, vector};

#[test]
fn walks_of_one_graph_from_many_threads_all_count() {
    let x = vector(&[1.0, 2.0]);
    let y = Cube.apply(&x).unwrap().sum().unwrap();
    let start = Barrier::new(8);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                start.wait();
                for _ in 0..50 {
                    y.backward().unwrap();
                    assert_eq!(values(&autograd::grad(&y, &x).unwrap()), [3.0, 12.0]);
                }
            });
        }
    });
    assert_eq!(grad_of(&x), [1200.0, 4800.0]);
}

#[test]
fn one_leaf_in_graphs_of_many_threads() {
    let w = scalar(2.0);
    thread::scope(|s| {
        for k in 0..8 {
            let w = &w;
            s.spawn(move || {
                for _ in 0..50 {
                    autograd::backward(w.square().unwrap().mul(f64::from(k)).unwrap()).unwrap();
                    let first = Grad::new().create_graph().of(&Cube.apply(w).unwrap(), w).unwrap();
                    assert_eq!(value(&autograd::grad(&first, w).unwrap()), 12.0);
                    assert_eq!(value(&grad(|x: &Tensor| x.mul(w))(&Tensor::from(1.0)).unwrap()), 2.0);
                }
            });
        }
    });
    assert_eq!(grad_of(&w), [28.0 * 4.0 * 50.0]);
}

#[test]
fn a_panic_on_one_thread_poisons_nothing() {
    let x = scalar(2.0);
    let y = x.square().unwrap();
    let hook = y.register_hook(|_| match thread::current().name() {
        Some("panics") => panic!("on purpose"),
        _ => Ok(None),
    });
    thread::scope(|s| {
        let body = || assert!(catch_unwind(AssertUnwindSafe(|| y.backward())).is_err());
        thread::Builder::new().name("panics".into()).spawn_scoped(s, body).unwrap();
        s.spawn(|| y.backward().unwrap());
    });
    hook.unwrap().remove();
    y.backward().unwrap();
    assert_eq!(grad_of(&x), [8.0]);
}

#[test]
fn leaves_are_updated_on_other_threads() {
    let mut w = scalar(5.0);
    w.square().unwrap().backward().unwrap();
    let w = thread::spawn(move || {
        no_grad(|| {
            let step = w.grad()?.expect("walked").mul(0.1)?;
            w.sub_(&step)?;
            w.zero_grad()?;
            Ok::<_, pullback::Error>(w)
        })
    })
    .join()
    .unwrap()
    .unwrap();
    assert_eq!(value(&w), 4.0);
    assert!(w.is_leaf() && w.grad().unwrap().is_none());
}
