//! Single elements along a dimension at the places of an index: read, or joined to others.
//!
//! An index is checked here, a block at a time while it is in the first cache, as reading it twice would take half of the time.
//! It is `i64`, and contiguous except for dims that are repeated.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::gather::{copy, copy_run, place};
use super::simd::vectorize;
use super::strided::{In, Loop, Nest, Out, output_words};
use super::threads::split;
use crate::array::Array;
use crate::dtype::Word;
use crate::shape::contiguous_strides;

/// Elements of an index that are checked before they are used.
const BLOCK: usize = 512;

/// Whether some of a few places along a dim of `size` count from the end; nothing if one is out of range.
#[inline(never)]
pub(super) fn look(values: &[i64], size: usize) -> Option<bool> {
    let size = size as i64;
    // The sign of either difference tells what is out of range; neither is hidden by an overflow, as `size` is positive.
    let (outside, negative) = vectorize(
        #[inline(always)]
        || {
            let (mut outside, mut negative) = (0, 0);
            for &i in values {
                outside |= i.wrapping_add(size) | (size - 1).wrapping_sub(i);
                negative |= i;
            }
            (outside, negative)
        },
    );
    (outside >= 0).then_some(negative < 0)
}

/// The blocks of a run of places, and what was found in each: the first number, the places, and the answer of [`look`].
///
/// # Safety
/// The places of the run must be valid, `step` apart, which is 1 or, for one that is repeated, 0.
#[inline(always)]
unsafe fn blocks<'a>(
    places: *const i64,
    step: isize,
    run: std::ops::Range<usize>,
    size: usize,
) -> impl Iterator<Item = (usize, usize, &'a [i64], Option<bool>)> {
    debug_assert!(step == 1 || step == 0);
    let end = run.end;
    run.step_by(BLOCK).map(move |start| {
        let n = BLOCK.min(end - start);
        let own = if step == 0 { 1 } else { n };
        // SAFETY: by the contract.
        let own = unsafe { std::slice::from_raw_parts(places.wrapping_offset(start as isize * step), own) };
        (start, n, own, look(own, size))
    })
}

/// `out[.., i, ..] = x[.., index[.., i, ..], ..]`, or nothing if a place is out of range.
pub(super) fn pick<T: Word>(x: &Array, dim: usize, index: &Array) -> Option<Array> {
    let (size, step) = (x.shape()[dim], x.strides()[dim]);
    let loops = |d: usize| Loop {
        size: index.shape()[d],
        steps: [if d == dim { 0 } else { x.strides()[d] }, index.strides()[d]],
    };
    let mut nest = Nest::new((0..x.rank()).map(loops));
    let run = nest.pop();
    let (from, places) = (In::<T>::words(x), In::<i64>::of(index));
    let bad = AtomicBool::new(false);
    let write = |out: Out<T>| {
        if index.numel() == 0 {
            return;
        }
        split(index.numel(), BLOCK, index.numel(), |range| {
            let (first, last) = (range.start / run.size, range.end.div_ceil(run.size));
            nest.walk(first..last, |i, [at, place_at]| {
                let base = i * run.size;
                let part = range.start.saturating_sub(base)..(range.end - base).min(run.size);
                // SAFETY: the elements of the index are those of the run; the place in the result is ours.
                let good = unsafe {
                    pick_run(from.at(at), places.at(place_at), run, part, [size as isize, step], out.at(base))
                };
                if !good {
                    bad.store(true, Relaxed);
                }
            });
        });
    };
    // SAFETY: every element of the result is written.
    let out = unsafe { output_words(index.to_shape(), x.dtype(), write) };
    (!bad.into_inner()).then_some(out)
}

/// Writes a part of a run of [`pick`], from elements along a dim of this size and step; zeros for blocks with a place that is out
/// of range, which are told by false.
///
/// # Safety
/// The run of places must be valid, and so must the elements at all places in range.
unsafe fn pick_run<T: Word>(
    x: *const T,
    places: *const i64,
    run: Loop<2>,
    part: std::ops::Range<usize>,
    [size, step]: [isize; 2],
    out: *mut T,
) -> bool {
    let [x_step, place_step] = run.steps;
    let mut good = true;
    // SAFETY: by the contract; places are used in blocks without one that is out of range.
    unsafe {
        for (start, n, own, found) in blocks(places, place_step, part, size as usize) {
            let (x, out) = (x.wrapping_offset(start as isize * x_step), out.add(start));
            match found {
                None => {
                    out.write_bytes(0, n);
                    good = false;
                }
                Some(_) if place_step == 0 => {
                    let x = x.wrapping_offset(place(own[0], size as usize) as isize * step);
                    copy_run(x, Loop { size: n, steps: [x_step] }, out);
                }
                Some(true) => {
                    for (k, &i) in own.iter().enumerate() {
                        *out.add(k) = *x.wrapping_offset(k as isize * x_step + place(i, size as usize) as isize * step);
                    }
                }
                Some(false) => {
                    for (k, &i) in own.iter().enumerate() {
                        *out.add(k) = *x.wrapping_offset(k as isize * x_step + i as isize * step);
                    }
                }
            }
        }
    }
    good
}

/// How a write joins: one name for all, so that [`put`] is compiled once.
#[inline(always)]
pub(super) fn newer<T>(_: T, new: T) -> T {
    new
}

/// A copy of `x` with each element of `src` joined to the one that the index names, or nothing if a place is out of range;
/// `src` has the shape of the index, or more.
pub(super) fn put<T: Word>(
    x: &Array,
    dim: usize,
    index: &Array,
    src: &Array,
    join: impl Fn(T, T) -> T + Sync,
) -> Option<Array> {
    let mut out = copy::<T>(x);
    if index.numel() == 0 {
        return Some(out);
    }
    let size = x.shape()[dim];
    let strides = contiguous_strides(x.shape());
    let loops = |dims: std::ops::Range<usize>| {
        Nest::new(dims.map(|d| Loop {
            size: index.shape()[d],
            steps: [if d == dim { 0 } else { strides[d] }, src.strides()[d], index.strides()[d]],
        }))
    };
    // Places differ in the dims before `dim` and in those after it, so that threads may share the former, and the last of the
    // latter, and every sum keeps its order.
    let (outer, mut inner) = (loops(0..dim), loops(dim..x.rank()));
    let run = inner.pop();
    let width = if run.steps[0] == 0 { 1 } else { run.size };
    let step = strides[dim];
    let (from, places) = (In::<T>::words(src), In::<i64>::of(index));
    let to = Out::new(out.as_mut_words::<T>().map_or(std::ptr::null_mut(), |s| s.as_mut_ptr()));
    let bad = AtomicBool::new(false);
    split(outer.len() * width, 16.min(width), index.numel() * 2, |range| {
        let (first, last) = (range.start / width, range.end.div_ceil(width));
        outer.walk(first..last, |o, base| {
            let part = if width == 1 {
                0..run.size
            } else {
                range.start.saturating_sub(o * width)..(range.end - o * width).min(width)
            };
            inner.walk(0..inner.len(), |_, more| {
                let [p, q, r]: [isize; 3] = std::array::from_fn(|k| base[k] + more[k]);
                // SAFETY: these are elements of the index and of `src`; threads write to different places.
                let good = unsafe {
                    let (to, from, places) = (to.at(p as usize), from.at(q), places.at(r));
                    put_run(to, from, places, run, part.clone(), [size as isize, step], &join)
                };
                if !good {
                    bad.store(true, Relaxed);
                }
            });
        });
    });
    (!bad.into_inner()).then_some(out)
}

/// Joins a part of a run of [`put`] to elements along a dim of this size and step; false if a place is out of range.
///
/// # Safety
/// The runs of places and sources must be valid, and so must the elements at all places in range, which nobody else may use.
#[inline(always)]
unsafe fn put_run<T: Word>(
    to: *mut T,
    from: *const T,
    places: *const i64,
    run: Loop<3>,
    part: std::ops::Range<usize>,
    [size, step]: [isize; 2],
    join: &impl Fn(T, T) -> T,
) -> bool {
    let [to_step, from_step, place_step] = run.steps;
    // SAFETY: by the contract; places are used in blocks without one that is out of range.
    unsafe {
        for (start, n, own, found) in blocks(places, place_step, part, size as usize) {
            let to = to.wrapping_offset(start as isize * to_step);
            let from = from.wrapping_offset(start as isize * from_step);
            match found {
                None => return false,
                // One place for the whole block.
                Some(_) if place_step == 0 => {
                    let to = to.wrapping_offset(place(own[0], size as usize) as isize * step);
                    join_run(to, from, n, [to_step, from_step], join);
                }
                Some(true) => {
                    for (k, &i) in own.iter().enumerate() {
                        let (k, i) = (k as isize, place(i, size as usize) as isize);
                        let to = to.wrapping_offset(k * to_step + i * step);
                        *to = join(*to, *from.wrapping_offset(k * from_step));
                    }
                }
                Some(false) => {
                    for (k, &i) in own.iter().enumerate() {
                        let (k, i) = (k as isize, i as isize);
                        let to = to.wrapping_offset(k * to_step + i * step);
                        *to = join(*to, *from.wrapping_offset(k * from_step));
                    }
                }
            }
        }
    }
    true
}

/// Joins elements in steps to others, one after the other.
///
/// # Safety
/// Every address on the way must be valid, and nobody else may use those of `to`.
#[inline(always)]
unsafe fn join_run<T: Copy>(to: *mut T, from: *const T, size: usize, steps: [isize; 2], join: &impl Fn(T, T) -> T) {
    // SAFETY: by the contract.
    unsafe {
        if steps == [1, 1] {
            for k in 0..size {
                *to.add(k) = join(*to.add(k), *from.add(k));
            }
        } else {
            for k in 0..size as isize {
                let to = to.wrapping_offset(k * steps[0]);
                *to = join(*to, *from.wrapping_offset(k * steps[1]));
            }
        }
    }
}
