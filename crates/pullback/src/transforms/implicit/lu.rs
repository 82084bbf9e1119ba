//! Linear systems with a matrix, by elimination.

use super::solver::Failure;
use crate::error::bail;
use crate::{DType, Result, Tensor};

/// The solutions of `a·x = b` for matrices `[…, n, n]` and vectors `[…, n]`, on values without derivatives.
pub(super) fn solve(a: &Tensor, b: &Tensor, failure: Failure) -> Result<Tensor> {
    let n = b.shape().last().copied().unwrap_or(0);
    let epsilon = if b.dtype() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let read = |t: &Tensor| t.to_dtype(DType::F64)?.to_vec::<f64>();
    let (mut matrices, mut x) = (read(a)?, read(b)?);
    let systems = x.len() / n.max(1);
    for (k, (a, x)) in matrices.chunks_mut((n * n).max(1)).zip(x.chunks_mut(n.max(1))).enumerate() {
        let Err(row) = eliminate(a, x, (n as f64).sqrt() * epsilon) else { continue };
        if failure == Failure::Nan {
            x.fill(f64::NAN);
            continue;
        }
        let which = if systems == 1 { String::new() } else { format!(" in system {k} of {systems}") };
        bail!(Value, "expected a linear system with one solution, got a matrix of size {n} that is singular to working \
            precision{which} (nothing is left to divide by in step {row})"; help = "the derivative of the solution does \
            not exist there; `LinearSolver::nan_on_failure` gives NaN instead of an error");
    }
    Tensor::from_slice(&x, b.shape())?.to_dtype(b.dtype())
}

/// Overwrites `x` with the solution of `a·x = x` by elimination with partial pivoting; the step at which every pivot is
/// smaller than `tiny` relative to its row is an error. What is not finite goes through.
fn eliminate(a: &mut [f64], x: &mut [f64], tiny: f64) -> Result<(), usize> {
    let n = x.len();
    if a.iter().any(|v| !v.is_finite()) {
        x.fill(f64::NAN);
        return Ok(());
    }
    // Rows and columns of size 1 make pivots comparable, in whatever units the equations and unknowns are.
    for (row, x) in a.chunks_mut(n.max(1)).zip(x.iter_mut()) {
        let size = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if size > 0.0 {
            row.iter_mut().for_each(|v| *v /= size);
            *x /= size;
        }
    }
    let sizes: Vec<f64> = (0..n).map(|j| (0..n).fold(0.0f64, |m, i| m.max(a[i * n + j].abs()))).collect();
    for row in a.chunks_mut(n.max(1)) {
        row.iter_mut().zip(&sizes).filter(|(_, size)| **size > 0.0).for_each(|(v, size)| *v /= size);
    }
    for k in 0..n {
        let mut pivot = k;
        for row in k + 1..n {
            if a[row * n + k].abs() > a[pivot * n + k].abs() {
                pivot = row;
            }
        }
        if a[pivot * n + k].abs() <= tiny {
            return Err(k);
        }
        if pivot != k {
            for column in 0..n {
                a.swap(k * n + column, pivot * n + column);
            }
            x.swap(k, pivot);
        }
        let (above, below) = a.split_at_mut((k + 1) * n);
        let first = &above[k * n..];
        for (row, i) in below.chunks_mut(n).zip(k + 1..) {
            let factor = row[k] / first[k];
            if factor != 0.0 {
                row[k..].iter_mut().zip(&first[k..]).for_each(|(v, f)| *v -= factor * f);
                x[i] -= factor * x[k];
            }
        }
    }
    for k in (0..n).rev() {
        let row = &a[k * n..(k + 1) * n];
        let known: f64 = row[k + 1..].iter().zip(&x[k + 1..]).map(|(a, x)| a * x).sum();
        x[k] = (x[k] - known) / row[k];
    }
    x.iter_mut().zip(&sizes).for_each(|(x, size)| *x /= size);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn solves_what_has_a_solution_and_refuses_what_has_none() {
        let vector = |v: &[f64]| Tensor::from_slice(v, &[v.len()]).unwrap();
        let solved = |a: &Tensor, b: &Tensor| solve(a, b, Failure::Error).unwrap().to_vec::<f64>().unwrap();
        // The first pivot is zero, and rows differ in size by far.
        let a = Tensor::from([[0.0, 2.0, 1.0], [1e-30, 1e-30, 0.0], [3e20, 0.0, 1e20]]);
        let x = solved(&a, &vector(&[5.0, 3e-30, 4e20]));
        assert!(x.iter().zip([1.0, 2.0, 1.0]).all(|(x, want)| (x - want).abs() < 1e-14), "{x:?}");
        for singular in [[[1.0, 2.0], [2.0, 4.0]], [[0.1, 0.3], [0.3, 0.9]], [[0.0, 0.0], [0.0, 1.0]]] {
            let e = solve(&Tensor::from(singular), &vector(&[1.0, 1.0]), Failure::Error).unwrap_err();
            assert!(e.kind() == ErrorKind::Value && e.to_string().contains("singular to working precision"), "{e}");
        }
        let x = solved(&Tensor::from([[1.0, 1e-20], [1.0, 2e-20]]), &vector(&[3.0, 4.0]));
        assert!((x[0] - 2.0).abs() < 1e-14 && (x[1] / 1e20 - 1.0).abs() < 1e-14, "{x:?}");
        // One of two fails, and the other does not notice.
        let a = Tensor::from([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]]);
        let b = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
        let x = solve(&a, &b, Failure::Nan).unwrap().to_vec::<f64>().unwrap();
        assert!(x[0].is_nan() && x[1].is_nan() && x[2..] == [0.5, 0.25], "{x:?}");
        let e = solve(&a, &b, Failure::Error).unwrap_err().to_string();
        assert!(e.contains("in system 0 of 2"), "{e}");
        assert!(solved(&Tensor::from([[f64::NAN]]), &vector(&[1.0]))[0].is_nan());
        assert!(solved(&Tensor::zeros(&[0, 0], DType::F64).unwrap(), &vector(&[])).is_empty());
    }
}
