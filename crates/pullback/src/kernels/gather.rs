//! Reading and writing along a dimension at places that an index tensor gives.
//!
//! Negative indices count from the end. Where several indices name one place, sources are taken in row-major order
//! of the index, so that sums are the same bit for bit and the last of several writes stays.

use std::mem::MaybeUninit;

use super::copy::{contiguous, copy_into};
use super::reduce::Number;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Brackets, Shape, contiguous_strides};
use crate::{DType, Result, error::bail};

/// The slices of `x` along `dim` at the places of `index`, as many as `index` has elements.
pub(crate) fn index_select(x: &Array, dim: usize, index: &Array) -> Result<Array> {
    let index = check("index_select", x, dim, index)?;
    dispatch!(x.dtype(), "index_select", all, T => Ok(select::<T>(x, dim, &index)))
}

/// `out[.., i, ..] = x[.., index[.., i, ..], ..]`; the shape of `index`, which is no larger than `x` except in `dim`.
pub(crate) fn gather(x: &Array, dim: usize, index: &Array) -> Result<Array> {
    let index = check("gather", x, dim, index)?;
    dispatch!(x.dtype(), "gather", all, T => Ok(pick::<T>(x, dim, &index)))
}

/// A copy of `x` with `out[.., index[.., i, ..], ..] = src[.., i, ..]`; the last of several writes stays.
pub(crate) fn scatter(x: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    let index = check("scatter", x, dim, index)?;
    dispatch!(x.dtype(), "scatter", all, T => Ok(put::<T>(x, dim, &index, src, |_, new| new)))
}

/// A copy of `x` with `out[.., index[.., i, ..], ..] += src[.., i, ..]`.
pub(crate) fn scatter_add(x: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    let index = check("scatter_add", x, dim, index)?;
    dispatch!(x.dtype(), "scatter_add", number, T => Ok(put::<T>(x, dim, &index, src, T::plus)))
}

/// A copy of `x` to whose slices along `dim` at the places of `index` those of `src` are added.
pub(crate) fn index_add(x: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    let index = check("index_add", x, dim, index)?;
    dispatch!(x.dtype(), "index_add", number, T => Ok(add_slices::<T>(x, dim, &index, src)))
}

/// The index as contiguous `i64`, every element of which is a place along `dim` of `x`.
fn check(op: &str, x: &Array, dim: usize, index: &Array) -> Result<Array> {
    let index = match index.dtype() {
        DType::I64 => contiguous(index),
        DType::I32 => super::cast::cast(&contiguous(index), DType::I64),
        other => {
            bail!(Dtype, "{op}: expected an index of dtype i64 or i32, got {other}"; help = "convert it with `to_dtype`")
        }
    };
    let size = x.shape()[dim] as i64;
    let values = index.as_slice::<i64>().unwrap_or(&[]);
    // Without an early exit, so that the good case is a vectorised loop.
    if values.iter().fold(false, |bad, &i| bad | (i < -size) | (i >= size)) {
        let k = values.iter().position(|&i| i < -size || i >= size).unwrap_or(0);
        let mut rest = k;
        let mut place = Shape::from_elem(0, index.rank());
        for (p, &n) in place.iter_mut().zip(index.shape()).rev() {
            *p = rest % n;
            rest /= n;
        }
        let (at, ty, i) = (Brackets(&place), x.ty(), values[k]);
        if size == 0 {
            bail!(Index, "{op}: index {i} at position {at} is out of range for dim {dim} of {ty}, which has size 0");
        }
        bail!(
            Index,
            "{op}: index {i} at position {at} is out of range for dim {dim} of {ty}, which has size {size} (valid: {}..={})",
            -size,
            size - 1
        );
    }
    Ok(index)
}

/// The values of a checked index.
fn places(index: &Array) -> &[i64] {
    index.as_slice::<i64>().unwrap_or(&[])
}

/// A checked index as a place from the start.
#[inline(always)]
fn place(index: i64, size: usize) -> usize {
    (if index < 0 { index + size as i64 } else { index }) as usize
}

/// A fresh contiguous copy.
fn copy<T: Element>(x: &Array) -> Array {
    // SAFETY: `copy_into` writes every element.
    unsafe { Array::build(Shape::from_slice(x.shape()), |out: &mut [MaybeUninit<T>]| copy_into(x, out)) }
}

fn select<T: Element>(x: &Array, dim: usize, index: &Array) -> Array {
    let places = places(index);
    let mut shape = Shape::from_slice(x.shape());
    shape[dim] = places.len();
    let outer = Nest::over(0..dim, x.shape(), [x.strides()]);
    let mut inner = Nest::over(dim + 1..x.rank(), x.shape(), [x.strides()]);
    let slice = inner.len();
    let run = inner.pop();
    let (size, step) = (x.shape()[dim], x.strides()[dim]);
    let from = In::<T>::of(x);
    let write = |out: Out<T>| {
        if shape.contains(&0) {
            return;
        }
        let units = outer.len() * places.len();
        split(units, 1, units * (5 + slice * size_of::<T>() / 16), |range| {
            let (first, last) = (range.start / places.len(), range.end.div_ceil(places.len()));
            outer.walk(first..last, |o, [at]| {
                let base = o * places.len();
                let low = range.start.saturating_sub(base);
                let high = (range.end - base).min(places.len());
                for (l, &i) in places.iter().enumerate().take(high).skip(low) {
                    let at = at + place(i, size) as isize * step;
                    inner.walk(0..inner.len(), |q, [more]| {
                        let to = (base + l) * slice + q * run.size;
                        // SAFETY: the index was checked, so this is a slice of `x`; its place in the result is ours.
                        unsafe { copy_run(from.at(at + more), run, out.at(to)) }
                    });
                }
            });
        });
    };
    // SAFETY: every slice of the result is written.
    unsafe { output(shape.clone(), write) }
}

/// Copies elements in steps to neighbouring places.
///
/// # Safety
/// Every address on the way must be valid, and the two ways must not overlap.
#[inline(always)]
unsafe fn copy_run<T: Copy>(from: *const T, run: Loop<1>, to: *mut T) {
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

/// As [`gather`], for an index that is known to be good: contiguous `i64`, in range.
pub(super) fn pick<T: Element>(x: &Array, dim: usize, index: &Array) -> Array {
    let places = places(index);
    let (size, step) = (x.shape()[dim], x.strides()[dim]);
    let mut nest = Nest::new(
        (0..x.rank()).map(|d| Loop { size: index.shape()[d], steps: [if d == dim { 0 } else { x.strides()[d] }] }),
    );
    let run = nest.pop();
    let from = In::<T>::of(x);
    let write = |out: Out<T>| {
        split(places.len().checked_div(run.size).unwrap_or(0), 1, places.len(), |range| {
            nest.walk(range, |i, [at]| {
                let start = i * run.size;
                for (k, &i) in places[start..start + run.size].iter().enumerate() {
                    let offset = at + k as isize * run.steps[0] + place(i, size) as isize * step;
                    // SAFETY: the index was checked, so this is an element of `x`; its place in the result is ours.
                    unsafe { *out.at(start + k) = *from.at(offset) };
                }
            });
        });
    };
    // SAFETY: every element of the result is written.
    unsafe { output(Shape::from_slice(index.shape()), write) }
}

fn put<T: Element>(x: &Array, dim: usize, index: &Array, src: &Array, join: impl Fn(T, T) -> T + Sync) -> Array {
    let mut out = copy::<T>(x);
    let places = places(index);
    if places.is_empty() {
        return out;
    }
    let size = x.shape()[dim];
    let strides = contiguous_strides(x.shape());
    let loops =
        |dims: std::ops::Range<usize>| {
            Nest::new(dims.map(|d| Loop {
                size: index.shape()[d],
                steps: [if d == dim { 0 } else { strides[d] }, src.strides()[d]],
            }))
        };
    // Places differ in the dims before `dim`, so that threads may share those loops and every sum keeps its order.
    let (outer, mut inner) = (loops(0..dim), loops(dim..x.rank()));
    let (count, step) = (inner.len(), strides[dim]);
    let Loop { size: run, steps: [run_to, run_from] } = inner.pop();
    let from = In::<T>::of(src);
    let to = Out::new(out.as_mut_slice::<T>().map_or(std::ptr::null_mut(), |s| s.as_mut_ptr()));
    split(outer.len(), 1, places.len() * 2, |range| {
        outer.walk(range, |o, [a, b]| {
            inner.walk(0..inner.len(), |i, [p, q]| {
                let start = o * count + i * run;
                for (k, &i) in places[start..start + run].iter().enumerate() {
                    let k = k as isize;
                    let offset = a + p + k * run_to + place(i, size) as isize * step;
                    // SAFETY: the index was checked, so this is an element of the result; threads differ in `o`.
                    unsafe {
                        let to = to.at(offset as usize);
                        *to = join(*to, *from.at(b + q + k * run_from));
                    }
                }
            });
        });
    });
    out
}

fn add_slices<T: Number>(x: &Array, dim: usize, index: &Array, src: &Array) -> Array {
    let mut out = copy::<T>(x);
    let places = places(index);
    let size = x.shape()[dim];
    let strides = contiguous_strides(x.shape());
    let outer = Nest::over(0..dim, x.shape(), [&strides, src.strides()]);
    let mut inner = Nest::over(dim + 1..x.rank(), x.shape(), [&strides, src.strides()]);
    if out.numel() == 0 || places.is_empty() {
        return out;
    }
    let run = inner.pop();
    let from = In::<T>::of(src);
    let to = Out::new(out.as_mut_slice::<T>().map_or(std::ptr::null_mut(), |s| s.as_mut_ptr()));
    let nanos = src.numel() / 4 + outer.len() * places.len() * 4;
    // Threads share the loops other than `dim`, so that every sum keeps its order.
    split(outer.len() * run.size, 16, nanos, |range| {
        let (first, last) = (range.start / run.size, range.end.div_ceil(run.size));
        outer.walk(first..last, |o, [a, b]| {
            let low = range.start.saturating_sub(o * run.size);
            let high = (range.end - o * run.size).min(run.size);
            for (l, &i) in places.iter().enumerate() {
                let a = a + place(i, size) as isize * strides[dim];
                let b = b + l as isize * src.strides()[dim];
                inner.walk(0..inner.len(), |_, [p, q]| {
                    // SAFETY: the index was checked; these columns of the result are ours.
                    unsafe { add_run(to.at((a + p) as usize), from.at(b + q), low..high, run.steps) }
                });
            }
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
                    let got = index_select(&x, dim, &places).unwrap();
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
        for shape in [&[5][..], &[4, 6], &[3, 40, 2], &[2, 3, 4, 5]] {
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
                    assert_eq!(read(&index_add(&x, dim, &places, &src).unwrap()), sums);
                }
            }
        }
    }

    #[test]
    fn empty_indices_and_empty_dims_are_fine() {
        let x = Array::full(Shape::from_slice(&[3, 0]), 1f32);
        let none = Array::from_slice::<i64>(Shape::from_slice(&[0]), &[]);
        let one = Array::from_slice::<i64>(Shape::from_slice(&[2]), &[0, -1]);
        assert_eq!(index_select(&x, 1, &none).unwrap().shape(), [3, 0]);
        assert_eq!(index_select(&x, 0, &one).unwrap().shape(), [2, 0]);
        let x = Array::full(Shape::from_slice(&[3, 2]), 1f32);
        assert_eq!(index_select(&x, 0, &none).unwrap().shape(), [0, 2]);
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
            "gather: index 3 at position [1,0] is out of range for dim 1 of f32[2,3], which has size 3 (valid: -3..=2)"
        );
        let err = index_select(&x, 1, &x).err().unwrap();
        assert_eq!(
            err.to_string(),
            "index_select: expected an index of dtype i64 or i32, got f32; help: convert it with `to_dtype`"
        );
    }
}
