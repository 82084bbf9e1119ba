//! Eigenvalues and singular values of batches of matrices.

use super::jacobi::{self, Singular};
use super::{Results, Scalar, Stop, each};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::shape::{Shape, numel};

/// Matrices above this size go to faer, where it is there. Below, rotations are as fast and more accurate.
#[cfg(feature = "linalg")]
const LARGE: usize = 24;

fn symmetric(n: usize, a: &[f64], vectors: bool) -> Option<(Vec<f64>, Vec<f64>)> {
    #[cfg(feature = "linalg")]
    if n > LARGE {
        return super::external::symmetric(n, a, vectors);
    }
    jacobi::symmetric(n, a, vectors)
}

fn singular(m: usize, n: usize, a: &[f64], vectors: bool, full: bool) -> Option<Singular> {
    #[cfg(feature = "linalg")]
    if m.min(n) > LARGE {
        return super::external::singular(m, n, a, vectors, full);
    }
    jacobi::singular(m, n, a, vectors, full)
}

/// Elements as `f64`.
fn doubles<T: Scalar>(x: &[T]) -> Vec<f64> {
    x.iter().map(|v| v.to_f64()).collect()
}

/// Writes rows as the columns of a matrix with `columns` of them.
fn as_columns<T: Scalar>(rows: &[f64], out: &mut [T], columns: usize) {
    let len = out.len().checked_div(columns).unwrap_or(0);
    for (j, row) in rows.chunks_exact(len.max(1)).take(columns).enumerate() {
        for (i, &v) in row.iter().enumerate() {
            out[i * columns + j] = T::from_f64(v);
        }
    }
}

/// The eigenvalues `[.., n]` of the symmetric parts of matrices, and the eigenvectors as columns if asked for. Matrices that are
/// not finite give NaN.
pub(crate) fn eigh<T: Scalar>(a: &Array, vectors: bool) -> Result<(Array, Array), Stop> {
    let a = contiguous(a);
    let n = a.shape()[a.rank() - 1];
    let lead = &a.shape()[..a.rank() - 2];
    let of = |core: &[usize]| lead.iter().chain(core).copied().collect::<Shape>();
    let mut values = Array::full(of(&[n]), <T as Element>::ZERO);
    let wide = if vectors { n } else { 0 };
    let mut columns = Array::full(of(&[n, wide]), <T as Element>::ZERO);
    let data = a.as_slice::<T>().unwrap_or_default();
    let (into, into_columns) = (Results::<T>::new(&mut values, n), Results::<T>::new(&mut columns, n * wide));
    each(numel(lead), 60 * n * n * n + 100, &|k| {
        let a = doubles(&data[k * n * n..(k + 1) * n * n]);
        let a: Vec<f64> = (0..n * n).map(|e| 0.5 * a[e] + 0.5 * a[e % n * n + e / n]).collect();
        // SAFETY: each matrix is written by one call.
        let (out, out_columns) = unsafe { (into.at(k), into_columns.at(k)) };
        if !a.iter().all(|v| v.is_finite()) {
            out.fill(T::NAN);
            out_columns.fill(T::NAN);
            return Ok(());
        }
        let (values, rows) = symmetric(n, &a, vectors).ok_or(0usize)?;
        out.iter_mut().zip(values).for_each(|(o, v)| *o = T::from_f64(v));
        as_columns(&rows, out_columns, wide);
        Ok(())
    })?;
    Ok((values, columns))
}

/// The left singular vectors of matrices as columns, the singular values, and the right ones as columns. Without `vectors` those have
/// no columns. Matrices that are not finite give NaN.
pub(crate) fn svd<T: Scalar>(a: &Array, vectors: bool, full: bool) -> Result<[Array; 3], Stop> {
    let a = contiguous(a);
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let k = m.min(n);
    let lead = &a.shape()[..a.rank() - 2];
    let of = |core: &[usize]| lead.iter().chain(core).copied().collect::<Shape>();
    let [of_left, of_right] = match (vectors, full) {
        (false, _) => [0, 0],
        (true, false) => [k, k],
        (true, true) => [m, n],
    };
    let mut left = Array::full(of(&[m, of_left]), <T as Element>::ZERO);
    let mut values = Array::full(of(&[k]), <T as Element>::ZERO);
    let mut right = Array::full(of(&[n, of_right]), <T as Element>::ZERO);
    let data = a.as_slice::<T>().unwrap_or_default();
    let into = Results::<T>::new(&mut values, k);
    let (into_left, into_right) =
        (Results::<T>::new(&mut left, m * of_left), Results::<T>::new(&mut right, n * of_right));
    each(numel(lead), 60 * m * n * k + 100, &|matrix| {
        let a = doubles(&data[matrix * m * n..(matrix + 1) * m * n]);
        // SAFETY: each matrix is written by one call.
        let (out, out_left, out_right) = unsafe { (into.at(matrix), into_left.at(matrix), into_right.at(matrix)) };
        if !a.iter().all(|v| v.is_finite()) {
            [out, out_left, out_right].into_iter().for_each(|o| o.fill(T::NAN));
            return Ok(());
        }
        let found = singular(m, n, &a, vectors, full).ok_or(0usize)?;
        out.iter_mut().zip(found.values).for_each(|(o, v)| *o = T::from_f64(v));
        as_columns(&found.left, out_left, of_left);
        as_columns(&found.right, out_right, of_right);
        Ok(())
    })?;
    Ok([left, values, right])
}
