//! Cholesky factors of symmetric positive definite matrices.

use super::lanes::{self, LARGEST, Lanes};
use super::{Part, Results, Scalar, Stop, each, nanos, ranges, subtract_product};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::kernels::simd::vectorize;
use crate::shape::numel;

/// The columns of a block.
const BLOCK: usize = 48;

/// The lower factors of the symmetric parts of the matrices in the last two dimensions.
pub(crate) fn cholesky<T: Scalar>(a: &Array) -> Result<Array, Stop> {
    let a = contiguous(a);
    let n = a.shape()[a.rank() - 1];
    let count = numel(&a.shape()[..a.rank() - 2]);
    let mut out = Array::full(a.shape(), <T as Element>::ZERO);
    if n == 0 || count == 0 {
        return Ok(out);
    }
    let data = a.as_slice::<T>().unwrap_or_default();
    let results = Results::<T>::new(&mut out, n * n);
    let work = nanos::<T>(n * n * n / 3);
    if goes_in_lanes::<T>(n, count) {
        if size_of::<T>() == 4 {
            in_lanes::<T, 16>(n, count, work, &|range, scratch| {
                let (start, len) = (range.start * n * n, range.len());
                // SAFETY: the matrices of the range are ours, and lie one after the other.
                let out = unsafe { std::slice::from_raw_parts_mut(results.at(range.start).as_mut_ptr(), len * n * n) };
                lanes::cholesky::<T, 16>(n, &data[start..start + len * n * n], out, scratch)
            })?;
        } else {
            in_lanes::<T, 8>(n, count, work, &|range, scratch| {
                let (start, len) = (range.start * n * n, range.len());
                // SAFETY: as above.
                let out = unsafe { std::slice::from_raw_parts_mut(results.at(range.start).as_mut_ptr(), len * n * n) };
                lanes::cholesky::<T, 8>(n, &data[start..start + len * n * n], out, scratch)
            })?;
        }
        return Ok(out);
    }
    each(count, work, &|k| {
        // SAFETY: each matrix is written by one call.
        let out = unsafe { results.at(k) };
        let a = &data[k * n * n..(k + 1) * n * n];
        for i in 0..n {
            for j in 0..=i {
                out[i * n + j] = T::HALF * a[i * n + j] + T::HALF * a[j * n + i];
            }
        }
        blocked(n, out)
    })?;
    Ok(out)
}

/// Whether matrices of this size, so many of them, are better taken several at a time.
fn goes_in_lanes<T>(n: usize, count: usize) -> bool {
    n <= 8 || (n <= LARGEST && 2 * count * size_of::<T>() >= 64)
}

/// Calls `f` on groups of up to `W` matrices with memory to work in.
fn in_lanes<T: Scalar, const W: usize>(
    n: usize,
    count: usize,
    work: usize,
    f: &(dyn Fn(std::ops::Range<usize>, &mut Vec<Lanes<T, W>>) -> Option<(usize, usize)> + Sync),
) -> Result<(), Stop> {
    ranges(count, W, work / 4 + n, &|range| {
        let (mut scratch, mut first) = (Vec::new(), None);
        for start in range.clone().step_by(W) {
            if let Some((lane, step)) = f(start..range.end.min(start + W), &mut scratch) {
                first.get_or_insert(Stop { matrix: start + lane, step });
            }
        }
        first
    })
}

/// Factors the lower triangle of one matrix in place: a block of columns at a time, the rest by matrix products.
fn blocked<T: Scalar>(n: usize, a: &mut [T]) -> Result<(), usize> {
    for start in (0..n).step_by(BLOCK) {
        let end = n.min(start + BLOCK);
        let failed = vectorize(
            #[inline(always)]
            || panel(n, a, start, end),
        );
        if let Some(step) = failed {
            return Err(step);
        }
        let base = a.as_mut_ptr();
        // The triangle that is left, in blocks of columns so that little of the other half is computed.
        for column in (end..n).step_by(2 * BLOCK) {
            let width = (2 * BLOCK).min(n - column);
            let left = Part { start: base.cast_const(), steps: [n as isize, 1] };
            // SAFETY: rows from `column` on, columns of the panel and of the block; they do not overlap.
            unsafe {
                subtract_product(
                    [n - column, end - start, width],
                    base.add(column * n + column),
                    n,
                    left.from(column, start),
                    left.from(column, start).transposed(),
                );
            }
        }
    }
    for i in 0..n {
        a[i * n + i + 1..(i + 1) * n].fill(<T as Element>::ZERO);
    }
    Ok(())
}

/// Columns `start..end` from the diagonal down, from which earlier ones have been subtracted.
#[inline(always)]
fn panel<T: Scalar>(n: usize, a: &mut [T], start: usize, end: usize) -> Option<usize> {
    // The transposed panel of finished columns, so that the loops run along rows.
    for j in start..end {
        let pivot = a[j * n + j];
        if pivot <= T::ZERO {
            return Some(j);
        }
        let root = pivot.sqrt();
        a[j * n + j] = root;
        let mut column = [T::ZERO; BLOCK];
        for i in j + 1..end {
            let v = a[i * n + j] / root;
            a[i * n + j] = v;
            column[i - start] = v;
        }
        for i in j + 1..n {
            let factor = if i < end { column[i - start] } else { a[i * n + j] / root };
            a[i * n + j] = factor;
            let row = &mut a[i * n + j + 1..i * n + end.min(i + 1)];
            for (v, &c) in row.iter_mut().zip(&column[j + 1 - start..]) {
                *v = (-factor).mul_add(c, *v);
            }
        }
    }
    None
}

/// The cotangents of matrices of size up to [`LARGEST`] from those of their factors; see [`lanes::cholesky_pullback`].
/// `None` for larger ones, which are better made of products and triangular solutions.
pub(crate) fn pullback<T: Scalar>(l: &Array, g: &Array) -> Option<Array> {
    let n = l.shape()[l.rank() - 1];
    if n > LARGEST {
        return None;
    }
    let (l, g) = (contiguous(l), contiguous(g));
    let mut out = Array::full(l.shape(), <T as Element>::ZERO);
    let count = numel(&l.shape()[..l.rank() - 2]);
    if n == 0 || count == 0 {
        return Some(out);
    }
    let (l, g) = (l.as_slice::<T>().unwrap_or_default(), g.as_slice::<T>().unwrap_or_default());
    let results = Results::<T>::new(&mut out, n * n);
    let work = nanos::<T>(4 * n * n * n / 3);
    let part = |range: &std::ops::Range<usize>| (range.start * n * n, range.len() * n * n);
    let done = if size_of::<T>() == 4 {
        in_lanes::<T, 16>(n, count, work, &|range, scratch| {
            let (start, len) = part(&range);
            // SAFETY: the matrices of the range are ours, and lie one after the other.
            let out = unsafe { std::slice::from_raw_parts_mut(results.at(range.start).as_mut_ptr(), len) };
            lanes::cholesky_pullback::<T, 16>(n, &l[start..start + len], &g[start..start + len], out, scratch);
            None
        })
    } else {
        in_lanes::<T, 8>(n, count, work, &|range, scratch| {
            let (start, len) = part(&range);
            // SAFETY: as above.
            let out = unsafe { std::slice::from_raw_parts_mut(results.at(range.start).as_mut_ptr(), len) };
            lanes::cholesky_pullback::<T, 8>(n, &l[start..start + len], &g[start..start + len], out, scratch);
            None
        })
    };
    done.ok().map(|()| out)
}
