//! Products of small matrices, alone or by the thousand.
//!
//! A tile of the result stays in registers while the loop runs over `k`. `a` is read element by element at any
//! steps; `b` is read in whole vectors, from a packed copy where its columns are not neighbours or end early.

use std::mem::MaybeUninit;

use fearless_simd::{Level, Simd, SimdBase, SimdFloat, dispatch};

use super::{Product, Real};

/// How far the loop over `k` runs before the tile goes back to memory: a packed panel is at most 16 KB.
const DEPTH: usize = 128;
/// Elements of a packed row: two of the widest vectors.
const PANEL: usize = 32;

/// One product on this thread.
///
/// # Safety
/// The operands must be valid for reading and the result for writing, with the steps of `p`.
pub(super) unsafe fn product<T: Real>(p: Product, a: *const T, b: *const T, c: *mut T) {
    // SAFETY: the caller vouches for the operands.
    dispatch!(Level::new(), simd => unsafe { blocked::<_, T>(simd, p, a, b, c) });
}

#[inline(always)]
unsafe fn blocked<S: Simd, T: Real>(simd: S, p: Product, a: *const T, b: *const T, c: *mut T) {
    let len = T::Native::<S>::LEN;
    let mut packed = [MaybeUninit::<T>::uninit(); DEPTH * PANEL];
    let packed = packed.as_mut_ptr().cast::<T>();
    for start in (0..p.k).step_by(DEPTH) {
        let k = DEPTH.min(p.k - start);
        let mut j = 0;
        while j < p.n {
            let vectors = if p.n - j > len { 2 } else { 1 };
            let width = (vectors * len).min(p.n - j);
            let from = b.wrapping_offset(start as isize * p.b[0] + j as isize * p.b[1]);
            let part = Tile {
                k,
                a: a.wrapping_offset(start as isize * p.a[1]),
                a_steps: p.a,
                b: packed,
                b_row: (vectors * len) as isize,
                c: c.wrapping_add(j),
                c_row: p.c_row,
                width,
                add: start > 0,
            };
            // SAFETY: the rows and columns of the parts lie inside the operands; a packed panel has `k` rows.
            unsafe {
                let part = if p.b[1] == 1 && width == vectors * len {
                    Tile { b: from, b_row: p.b[0], ..part }
                } else {
                    pack(from, p.b, k, width, vectors * len, packed);
                    part
                };
                if vectors == 2 { column::<S, T, 2>(simd, p.m, part) } else { column::<S, T, 1>(simd, p.m, part) }
            }
            j += width;
        }
    }
}

/// Copies `k` rows of `width` elements side by side, each filled up to `row` elements with zeros.
///
/// # Safety
/// The rows must be valid at these steps, and `packed` must have room for `k * row` elements.
#[inline(always)]
unsafe fn pack<T: Real>(b: *const T, steps: [isize; 2], k: usize, width: usize, row: usize, packed: *mut T) {
    // SAFETY: `q < k`, `j < width <= row`.
    unsafe {
        if width < row {
            for q in 0..k * row {
                *packed.add(q) = T::ZERO;
            }
        }
        if steps[1] == 1 {
            for q in 0..k {
                copy_short(b.wrapping_offset(q as isize * steps[0]), packed.add(q * row), width);
            }
        } else {
            for j in 0..width {
                let column = b.wrapping_offset(j as isize * steps[1]);
                for q in 0..k {
                    *packed.add(q * row + j) = *column.wrapping_offset(q as isize * steps[0]);
                }
            }
        }
    }
}

/// Copies fewer than 64 elements, by powers of two: a call of `memcpy` costs more than that.
///
/// # Safety
/// `n` elements must be valid at both addresses, without overlap.
#[inline(always)]
unsafe fn copy_short<T: Copy>(mut from: *const T, mut to: *mut T, n: usize) {
    macro_rules! step {
        ($($size:literal)*) => { $(
            if n & $size != 0 {
                // SAFETY: the binary digits of `n` add up to `n`.
                unsafe {
                    to.cast::<[T; $size]>().write_unaligned(from.cast::<[T; $size]>().read_unaligned());
                    from = from.add($size);
                    to = to.add($size);
                }
            }
        )* };
    }
    step!(32 16 8 4 2 1);
    let _ = (from, to);
}

/// A product whose result is a few rows of at most `PANEL` columns.
#[derive(Clone, Copy)]
struct Tile<T> {
    k: usize,
    a: *const T,
    a_steps: [isize; 2],
    b: *const T,
    b_row: isize,
    c: *mut T,
    c_row: usize,
    width: usize,
    /// Whether to add to what the result holds.
    add: bool,
}

/// All rows of one column of tiles.
///
/// # Safety
/// The operands must be valid; rows of `b` in whole vectors.
#[inline(always)]
unsafe fn column<S: Simd, T: Real, const V: usize>(simd: S, m: usize, whole: Tile<T>) {
    // As many rows as the registers hold: 32 of 64 bytes, or 16 shorter ones.
    let most = if size_of::<T::Native<S>>() == 64 || V == 1 { 12 } else { 6 };
    let mut i = 0;
    while i < m {
        let t = Tile {
            a: whole.a.wrapping_offset(i as isize * whole.a_steps[0]),
            c: whole.c.wrapping_add(i * whole.c_row),
            ..whole
        };
        let left = m - i;
        // SAFETY: rows `i` to `i + rows` exist.
        i += unsafe {
            match left {
                // 16 rows are two equal tiles rather than 12 and 4.
                _ if left >= 12 && left != 16 && most >= 12 => tile::<S, T, 12, V>(simd, t),
                _ if left >= 8 && most >= 8 => tile::<S, T, 8, V>(simd, t),
                _ if left >= 6 => tile::<S, T, 6, V>(simd, t),
                _ if left >= 4 => tile::<S, T, 4, V>(simd, t),
                3 => tile::<S, T, 3, V>(simd, t),
                2 => tile::<S, T, 2, V>(simd, t),
                _ => tile::<S, T, 1, V>(simd, t),
            }
        };
    }
}

/// One tile of `R` rows of `V` vectors; gives `R` back.
///
/// # Safety
/// As for [`column`].
#[inline(always)]
unsafe fn tile<S: Simd, T: Real, const R: usize, const V: usize>(simd: S, t: Tile<T>) -> usize {
    let len = T::Native::<S>::LEN;
    // SAFETY: the caller vouches for whole vectors of `b`, and for `R` rows of `a` and `c`.
    unsafe {
        let zero = T::Native::<S>::splat(simd, T::ZERO);
        let mut acc = [[zero; V]; R];
        let (mut a, mut b) = (t.a, t.b);
        for _ in 0..t.k {
            let mut row = [zero; V];
            for (v, r) in row.iter_mut().enumerate() {
                *r = load::<S, T>(simd, b.add(v * len));
            }
            for (i, acc) in acc.iter_mut().enumerate() {
                let x = T::Native::<S>::splat(simd, *a.wrapping_offset(i as isize * t.a_steps[0]));
                for (s, &r) in acc.iter_mut().zip(&row) {
                    *s = x.mul_add(r, *s);
                }
            }
            a = a.wrapping_offset(t.a_steps[1]);
            b = b.wrapping_offset(t.b_row);
        }
        let whole = t.width == V * len;
        for (i, acc) in acc.iter().enumerate() {
            let c = t.c.add(i * t.c_row);
            if whole {
                for (v, &s) in acc.iter().enumerate() {
                    let to = c.add(v * len);
                    let s = if t.add { s + load::<S, T>(simd, to) } else { s };
                    s.store_slice(std::slice::from_raw_parts_mut(to, len));
                }
            } else {
                let mut line = [T::ZERO; PANEL];
                for (v, &s) in acc.iter().enumerate() {
                    s.store_slice(&mut line[v * len..(v + 1) * len]);
                }
                if t.add {
                    for (j, x) in line[..t.width].iter_mut().enumerate() {
                        *x += *c.add(j);
                    }
                }
                copy_short(line.as_ptr(), c, t.width);
            }
        }
    }
    R
}

/// A vector from memory.
///
/// # Safety
/// A whole vector must be valid at `from`.
#[inline(always)]
unsafe fn load<S: Simd, T: Real>(simd: S, from: *const T) -> T::Native<S> {
    // SAFETY: by the contract.
    T::Native::<S>::from_slice(simd, unsafe { std::slice::from_raw_parts(from, T::Native::<S>::LEN) })
}
