//! The transforms and their options, a file for each. Names with a number (`t03_…`) are ids of the list of semantics,
//! and (`c76_…`) of the case log, that the project started from; what the types refuse is in
//! `src/transforms/refused.rs`.
//!
//! | Id | | Where |
//! |---|---|---|
//! | T-01, T-02, T-06 | argument numbers that are no integers | `refused.rs` |
//! | T-07, T-25, T-32, T-61 | values that are no tensors | are no trees, or `Static` |
//! | T-04 | no argument selected | cannot be written |
//! | T-30 | primals that are no tuple | types |
//! | T-36 | an operation without a forward rule | every operation has one; functions: `tests/function` |
//! | T-64 | chunks of no lanes | `c76_…` |
//! | T-50, T-52, T-54, T-58, T-63 | kinds of specs and policies | types; `refused.rs` |

mod argnums;
mod aux;
mod chunks;
mod curvature;
mod grad;
mod hessian;
mod jacobian;
mod jvp;
mod memory;
mod random;
mod table;
mod trees;
mod vjp;
mod vmap;

#[path = "../nesting/alloc.rs"]
mod alloc;

use pullback::{Error, ErrorKind, Tensor};

/// The numbers of a tensor of any dtype.
fn values(t: &Tensor) -> Vec<f64> {
    t.to_dtype(pullback::DType::F64).and_then(|t| t.to_vec()).expect("a tensor that can be read")
}

/// The shape and the values, up to 1e-9.
#[track_caller]
fn is(t: &Tensor, shape: &[usize], want: &[f64]) {
    assert_eq!(t.shape(), shape, "of {t:?}");
    let got = values(t);
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!(g == w || (g - w).abs() <= 1e-9 * w.abs().max(1.0), "got {got:?}, want {want:?}");
    }
}

/// The kind of an error, and all of some parts of its message.
#[track_caller]
fn fails<T>(result: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    match result {
        Ok(_) => panic!("expected an error of kind {kind:?}"),
        Err(e) => {
            assert_eq!(e.kind(), kind, "{e}");
            for part in parts {
                assert!(e.to_string().contains(part), "expected `{part}` in: {e}");
            }
        }
    }
}

/// The same elements, bit for bit.
#[track_caller]
fn same(a: &Tensor, b: &Tensor) {
    assert_eq!(a.ty(), b.ty());
    let bits = |t: &Tensor| values(t).into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(a), bits(b));
}

/// Irregular numbers between -1 and 1.
fn noise(shape: &[usize], seed: f64) -> Tensor {
    let data: Vec<f64> = (0..shape.iter().product()).map(|k: usize| (seed + 1.7 * k as f64).sin()).collect();
    Tensor::from_slice(&data, shape).expect("as many elements as the shape has")
}

/// Rosenbrock's function of any number of variables.
fn rosenbrock(x: &Tensor) -> pullback::Result<Tensor> {
    let n = x.shape()[0];
    let (a, b) = (x.narrow(0, 0, n - 1)?, x.narrow(0, 1, n - 1)?);
    b.sub(&a.square()?)?.square()?.mul(100.0)?.add(&a.mul(-1.0)?.add(1.0)?.square()?)?.sum()
}

/// Its Hessian, row-major, by hand.
fn rosenbrock_hessian(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let mut h = vec![0.0; n * n];
    for k in 0..n - 1 {
        h[k * n + k] += 1200.0 * x[k] * x[k] - 400.0 * x[k + 1] + 2.0;
        h[(k + 1) * n + k + 1] += 200.0;
        h[k * n + k + 1] -= 400.0 * x[k];
        h[(k + 1) * n + k] -= 400.0 * x[k];
    }
    h
}
