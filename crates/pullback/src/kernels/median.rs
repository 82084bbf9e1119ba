//! The middle of the elements along a dimension, by selection, and the most frequent one.

use super::cast::cast;
use super::reduce::is_nan;
use super::sort::{Key, Packed};
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::shape::{Shape, contiguous_strides};
use crate::{DType, Result};

/// Where the lower middle element along `dim` is, which stays with size 1: of equals the one that a stable sort puts there.
///
/// With a NaN among them that is the first NaN, or NaNs are left out if `skip_nan`, unless there is nothing else.
pub(crate) fn median(x: &Array, dim: usize, skip_nan: bool) -> Result<Array> {
    // Whole numbers keep their order as `i64`.
    let x = if x.dtype().is_differentiable() { x.clone() } else { cast(x, DType::I64) };
    dispatch!(x.dtype(), "median", [I64, F32, F64], T => Ok(middle::<T>(&x, dim, skip_nan)))
}

/// Where the most frequent element along `dim` is for the last time, of equally frequent ones the smallest; `dim` stays with size 1.
/// NaNs are equal.
pub(crate) fn mode(x: &Array, dim: usize) -> Result<Array> {
    let x = if x.dtype().is_differentiable() { x.clone() } else { cast(x, DType::I64) };
    dispatch!(x.dtype(), "mode", [I64, F32, F64], T => Ok(choose::<T>(&x, dim, |keys, _| {
        keys.sort_unstable();
        let longest = keys.chunk_by(|a, b| a.order() == b.order()).rev().max_by_key(|run| run.len());
        longest.and_then(|run| run.last()).map_or(0, |key| key.position())
    })))
}

fn middle<T: Key>(x: &Array, dim: usize, skip_nan: bool) -> Array {
    choose::<T>(x, dim, |keys, missing| {
        let present = keys.len() - missing;
        let rank = if missing > 0 && !skip_nan { present } else { present.saturating_sub(1) / 2 };
        let (_, &mut key, _) = keys.select_nth_unstable(rank);
        key.position()
    })
}

/// The places along `dim` that `place` chooses of the elements of each row and the number of NaNs among them.
fn choose<T: Key>(x: &Array, dim: usize, place: impl Fn(&mut [T::Packed], usize) -> usize + Sync) -> Array {
    let mut shape = Shape::from_slice(x.shape());
    shape[dim] = 1;
    let strides = contiguous_strides(&shape);
    let along = Loop { size: x.shape()[dim], steps: [x.strides()[dim]] };
    let rows = Nest::over((0..x.rank()).filter(|&d| d != dim), x.shape(), [x.strides(), &strides]);
    let from = In::<T>::of(x);
    let write = |places: Out<i64>| {
        split(rows.len(), 1, x.numel() * 8, |range| {
            let mut keys: Vec<T::Packed> = Vec::with_capacity(along.size);
            rows.walk(range, |_, [a, b]| {
                keys.clear();
                let mut missing = 0;
                keys.extend((0..along.size).map(|p| {
                    // SAFETY: the row lies inside `x`.
                    let v = unsafe { *from.at(a + p as isize * along.steps[0]) };
                    missing += usize::from(is_nan(v));
                    v.pack(false, p)
                }));
                let chosen = place(&mut keys, missing) as i64;
                // SAFETY: this element of the result is ours.
                unsafe { *places.at(b as usize) = chosen };
            });
        });
    };
    // SAFETY: every element of the result is written.
    unsafe { output(shape, write) }
}
