//! Branches and loops, and functions that run again in the backward pass: each against the plain Rust loop, closed forms
//! and finite differences, under every transform. Tests that take up a problem which users of other systems met carry its
//! number.

#[path = "../nesting/alloc.rs"]
mod alloc;
mod checkpoint;
mod checkpoint_memory;
mod cond;
mod differences;
mod every_way;
mod failures;
mod loops;
mod nan;
mod scan;

use pullback::{DType, Tensor};

pub fn value(t: &Tensor) -> f64 {
    t.item::<f64>().expect("a 0-d f64 tensor")
}

pub fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().expect("an f64 tensor")
}

pub fn tensor(data: &[f64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(data, shape).expect("as many elements as the shape has")
}

pub fn vector(data: &[f64]) -> Tensor {
    tensor(data, &[data.len()])
}

pub fn zeros(shape: &[usize]) -> Tensor {
    Tensor::zeros(shape, DType::F64).expect("a small tensor")
}

/// Irregular numbers between -1 and 1.
pub fn noise(shape: &[usize], seed: f64) -> Tensor {
    let data: Vec<f64> = (0..shape.iter().product()).map(|k: usize| (seed + 1.7 * k as f64).sin()).collect();
    tensor(&data, shape)
}

/// Equal up to 1e-10 of the size of each number (of 1 for small ones), and finite.
#[track_caller]
pub fn close(got: &[f64], want: &[f64]) {
    let near = |(g, w): (&f64, &f64)| (g - w).abs() <= 1e-10 * w.abs().max(1.0);
    assert!(got.len() == want.len() && got.iter().zip(want).all(near), "got {got:?}, want {want:?}");
}
