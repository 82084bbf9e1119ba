//! Graphs that are captured, and functions that are linearized: what they give, print, refuse and keep.

mod cached;
mod failures;
mod functions;
mod linearize;
mod nests;
mod picture;
mod printing;
mod random;
mod replay;
mod values;

use pullback::{Result, Tensor};

pub fn values(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().expect("an f64 tensor")
}

pub fn value(t: &Tensor) -> f64 {
    t.item::<f64>().expect("a 0-d f64 tensor")
}

/// Equal up to 1e-12 of the size of each number (of 1 for small ones).
#[track_caller]
pub fn close(got: &[f64], want: &[f64]) {
    let near = got.iter().zip(want).all(|(g, w)| (g - w).abs() <= 1e-12 * w.abs().max(1.0));
    assert!(got.len() == want.len() && near, "got {got:?}, want {want:?}");
}

/// The error that should have come.
#[track_caller]
pub fn refused<T>(result: Result<T>) -> pullback::Error {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(e) => e,
    }
}
