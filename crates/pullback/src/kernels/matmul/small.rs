//! Products of small matrices, alone or by the thousand.
//!
//! A tile of the result stays in registers while the loop runs over `k`. `a` is read element by element at any
//! steps; `b` is read in whole vectors, from a packed copy where its columns are not neighbours or end early.

use std::mem::MaybeUninit;
use std::ops::Range;

use fearless_simd::{Simd, SimdBase, SimdFloat};

use super::{Batch, Product, Real};
use crate::kernels::simd::wide;

/// How far the loop over `k` runs before the tile goes back to memory: a packed panel is at most 16 KB.
const DEPTH: usize = 128;
/// Elements of a packed row: two of the widest vectors.
const PANEL: usize = 32;

/// Products on this thread.
///
/// # Safety
/// The operands must be valid for reading and the results for writing, with the steps of the batch.
pub(super) unsafe fn products<T: Real>(batch: Batch<'_, T>, range: Range<usize>) {
    // Short vectors without a fused multiplication gain nothing here, and take as long to build.
    // SAFETY: the caller vouches for the operands.
    wide!(simd => unsafe { each::<_, T>(simd, batch, range) }, else unsafe {
        batch.each(range, |a, b, c| super::large(batch.product, a, b, c))
    })
}

#[inline(always)]
unsafe fn each<S: Simd, T: Real>(simd: S, batch: Batch<'_, T>, range: Range<usize>) {
    let p = batch.product;
    let mut packed = [MaybeUninit::<T>::uninit(); DEPTH * PANEL];
    // What lies beside a narrow panel is multiplied but not kept: it only has to be initialised.
    packed[..DEPTH.min(p.k) * PANEL].fill(MaybeUninit::new(T::ZERO));
    let packed = packed.as_mut_ptr().cast::<T>();
    batch.each(
        range,
        #[inline(always)]
        // SAFETY: as above.
        |a, b, c| unsafe { product::<S, T>(simd, p, a, b, c, packed) },
    );
}

#[inline(always)]
unsafe fn product<S: Simd, T: Real>(simd: S, p: Product, a: *const T, b: *const T, c: *mut T, packed: *mut T) {
    let len = T::Native::<S>::LEN;
    for start in (0..p.k).step_by(DEPTH) {
        let mut j = 0;
        while j < p.n {
            let left = p.n - j;
            let tile = Tile {
                k: DEPTH.min(p.k - start),
                a: a.wrapping_offset(start as isize * p.a[1]),
                a_steps: p.a,
                b: b.wrapping_offset(start as isize * p.b[0] + j as isize * p.b[1]),
                b_row: p.b[0],
                c: c.wrapping_add(j),
                c_row: p.c_row,
                width: left.min(2 * len),
                add: start > 0,
            };
            // SAFETY: the rows and columns of the parts lie inside the operands.
            unsafe {
                if left > len {
                    panel::<S, T, T::Native<S>, 2>(simd, p, tile, packed);
                } else if left > T::Half::<S>::LEN {
                    panel::<S, T, T::Native<S>, 1>(simd, p, tile, packed);
                } else if left > T::Quarter::<S>::LEN {
                    panel::<S, T, T::Half<S>, 1>(simd, p, tile, packed);
                } else {
                    panel::<S, T, T::Quarter<S>, 1>(simd, p, tile, packed);
                }
            }
            j += tile.width;
        }
    }
}

/// A panel of at most `N` vectors of columns of the result.
///
/// # Safety
/// The operands must be valid, and `packed` have room for the panel.
#[inline(always)]
unsafe fn panel<S: Simd, T: Real, V: SimdFloat<S, Element = T>, const N: usize>(
    simd: S,
    p: Product,
    mut tile: Tile<T>,
    packed: *mut T,
) {
    // SAFETY: the caller vouches for the operands; a packed panel has whole vectors.
    unsafe {
        if p.b[1] != 1 || tile.width != N * V::LEN {
            pack::<S, T>(simd, tile.b, p.b, tile.k, tile.width, N * V::LEN, packed);
            tile.b = packed;
            tile.b_row = (N * V::LEN) as isize;
        }
        column::<S, T, V, N>(simd, p.m, tile);
    }
}

/// Copies `k` rows of `width` elements to rows of `row` elements.
///
/// # Safety
/// The rows must be valid at these steps, and `packed` must have room for `k * row` elements.
#[inline(always)]
pub(crate) unsafe fn pack<S: Simd, T: Real>(
    simd: S,
    b: *const T,
    steps: [isize; 2],
    k: usize,
    width: usize,
    row: usize,
    packed: *mut T,
) {
    // SAFETY: `q < k`, `j < width <= row`.
    unsafe {
        if steps[1] == 1 {
            for q in 0..k {
                copy_short(place(b, steps, q, 0), packed.add(q * row), width);
            }
            return;
        }
        // Columns whose elements are neighbours are turned into rows square by square.
        let side = T::Quarter::<S>::LEN;
        let (mut squares, mut depth) = (0, 0);
        if steps[0] == 1 {
            (squares, depth) = (width / side * side, k / side * side);
            for j in (0..squares).step_by(side) {
                for q in (0..depth).step_by(side) {
                    transpose::<S, T>(simd, place(b, steps, q, j), steps[1], packed.add(q * row + j), row);
                }
            }
        }
        for j in 0..width {
            for q in if j < squares { depth } else { 0 }..k {
                *packed.add(q * row + j) = *place(b, steps, q, j);
            }
        }
    }
}

/// The address of an element of a matrix.
#[inline(always)]
fn place<T>(b: *const T, steps: [isize; 2], row: usize, column: usize) -> *const T {
    b.wrapping_offset(row as isize * steps[0] + column as isize * steps[1])
}

/// Copies a square of the side of a short vector, turning columns into rows.
///
/// # Safety
/// The square must be valid at both places.
#[inline(always)]
pub(crate) unsafe fn transpose<S: Simd, T: Real>(simd: S, from: *const T, step: isize, to: *mut T, row: usize) {
    // SAFETY: by the contract.
    unsafe {
        let mut columns = [T::Quarter::<S>::splat(simd, T::ZERO); 4];
        let columns = &mut columns[..T::Quarter::<S>::LEN];
        for (j, c) in columns.iter_mut().enumerate() {
            *c = load(simd, from.wrapping_offset(j as isize * step));
        }
        // Zipping each half with the other, as often as halving the side takes.
        match *columns {
            [a, b] => {
                store(a.zip_low(b), to);
                store(a.zip_high(b), to.add(row));
            }
            [a, b, c, d] => {
                let (ac, bd) = (a.zip_low(c), b.zip_low(d));
                store(ac.zip_low(bd), to);
                store(ac.zip_high(bd), to.add(row));
                let (ac, bd) = (a.zip_high(c), b.zip_high(d));
                store(ac.zip_low(bd), to.add(2 * row));
                store(ac.zip_high(bd), to.add(3 * row));
            }
            _ => unreachable!("a vector of 16 bytes has two or four elements"),
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
unsafe fn column<S: Simd, T: Real, V: SimdFloat<S, Element = T>, const N: usize>(simd: S, m: usize, whole: Tile<T>) {
    // As many rows as the registers hold: 32 of 64 bytes, or 16 shorter ones.
    let most = if size_of::<T::Native<S>>() == 64 || N == 1 { 12 } else { 6 };
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
                _ if left >= 12 && left != 16 && most >= 12 => tile::<S, T, V, 12, N>(simd, t),
                _ if left >= 8 && most >= 8 => tile::<S, T, V, 8, N>(simd, t),
                _ if left >= 6 => tile::<S, T, V, 6, N>(simd, t),
                _ if left >= 4 => tile::<S, T, V, 4, N>(simd, t),
                3 => tile::<S, T, V, 3, N>(simd, t),
                2 => tile::<S, T, V, 2, N>(simd, t),
                _ => tile::<S, T, V, 1, N>(simd, t),
            }
        };
    }
}

/// One tile of `R` rows of `N` vectors; gives `R` back.
///
/// # Safety
/// As for [`column`].
#[inline(always)]
unsafe fn tile<S: Simd, T: Real, V: SimdFloat<S, Element = T>, const R: usize, const N: usize>(
    simd: S,
    t: Tile<T>,
) -> usize {
    let len = V::LEN;
    // SAFETY: the caller vouches for whole vectors of `b`, and for `R` rows of `a` and `c`.
    unsafe {
        let zero = V::splat(simd, T::ZERO);
        let mut acc = [[zero; N]; R];
        let (mut a, mut b) = (t.a, t.b);
        for _ in 0..t.k {
            let mut row = [zero; N];
            for (v, r) in row.iter_mut().enumerate() {
                *r = load::<S, V>(simd, b.add(v * len));
            }
            for (i, acc) in acc.iter_mut().enumerate() {
                let x = V::splat(simd, *a.wrapping_offset(i as isize * t.a_steps[0]));
                for (s, &r) in acc.iter_mut().zip(&row) {
                    *s = x.mul_add(r, *s);
                }
            }
            a = a.wrapping_offset(t.a_steps[1]);
            b = b.wrapping_offset(t.b_row);
        }
        // The tile leaves by loops that the compiler unrolls, or it would live in memory all the time.
        if t.width == N * len && !t.add {
            for (i, acc) in acc.iter().enumerate() {
                for (v, s) in acc.iter().enumerate() {
                    store(*s, t.c.add(i * t.c_row + v * len));
                }
            }
        } else {
            let mut lines = [[MaybeUninit::<T>::uninit(); PANEL]; R];
            for (line, acc) in lines.iter_mut().zip(&acc) {
                for (v, s) in acc.iter().enumerate() {
                    store(*s, line.as_mut_ptr().add(v * len).cast::<T>());
                }
            }
            for (i, line) in lines.iter_mut().enumerate() {
                let (line, c) = (line.as_mut_ptr().cast::<T>(), t.c.add(i * t.c_row));
                if t.add {
                    for j in 0..t.width {
                        *line.add(j) += *c.add(j);
                    }
                }
                copy_short(line, c, t.width);
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
pub(crate) unsafe fn load<S: Simd, V: SimdBase<S>>(simd: S, from: *const V::Element) -> V {
    // SAFETY: by the contract.
    V::from_slice(simd, unsafe { std::slice::from_raw_parts(from, V::LEN) })
}

/// A vector to memory.
///
/// # Safety
/// A whole vector must be valid at `to`.
#[inline(always)]
pub(crate) unsafe fn store<S: Simd, V: SimdBase<S>>(v: V, to: *mut V::Element) {
    // SAFETY: by the contract.
    v.store_slice(unsafe { std::slice::from_raw_parts_mut(to, V::LEN) });
}
