//! Adjugates: what the derivative of a determinant is, without a division, so that it is right for singular matrices.

use super::{Results, Scalar, each, nanos};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::shape::{Shape, numel};

/// The adjugates of the matrices in the last two dimensions.
pub(crate) fn adjugate<T: Scalar>(a: &Array) -> Array {
    let mut out = Array::full(a.shape(), <T as Element>::ZERO);
    let n = a.shape()[a.rank() - 1];
    let results = Results::<T>::new(&mut out, n * n);
    each_pivoted::<T>(a, &|k, pivoted| {
        let Pivoted { n, lu, rows, columns, sign } = pivoted;
        let mut x = of_triangle(n, lu);
        // X L = adj(U), a column at a time, the last first.
        for j in (0..n).rev() {
            for k in j + 1..n {
                let factor = lu[k * n + j];
                for i in 0..n {
                    x[i * n + j] = (-factor).mul_add(x[i * n + k], x[i * n + j]);
                }
            }
        }
        // SAFETY: each matrix is written by one call.
        let out = unsafe { results.at(k) };
        for i in 0..n {
            for j in 0..n {
                out[columns[i] * n + rows[j]] = sign * x[i * n + j];
            }
        }
    });
    out
}

/// The adjugate of an upper triangle, from those of its leading parts.
fn of_triangle<T: Scalar>(n: usize, u: &[T]) -> Vec<T> {
    let mut adjugate = vec![<T as Element>::ZERO; n * n];
    let mut determinant = <T as Element>::ONE;
    for k in 0..n {
        let pivot = u[k * n + k];
        for i in 0..k {
            let mut sum = <T as Element>::ZERO;
            for j in i..k {
                sum = adjugate[i * n + j].mul_add(u[j * n + k], sum);
                adjugate[i * n + j] *= pivot;
            }
            adjugate[i * n + k] = -sum;
        }
        adjugate[k * n + k] = determinant;
        determinant *= pivot;
    }
    adjugate
}

/// For each matrix `[.., n, n]` the unit vectors `[.., n, k]` and `[.., k, n]` that border it such that the whole is regular if
/// its rank is at least `n - k`.
pub(crate) fn border<T: Scalar>(a: &Array, k: usize) -> (Array, Array) {
    let n = a.shape()[a.rank() - 1];
    let lead = &a.shape()[..a.rank() - 2];
    let shape = |r: usize, c: usize| lead.iter().copied().chain([r, c]).collect::<Shape>();
    let mut right = Array::full(shape(n, k), <T as Element>::ZERO);
    let mut below = Array::full(shape(k, n), <T as Element>::ZERO);
    let (of_right, of_below) = (Results::<T>::new(&mut right, n * k), Results::<T>::new(&mut below, n * k));
    each_pivoted::<T>(a, &|matrix, Pivoted { rows, columns, .. }| {
        // SAFETY: each matrix is written by one call.
        let (right, below) = unsafe { (of_right.at(matrix), of_below.at(matrix)) };
        for j in 0..k {
            right[rows[n - k + j] * k + j] = <T as Element>::ONE;
            below[j * n + columns[n - k + j]] = <T as Element>::ONE;
        }
    });
    (right, below)
}

/// A matrix after elimination with the largest pivot of all that is left: element `i, j` of the product is element
/// `rows[i], columns[j]` of the matrix.
struct Pivoted<'a, T> {
    n: usize,
    lu: &'a [T],
    rows: &'a [usize],
    columns: &'a [usize],
    sign: T,
}

fn each_pivoted<T: Scalar>(a: &Array, f: &(dyn Fn(usize, Pivoted<'_, T>) + Sync)) {
    let a = contiguous(a);
    let n = a.shape()[a.rank() - 1];
    let data = a.as_slice::<T>().unwrap_or_default();
    let done = each(numel(&a.shape()[..a.rank() - 2]), nanos::<T>(2 * n * n * n), &|matrix| {
        let mut lu = data[matrix * n * n..(matrix + 1) * n * n].to_vec();
        let (mut rows, mut columns): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (0..n).collect());
        let mut sign = <T as Element>::ONE;
        for k in 0..n {
            let (mut row, mut column, mut largest) = (k, k, <T as Element>::ZERO);
            for i in k..n {
                for j in k..n {
                    if lu[i * n + j].abs() > largest {
                        (row, column, largest) = (i, j, lu[i * n + j].abs());
                    }
                }
            }
            if row != k {
                rows.swap(row, k);
                sign = -sign;
                (0..n).for_each(|j| lu.swap(row * n + j, k * n + j));
            }
            if column != k {
                columns.swap(column, k);
                sign = -sign;
                (0..n).for_each(|i| lu.swap(i * n + column, i * n + k));
            }
            let pivot = lu[k * n + k];
            if largest == <T as Element>::ZERO && !pivot.is_nan() {
                break;
            }
            for i in k + 1..n {
                let factor = lu[i * n + k] / pivot;
                lu[i * n + k] = factor;
                for j in k + 1..n {
                    lu[i * n + j] = (-factor).mul_add(lu[k * n + j], lu[i * n + j]);
                }
            }
        }
        f(matrix, Pivoted { n, lu: &lu, rows: &rows, columns: &columns, sign });
        Ok(())
    });
    debug_assert!(done.is_ok());
}
