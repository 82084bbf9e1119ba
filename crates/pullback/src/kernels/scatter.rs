//! Joining elements to those at the places that an index gives, by a reduction or a recurrence. What only writes or adds is
//! in [`gather`](super::gather).

use super::copy::contiguous;
use super::elements::{newer, put};
use super::gather::{check, compact, copy, found, place, places};
use super::reduce::{Bounds, Number, is_nan};
use super::strided::{In, Nest, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::shape::contiguous_strides;

/// A copy of `x` with the largest (or smallest) of each element and those of `src` at its place; NaN if there is one.
/// Without `own`, elements of `x` that have a place in the index do not take part.
pub(crate) fn scatter_extreme(
    x: &Array,
    dim: usize,
    index: &Array,
    src: &Array,
    largest: bool,
    own: bool,
) -> Result<Array> {
    let places = compact("scatter_reduce", index)?;
    let out = dispatch!(x.dtype(), "scatter_reduce", all, T => Ok(extreme::<T>(x, dim, &places, src, largest, own)))?;
    found("scatter_reduce", x, dim, index, out)
}

fn extreme<T: Bounds>(x: &Array, dim: usize, index: &Array, src: &Array, largest: bool, own: bool) -> Option<Array> {
    let join = move |a: T, b: T| if (largest & (a > b)) | (!largest & (a < b)) | is_nan(a) { a } else { b };
    if own {
        return put::<T>(x, dim, index, src, join);
    }
    let none = Array::full([], if largest { T::LOWEST } else { T::HIGHEST }).expand(index.shape());
    put::<T>(&put::<T>(x, dim, index, &none, newer)?, dim, index, src, join)
}

/// A copy of `x` with each element multiplied by those of `src` at its place.
pub(crate) fn scatter_prod(x: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    let places = compact("scatter_reduce", index)?;
    let out = dispatch!(x.dtype(), "scatter_reduce", number, T => Ok(put::<T>(x, dim, &places, src, T::times)))?;
    found("scatter_reduce", x, dim, index, out)
}

/// `t[p] = a[i] t[p] + b[i]` at the place `p` that each `index[i]` gives along `dim`, in row-major order or the other way
/// round, from `x` on: the elements before each step, and those at the end. `a` and `b` have the shape of the index.
pub(crate) fn recur(x: &Array, dim: usize, index: &Array, [a, b]: [&Array; 2], backwards: bool) -> Result<[Array; 2]> {
    let index = contiguous(&check("scatter_reduce", x, dim, index)?);
    dispatch!(x.dtype(), "scatter_reduce", float, T => Ok(steps::<T>(x, dim, &index, [a, b], backwards)))
}

fn steps<T: Number>(x: &Array, dim: usize, index: &Array, [a, b]: [&Array; 2], backwards: bool) -> [Array; 2] {
    let mut out = copy::<T>(x);
    let (a, b) = (contiguous(a), contiguous(b));
    let strides = contiguous_strides(x.shape());
    let (size, step) = (x.shape()[dim], strides[dim] as usize);
    let outer = Nest::over(0..dim, index.shape(), [&strides]);
    let inner = Nest::over(dim + 1..x.rank(), index.shape(), [&strides]);
    let (count, run) = (index.shape()[dim], inner.len());
    let mut offsets = Vec::with_capacity(run);
    inner.walk(0..run, |_, [at]| offsets.push(at as usize));
    let (a, b, all) = (In::<T>::of(&a), In::<T>::of(&b), places(index));
    let to = Out::new(out.as_mut_slice::<T>().map_or(std::ptr::null_mut(), |s| s.as_mut_ptr()));
    let write = |before: Out<T>| {
        if all.is_empty() {
            return;
        }
        split(outer.len(), 1, all.len() * 4, |range| {
            outer.walk(range, |o, [at]| {
                // Copies, which the compiler need not read again after every write.
                let (a, b, to, before, size, step) = (a, b, to, before, size, step);
                for n in 0..count {
                    let n = if backwards { count - 1 - n } else { n };
                    for (k, &offset) in (o * count * run + n * run..).zip(&offsets) {
                        // SAFETY: `k` is an element of the index, which was checked, and threads have different ones
                        // and write to different places, as these differ in the dims before `dim`.
                        unsafe {
                            let t = to.at(at as usize + offset + place(all[k], size) * step);
                            *before.at(k) = *t;
                            *t = (*a.at(k as isize)).times(*t).plus(*b.at(k as isize));
                        }
                    }
                }
            });
        });
    };
    // SAFETY: every element of the index is met once.
    let before = unsafe { output(index.to_shape(), write) };
    [before, out]
}
