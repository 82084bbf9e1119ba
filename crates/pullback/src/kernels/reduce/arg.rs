//! Where the extremes are.

use super::run::strided_run;
use super::{Bounds, Max, Min, Monoid, is_nan};
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::cast::cast;
use crate::kernels::simd::vectorize_floats;
use crate::kernels::strided::{In, Loop, Nest, Out, output};
use crate::kernels::threads::split;
use crate::shape::{contiguous_strides, without_dim};
use crate::{DType, Result};

/// The position of the largest element along `dim`, which vanishes: the first of equals; a NaN counts as largest.
pub(crate) fn argmax(x: &Array, dim: usize) -> Result<Array> {
    let x = &as_numbers(x);
    dispatch!(x.dtype(), "argmax", number, T => Ok(arg_reduce::<T, Max>(x, dim)))
}

/// The position of the smallest element along `dim`, which vanishes: the first of equals; a NaN counts as smallest.
pub(crate) fn argmin(x: &Array, dim: usize) -> Result<Array> {
    let x = &as_numbers(x);
    dispatch!(x.dtype(), "argmin", number, T => Ok(arg_reduce::<T, Min>(x, dim)))
}

/// The array, or numbers for bools, for which no loops need be compiled then.
fn as_numbers(x: &Array) -> Array {
    if x.dtype() == DType::Bool { cast(x, DType::U8) } else { x.clone() }
}

/// Which of two elements is the one that is looked for; false for NaN.
trait Best<T>: Monoid<T, Acc = T> {
    fn better(a: T, b: T) -> bool;
}

impl<T: Bounds> Best<T> for Max {
    #[inline(always)]
    fn better(a: T, b: T) -> bool {
        a > b
    }
}

impl<T: Bounds> Best<T> for Min {
    #[inline(always)]
    fn better(a: T, b: T) -> bool {
        a < b
    }
}

fn arg_reduce<T: Element, M: Best<T>>(x: &Array, dim: usize) -> Array {
    let shape = without_dim(x.shape(), dim);
    let strides = contiguous_strides(&shape);
    let along = Loop { size: x.shape()[dim], steps: [x.strides()[dim]] };
    let kept = Nest::new(
        (0..x.rank())
            .filter(|&d| d != dim)
            .enumerate()
            .map(|(k, d)| Loop { size: x.shape()[d], steps: [x.strides()[d], strides[k]] }),
    );
    let nanos = x.numel() / 4 + kept.len() * 4;
    let results = kept.len();
    let vector = kept.loops.iter().position(|l| l.steps[0] == 1 && l.size >= 8);
    let from = In::<T>::of(x);
    let write = |out: Out<i64>| match vector {
        Some(v) if along.steps[0] != 1 => arg_columns::<T, M>(from, &kept, v, along, nanos, out),
        _ => split(results, 1, nanos, |range| {
            vectorize_floats::<T, _>(
                #[inline(always)]
                || {
                    kept.walk(
                        range.clone(),
                        #[inline(always)]
                        |i, [at, _]| {
                            // SAFETY: the offsets are those of elements of `x`; result `i` is ours.
                            unsafe {
                                let best = strided_run::<T, M>(from.at(at), along);
                                *out.at(i) = first_equal(from.at(at), along, best) as i64;
                            }
                        },
                    )
                },
            );
        }),
    };
    // SAFETY: both ways write every result.
    unsafe { output(shape, write) }
}

/// Equality for which all NaNs are one.
#[inline(always)]
fn equal<T: PartialEq + Copy>(a: T, b: T) -> bool {
    a == b || (is_nan(a) & is_nan(b))
}

/// Where the first element equal to `best` lies, two NaNs being equal here.
///
/// # Safety
/// Every address on the way must be valid.
#[inline(always)]
unsafe fn first_equal<T: Element>(x: *const T, along: Loop<1>, best: T) -> usize {
    let (n, [step]) = (along.size, along.steps);
    let mut i = 0;
    // Whole chunks first, without an early exit inside, so that they can be vectorised.
    while i + 32 <= n {
        let mut any = false;
        for l in 0..32 {
            // SAFETY: below `n`.
            any |= equal(unsafe { *x.wrapping_offset((i + l) as isize * step) }, best);
        }
        if any {
            break;
        }
        i += 32;
    }
    // SAFETY: below `n`.
    while i + 1 < n && !equal(unsafe { *x.wrapping_offset(i as isize * step) }, best) {
        i += 1;
    }
    i
}

/// Neighbouring results side by side, for a `dim` whose elements lie far apart.
fn arg_columns<T: Element, M: Best<T>>(
    x: In<T>,
    kept: &Nest<2>,
    vector: usize,
    along: Loop<1>,
    nanos: usize,
    out: Out<i64>,
) {
    const CHUNK: usize = 256;
    let mut outer = kept.clone();
    let Loop { size: width, steps: [_, out_step] } = outer.loops.remove(vector);
    let chunks = width.div_ceil(CHUNK);
    split(outer.len() * chunks, 1, nanos, |range| {
        for unit in range {
            let (group, start) = (unit / chunks, unit % chunks * CHUNK);
            let w = CHUNK.min(width - start);
            outer.walk(group..group + 1, |_, [at, o]| {
                let mut best = [T::ZERO; CHUNK];
                let mut place = [0i64; CHUNK];
                vectorize_floats::<T, _>(
                    #[inline(always)]
                    || {
                        for r in 0..along.size {
                            // SAFETY: `w` columns from `start` on are columns of `x` in each row.
                            let row = unsafe {
                                let offset = at + start as isize + r as isize * along.steps[0];
                                std::slice::from_raw_parts(x.at(offset), w)
                            };
                            for ((b, p), &v) in best.iter_mut().zip(&mut place).zip(row) {
                                let take = r == 0 || (!is_nan(*b) & (M::better(v, *b) | is_nan(v)));
                                *b = if take { v } else { *b };
                                *p = if take { r as i64 } else { *p };
                            }
                        }
                    },
                );
                for (j, &p) in place[..w].iter().enumerate() {
                    // SAFETY: these results are ours.
                    unsafe { *out.at(0).wrapping_offset(o + (start + j) as isize * out_step) = p };
                }
            });
        }
    });
}
