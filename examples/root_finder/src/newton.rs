//! Newton's method, on values without derivatives of their own.

use super::{Error, ErrorKind, Result, Tensor, jacfwd, solve};
use pullback::DType;

/// A step is halved at most this often.
const HALVINGS: i32 = 30;

/// A root of `f` near `guess`: Newton's method, with steps that are shortened until the residual becomes smaller.
pub fn root(f: &dyn Fn(&Tensor) -> Result<Tensor>, guess: &Tensor, steps: usize) -> Result<Tensor> {
    // Near a root the error after a step is about the square of the step, so a root is exact up to rounding after a step
    // of this size.
    let tiny = match guess.dtype() {
        DType::F32 => f64::from(f32::EPSILON).powf(2.0 / 3.0),
        DType::F64 => f64::EPSILON.powf(2.0 / 3.0),
        _ => {
            let message = format!("expected a guess of dtype f32 or f64, got {}", guess.ty());
            return Err(Error::new(ErrorKind::Dtype, message).with_help("convert it with `to_dtype`"));
        }
    };
    let mut x = guess.clone();
    let mut residual = f(&x)?;
    for step in 0..steps {
        let before = size(&residual)?;
        if before == 0.0 {
            return Ok(x);
        }
        let full = jacobian(f, &x)
            .and_then(|j| like(&solve(&j, &residual.flatten(0, -1)?)?, &x))
            .map_err(|e| e.in_context(format!("Newton step {step}")))?;
        let arrived = size(&full)? <= tiny * size(&x)?.max(1.0);
        let mut shorter = (0..HALVINGS).map(|k| 0.5f64.powi(k));
        loop {
            let Some(factor) = shorter.next() else { return Err(failed(guess, step, before)) };
            let next = x.sub(&full.mul(factor)?)?;
            let found = f(&next)?;
            // A residual that is not a number is not smaller.
            if size(&found)? < before || arrived {
                (x, residual) = (next, found);
                break;
            }
        }
        if arrived {
            return Ok(x);
        }
    }
    Err(failed(guess, steps, size(&residual)?))
}

fn failed(guess: &Tensor, steps: usize, left: f64) -> Error {
    let message = format!(
        "expected a root near the guess {}, got stuck after {steps} steps with a residual of {left:.1e}",
        guess.ty()
    );
    Error::new(ErrorKind::Value, message).with_help("start closer to the root, or allow more `steps`")
}

/// The Jacobian of `f` at `x` as a matrix.
pub fn jacobian(f: &dyn Fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<Tensor> {
    let n = x.numel() as isize;
    jacfwd(f)(x)?.reshape(&[n, n])
}

/// A vector in the shape of `x`.
pub fn like(vector: &Tensor, x: &Tensor) -> Result<Tensor> {
    vector.reshape(&x.shape().iter().map(|&n| n as isize).collect::<Vec<_>>())
}

/// The largest absolute value; NaN if there is one.
fn size(x: &Tensor) -> Result<f64> {
    let values = x.to_dtype(DType::F64)?.to_vec::<f64>()?;
    Ok(values.into_iter().fold(0.0, |m, v| if v.is_nan() || v.abs() > m { v.abs() } else { m }))
}
