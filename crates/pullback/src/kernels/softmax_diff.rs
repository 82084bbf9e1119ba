//! The differentials of softmax and its logarithm, a row at a time.

use super::copy::contiguous;
use super::map::{map, zip};
use super::math::Float;
use super::reduce::{Neighbours, Source, Sum, Widen, run, sum};
use super::simd::vectorize;
use super::strided::{In, Nest, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::shape::{Shape, contiguous_strides};

/// `y (d - Σ d y)` along `dim`: the differential of softmax at the result `y`, which is its own transpose.
pub(crate) fn softmax(y: &Array, d: &Array, dim: usize) -> Result<Array> {
    dispatch!(y.dtype(), "softmax", float, T => differential::<T, SOFTMAX>(y, d, dim))
}

/// `d - Σ exp(y) d` along `dim`: the differential of the logarithm of softmax at the result `y`.
pub(crate) fn log_softmax(y: &Array, d: &Array, dim: usize) -> Result<Array> {
    dispatch!(y.dtype(), "log_softmax", float, T => differential::<T, LOG_SOFTMAX>(y, d, dim))
}

/// `d - exp(y) Σ d` along `dim`: the transpose of [`log_softmax`].
pub(crate) fn log_softmax_transposed(y: &Array, d: &Array, dim: usize) -> Result<Array> {
    dispatch!(y.dtype(), "log_softmax", float, T => differential::<T, TRANSPOSED>(y, d, dim))
}

const SOFTMAX: u8 = 0;
const LOG_SOFTMAX: u8 = 1;
const TRANSPOSED: u8 = 2;

trait Real: Float + Widen<Wide = Self> {}
impl Real for f32 {}
impl Real for f64 {}

fn differential<T: Real, const WHAT: u8>(y: &Array, d: &Array, dim: usize) -> Result<Array> {
    let (shape, strides) = (y.shape(), contiguous_strides(y.shape()));
    let n = shape[dim];
    if n > 1 && strides[dim] != 1 {
        return whole::<T, WHAT>(y, d, dim);
    }
    // A cotangent that is one number for all elements comes with steps of 0.
    let in_rows = |x: &Array| if n > 1 && x.strides()[dim] != 1 { contiguous(x) } else { x.clone() };
    let (y, d) = (&in_rows(y), &in_rows(d));
    let rows = Nest::over((0..y.rank()).filter(|&k| k != dim), shape, [y.strides(), d.strides(), &strides]);
    let (from_y, from_d) = (In::<T>::of(y), In::<T>::of(d));
    let nanos = y.numel() * size_of::<T>() / 8 + rows.len() * 10;
    let write = |out: Out<T>| {
        split(rows.len(), 1, nanos, |range| {
            vectorize(
                #[inline(always)]
                || {
                    rows.walk(range.clone(), |_, [a, b, o]| {
                        // SAFETY: rows of `y` and `d`, and that of the result is ours.
                        unsafe { row::<T, WHAT>(from_y.at(a), from_d.at(b), out.at(o as usize), n) }
                    });
                },
            );
        });
    };
    // SAFETY: every row of the result is written.
    Ok(unsafe { output(Shape::from_slice(shape), write) })
}

/// The terms of the sum that the derivative of a row needs.
#[derive(Clone, Copy)]
struct Terms<T, const WHAT: u8>(*const T, *const T);

impl<T: Real, const WHAT: u8> Source<T> for Terms<T, WHAT> {
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: by the contract.
        let (y, mut terms) = unsafe { (Neighbours(self.0).get::<N>(i), Neighbours(self.1).get::<N>(i)) };
        for (t, y) in terms.iter_mut().zip(y) {
            match WHAT {
                SOFTMAX => *t = *t * y,
                LOG_SOFTMAX => *t = *t * y.exp(),
                _ => {}
            }
        }
        terms
    }
}

/// One row of `n` neighbours.
///
/// # Safety
/// `n` elements of `y` and `d` must be valid, and as many of `out` for writing.
#[inline(always)]
unsafe fn row<T: Real, const WHAT: u8>(y: *const T, d: *const T, out: *mut T, n: usize) {
    // SAFETY: by the contract.
    unsafe {
        let sum = run::<T, Sum>(Terms::<T, WHAT>(y, d), n);
        for i in 0..n {
            *out.add(i) = match WHAT {
                SOFTMAX => *y.add(i) * (*d.add(i) - sum),
                LOG_SOFTMAX => *d.add(i) - sum,
                _ => *d.add(i) - (*y.add(i)).exp() * sum,
            };
        }
    }
}

/// The same for a `dim` whose elements lie apart, by whole arrays.
fn whole<T: Real, const WHAT: u8>(y: &Array, d: &Array, dim: usize) -> Result<Array> {
    let mut kept = Shape::from_slice(y.shape());
    kept[dim] = 1;
    let times = |a: &Array, b: &Array| zip::<T, T, T>(a, b, y.shape(), |a, b| a * b);
    let minus = |a: &Array, b: &Array| zip::<T, T, T>(a, b, y.shape(), |a, b| a - b);
    let p = if WHAT == SOFTMAX { y.clone() } else { map::<T, T>(y, |y| y.exp()) };
    let sum = if WHAT == TRANSPOSED { sum(d, &[dim])? } else { sum(&times(d, &p), &[dim])? };
    let sum = &contiguous(&sum).reshape_view(&kept).unwrap_or(sum);
    Ok(match WHAT {
        SOFTMAX => times(y, &minus(d, sum)),
        LOG_SOFTMAX => minus(d, sum),
        _ => minus(d, &times(&p, sum)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts};

    #[test]
    fn differentials_agree_with_their_formulas_in_every_layout() {
        for shape in [&[1][..], &[9], &[4, 5], &[30, 3], &[2, 3, 4], &[3, 300], &[7, 1, 20], &[0, 3], &[3, 0]] {
            let (ys, ds) = (layouts::<f64>(shape), layouts::<f64>(shape));
            for (y, d) in ys.iter().flat_map(|y| ds.iter().map(move |d| (y, d))) {
                for dim in 0..shape.len() {
                    let got = [softmax(y, d, dim), log_softmax(y, d, dim), log_softmax_transposed(y, d, dim)]
                        .map(|r| r.unwrap());
                    for index in indices(shape) {
                        let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
                            (0..shape[dim])
                                .map(|k| {
                                    let mut index = index.clone();
                                    index[dim] = k;
                                    f(at(y, &index), at(d, &index))
                                })
                                .sum()
                        };
                        let (v, w) = (at(y, &index), at(d, &index));
                        let expected =
                            [v * (w - sum(&|y, d| y * d)), w - sum(&|y, d| y.exp() * d), w - v.exp() * sum(&|_, d| d)];
                        for (got, e) in got.iter().zip(expected) {
                            let g = at(got, &index);
                            assert!((g - e).abs() <= 1e-12 * (1.0 + e.abs()), "{shape:?} dim {dim}: {g} {e}");
                        }
                    }
                }
            }
        }
    }
}
