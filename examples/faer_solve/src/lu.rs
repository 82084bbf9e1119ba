//! What faer does: factorisations of matrices on raw slices.

use std::cell::Cell;

use faer::linalg::solvers::{PartialPivLu, Solve as _};
use faer::traits::RealField;
use faer::{MatMut, MatRef};
use pullback::{DType, Element, Error, ErrorKind, Result, Tensor};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The number of matrices that this thread has factorised so far, which shows how often the work is done.
pub fn factorisations() -> usize {
    COUNT.get()
}

/// The factors of one or several matrices of one size.
pub struct Factors {
    of: Tensor,
    each: Each,
}

/// One factorisation per matrix.
enum Each {
    F32(Vec<PartialPivLu<f32>>),
    F64(Vec<PartialPivLu<f64>>),
}

impl Factors {
    /// Factorises the matrices of `a`, which is `[.., n, n]` and holds floats.
    pub fn of(a: &Tensor) -> Result<Factors> {
        let each = match a.dtype() {
            DType::F32 => Each::F32(factorise::<f32>(a)?),
            _ => Each::F64(factorise::<f64>(a)?),
        };
        Ok(Factors { of: a.clone(), each })
    }

    /// True if `a` holds the matrices that these are the factors of.
    pub fn are_of(&self, a: &Tensor) -> Result<bool> {
        self.of.equal(a)
    }

    /// Solves with the matrices or their transposes; `b` is `[n]` or `[.., n, k]`, with a matrix for each of its own.
    pub fn solve(&self, b: &Tensor, transposed: bool) -> Result<Tensor> {
        match &self.each {
            Each::F32(each) => substitute(each, b, transposed),
            Each::F64(each) => substitute(each, b, transposed),
        }
    }
}

fn factorise<T: RealField + Element>(a: &Tensor) -> Result<Vec<PartialPivLu<T>>> {
    let values = a.to_vec::<T>()?;
    let n = a.shape()[a.rank() - 1];
    let count = values.len() / (n * n).max(1);
    let name = |k: usize| if count == 1 { "the matrix".to_string() } else { format!("matrix {k} of {count}") };
    values
        .chunks_exact((n * n).max(1))
        .enumerate()
        .map(|(k, matrix)| {
            if matrix.iter().any(|v| !v.to_f64().is_finite()) {
                let message = format!("expected finite elements, got others in {} ({})", name(k), a.ty());
                return Err(Error::new(ErrorKind::Value, message));
            }
            COUNT.set(COUNT.get() + 1);
            let lu = PartialPivLu::new(MatRef::from_row_major_slice(matrix, n, n));
            if let Some(step) = singular_at(&lu, matrix, n) {
                let message =
                    format!("expected a matrix with an inverse, got a singular one: {} ({})", name(k), a.ty());
                let help = match step {
                    0 => "its first column is zero".to_string(),
                    _ => format!("column {step} is a sum of multiples of those before it, up to rounding"),
                };
                return Err(Error::new(ErrorKind::Value, message).with_help(help));
            }
            Ok(lu)
        })
        .collect()
}

/// The first pivot that is nothing but rounding errors: tiny compared with both its row and its column of the matrix, so
/// that a matrix which is only badly scaled passes.
fn singular_at<T: RealField + Element>(lu: &PartialPivLu<T>, matrix: &[T], n: usize) -> Option<usize> {
    let largest = |values: &mut dyn Iterator<Item = &T>| values.map(|v| v.to_f64().abs()).fold(0.0, f64::max);
    let rows = lu.P().arrays().0;
    let rounding = n as f64 * T::epsilon_impl().to_f64();
    (0..n).find(|&k| {
        let row = largest(&mut matrix[rows[k] * n..][..n].iter());
        let column = largest(&mut matrix[k..].iter().step_by(n));
        let pivot = lu.U()[(k, k)].to_f64().abs();
        // A pivot that is not a number is none.
        pivot.is_nan() || pivot <= rounding * f64::min(row, column)
    })
}

fn substitute<T: RealField + Element>(each: &[PartialPivLu<T>], b: &Tensor, transposed: bool) -> Result<Tensor> {
    let mut values = b.to_vec::<T>()?;
    let (n, k) = match b.shape() {
        [n] => (*n, 1),
        [.., n, k] => (*n, *k),
        [] => (1, 1),
    };
    for (lu, columns) in each.iter().zip(values.chunks_exact_mut(n * k)) {
        let columns = MatMut::from_row_major_slice_mut(columns, n, k);
        if transposed { lu.solve_transpose_in_place(columns) } else { lu.solve_in_place(columns) }
    }
    Tensor::from_slice(&values, b.shape())
}
