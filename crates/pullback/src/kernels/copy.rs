//! Copies between strided arrays: gathering a view in row-major order, and writing into a part of a larger array.

use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use super::threads::{SendPtr, split};
use crate::array::Array;
use crate::dtype::{Word, any_word};

/// Calls a function of words with the one of the size of `T`, which is no more aligned than `T`.
macro_rules! by_size {
    ($t:ty, $f:ident($($arg:expr),*)) => {
        match size_of::<$t>() {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            8 if align_of::<$t>() < 8 => $f::<[u32; 2]>($($arg),*),
            8 => $f::<u64>($($arg),*),
            _ => $f::<[u64; 2]>($($arg),*),
        }
    };
}

/// Dimensions as (size, stride of each operand), outermost first.
pub(crate) type Layout<const K: usize> = SmallVec<[(usize, [isize; K]); 6]>;

/// Drops dimensions of size 1 and joins neighbours that are equally spaced in every operand, so that loops are few
/// and long. `strides` holds the strides of each operand for `shape`. A single element gives no dimensions.
pub(crate) fn collapse<const K: usize>(shape: &[usize], strides: [&[isize]; K]) -> Layout<K> {
    let mut out = Layout::new();
    for (d, &n) in shape.iter().enumerate() {
        if n == 1 {
            continue;
        }
        let here: [isize; K] = std::array::from_fn(|k| strides[k][d]);
        if let Some((size, outer)) = out.last_mut()
            && (0..K).all(|k| outer[k] == here[k] * n as isize)
        {
            *size *= n;
            *outer = here;
            continue;
        }
        out.push((n, here));
    }
    out
}

/// The array itself if its elements lie in row-major order, else a copy in which they do.
pub(crate) fn contiguous(x: &Array) -> Array {
    if x.is_contiguous() {
        return x.clone();
    }
    any_word!(x.dtype(), W => {
        // SAFETY: `copy_into` writes every element.
        unsafe { Array::build_words::<W>(x.shape(), x.dtype(), |out| copy_into(x, out)) }
    })
}

/// A row-major copy of elements that lie elsewhere.
///
/// # Safety
/// Every place `src + Σ iₖ·strideₖ` with indices within the shape must be valid for reading a `T`.
#[cfg(any(feature = "faer", feature = "nalgebra", feature = "ndarray"))]
pub(crate) unsafe fn from_strided<T: crate::Element>(src: *const T, shape: &[usize], strides: &[isize]) -> Array {
    // SAFETY: the caller's promise; every element is written.
    unsafe {
        Array::build::<T>(shape, |out| {
            if !out.is_empty() {
                gather_all(src, &collapse(shape, [strides]), out.as_mut_ptr().cast());
            }
        })
    }
}

/// Writes the elements of `x` to `out` in row-major order; `out` must have as many elements.
pub(crate) fn copy_into<T: Word>(x: &Array, out: &mut [MaybeUninit<T>]) {
    assert_eq!(x.numel(), out.len());
    if out.is_empty() {
        return;
    }
    let layout = collapse(x.shape(), [x.strides()]);
    // SAFETY: the layout is that of `x`, whose elements have the size of a `T`, and the lengths agree.
    unsafe { gather_all(x.start::<T>(), &layout, out.as_mut_ptr().cast()) }
}

/// Writes the elements of `x` to a region whose element `i` lies at `dst + Σ iₖ·strideₖ`.
///
/// # Safety
/// Every such place must be valid for writing a `T` and not be part of `x`, and no two may coincide.
pub(crate) unsafe fn copy_into_strided<T: Word>(x: &Array, dst: *mut T, dst_strides: &[isize]) {
    if x.numel() == 0 {
        return;
    }
    let layout = collapse(x.shape(), [x.strides(), dst_strides]);
    let src = x.start::<T>();
    // SAFETY: the caller's promise; elements of one size are copied alike.
    unsafe { by_size!(T, scatter(src.cast(), dst.cast(), &layout)) }
}

/// Recursion over the outer dimensions of [`copy_into_strided`], with a plain loop for the last.
unsafe fn scatter<W: Copy>(src: *const W, dst: *mut W, layout: &[(usize, [isize; 2])]) {
    // SAFETY: every pointer formed is inside the layout that the caller vouches for.
    unsafe {
        match layout {
            [] => *dst = *src,
            [(n, [1, 1])] => std::ptr::copy_nonoverlapping(src, dst, *n),
            [(n, [s, d])] => {
                for i in 0..*n as isize {
                    *dst.offset(i * d) = *src.offset(i * s);
                }
            }
            [(n, [s, d]), inner @ ..] => {
                for i in 0..*n as isize {
                    scatter(src.offset(i * s), dst.offset(i * d), inner);
                }
            }
        }
    }
}

/// Elements of a long row that a thread copies at least.
const PART: usize = 1 << 14;

/// Writes all elements of a layout to `out` in row-major order.
///
/// # Safety
/// The layout must describe valid elements from `src` on, and `out` must have room for them and not overlap them.
unsafe fn gather_all<T: Word>(src: *const T, layout: &[(usize, [isize; 1])], out: *mut T) {
    let n = layout.iter().map(|d| d.0).product::<usize>();
    let unit = layout.iter().position(|d| d.1 == [1]);
    // SAFETY: the caller's promise, and elements of one size are copied alike.
    unsafe {
        match unit {
            Some(k) if k + 1 < layout.len() && n >= 64 => {
                by_size!(T, transpose_all(src.cast(), layout, k, out.cast()))
            }
            _ => {
                let (src, out) = (SendPtr(src.cast_mut()), SendPtr(out));
                let row = layout.last().map_or(1, |d| d.0);
                split(n, row.clamp(1, PART), n / 4, |r: Range<usize>| {
                    // SAFETY: ranges are disjoint and inside the layout.
                    gather(src.get(), layout, r.start, out.get().add(r.start), r.len());
                });
            }
        }
    }
}

/// Writes `len` elements of a layout, from the `start`-th in row-major order on, to `out`.
///
/// # Safety
/// The layout must describe valid elements from `src` on, `start + len` of them or more, and `out` must have room for
/// `len` and not overlap them.
pub(crate) unsafe fn gather<T: Word>(
    src: *const T,
    layout: &[(usize, [isize; 1])],
    start: usize,
    out: *mut T,
    len: usize,
) {
    // SAFETY: as promised by the caller; elements of one size are copied alike.
    unsafe { by_size!(T, gather_words(src.cast(), layout, start, out.cast(), len)) }
}

unsafe fn gather_words<W: Copy>(
    src: *const W,
    layout: &[(usize, [isize; 1])],
    start: usize,
    mut out: *mut W,
    mut len: usize,
) {
    let Some((&(row, [step]), outer)) = layout.split_last() else {
        if len > 0 {
            // SAFETY: a layout without dimensions has one element.
            unsafe { *out = *src };
        }
        return;
    };
    // The index of the row that `start` lies in, and where that row begins.
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_elem(0, outer.len());
    let (mut rest, mut at) = (start / row, 0isize);
    for d in (0..outer.len()).rev() {
        index[d] = rest % outer[d].0;
        rest /= outer[d].0;
        at += index[d] as isize * outer[d].1[0];
    }
    let mut first = start % row;
    while len > 0 {
        let count = (row - first).min(len);
        // SAFETY: `count` elements of this row exist from `first` on, and `out` has room for `len ≥ count`.
        unsafe {
            let from = src.offset(at + first as isize * step);
            match step {
                // What is written too far is overwritten by the next row.
                0 if count < 16 && len >= 16 => out.cast::<[W; 16]>().write_unaligned([*from; 16]),
                _ if count < 16 => {
                    // Not worth a call; the places are computed from a pointer, which is cheaper than from an index.
                    let mut place = from;
                    for i in 0..count {
                        *out.add(i) = *place;
                        place = place.wrapping_offset(step);
                    }
                }
                1 => std::ptr::copy_nonoverlapping(from, out, count),
                0 => std::slice::from_raw_parts_mut(out.cast::<MaybeUninit<W>>(), count).fill(MaybeUninit::new(*from)),
                _ => {
                    for i in 0..count {
                        *out.add(i) = *from.offset(i as isize * step);
                    }
                }
            }
            out = out.add(count);
        }
        len -= count;
        first = 0;
        for d in (0..outer.len()).rev() {
            let (n, [s]) = outer[d];
            index[d] += 1;
            at += s;
            if index[d] < n {
                break;
            }
            at -= n as isize * s;
            index[d] = 0;
        }
    }
}

/// Side of the square tiles in which transposes are copied.
const TILE: usize = 16;

/// A full copy where dimension `unit`, not the last, has stride 1: tiles of it and of the last dimension, so that
/// both the reads and the writes of a tile stay within few cache lines.
unsafe fn transpose_all<W: Copy + Send + Sync>(
    src: *const W,
    layout: &[(usize, [isize; 1])],
    unit: usize,
    out: *mut W,
) {
    let rank = layout.len();
    let mut out_strides: SmallVec<[usize; 6]> = SmallVec::from_elem(1, rank);
    for d in (0..rank - 1).rev() {
        out_strides[d] = out_strides[d + 1] * layout[d + 1].0;
    }
    let (rows, row_step) = (layout[unit].0, out_strides[unit]);
    let (cols, [col_step]) = layout[rank - 1];
    let planes: usize = (0..rank - 1).filter(|&d| d != unit).map(|d| layout[d].0).product();
    let bands = rows.div_ceil(TILE);
    let (src, out) = (SendPtr(src.cast_mut()), SendPtr(out));
    split(planes * bands, 1, planes * rows * cols / 2, |range| {
        for k in range {
            let (mut plane, band) = (k / bands, k % bands);
            let (mut from, mut to) = (0isize, 0usize);
            for d in (0..rank - 1).rev().filter(|&d| d != unit) {
                let i = plane % layout[d].0;
                plane /= layout[d].0;
                from += i as isize * layout[d].1[0];
                to += i * out_strides[d];
            }
            let first = band * TILE;
            let height = TILE.min(rows - first);
            // SAFETY: all indices stay inside the layout and its row-major image, and the bands are disjoint.
            unsafe {
                let from = src.get().offset(from + first as isize);
                let to = out.get().add(to + first * row_step);
                for c in (0..cols).step_by(TILE) {
                    let width = TILE.min(cols - c);
                    let (from, to) = (from.offset(c as isize * col_step), to.add(c));
                    if height == TILE && width == TILE {
                        for i in 0..TILE {
                            for j in 0..TILE {
                                *to.add(i * row_step + j) = *from.offset(j as isize * col_step + i as isize);
                            }
                        }
                    } else {
                        for i in 0..height {
                            for j in 0..width {
                                *to.add(i * row_step + j) = *from.offset(j as isize * col_step + i as isize);
                            }
                        }
                    }
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_a_long_row() {
        let values: Vec<i32> = (0..600_001).collect();
        let tail = Array::from_slice([values.len()], &values).slice(0, 1, values.len() - 1, 1);
        let mut copy = Vec::with_capacity(values.len() - 1);
        copy_into::<i32>(&tail, &mut copy.spare_capacity_mut()[..values.len() - 1]);
        // SAFETY: `copy_into` writes every element.
        unsafe { copy.set_len(values.len() - 1) };
        assert_eq!(copy, values[1..]);
    }
}
