//! Products whose left operand is not a matrix: its element of row `m` and column `k` lies at `rows[m] + cols[k]`. So lie the
//! elements that a kernel meets in an image, which need not be copied into columns then.
//!
//! The right operand and the result have their columns in *panels* of two vectors, one panel after the other; the last one
//! may be one vector wide. What lies beside the last column is computed, and is nobody's.

use fearless_simd::{Simd, SimdBase, SimdFloat};

use crate::kernels::matmul::{Real, load, pack, store, transpose};
use crate::kernels::simd::wide;

/// The number of rows is a multiple of this.
pub(super) const ROWS: usize = 4;
/// How far the sums run before they go to memory: a panel of this depth keeps to the second cache.
const DEPTH: usize = 512;

/// Elements of a vector on this machine, if vectors are worth it.
pub(super) fn vector_len<T: Real>() -> Option<usize> {
    wide!(simd => Some(len_of(simd, T::ZERO)), else None)
}

#[inline(always)]
fn len_of<S: Simd, T: Real>(_: S, _: T) -> usize {
    T::Native::<S>::LEN
}

/// `c[m, n] (+)= Σ_k a[rows[m] + cols[k]] b[k, n]` with columns in panels; `n` is a multiple of [`vector_len`].
///
/// # Safety
/// All of these elements of `a` must be valid, `b` and `c` have `n` columns, and the number of rows be a multiple of [`ROWS`].
pub(super) unsafe fn multiply<T: Real>(
    a: *const T,
    (rows, cols): (&[isize], &[isize]),
    b: *const T,
    n: usize,
    c: *mut T,
    add: bool,
) {
    // SAFETY: by the contract.
    wide!(simd => unsafe { panels::<_, T>(simd, a, (rows, cols), b, n, c, add) }, else unreachable!("asked for before"))
}

#[inline(always)]
unsafe fn panels<S: Simd, T: Real>(
    simd: S,
    a: *const T,
    (rows, cols): (&[isize], &[isize]),
    b: *const T,
    n: usize,
    c: *mut T,
    add: bool,
) {
    let len = T::Native::<S>::LEN;
    // As many rows as the registers hold, 32 of 64 bytes or 16 shorter ones, beside an element of `a` for each row.
    let most = if size_of::<T::Native<S>>() == 64 { 12 } else { 4 };
    for j in (0..n).step_by(2 * len) {
        let width = (n - j).min(2 * len);
        for start in (0..cols.len().max(1)).step_by(DEPTH) {
            let part = &cols[start..(start + DEPTH).min(cols.len())];
            let mut i = 0;
            while i < rows.len() {
                let left = rows.len() - i;
                // SAFETY: the panel has all rows of both; as many rows as are taken are left.
                unsafe {
                    let b = b.add(j * cols.len() + start * width);
                    let (rows, c) = (&rows[i..], c.add(j * rows.len() + i * width));
                    let add = add || start > 0;
                    i += match (width > len, left.min(most)) {
                        (true, 8..) => tile::<S, T, 8, 2>(simd, a, rows, part, b, c, add),
                        (true, _) => tile::<S, T, 4, 2>(simd, a, rows, part, b, c, add),
                        (false, 12..) => tile::<S, T, 12, 1>(simd, a, rows, part, b, c, add),
                        (false, 8..) => tile::<S, T, 8, 1>(simd, a, rows, part, b, c, add),
                        (false, _) => tile::<S, T, 4, 1>(simd, a, rows, part, b, c, add),
                    };
                }
            }
        }
    }
}

/// `R` rows of `N` vectors; gives `R` back.
///
/// # Safety
/// As for [`multiply`].
#[inline(always)]
unsafe fn tile<S: Simd, T: Real, const R: usize, const N: usize>(
    simd: S,
    a: *const T,
    rows: &[isize],
    cols: &[isize],
    mut b: *const T,
    c: *mut T,
    add: bool,
) -> usize {
    let len = T::Native::<S>::LEN;
    let zero = T::Native::<S>::splat(simd, T::ZERO);
    let mut acc = [[zero; N]; R];
    let starts: [*const T; R] = std::array::from_fn(|r| a.wrapping_offset(rows[r]));
    // SAFETY: by the contract.
    unsafe {
        for &k in cols {
            let mut row = [zero; N];
            for (v, r) in row.iter_mut().enumerate() {
                *r = load(simd, b.add(v * len));
            }
            for (start, acc) in starts.iter().zip(&mut acc) {
                let x = T::Native::<S>::splat(simd, *start.offset(k));
                for (s, &r) in acc.iter_mut().zip(&row) {
                    *s = x.mul_add(r, *s);
                }
            }
            b = b.add(N * len);
        }
        for (i, acc) in acc.iter().enumerate() {
            for (v, &s) in acc.iter().enumerate() {
                let to = c.add((i * N + v) * len);
                let before = if add { load(simd, to) } else { zero };
                store(before + s, to);
            }
        }
    }
    R
}

/// Copies rows `at..at + k` of an operand with `n` columns to their panels, of which there are `all` rows in `to`.
///
/// # Safety
/// The rows must be valid at these steps, and there must be room for the panels.
pub(super) unsafe fn pack_panels<T: Real>(
    from: *const T,
    steps: [isize; 2],
    (at, k, all): (usize, usize, usize),
    n: usize,
    to: *mut T,
) {
    // SAFETY: by the contract.
    wide!(simd => unsafe { pack_at::<_, T>(simd, from, steps, (at, k, all), n, to) }, else unreachable!("asked for before"))
}

#[inline(always)]
unsafe fn pack_at<S: Simd, T: Real>(
    simd: S,
    from: *const T,
    steps: [isize; 2],
    (at, k, all): (usize, usize, usize),
    n: usize,
    to: *mut T,
) {
    let len = T::Native::<S>::LEN;
    for j in (0..n).step_by(2 * len) {
        let (width, row) = ((n - j).min(2 * len), (n - j).next_multiple_of(len).min(2 * len));
        // SAFETY: the panel has all of its rows.
        unsafe {
            pack::<S, T>(
                simd,
                from.wrapping_offset(j as isize * steps[1]),
                steps,
                k,
                width,
                row,
                to.add(j * all + at * row),
            )
        };
    }
}

/// Writes a result in panels of `m` rows to where it belongs: row `i` of column `j` to `j * column + targets[i]`. Targets ascend.
///
/// # Safety
/// The panels must be valid, with `n` columns and at least as many rows as there are targets, and so must what is written.
pub(super) unsafe fn spread<T: Real>(c: *const T, m: usize, n: usize, to: *mut T, column: usize, targets: &[usize]) {
    // SAFETY: by the contract.
    wide!(simd => unsafe { spread_at::<_, T>(simd, c, m, n, to, column, targets) }, else unreachable!("asked for before"))
}

#[inline(always)]
unsafe fn spread_at<S: Simd, T: Real>(
    simd: S,
    c: *const T,
    m: usize,
    n: usize,
    to: *mut T,
    column: usize,
    targets: &[usize],
) {
    let (len, side) = (T::Native::<S>::LEN, T::Quarter::<S>::LEN);
    for j in (0..n).step_by(2 * len) {
        let (width, row) = ((n - j).min(2 * len), (n - j).next_multiple_of(len).min(2 * len));
        let squares = width / side * side;
        let mut i = 0;
        while i < targets.len() {
            // Rows whose elements are neighbours where they go: four squares fill a cache line.
            let ends = |n: usize| i + n <= targets.len() && targets[i + n - 1] - targets[i] == n - 1;
            let run = if ends(4 * side) {
                4 * side
            } else if ends(side) {
                side
            } else {
                1
            };
            // SAFETY: the run begins at row `i` and ends before the last one; columns `j` to `j + width` exist.
            unsafe {
                let (from, to) = (c.add(j * m + i * row), to.add(j * column + targets[i]));
                if run == 1 {
                    for k in 0..width {
                        *to.add(k * column) = *from.add(k);
                    }
                } else {
                    for k in (0..squares).step_by(side) {
                        for r in (0..run).step_by(side) {
                            let from = from.add(r * row + k);
                            transpose::<S, T>(simd, from, row as isize, to.add(k * column + r), column);
                        }
                    }
                    for k in squares..width {
                        for r in 0..run {
                            *to.add(k * column + r) = *from.add(r * row + k);
                        }
                    }
                }
            }
            i += run;
        }
    }
}
