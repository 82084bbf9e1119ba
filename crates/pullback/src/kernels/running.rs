//! What is computed element by element along a dimension, each from the one before: running products, running extremes
//! with their places, running logarithms of sums of exponentials, and linear recurrences.

use std::mem::MaybeUninit;

use super::cast::cast;
use super::copy::contiguous;
use super::math::Float;
use super::reduce::is_nan;
use super::simd::vectorize;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::{Complex64, DType, Result};

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
            if inner == 1 {
                let mut state = first;
                for k in 0..n {
                    state = step(state, k, unit * n + if reverse { n - 1 - k } else { k });
                }
                continue;
            }
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

/// The running product along `dim`: of integers in `i64`, which they must be; of others in double precision.
pub(crate) fn cumprod(x: &Array, dim: usize) -> Result<Array> {
    match x.dtype() {
        dtype if dtype.is_complex() => {
            let step = |p: Complex64, v: Complex64| (p * v, p * v);
            Ok(cast(&running::<Complex64, Complex64>(&cast(x, DType::C128), dim, 4, Complex64::ONE, step), dtype))
        }
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
    dispatch!(x.dtype(), "logcumsumexp", float, T => {
        if x.shape()[dim + 1..].iter().product::<usize>() != 1 {
            return Ok(running::<T, LogSum>(x, dim, 20, NOTHING, |state, v| {
                let (top, sum) = log_sum(state, v.to_f64());
                ((top, sum), (top + Float::log(sum)) as T)
            }));
        }
        let x = contiguous(x);
        let (from, n) = (In::<T>::of(&x), x.shape()[dim]);
        let write = |out: Out<T>| {
            split(x.numel().checked_div(n).unwrap_or(0), 1, 10 * x.numel(), |range| {
                for row in range {
                    // SAFETY: a row of the contiguous array, and that of the result is ours.
                    let (from, out) = unsafe {
                        let out = std::slice::from_raw_parts_mut(out.at(row * n).cast::<MaybeUninit<T>>(), n);
                        (std::slice::from_raw_parts(from.at((row * n) as isize), n), out)
                    };
                    vectorize(
                        #[inline(always)]
                        || log_row(from, out),
                    );
                }
            });
        };
        // SAFETY: every row is written.
        Ok(unsafe { output(x.to_shape(), write) })
    })
}

/// The largest so far, and the sum of the exponentials of what the others are below it.
type LogSum = (f64, f64);
const NOTHING: LogSum = (f64::NEG_INFINITY, 0.0);

fn log_sum((top, sum): LogSum, v: f64) -> LogSum {
    if v > top {
        (v, sum * Float::exp(top - v) + 1.0)
    } else if v == top {
        (top, sum + 1.0)
    } else {
        (top, sum + Float::exp(v - top))
    }
}

/// The exponential of how far `a` is below `b`; an infinity is no distance from itself.
#[inline(always)]
fn below(a: f64, b: f64) -> f64 {
    if a == b { 1.0 } else { Float::exp(a - b) }
}

/// As [`log_sum`] for a whole row, piece by piece: first what is largest, then exponentials and logarithms side by side.
/// Only the sums wait for each other.
#[inline(always)]
fn log_row<T: Float>(from: &[T], out: &mut [MaybeUninit<T>]) {
    const PIECE: usize = 64;
    let (mut top, mut sum) = NOTHING;
    for (from, out) in from.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
        let (mut tops, mut before, mut terms) = ([top; PIECE], [top; PIECE], [0.0; PIECE]);
        let start = top;
        for (k, &v) in from.iter().enumerate() {
            terms[k] = v.to_f64();
            before[k] = top;
            top = if terms[k] > top { terms[k] } else { top };
            tops[k] = top;
        }
        for k in 0..PIECE {
            terms[k] = below(terms[k], tops[k]);
        }
        if top != start {
            for k in 0..PIECE {
                before[k] = below(before[k], tops[k]);
            }
        } else {
            before = [1.0; PIECE];
        }
        for k in 0..from.len() {
            sum = sum * before[k] + terms[k];
            terms[k] = sum;
        }
        for k in 0..PIECE {
            terms[k] = tops[k] + Float::log(terms[k]);
        }
        for (to, &v) in out.iter_mut().zip(&terms) {
            to.write(T::from_f64(v));
        }
    }
}

/// Where the largest or smallest element up to each one along `dim` is, as `i64`: of equals the last, and of NaNs, which
/// count as largest and as smallest.
pub(crate) fn running_extreme(x: &Array, dim: usize, largest: bool) -> Result<Array> {
    // Whole numbers keep their order as `i64`.
    let x = contiguous(&if x.dtype().is_differentiable() { x.clone() } else { cast(x, DType::I64) });
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
    if a.dtype().is_complex() {
        return Ok(complex_recurrence(a, b, dim, reverse));
    }
    let (a, b) = (contiguous(a), contiguous(b));
    dispatch!(a.dtype(), "recurrence", float, T => {
        let (factor, term) = (In::<T>::of(&a), In::<T>::of(&b));
        let write = |out: Out<T>| {
            walk(a.shape(), dim, reverse, 4, 0.0f64, |h, k, at| {
                // SAFETY: the place is one of the contiguous arrays and of the result, and no other step has it.
                unsafe {
                    let term = (*term.at(at as isize)).to_f64();
                    // The first factor has nothing to act on, and may be infinite.
                    let h = if k == 0 { term } else { (*factor.at(at as isize)).to_f64() * h + term };
                    *out.at(at) = h as T;
                    h
                }
            });
        };
        // SAFETY: the walk comes by every element.
        Ok(unsafe { output(a.to_shape(), write) })
    })
}

/// [`recurrence`] of complex numbers.
fn complex_recurrence(a: &Array, b: &Array, dim: usize, reverse: bool) -> Array {
    let wide = |x: &Array| contiguous(&cast(x, DType::C128));
    let (dtype, a, b) = (a.dtype(), wide(a), wide(b));
    let (factor, term) = (In::<Complex64>::of(&a), In::<Complex64>::of(&b));
    let write = |out: Out<Complex64>| {
        walk(a.shape(), dim, reverse, 8, Complex64::ZERO, |h, k, at| {
            // SAFETY: the place is one of the contiguous arrays and of the result, and no other step has it.
            unsafe {
                let term = *term.at(at as isize);
                let h = if k == 0 { term } else { *factor.at(at as isize) * h + term };
                *out.at(at) = h;
                h
            }
        });
    };
    // SAFETY: the walk comes by every element.
    cast(&unsafe { output(a.to_shape(), write) }, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts, read, samples};

    const SHAPES: [&[usize]; 7] = [&[1], &[0], &[9], &[3, 0, 2], &[4, 5], &[2, 3, 70], &[30, 3]];

    /// The elements along `dim` up to the one at `index`, in the order of the walk.
    fn up_to(x: &Array, dim: usize, reverse: bool, index: &[usize]) -> Vec<f64> {
        let mut places: Vec<usize> = (0..x.shape()[dim]).collect();
        if reverse {
            places.reverse();
        }
        let end = places.iter().position(|&k| k == index[dim]).unwrap();
        let mut other = index.to_vec();
        (places[..=end].iter())
            .map(|&k| {
                other[dim] = k;
                at(x, &other)
            })
            .collect()
    }

    fn check<T: Element>(kernel: impl Fn(&Array, usize) -> Array, expected: impl Fn(&[f64]) -> f64, tolerance: f64) {
        for shape in SHAPES {
            for x in layouts::<T>(shape) {
                for dim in 0..shape.len() {
                    let got = kernel(&x, dim);
                    assert_eq!(got.shape(), shape);
                    for index in indices(shape) {
                        let (g, e) = (at(&got, &index), expected(&up_to(&x, dim, false, &index)));
                        assert!(
                            (g - e).abs() <= tolerance * (1.0 + e.abs()),
                            "{} dim {dim} {index:?}: {g} {e}",
                            x.ty()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn running_products_agree_with_loops() {
        let product = |x: &[f64]| x.iter().product();
        check::<f64>(|x, dim| cumprod(x, dim).unwrap(), product, 1e-14);
        check::<f32>(|x, dim| cumprod(x, dim).unwrap(), product, 1e-6);
        let wrapping = |x: &[f64]| x.iter().fold(1i64, |p, &v| p.wrapping_mul(v as i64)) as f64;
        check::<i64>(|x, dim| cumprod(x, dim).unwrap(), wrapping, 0.0);
    }

    #[test]
    fn running_logarithms_agree_with_loops() {
        let log = |x: &[f64]| x.iter().map(|v| v.exp()).sum::<f64>().ln();
        check::<f64>(|x, dim| logcumsumexp(x, dim).unwrap(), log, 1e-14);
        check::<f32>(|x, dim| logcumsumexp(x, dim).unwrap(), log, 1e-6);
    }

    #[test]
    fn running_logarithms_of_long_rows_are_those_of_columns() {
        let mut row: Vec<f64> = samples(200).iter().map(|v| v * 9.0).collect();
        row[..70].fill(f64::NEG_INFINITY);
        row[75] = 800.0;
        row[130] = f64::NEG_INFINITY;
        let infinite = [&row[..150], &[f64::INFINITY], &row[..20], &[f64::INFINITY]].concat();
        let undefined = [&row[..150], &[f64::NAN], &row[100..]].concat();
        for row in [row, infinite, undefined, vec![0.0; 64]] {
            let n = row.len();
            let two: Vec<f64> = row.iter().flat_map(|&v| [v, v]).collect();
            let got = read(&logcumsumexp(&Array::from_slice([n], &row), 0).unwrap());
            let columns = read(&logcumsumexp(&Array::from_slice([n, 2], &two), 0).unwrap());
            for (k, &g) in got.iter().enumerate() {
                let e = columns[2 * k];
                assert!(g == e || (g.is_nan() && e.is_nan()) || (g - e).abs() <= 1e-14 * e.abs(), "{k}: {g} {e}");
            }
        }
    }

    #[test]
    fn running_extremes_agree_with_loops() {
        for largest in [false, true] {
            let place = |x: &[f64]| {
                let best = |a: f64, b: f64| if largest { a >= b } else { a <= b };
                (0..x.len()).rev().find(|&k| x.iter().all(|&v| best(x[k], v))).unwrap() as f64
            };
            check::<f64>(|x, dim| running_extreme(x, dim, largest).unwrap(), place, 0.0);
            check::<f32>(|x, dim| running_extreme(x, dim, largest).unwrap(), place, 0.0);
            check::<u8>(|x, dim| running_extreme(x, dim, largest).unwrap(), place, 0.0);
            check::<bool>(|x, dim| running_extreme(x, dim, largest).unwrap(), place, 0.0);
        }
    }

    #[test]
    fn recurrences_agree_with_loops() {
        for shape in SHAPES {
            let factors = layouts::<f64>(shape);
            for (a, b) in factors.iter().zip(factors.iter().rev()) {
                for (dim, reverse) in (0..shape.len()).flat_map(|dim| [(dim, false), (dim, true)]) {
                    let got = recurrence(a, b, dim, reverse).unwrap();
                    for index in indices(shape) {
                        let (a, b) = (up_to(a, dim, reverse, &index), up_to(b, dim, reverse, &index));
                        let e = a.iter().zip(&b).fold(0.0, |h, (a, b)| a * h + b);
                        let g = at(&got, &index);
                        assert!((g - e).abs() <= 1e-14 * (1.0 + e.abs()), "dim {dim} {index:?}: {g} {e}");
                    }
                }
            }
        }
    }
}
