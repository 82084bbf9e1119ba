//! Products of a matrix with a vector, and of a column with a row.

use std::ops::Range;

use fearless_simd::{Level, Simd, SimdBase, SimdFloat, dispatch};
use smallvec::SmallVec;

use super::small::{load, store};
use super::{Batch, Product, Real};
use crate::kernels::simd::vectorize;

/// A vector's elements side by side: as they lie, or copied.
///
/// # Safety
/// `n` elements must be valid at this step.
unsafe fn gather<T: Real>(x: *const T, n: usize, step: isize, copy: &mut SmallVec<[T; 64]>) -> *const T {
    if step == 1 {
        return x;
    }
    // SAFETY: `k < n`.
    copy.extend((0..n).map(|k| unsafe { *x.wrapping_offset(k as isize * step) }));
    copy.as_ptr()
}

/// Products with `m` or `n` equal to 1.
///
/// # Safety
/// The operands must be valid for reading and the results for writing, with the steps of the batch.
pub(super) unsafe fn products<T: Real>(batch: Batch<'_, T>, range: Range<usize>) {
    dispatch!(Level::new(), simd => {
        batch.each(
            range.clone(),
            #[inline(always)]
            // SAFETY: the caller vouches for the operands.
            |a, b, c| unsafe { product::<_, T>(simd, batch.product, a, b, c) },
        );
    });
}

#[inline(always)]
unsafe fn product<S: Simd, T: Real>(simd: S, p: Product, a: *const T, b: *const T, c: *mut T) {
    // As `result[rows] = matrix[rows, k] vector[k]`.
    let (matrix, rows, steps, vector, step) =
        if p.n == 1 { (a, p.m, p.a, b, p.b[0]) } else { (b, p.n, [p.b[1], p.b[0]], a, p.a[1]) };
    let mut copy = SmallVec::new();
    // SAFETY: the caller vouches for the operands.
    unsafe {
        let vector = gather(vector, p.k, step, &mut copy);
        if steps[1] == 1 {
            dots::<S, T>(simd, matrix, rows, p.k, steps[0], vector, c)
        } else if steps[0] == 1 {
            combine::<S, T>(simd, matrix, rows, p.k, steps[1], vector, c)
        } else {
            for i in 0..rows {
                let row = matrix.wrapping_offset(i as isize * steps[0]);
                let mut sums = [T::ZERO; 4];
                for q in 0..p.k {
                    sums[q % 4] += *row.wrapping_offset(q as isize * steps[1]) * *vector.add(q);
                }
                *c.add(i) = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            }
        }
    }
}

/// Each row times the vector, for rows whose elements are neighbours: four rows share the reads of the vector.
#[inline(always)]
unsafe fn dots<S: Simd, T: Real>(
    simd: S,
    matrix: *const T,
    rows: usize,
    k: usize,
    step: isize,
    vector: *const T,
    c: *mut T,
) {
    let mut i = 0;
    while i < rows {
        let row = matrix.wrapping_offset(i as isize * step);
        // SAFETY: as many rows as are left exist, and are ours.
        unsafe {
            if i + 4 <= rows {
                dot::<S, T, 4, 2>(simd, row, step, k, vector, c.add(i));
                i += 4;
            } else {
                dot::<S, T, 1, 4>(simd, row, step, k, vector, c.add(i));
                i += 1;
            }
        }
    }
}

/// `R` rows times the vector, `V` vectors at a time.
#[inline(always)]
unsafe fn dot<S: Simd, T: Real, const R: usize, const V: usize>(
    simd: S,
    row: *const T,
    step: isize,
    k: usize,
    vector: *const T,
    c: *mut T,
) {
    let len = T::Native::<S>::LEN;
    let zero = T::Native::<S>::splat(simd, T::ZERO);
    // SAFETY: every vector ends at or before element `k`.
    unsafe {
        let mut acc = [[zero; V]; R];
        let mut q = 0;
        while q + V * len <= k {
            for v in 0..V {
                let x: T::Native<S> = load(simd, vector.add(q + v * len));
                for (r, acc) in acc.iter_mut().enumerate() {
                    let y: T::Native<S> = load(simd, row.wrapping_offset(r as isize * step).add(q + v * len));
                    acc[v] = x.mul_add(y, acc[v]);
                }
            }
            q += V * len;
        }
        while q + len <= k {
            let x: T::Native<S> = load(simd, vector.add(q));
            for (r, acc) in acc.iter_mut().enumerate() {
                let y: T::Native<S> = load(simd, row.wrapping_offset(r as isize * step).add(q));
                acc[0] = x.mul_add(y, acc[0]);
            }
            q += len;
        }
        for (r, acc) in acc.iter().enumerate() {
            let mut sum = acc[0];
            for &s in &acc[1..] {
                sum += s;
            }
            let mut lanes = [T::ZERO; 16];
            sum.store_slice(&mut lanes[..len]);
            let mut half = len / 2;
            while half > 0 {
                for l in 0..half {
                    lanes[l] += lanes[l + half];
                }
                half /= 2;
            }
            let row = row.wrapping_offset(r as isize * step);
            let mut total = lanes[0];
            for q in q..k {
                total += *row.add(q) * *vector.add(q);
            }
            *c.add(r) = total;
        }
    }
}

/// The combination of columns whose elements are neighbours: a block of the result stays in registers.
#[inline(always)]
unsafe fn combine<S: Simd, T: Real>(
    simd: S,
    matrix: *const T,
    rows: usize,
    k: usize,
    step: isize,
    vector: *const T,
    c: *mut T,
) {
    const V: usize = 8;
    let len = T::Native::<S>::LEN;
    let zero = T::Native::<S>::splat(simd, T::ZERO);
    let mut i = 0;
    // SAFETY: blocks of the result end at or before `rows`.
    unsafe {
        while i + V * len <= rows {
            let mut acc = [zero; V];
            for q in 0..k {
                let column = matrix.wrapping_offset(q as isize * step).add(i);
                let x = T::Native::<S>::splat(simd, *vector.add(q));
                for (v, s) in acc.iter_mut().enumerate() {
                    let y: T::Native<S> = load(simd, column.add(v * len));
                    *s = x.mul_add(y, *s);
                }
            }
            for (v, s) in acc.iter().enumerate() {
                store(*s, c.add(i + v * len));
            }
            i += V * len;
        }
        while i + len <= rows {
            // Two chains hide some of the latency of the only vector.
            let mut acc = [zero; 2];
            for q in 0..k {
                let x = T::Native::<S>::splat(simd, *vector.add(q));
                let y: T::Native<S> = load(simd, matrix.wrapping_offset(q as isize * step).add(i));
                acc[q % 2] = x.mul_add(y, acc[q % 2]);
            }
            store(acc[0] + acc[1], c.add(i));
            i += len;
        }
        if i < rows {
            let mut acc = [T::ZERO; 16];
            let acc = &mut acc[..rows - i];
            for q in 0..k {
                let x = *vector.add(q);
                let column = matrix.wrapping_offset(q as isize * step).add(i);
                for (j, s) in acc.iter_mut().enumerate() {
                    *s += x * *column.add(j);
                }
            }
            for (j, &s) in acc.iter().enumerate() {
                *c.add(i + j) = s;
            }
        }
    }
}

/// Bytes from which results are written past the caches, which they would only flush.
const STREAM: usize = 16 << 20;

/// Products with `k` equal to 1: every element of the result is written once.
///
/// # Safety
/// As for [`products`].
pub(super) unsafe fn outers<T: Real>(batch: Batch<'_, T>, range: Range<usize>) {
    let p = batch.product;
    let stream = range.len() * p.m * p.n * size_of::<T>() >= STREAM && cfg!(all(target_arch = "x86_64", not(miri)));
    let mut copy = SmallVec::new();
    vectorize(
        #[inline(always)]
        || {
            batch.each(
                range.clone(),
                #[inline(always)]
                |a, b, c| {
                    copy.clear();
                    // SAFETY: the caller vouches for the operands; row `i` of the result is ours.
                    unsafe {
                        let row = std::slice::from_raw_parts(gather(b, p.n, p.b[1], &mut copy), p.n);
                        for i in 0..p.m {
                            let x = *a.wrapping_offset(i as isize * p.a[0]);
                            let to = c.add(i * p.c_row);
                            if stream {
                                write_past_caches(x, row, to);
                            } else {
                                for (j, &y) in row.iter().enumerate() {
                                    *to.add(j) = x * y;
                                }
                            }
                        }
                    }
                },
            );
        },
    );
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if stream {
        // SAFETY: every x86-64 machine has it. It orders the writes before whatever tells others of them.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
}

/// Writes `x * row`.
///
/// # Safety
/// As many elements as `row` has must be valid at `to`.
#[inline(always)]
unsafe fn write_past_caches<T: Real>(x: T, row: &[T], to: *mut T) {
    let side = 16 / size_of::<T>();
    let head = to.align_offset(16).min(row.len());
    let body = (row.len() - head) / side * side;
    // SAFETY: the three parts are parts of the row.
    unsafe {
        for j in (0..head).chain(head + body..row.len()) {
            *to.add(j) = x * row[j];
        }
        for j in (head..head + body).step_by(side) {
            let mut part = [T::ZERO; 4];
            for (l, p) in part[..side].iter_mut().enumerate() {
                *p = x * *row.get_unchecked(j + l);
            }
            #[cfg(target_arch = "x86_64")]
            std::arch::x86_64::_mm_stream_si128(
                to.add(j).cast(),
                part.as_ptr().cast::<std::arch::x86_64::__m128i>().read_unaligned(),
            );
            #[cfg(not(target_arch = "x86_64"))]
            std::ptr::copy_nonoverlapping(part.as_ptr(), to.add(j), side);
        }
    }
}
