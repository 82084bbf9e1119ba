//! What is computed element by element along a dimension, each from the one before: running products, running extremes
//! with their places, running logarithms of sums of exponentials, and linear recurrences.

use super::cast::cast;
use super::copy::contiguous;
use super::math::Float;
use super::reduce::is_nan;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::{DType, Result};

/// Columns that are walked side by side.
const WIDTH: usize = 64;

/// Walks along `dim` of a contiguous array of `shape`, from its end if `reverse`: `step` gets what the step before
/// returned, how many there were, and the place of the element.
fn walk<S: Copy + Sync>(
    shape: &[usize],
    dim: usize,
    reverse: bool,
    nanos: usize,
    first: S,
    step: impl Fn(S, usize, usize) -> S + Sync,
) {
    let (n, inner): (usize, usize) = (shape[dim], shape[dim + 1..].iter().product());
    let outer: usize = shape[..dim].iter().product();
    let chunks = inner.div_ceil(WIDTH);
    split(outer * chunks, 1, nanos * outer * n * inner, |range| {
        for unit in range {
            let (block, start) = (unit / chunks, unit % chunks * WIDTH);
            let width = WIDTH.min(inner - start);
            let mut states = [first; WIDTH];
            for k in 0..n {
                let row = (block * n + if reverse { n - 1 - k } else { k }) * inner + start;
                for (j, state) in states[..width].iter_mut().enumerate() {
                    *state = step(*state, k, row + j);
                }
            }
        }
    });
}

/// The array of the shape of `x` that [`walk`] writes: `step` gets an element and returns the one to write.
fn running<T: Element, S: Copy + Sync>(
    x: &Array,
    dim: usize,
    nanos: usize,
    first: S,
    step: impl Fn(S, T) -> (S, T) + Sync,
) -> Array {
    let x = contiguous(x);
    let from = In::<T>::of(&x);
    let write = |out: Out<T>| {
        walk(x.shape(), dim, false, nanos, first, |state, _, at| {
            // SAFETY: the place is one of the contiguous array and of the result, and no other step has it.
            unsafe {
                let (state, y) = step(state, *from.at(at as isize));
                *out.at(at) = y;
                state
            }
        });
    };
    // SAFETY: the walk comes by every element.
    unsafe { output(x.to_shape(), write) }
}

/// The running product along `dim`: of integers in `i64`, which they must be; of floats in `f64`.
pub(crate) fn cumprod(x: &Array, dim: usize) -> Result<Array> {
    match x.dtype() {
        DType::I64 => Ok(running::<i64, i64>(x, dim, 1, 1, |p, v| {
            let p = p.wrapping_mul(v);
            (p, p)
        })),
        DType::F32 => Ok(running::<f32, f64>(x, dim, 2, 1.0, |p, v| (p * f64::from(v), (p * f64::from(v)) as f32))),
        _ => dispatch!(x.dtype(), "cumprod", [F64], T => Ok(running::<T, T>(x, dim, 2, 1.0, |p, v| (p * v, p * v)))),
    }
}

/// The running logarithm of the sum of exponentials along `dim`.
pub(crate) fn logcumsumexp(x: &Array, dim: usize) -> Result<Array> {
    // The largest so far, and the sum of the exponentials of what the others are below it.
    let first = (f64::NEG_INFINITY, 0.0);
    dispatch!(x.dtype(), "logcumsumexp", float, T => Ok(running::<T, (f64, f64)>(x, dim, 20, first, |(top, sum), v| {
        let v = f64::from(v);
        let (top, sum) = if v > top {
            (v, sum * Float::exp(top - v) + 1.0)
        } else if v == top {
            (top, sum + 1.0)
        } else {
            (top, sum + Float::exp(v - top))
        };
        ((top, sum), (top + Float::log(sum)) as T)
    })))
}

/// Where the largest or smallest element up to each one along `dim` is, as `i64`: of equals the last, and of NaNs, which
/// count as largest and as smallest.
pub(crate) fn running_extreme(x: &Array, dim: usize, largest: bool) -> Result<Array> {
    // Whole numbers keep their order as `i64`.
    let x = contiguous(&if x.dtype().is_float() { x.clone() } else { cast(x, DType::I64) });
    dispatch!(x.dtype(), "cummax", [I64, F32, F64], T => {
        let from = In::<T>::of(&x);
        let write = |out: Out<i64>| {
            walk(x.shape(), dim, false, 3, (T::default(), 0), |(best, place): (T, usize), k, at| {
                // SAFETY: the place is one of the contiguous array and of the result, and no other step has it.
                unsafe {
                    let v = *from.at(at as isize);
                    let beats = if largest { v >= best } else { v <= best };
                    let new = if k == 0 || is_nan(v) || (beats && !is_nan(best)) { (v, k) } else { (best, place) };
                    *out.at(at) = new.1 as i64;
                    new
                }
            });
        };
        // SAFETY: the walk comes by every element.
        Ok(unsafe { output(x.to_shape(), write) })
    })
}

/// `h[k] = a[k] h[k - 1] + b[k]` along `dim`, or `h[k + 1]` for `h[k - 1]` if `reverse`; before the first there is 0.
pub(crate) fn recurrence(a: &Array, b: &Array, dim: usize, reverse: bool) -> Result<Array> {
    let (a, b) = (contiguous(a), contiguous(b));
    dispatch!(a.dtype(), "recurrence", float, T => {
        let (factor, term) = (In::<T>::of(&a), In::<T>::of(&b));
        let write = |out: Out<T>| {
            walk(a.shape(), dim, reverse, 4, 0.0f64, |h, k, at| {
                // SAFETY: the place is one of the contiguous arrays and of the result, and no other step has it.
                unsafe {
                    let term = f64::from(*term.at(at as isize));
                    // The first factor has nothing to act on, and may be infinite.
                    let h = if k == 0 { term } else { f64::from(*factor.at(at as isize)) * h + term };
                    *out.at(at) = h as T;
                    h
                }
            });
        };
        // SAFETY: the walk comes by every element.
        Ok(unsafe { output(a.to_shape(), write) })
    })
}
