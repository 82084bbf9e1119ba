//! Systems with triangular matrices.

use super::{Part, Results, Scalar, Stack, Stop, each, leads, nanos, subtract_product};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::kernels::simd::vectorize;
use crate::shape::{Shape, numel};

/// Which triangle a matrix is read from, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Triangle {
    pub(crate) upper: bool,
    /// The system of the transposed matrix.
    pub(crate) transposed: bool,
    /// Ones are taken for the diagonal, which is not read.
    pub(crate) unit: bool,
}

/// Rows of a block.
const BLOCK: usize = 48;

/// The solutions of `a x = b` for matrices `[.., n, n]` and `[.., n, m]` whose leading dimensions broadcast. Stops at a zero on
/// a diagonal, or at one of at most `tiny` times the largest element of its column.
pub(crate) fn solve<T: Scalar>(a: &Array, b: &Array, triangle: Triangle, tiny: f64) -> Result<Array, Stop> {
    let whole = leads(a, 2, b, 2);
    let (a, b) = (contiguous(a), contiguous(b));
    let [n, m] = [b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]];
    let shape: Shape = whole.iter().copied().chain([n, m]).collect();
    let mut out = Array::full(&shape, <T as Element>::ZERO);
    let (of_a, of_b) = (Stack::<T>::new(&a, 2, &whole), Stack::<T>::new(&b, 2, &whole));
    let results = Results::<T>::new(&mut out, n * m);
    each(numel(&whole), nanos::<T>(n * n * m / 2), &|k| {
        let a = of_a.at(k);
        if let (false, Some(step)) = (triangle.unit, singular(n, a, triangle.upper, T::from_f64(tiny))) {
            return Err(step);
        }
        // SAFETY: each matrix is written by one call.
        let out = unsafe { results.at(k) };
        out.copy_from_slice(of_b.at(k));
        in_place(n, a, triangle, m, out);
        Ok(())
    })?;
    Ok(out)
}

/// The first step with nothing to divide by.
fn singular<T: Scalar>(n: usize, a: &[T], upper: bool, tiny: T) -> Option<usize> {
    (0..n).find(|&k| {
        let pivot = a[k * n + k].abs();
        let column = if upper { 0..k } else { k + 1..n };
        pivot == T::ZERO
            || (tiny > T::ZERO && {
                let largest = column.fold(T::ZERO, |m, i| if a[i * n + k].abs() > m { a[i * n + k].abs() } else { m });
                pivot <= tiny * largest
            })
    })
}

/// Replaces the rows of `x`, `m` elements each, by the solution.
pub(super) fn in_place<T: Scalar>(n: usize, a: &[T], triangle: Triangle, m: usize, x: &mut [T]) {
    let whole = Part { start: a.as_ptr(), steps: [n as isize, 1] };
    let whole = if triangle.transposed { whole.transposed() } else { whole };
    // SAFETY: the slices are a matrix of size `n` and as many rows.
    unsafe { substitute(n, whole, triangle.upper == triangle.transposed, triangle.unit, m, x.as_mut_ptr(), m) };
}

/// Solves for the `n` rows of `m` elements at `x`, `x_row` apart: the first row first if the matrix is `lower`.
///
/// # Safety
/// `a` must be valid as a matrix of size `n`, and `x` for that many rows.
pub(super) unsafe fn substitute<T: Scalar>(
    n: usize,
    a: Part<T>,
    lower: bool,
    unit: bool,
    m: usize,
    x: *mut T,
    x_row: usize,
) {
    let mut done = 0;
    while done < n {
        let len = BLOCK.min(n - done);
        // The rows of this block, and those that are known.
        let (start, known) = if lower { (done, 0) } else { (n - done - len, n - done) };
        // SAFETY: the rows and columns lie inside what the caller vouches for, and the blocks do not overlap.
        unsafe {
            let rows = x.add(start * x_row);
            if done > 0 {
                let b = Part { start: x.add(known * x_row).cast_const(), steps: [x_row as isize, 1] };
                subtract_product([len, done, m], rows, x_row, a.from(start, known), b);
            }
            let a = a.from(start, start);
            vectorize(
                #[inline(always)]
                || block(len, a, lower, unit, m, rows, x_row),
            );
        }
        done += len;
    }
}

/// [`substitute`] without blocks.
#[inline(always)]
unsafe fn block<T: Scalar>(n: usize, a: Part<T>, lower: bool, unit: bool, m: usize, x: *mut T, x_row: usize) {
    for step in 0..n {
        let i = if lower { step } else { n - 1 - step };
        // SAFETY: the caller of `substitute` vouches for `n` rows; row `i` is none of the others.
        unsafe {
            let row = std::slice::from_raw_parts_mut(x.add(i * x_row), m);
            let (from, to) = if lower { (0, i) } else { (i + 1, n) };
            for k in from..to {
                let factor = *a.from(i, k).start;
                let other = std::slice::from_raw_parts(x.add(k * x_row), m);
                for (v, &o) in row.iter_mut().zip(other) {
                    *v = (-factor).mul_add(o, *v);
                }
            }
            if !unit {
                let pivot = *a.from(i, i).start;
                row.iter_mut().for_each(|v| *v /= pivot);
            }
        }
    }
}
