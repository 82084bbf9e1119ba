//! Adjugates: what the derivative of a determinant is, without a division, so that it is right for singular matrices.

use std::ops::{Mul, Neg};

use num_complex::Complex64;

use super::complex::{over, rough};
use super::{Results, each, nanos};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::shape::{Shape, numel};

/// What determinants are made of.
pub(crate) trait Number: Element + Neg<Output = Self> + Mul<Output = Self> {
    /// What pivots are compared by.
    fn size(self) -> f64;
    /// `self / b`.
    fn over(self, b: Self) -> Self;
    /// `self + a b`.
    fn plus(self, a: Self, b: Self) -> Self;
}

macro_rules! real_number {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn size(self) -> f64 { f64::from(self.abs()) }
            #[inline(always)]
            fn over(self, b: $t) -> $t { self / b }
            #[inline(always)]
            fn plus(self, a: $t, b: $t) -> $t { a.mul_add(b, self) }
        }
    )* };
}
real_number!(f32, f64);

impl Number for Complex64 {
    #[inline(always)]
    fn size(self) -> f64 {
        rough(self)
    }
    #[inline(always)]
    fn over(self, b: Complex64) -> Complex64 {
        over(self, b)
    }
    #[inline(always)]
    fn plus(self, a: Complex64, b: Complex64) -> Complex64 {
        self + a * b
    }
}

/// The adjugates of the matrices in the last two dimensions.
pub(crate) fn adjugate<T: Number>(a: &Array) -> Array {
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
                    x[i * n + j] = x[i * n + j].plus(-factor, x[i * n + k]);
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
fn of_triangle<T: Number>(n: usize, u: &[T]) -> Vec<T> {
    let mut adjugate = vec![<T as Element>::ZERO; n * n];
    let mut determinant = <T as Element>::ONE;
    for k in 0..n {
        let pivot = u[k * n + k];
        for i in 0..k {
            let mut sum = <T as Element>::ZERO;
            for j in i..k {
                sum = sum.plus(adjugate[i * n + j], u[j * n + k]);
                adjugate[i * n + j] = adjugate[i * n + j] * pivot;
            }
            adjugate[i * n + k] = -sum;
        }
        adjugate[k * n + k] = determinant;
        determinant = determinant * pivot;
    }
    adjugate
}

/// For each matrix `[.., n, n]` the unit vectors `[.., n, k]` and `[.., k, n]` that border it such that the whole is regular if
/// its rank is at least `n - k`.
pub(crate) fn border<T: Number>(a: &Array, k: usize) -> (Array, Array) {
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

fn each_pivoted<T: Number>(a: &Array, f: &(dyn Fn(usize, Pivoted<'_, T>) + Sync)) {
    let a = contiguous(a);
    let n = a.shape()[a.rank() - 1];
    let data = a.as_slice::<T>().unwrap_or_default();
    let done = each(numel(&a.shape()[..a.rank() - 2]), nanos::<T>(2 * n * n * n), &|matrix| {
        let mut lu = data[matrix * n * n..(matrix + 1) * n * n].to_vec();
        let (mut rows, mut columns): (Vec<usize>, Vec<usize>) = ((0..n).collect(), (0..n).collect());
        let mut sign = <T as Element>::ONE;
        for k in 0..n {
            let (mut row, mut column, mut largest) = (k, k, 0.0);
            for i in k..n {
                for j in k..n {
                    let size = lu[i * n + j].size();
                    if size > largest {
                        (row, column, largest) = (i, j, size);
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
            if largest == 0.0 && !pivot.size().is_nan() {
                break;
            }
            for i in k + 1..n {
                let factor = lu[i * n + k].over(pivot);
                lu[i * n + k] = factor;
                for j in k + 1..n {
                    lu[i * n + j] = lu[i * n + j].plus(-factor, lu[k * n + j]);
                }
            }
        }
        f(matrix, Pivoted { n, lu: &lu, rows: &rows, columns: &columns, sign });
        Ok(())
    });
    debug_assert!(done.is_ok());
}
