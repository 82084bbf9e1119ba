//! Attention without derivatives: a block of queries at a time, so that their scores stay in the cache.

use super::copy::contiguous;
use super::math::Float;
use super::matmul::{Real, flops_per_nano, product};
use super::reduce::Bounds;
use super::simd::vectorize;
use super::strided::{In, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::Shape;

/// Queries whose scores exist at a time.
const BLOCK: usize = 64;

/// `softmax(scale·q kᵀ) v` for each of a batch `q[b, l, e]`, `k[b, s, e]`, `v[b, s, n]`. If `causal`, query `i` sees keys `0..=i`. No
/// size may be 0.
pub(crate) fn attention(q: &Array, k: &Array, v: &Array, scale: f64, causal: bool) -> Result<Array> {
    let [q, k, v] = [q, k, v].map(contiguous);
    dispatch!(q.dtype(), "scaled_dot_product_attention", float, T => Ok(run::<T>(&q, &k, &v, T::from_f64(scale), causal)))
}

fn run<T: Real + Float + Bounds>(q: &Array, k: &Array, v: &Array, scale: T, causal: bool) -> Array {
    let (batch, queries, width) = (q.shape()[0], q.shape()[1], q.shape()[2]);
    let (keys, values) = (k.shape()[1], v.shape()[2]);
    let blocks = queries.div_ceil(BLOCK);
    let nanos = (2 * batch * queries * keys).saturating_mul(width + values) / flops_per_nano::<T>()
        + batch * queries * keys * size_of::<T>() / 8;
    let [q, k, v] = [q, k, v].map(In::<T>::of);
    // SAFETY: every block of queries has its own rows of the result; the operands have the sizes above.
    unsafe {
        output(Shape::from_slice(&[batch, queries, values]), |out| {
            split(batch * blocks, 1, nanos, |range| {
                let (_scores, scores) = super::conv::scratch::<T>(BLOCK * keys);
                for task in range {
                    let (b, first) = (task / blocks, task % blocks * BLOCK);
                    let rows = BLOCK.min(queries - first);
                    // Keys that none of these queries sees are left out.
                    let seen = if causal { keys.min(first + rows) } else { keys };
                    let q = q.at(((b * queries + first) * width) as isize);
                    let (k, v) = (k.at((b * keys * width) as isize), v.at((b * keys * values) as isize));
                    product([rows, width, seen], (q, [width as isize, 1]), (k, [1, width as isize]), scores, seen);
                    vectorize(
                        #[inline(always)]
                        || {
                            for i in 0..rows {
                                let row = std::slice::from_raw_parts_mut(scores.add(i * seen), seen);
                                let own = if causal { seen.min(first + i + 1) } else { seen };
                                let (row, hidden) = row.split_at_mut(own);
                                hidden.fill(T::ZERO);
                                softmax(row, scale);
                            }
                        },
                    );
                    let out = out.at((b * queries + first) * values);
                    product([rows, seen, values], (scores, [seen as isize, 1]), (v, [values as isize, 1]), out, values);
                }
            });
        })
    }
}

/// Sums that run side by side.
const WIDTH: usize = 16;

/// `softmax(scale·x)` in place. A row of minus infinities alone, or with NaN or infinity, becomes NaN.
#[inline(always)]
fn softmax<T: Float + Bounds>(row: &mut [T], scale: T) {
    let mut largest = [T::LOWEST; WIDTH];
    let mut parts = row.chunks_exact_mut(WIDTH);
    for part in &mut parts {
        for (x, m) in part.iter_mut().zip(&mut largest) {
            *x = *x * scale;
            *m = if *x > *m { *x } else { *m };
        }
    }
    for (x, m) in parts.into_remainder().iter_mut().zip(&mut largest) {
        *x = *x * scale;
        *m = if *x > *m { *x } else { *m };
    }
    let largest = largest.into_iter().fold(T::LOWEST, |m, x| if x > m { x } else { m });
    let mut sums = [T::ZERO; WIDTH];
    let mut parts = row.chunks_exact_mut(WIDTH);
    for part in &mut parts {
        for (x, s) in part.iter_mut().zip(&mut sums) {
            *x = Float::exp(*x - largest);
            *s = *s + *x;
        }
    }
    for (x, s) in parts.into_remainder().iter_mut().zip(&mut sums) {
        *x = Float::exp(*x - largest);
        *s = *s + *x;
    }
    let factor = T::ONE / sums.into_iter().fold(T::ZERO, |a, b| a + b);
    for x in row {
        *x = *x * factor;
    }
}
