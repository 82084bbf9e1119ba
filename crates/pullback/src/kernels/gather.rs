//! Reading and writing along a dimension at places that an index tensor gives.
//!
//! Negative indices count from the end. Where several indices name one place, sources are taken in row-major order
//! of the index, so that sums are the same bit for bit and the last of several writes stays.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::complex;
use super::copy::{contiguous, copy_into};
use super::elements::{look, newer, pick, put};
use super::reduce::Number;
use super::strided::{In, Loop, Nest, Out, output_words};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Word, any_word, dispatch};
use crate::shape::{Brackets, Shape, Strides, contiguous_strides};
use crate::{DType, Result, error::bail};

/// The slices of `x` along `dim` at the places of `index`, whose dims take the place of `dim`.
///
/// The first `batch` dims of `x` and `index` are the same ones: every slice of `x` along them has an index of its own.
pub(crate) fn index_select(x: &Array, batch: usize, dim: usize, index: &Array) -> Result<Array> {
    let index = contiguous(&check("index_select", x, dim, index)?);
    let own = index.shape()[batch..].iter();
    let shape: Shape = x.shape()[..dim].iter().chain(own).chain(&x.shape()[dim + 1..]).copied().collect();
    crate::tensor::checked_numel("index_select", &shape)?;
    Ok(any_word!(x.dtype(), W => select::<W>(x, batch, dim, &index)))
}

/// `out[.., i, ..] = x[.., index[.., i, ..], ..]`; the shape of `index`, which is no larger than `x` except in `dim`.
pub(crate) fn gather(x: &Array, dim: usize, index: &Array) -> Result<Array> {
    let places = compact("gather", index)?;
    found("gather", x, dim, index, any_word!(x.dtype(), W => pick::<W>(x, dim, &places)))
}

/// The transpose of [`scatter`] in `src`: as [`gather`], with zeros where a later element of `index` names the same
/// place.
pub(crate) fn gather_last(x: &Array, dim: usize, index: &Array) -> Result<Array> {
    let mut out = gather(x, dim, index)?;
    let index = compact("gather", index)?;
    let order: Vec<i64> = (0..index.numel() as i64).collect();
    let order = Array::from_slice(index.to_shape(), &order);
    let mut shape = index.to_shape();
    shape[dim] = x.shape()[dim];
    let last = put::<i64>(&Array::full(shape, -1i64), dim, &index, &order, newer);
    let last = last.and_then(|last| pick::<i64>(&last, dim, &index));
    let last = found("gather", x, dim, &index, last)?;
    any_word!(x.dtype(), W => {
        let values = out.as_mut_words::<W>().unwrap_or_default().iter_mut();
        for ((value, last), own) in values.zip(places(&last)).zip(places(&order)) {
            if last != own {
                // SAFETY: bytes of zeros are zero in every dtype.
                *value = unsafe { std::mem::zeroed() };
            }
        }
    });
    Ok(out)
}

/// A copy of `x` with `out[.., index[.., i, ..], ..] = src[.., i, ..]`; the last of several writes stays.
pub(crate) fn scatter(x: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    let places = compact("scatter", index)?;
    assert_eq!(x.dtype(), src.dtype());
    found("scatter", x, dim, index, any_word!(x.dtype(), W => put::<W>(x, dim, &places, src, newer)))
}

/// A copy of `x` with `out[.., index[.., i, ..], ..] += src[.., i, ..]`.
pub(crate) fn scatter_add(x: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    if x.dtype().is_complex() {
        return complex::by_parts([x, src], |[x, src]| scatter_add(x, dim, index, src));
    }
    let op = "scatter_add";
    let places = compact(op, index)?;
    let out = dispatch!(x.dtype(), "scatter_add", number, T => Ok(put::<T>(x, dim, &places, src, T::plus)))?;
    found(op, x, dim, index, out)
}

/// A copy of `x` to whose slices along `dim` at the places of `index` those of `src` are added; dims as in
/// [`index_select`], `src` being its result.
pub(crate) fn index_add(x: &Array, batch: usize, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    if x.dtype().is_complex() {
        return complex::by_parts([x, src], |[x, src]| index_add(x, batch, dim, index, src));
    }
    let index = contiguous(&check("index_add", x, dim, index)?);
    dispatch!(x.dtype(), "index_add", number, T => Ok(add_slices::<T>(x, batch, dim, &index, src)))
}

/// An index out of range: its value, and its place in the index tensor.
pub(crate) struct OutOfRange {
    pub(crate) value: i64,
    pub(crate) position: Shape,
}

/// The index as `i64`, every element of which is a place along a dim of `size`. What was repeated stays repeated, all
/// else is contiguous.
pub(crate) fn checked(op: &str, index: &Array, size: usize) -> Result<std::result::Result<Array, OutOfRange>> {
    let signed = size as i64;
    valid(op, index, |values| look(values, size).is_none(), |i| (-signed <= i) & (i < signed))
}

/// The index as `i64` if every element is below `size`.
pub(crate) fn below(op: &str, index: &Array, size: usize) -> Result<std::result::Result<Array, OutOfRange>> {
    let size = size as i64;
    valid(op, index, |values| values.iter().any(|&i| i >= size), |i| i < size)
}

/// The places along a dim of `size` of the elements of slices of `len` from each of `starts` on, as one more dim.
pub(crate) fn ranges(
    op: &str,
    starts: &Array,
    size: usize,
    len: usize,
) -> Result<std::result::Result<Array, OutOfRange>> {
    let last = size.checked_sub(len).map_or(-1, |last| last as i64);
    let first = |i: i64| if i < 0 { i + size as i64 } else { i };
    let good = |i| (0..=last).contains(&first(i));
    let starts = match valid(op, starts, |values| !values.iter().all(|&i| good(i)), good)? {
        Ok(starts) => contiguous(&starts),
        Err(found) => return Ok(Err(found)),
    };
    let places: Vec<i64> = places(&starts).iter().flat_map(|&i| (0..len as i64).map(move |k| first(i) + k)).collect();
    let mut shape = starts.to_shape();
    shape.push(len);
    Ok(Ok(Array::from_slice(shape, &places)))
}

/// The index as `i64` if every element is good, and else the first that is not; `some_bad` tells quickly whether there is
/// one. What was repeated stays repeated, all else is contiguous.
#[inline(always)]
fn valid(
    op: &str,
    index: &Array,
    some_bad: impl Fn(&[i64]) -> bool + Sync,
    good: impl Fn(i64) -> bool,
) -> Result<std::result::Result<Array, OutOfRange>> {
    let index = compact(op, index)?;
    let compact = once(&index);
    let values = places(&compact);
    let bad = AtomicBool::new(false);
    split(values.len(), 1, values.len() / 2, |range| {
        if some_bad(&values[range]) {
            bad.store(true, Relaxed);
        }
    });
    if bad.into_inner() {
        let k = values.iter().position(|&i| !good(i)).unwrap_or(0);
        let mut rest = k;
        let mut position = Shape::from_elem(0, compact.rank());
        for (p, &n) in position.iter_mut().zip(compact.shape()).rev() {
            *p = rest % n;
            rest /= n;
        }
        return Ok(Err(OutOfRange { value: values[k], position }));
    }
    Ok(Ok(index))
}

/// The index as `i64`, not checked. What was repeated stays repeated, all else is contiguous.
pub(super) fn compact(op: &str, index: &Array) -> Result<Array> {
    let compact = contiguous(&once(index));
    let compact = match index.dtype() {
        DType::I64 => compact,
        DType::I32 => super::cast::cast(&compact, DType::I64),
        other => {
            bail!(Dtype, "{op}: expected an index of dtype i64 or i32, got {other}"; help = "convert it with `to_dtype`")
        }
    };
    Ok(if compact.shape() == index.shape() { compact } else { compact.expand(index.shape()) })
}

/// The array without its repetitions.
fn once(x: &Array) -> Array {
    let mut once = x.clone();
    for d in 0..x.rank() {
        if x.strides()[d] == 0 && x.shape()[d] > 1 {
            once = once.slice(d, 0, 1, 1);
        }
    }
    once
}

/// What a kernel that checks the index itself has made, or the error that names a place out of range.
pub(super) fn found(op: &str, x: &Array, dim: usize, index: &Array, out: Option<Array>) -> Result<Array> {
    match out {
        Some(out) => Ok(out),
        None => {
            check(op, x, dim, index)?;
            bail!(Internal, "{op}: a good index of {} was refused", x.ty())
        }
    }
}

pub(super) fn check(op: &str, x: &Array, dim: usize, index: &Array) -> Result<Array> {
    match checked(op, index, x.shape()[dim])? {
        Ok(index) => Ok(index),
        Err(OutOfRange { value, position }) => {
            let size = x.shape()[dim];
            let ty = x.ty();
            let at = if position.is_empty() { String::new() } else { format!(" at position {}", Brackets(&position)) };
            bail!(Index, "{op}: index {value}{at} is out of range for dim {dim} of {ty}, which has size {size}")
        }
    }
}

/// The values of a checked index.
pub(super) fn places(index: &Array) -> &[i64] {
    index.as_slice::<i64>().unwrap_or(&[])
}

/// A checked index as a place from the start.
#[inline(always)]
pub(super) fn place(index: i64, size: usize) -> usize {
    (if index < 0 { index + size as i64 } else { index }) as usize
}

/// A fresh contiguous copy.
pub(super) fn copy<W: Word>(x: &Array) -> Array {
    // SAFETY: `copy_into` writes every element.
    unsafe { Array::build_words(x.shape(), x.dtype(), |out: &mut [MaybeUninit<W>]| copy_into(x, out)) }
}

fn select<T: Word>(x: &Array, batch: usize, dim: usize, index: &Array) -> Array {
    let all = places(index);
    let mut shape = Shape::from_slice(&x.shape()[..dim]);
    shape.extend_from_slice(&index.shape()[batch..]);
    shape.extend_from_slice(&x.shape()[dim + 1..]);
    let count: usize = index.shape()[batch..].iter().product();
    // How many of the outer passes share an index.
    let sharing: usize = x.shape()[batch..dim].iter().product();
    let outer = Nest::over(0..dim, x.shape(), [x.strides()]);
    let mut inner = Nest::over(dim + 1..x.rank(), x.shape(), [x.strides()]);
    let slice = inner.len();
    let run = inner.pop();
    let (size, step) = (x.shape()[dim], x.strides()[dim]);
    let from = In::<T>::words(x);
    let write = |out: Out<T>| {
        if shape.contains(&0) {
            return;
        }
        let units = outer.len() * count;
        split(units, 1, units * (5 + slice * size_of::<T>() / 16), |range| {
            let (first, last) = (range.start / count, range.end.div_ceil(count));
            outer.walk(first..last, |o, [at]| {
                let base = o * count;
                let low = range.start.saturating_sub(base);
                let high = (range.end - base).min(count);
                let places = (low..).zip(&all[o / sharing * count..][low..high]);
                let (size, step, out) = (size, step, out);
                let slice_at = move |i: i64| at + place(i, size) as isize * step;
                // SAFETY: the index was checked, so these are slices of `x`; their places in the result are ours.
                unsafe {
                    if slice == 1 {
                        for (l, &i) in places {
                            *out.at(base + l) = *from.at(slice_at(i));
                        }
                    } else if inner.loops.is_empty() {
                        for (l, &i) in places {
                            copy_run(from.at(slice_at(i)), run, out.at((base + l) * slice));
                        }
                    } else {
                        for (l, &i) in places {
                            inner.walk(0..inner.len(), |q, [more]| {
                                let to = (base + l) * slice + q * run.size;
                                copy_run(from.at(slice_at(i) + more), run, out.at(to));
                            });
                        }
                    }
                }
            });
        });
    };
    // SAFETY: every slice of the result is written.
    unsafe { output_words(shape.clone(), x.dtype(), write) }
}

/// Copies elements in steps to neighbouring places.
///
/// # Safety
/// Every address on the way must be valid, and the two ways must not overlap.
#[inline(always)]
pub(super) unsafe fn copy_run<T: Copy>(from: *const T, run: Loop<1>, to: *mut T) {
    // SAFETY: by the contract.
    unsafe {
        if run.steps == [1] && run.size > 16 {
            std::ptr::copy_nonoverlapping(from, to, run.size);
        } else {
            for k in 0..run.size {
                *to.add(k) = *from.wrapping_offset(k as isize * run.steps[0]);
            }
        }
    }
}

fn add_slices<T: Number>(x: &Array, batch: usize, dim: usize, index: &Array, src: &Array) -> Array {
    let mut out = copy::<T>(x);
    let all = places(index);
    let size = x.shape()[dim];
    let strides = contiguous_strides(x.shape());
    // The strides of `src` for the dims of `x` other than `dim`, and the loops over the dims that stand in its place.
    let extra = index.rank() - batch;
    let mut matching: Strides = src.strides().into();
    matching.drain(dim..dim + extra);
    matching.insert(dim, 0);
    let outer = Nest::over(0..dim, x.shape(), [&strides, &matching]);
    let mut inner = Nest::over(dim + 1..x.rank(), x.shape(), [&strides, &matching]);
    let slices = Nest::over(dim..dim + extra, src.shape(), [src.strides()]);
    if out.numel() == 0 || all.is_empty() {
        return out;
    }
    let count = slices.len();
    let sharing: usize = x.shape()[batch..dim].iter().product();
    let run = inner.pop();
    let step = strides[dim];
    let from = In::<T>::of(src);
    let to = Out::new(out.as_mut_slice::<T>().map_or(std::ptr::null_mut(), |s| s.as_mut_ptr()));
    let nanos = src.numel() / 4 + outer.len() * count * 4;
    // Threads share the loops other than `dim`, so that every sum keeps its order.
    split(outer.len() * run.size, 16, nanos, |range| {
        let (first, last) = (range.start / run.size, range.end.div_ceil(run.size));
        outer.walk(first..last, |o, [a, b]| {
            let low = range.start.saturating_sub(o * run.size);
            let high = (range.end - o * run.size).min(run.size);
            let places = &all[o / sharing * count..][..count];
            if let (1, [], [Loop { steps: [each], .. }]) = (run.size, &inner.loops[..], &slices.loops[..]) {
                let (each, size, step) = (*each, size, step);
                // Single elements, in equal steps.
                for (l, &i) in places.iter().enumerate() {
                    // SAFETY: as below.
                    unsafe {
                        let to = to.at((a + place(i, size) as isize * step) as usize);
                        *to = (*to).plus(*from.at(b + l as isize * each));
                    }
                }
                return;
            }
            slices.walk(0..count, |l, [more]| {
                let a = a + place(places[l], size) as isize * step;
                let b = b + more;
                // SAFETY: the index was checked; these columns of the result are ours.
                unsafe {
                    if inner.loops.is_empty() {
                        add_run(to.at(a as usize), from.at(b), low..high, run.steps);
                    } else {
                        inner.walk(0..inner.len(), |_, [p, q]| {
                            add_run(to.at((a + p) as usize), from.at(b + q), low..high, run.steps);
                        });
                    }
                }
            });
        });
    });
    out
}

/// Adds elements in steps to others.
///
/// # Safety
/// Every address on the way must be valid, and nobody else may use those of `to`.
#[inline(always)]
unsafe fn add_run<T: Number>(to: *mut T, from: *const T, range: std::ops::Range<usize>, steps: [isize; 2]) {
    // SAFETY: by the contract.
    unsafe {
        if steps == [1, 1] {
            for k in range {
                *to.add(k) = (*to.add(k)).plus(*from.add(k));
            }
        } else {
            for k in range.start as isize..range.end as isize {
                let to = to.wrapping_offset(k * steps[0]);
                *to = (*to).plus(*from.wrapping_offset(k * steps[1]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::kernels::strided::testing::{at, indices, layouts, read, samples};

    /// Indices into a dim of `size`, some of them negative.
    fn index_of(shape: &[usize], size: usize) -> Array {
        let n = shape.iter().product();
        let data: Vec<i64> = samples(n).iter().map(|&v| (v * size as f64).floor() as i64).collect();
        Array::from_slice(Shape::from_slice(shape), &data)
    }

    fn resolved(i: f64, size: usize) -> usize {
        place(i as i64, size)
    }

    fn with(index: &[usize], dim: usize, k: usize) -> Vec<usize> {
        let mut index = index.to_vec();
        index[dim] = k;
        index
    }

    fn flat(shape: &[usize], index: &[usize]) -> usize {
        shape.iter().zip(index).fold(0, |k, (&n, &i)| k * n + i)
    }

    #[test]
    fn gathers_agree_with_loops() {
        for shape in [&[5][..], &[4, 6], &[3, 40, 2], &[2, 3, 4, 5]] {
            for x in layouts::<f32>(shape).into_iter().chain(layouts::<bool>(shape)) {
                for dim in 0..shape.len() {
                    let places = index_of(&[7], shape[dim]);
                    let got = index_select(&x, 0, dim, &places).unwrap();
                    for index in indices(got.shape()) {
                        let i = resolved(at(&places, &[index[dim]]), shape[dim]);
                        assert_eq!(at(&got, &index), at(&x, &with(&index, dim, i)));
                    }
                    let mut smaller = shape.to_vec();
                    smaller[dim] = 9;
                    let other = (dim + 1) % shape.len();
                    if other != dim {
                        smaller[other] -= 1;
                    }
                    let places = index_of(&smaller, shape[dim]);
                    let got = gather(&x, dim, &places).unwrap();
                    assert_eq!(got.shape(), smaller);
                    for index in indices(&smaller) {
                        let i = resolved(at(&places, &index), shape[dim]);
                        assert_eq!(at(&got, &index), at(&x, &with(&index, dim, i)));
                    }
                }
            }
        }
    }

    #[test]
    fn scatters_agree_with_loops() {
        // The last is shared by threads, row by row and in columns.
        for shape in [&[5][..], &[4, 6], &[3, 40, 2], &[2, 3, 4, 5], &[300, 257]] {
            for (x, src) in layouts::<f64>(shape).into_iter().zip(layouts::<f64>(shape).into_iter().rev()) {
                for dim in 0..shape.len() {
                    let places = index_of(shape, shape[dim]);
                    let (mut last, mut sums) = (read(&x), read(&x));
                    for index in indices(shape) {
                        let i = resolved(at(&places, &index), shape[dim]);
                        let k = flat(shape, &with(&index, dim, i));
                        last[k] = at(&src, &index);
                        sums[k] += at(&src, &index);
                    }
                    assert_eq!(read(&scatter(&x, dim, &places, &src).unwrap()), last);
                    assert_eq!(read(&scatter_add(&x, dim, &places, &src).unwrap()), sums);

                    let places = index_of(&[shape[dim]], shape[dim]);
                    let mut sums = read(&x);
                    for index in indices(shape) {
                        let i = resolved(at(&places, &[index[dim]]), shape[dim]);
                        sums[flat(shape, &with(&index, dim, i))] += at(&src, &index);
                    }
                    assert_eq!(read(&index_add(&x, 0, dim, &places, &src).unwrap()), sums);
                }
            }
        }
    }

    #[test]
    fn empty_indices_and_empty_dims_are_fine() {
        let x = Array::full(Shape::from_slice(&[3, 0]), 1f32);
        let none = Array::from_slice::<i64>(Shape::from_slice(&[0]), &[]);
        let one = Array::from_slice::<i64>(Shape::from_slice(&[2]), &[0, -1]);
        assert_eq!(index_select(&x, 0, 1, &none).unwrap().shape(), [3, 0]);
        assert_eq!(index_select(&x, 0, 0, &one).unwrap().shape(), [2, 0]);
        let x = Array::full(Shape::from_slice(&[3, 2]), 1f32);
        assert_eq!(index_select(&x, 0, 0, &none).unwrap().shape(), [0, 2]);
        let none = Array::from_slice::<i64>(Shape::from_slice(&[0, 2]), &[]);
        assert_eq!(gather(&x, 0, &none).unwrap().shape(), [0, 2]);
        assert_eq!(read(&scatter_add(&x, 0, &none, &x).unwrap()), [1.0; 6]);
    }

    #[test]
    fn a_wrong_index_is_named_with_its_place() {
        let x = Array::full(Shape::from_slice(&[2, 3]), 1f32);
        let index = Array::from_slice::<i32>(Shape::from_slice(&[2, 2]), &[0, -3, 3, 1]);
        let err = gather(&x, 1, &index).err().unwrap();
        assert_eq!(err.kind(), ErrorKind::Index);
        assert_eq!(
            err.to_string(),
            "gather: index 3 at position [1,0] is out of range for dim 1 of f32[2,3], which has size 3"
        );
        let err = index_select(&x, 0, 1, &x).err().unwrap();
        assert_eq!(
            err.to_string(),
            "index_select: expected an index of dtype i64 or i32, got f32; help: convert it with `to_dtype`"
        );
    }
}
