//! Deep graphs, and what is held for how long. What counts bytes of the whole process runs in one of its own.

use std::thread;

use pullback::autograd::{self, Backward, Grad, leaf, no_grad};
use pullback::{DType, Function, Tensor, grad, live_bytes};

use crate::{Cube, close, grad_of, scalar, value, vector};

/// Runs `f` on a thread with a stack of 2 MB.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
}

#[test]
fn a_million_operations_are_walked_and_dropped_without_recursion() {
    on_a_small_stack(|| {
        let x = scalar(1.0);
        let chain = |n: usize| {
            let mut y = x.clone();
            for _ in 0..n {
                y = y.add(1.0).unwrap();
            }
            y
        };
        let y = chain(1_000_000);
        y.backward().unwrap();
        assert_eq!(grad_of(&x), [1.0]);
        assert_eq!(value(&autograd::grad(&y, &x).unwrap()), 1.0);
        drop(y);
        autograd::backward(chain(200_000)).unwrap();
        assert_eq!(grad_of(&x), [2.0]);
        drop(chain(200_000));
    });
}

#[test]
fn deep_graphs_of_walks_and_of_transforms_around_leaves() {
    on_a_small_stack(|| {
        let x = scalar(1.0);
        let mut y = x.clone();
        for _ in 0..50_000 {
            y = y.sin().unwrap();
        }
        let first = Grad::new().create_graph().of(&y, &x).unwrap();
        let second = autograd::grad(&first, &x).unwrap();
        assert!(value(&second).is_finite());
        drop(y);
        drop(first);
        // A transform whose nodes save values of the ambient level.
        let slope = grad(|t: &Tensor| {
            let mut y = t.mul(&x)?;
            for _ in 0..50_000 {
                y = y.mul(&x)?;
            }
            Ok(y)
        })(&Tensor::from(3.0))
        .unwrap();
        slope.backward().unwrap();
        close(&grad_of(&x), &[50_001.0]);
    });
}

fn alone(test: &str) -> bool {
    if std::env::var_os("AUTOGRAD_ALONE").is_some() {
        return true;
    }
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .envs([("AUTOGRAD_ALONE", "1"), ("PULLBACK_NUM_THREADS", "1")])
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
    false
}

const SIDE: usize = 128;
const MATRIX: usize = SIDE * SIDE * 8;

fn matrix() -> Tensor {
    Tensor::full(&[SIDE, SIDE], 0.5, DType::F64).unwrap()
}

fn held() -> usize {
    live_bytes() / MATRIX
}

#[test]
fn memory_returns_to_where_it_was() {
    if !alone("memory::memory_returns_to_where_it_was") {
        return;
    }
    let before = live_bytes();
    for _ in 0..3 {
        let x = leaf(&matrix()).unwrap();
        let y = Cube.apply(&x.sin().unwrap()).unwrap().mul(&x).unwrap();
        y.retain_grad().unwrap();
        let hook = y.register_hook(|g| Ok(Some(g.mul(2.0)?))).unwrap();
        let z = y.mean().unwrap();
        z.backward().unwrap();
        let first = Grad::new().create_graph().of(&z, &x).unwrap();
        let second = autograd::grad(&first.square().unwrap().sum().unwrap(), &x).unwrap();
        assert_eq!(second.shape(), [SIDE, SIDE]);
        // A gradient with a graph and its leaf hold each other until it is forgotten.
        Backward::new().create_graph().run(&z).unwrap();
        x.zero_grad().unwrap();
        y.zero_grad().unwrap();
        drop(hook);
    }
    assert_eq!(live_bytes(), before);
}

#[test]
fn c155_loops_without_walks_do_not_grow() {
    if !alone("memory::c155_loops_without_walks_do_not_grow") {
        return;
    }
    let x = leaf(&matrix()).unwrap();
    let mut y = matrix();
    let before = held();
    for _ in 0..100 {
        y = y.mul(0.99).unwrap().add(1.0).unwrap();
        y = no_grad(|| y.mul(&x)?.mul(0.5)).unwrap();
    }
    assert_eq!(held(), before);
    // A chain that needs none of its values holds none of them.
    let mut z = x.clone();
    for _ in 0..100 {
        z = z.mul(0.99).unwrap().add(1.0).unwrap();
    }
    assert!(held() <= before + 1, "{} matrices", held() - before);
    drop(z);
    // Numbers kept in a list keep no graph; nor do detached tensors.
    let mut metrics = Vec::new();
    for _ in 0..100 {
        let loss = x.sin().unwrap().mean().unwrap();
        metrics.push((loss.item::<f64>().unwrap(), loss.detach().unwrap()));
    }
    assert_eq!(held(), before);
}

#[test]
fn c156_only_what_a_rule_needs_is_kept_and_only_as_long() {
    if !alone("memory::c156_only_what_a_rule_needs_is_kept_and_only_as_long") {
        return;
    }
    let before = held();
    let x = leaf(&matrix()).unwrap();
    for _ in 0..20 {
        let mut y = x.clone();
        for _ in 0..10 {
            y = y.sin().unwrap().cos().unwrap();
        }
        assert!(held() <= before + 22, "{} matrices", held() - before);
        let loss = y.sum().unwrap();
        drop(y);
        // By value: the walk frees what it has passed.
        autograd::backward(loss).unwrap();
        assert!(held() <= before + 2);
        x.zero_grad().unwrap();
    }
    assert_eq!(held(), before + 1);
    // Constants get no gradients, and the operations between them no nodes.
    let weights: Vec<Tensor> = (0..10).map(|_| matrix()).collect();
    let start = held();
    let mut y = x.clone();
    for w in &weights {
        y = y.mul(&w.mul(2.0).unwrap().mul(0.5).unwrap()).unwrap();
    }
    autograd::backward(y.sum().unwrap()).unwrap();
    // Each product keeps its weight only.
    assert!(held() <= start + 12, "{} matrices", held() - start);
    let small = vector(&[1.0]);
    assert!(small.grad().unwrap().is_none());
}
