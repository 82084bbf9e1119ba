//! Functions that are defined by equations: roots, fixed points and linear systems, with opaque solvers.

mod errors;
mod linear;
mod nests;
mod roots;

use pullback::testing::{Report, check_function};
use pullback::{Function, Result, Tensor};

/// The square root as a solver might find it, on raw numbers.
fn heron(a: f64) -> f64 {
    let (mut x, mut before) = (a.max(1.0), f64::INFINITY);
    while x < before {
        (x, before) = (0.5 * (x + a / x), x);
    }
    x
}

fn number(t: &Tensor) -> f64 {
    t.item::<f64>().unwrap()
}

fn numbers(t: &Tensor) -> Vec<f64> {
    t.to_vec::<f64>().unwrap()
}

#[track_caller]
fn near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{got} instead of {want}");
}

#[track_caller]
fn holds<F: Function>(function: &F, at: &F::Inputs) -> Report {
    let report = check_function(function, at).unwrap();
    assert!(report.is_ok(), "{report}");
    report
}

/// x² - a
fn square_is(a: &Tensor, x: &Tensor) -> Result<Tensor> {
    x.square()?.sub(a)
}
