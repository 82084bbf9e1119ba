//! Finding solutions of equations, on values whose data can be read.

use super::flat::check_float;
use crate::tree::leaves;
use crate::{DType, Result, Tree, error::bail};

/// When a search stops.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    pub(super) tolerance: Option<f64>,
    pub(super) max_iterations: Option<usize>,
}

/// Steps of Newton's method are not made shorter than this.
const SHORTEST: f64 = 1e-9;

impl Search {
    fn tolerance<X: Tree>(self, x: &X) -> Result<f64> {
        check_float("the start", x)?;
        let double = leaves(x).iter().all(|t| t.dtype() == DType::F64);
        let tolerance = self.tolerance.unwrap_or(if double { 1e-12 } else { 1e-5 });
        if !(tolerance.is_finite() && tolerance >= 0.0) {
            bail!(Value, "expected a finite `tolerance` that is not negative, got {tolerance}");
        }
        Ok(tolerance)
    }
}

/// The largest absolute value; NaN if there is one.
fn size<X: Tree>(x: &X) -> Result<f64> {
    let mut largest = 0.0f64;
    for t in leaves(x) {
        for v in t.to_dtype(DType::F64)?.to_vec::<f64>()? {
            if v.is_nan() || v.abs() > largest {
                largest = v.abs();
            }
            if v.is_nan() {
                return Ok(v);
            }
        }
    }
    Ok(largest)
}

/// The fixed point of `next` that is reached from `x`.
pub(super) fn fixed_point<X: Tree>(next: impl Fn(&X) -> Result<X>, mut x: X, search: Search) -> Result<X> {
    let tolerance = search.tolerance(&x)?;
    let steps = search.max_iterations.unwrap_or(1000);
    let mut step = f64::NAN;
    for k in 0..steps {
        let found = next(&x)?;
        super::flat::check_like("a next value", &x, &found)?;
        step = size(&found.zip_with(&x, |a, b| a.sub(b))?)?;
        x = found;
        if step.is_finite() && step <= tolerance * size(&x)?.max(1.0) {
            return Ok(x);
        }
        if !step.is_finite() {
            bail!(Value, "expected an iteration that comes to rest, got values that are not finite after {} steps", k + 1;
                help = "start closer to the fixed point, or give a solver that finds it");
        }
    }
    bail!(Value, "expected an iteration that comes to rest, got a step of {step:.1e} after {steps} steps, where the \
        tolerance is {tolerance:.1e}"; help = "allow more `max_iterations` or a larger `tolerance`, or give a solver that \
        finds the fixed point")
}

/// The root of `residual` that Newton's method finds from `x`, where `step(x, r)` solves for the step.
pub(super) fn newton<X: Tree>(
    residual: impl Fn(&X) -> Result<X>,
    step: impl Fn(&X, &X) -> Result<X>,
    mut x: X,
    search: Search,
) -> Result<X> {
    let tolerance = search.tolerance(&x)?;
    let steps = search.max_iterations.unwrap_or(100);
    let mut rest = residual(&x)?;
    let mut left = size(&rest)?;
    for k in 0..steps {
        if left == 0.0 {
            return Ok(x);
        }
        let full = step(&x, &rest)?;
        let arrived = size(&full)? <= tolerance * size(&x)?.max(1.0);
        let mut factor = 1.0;
        loop {
            let tried = x.zip_with(&full, |x, d| x.add(&d.mul(factor)?))?;
            let rest_there = residual(&tried)?;
            let there = size(&rest_there)?;
            // A residual that is not a number is not smaller.
            if there < left {
                (x, rest, left) = (tried, rest_there, there);
                break;
            }
            if arrived {
                // The step is as small as rounding errors.
                break;
            }
            factor *= 0.5;
            if factor < SHORTEST {
                bail!(Value, "expected a root near the start, got stuck after {k} steps with a residual of {left:.1e}";
                    help = "start closer to the root");
            }
        }
        if arrived {
            return Ok(x);
        }
    }
    bail!(Value, "expected a root within {steps} steps, got a residual of {left:.1e}"; help = "start closer to the root, \
        allow more `max_iterations`, or a larger `tolerance`")
}
