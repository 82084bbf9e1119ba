//! Softmax, its logarithm, and logsumexp along a dimension: shifted by the maximum, a row at a time.
//!
//! A row with NaN or ∞, or of −∞ alone, has NaN as softmax; its logsumexp is NaN, ∞ and −∞.

use super::copy::contiguous;
use super::math::Float;
use super::reduce::{Bounds, Max, Monoid, Neighbours, Source, Sum, Widen, line, run};
use super::simd::vectorize;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::shape::{Shape, contiguous_strides, without_dim};

/// `exp(x) / Σ exp(x)` along `dim`.
pub(crate) fn softmax(x: &Array, dim: usize) -> Result<Array> {
    dispatch!(x.dtype(), "softmax", float, T => Ok(along::<T, SOFTMAX>(x, dim)))
}

/// `x - log(Σ exp(x))` along `dim`.
pub(crate) fn log_softmax(x: &Array, dim: usize) -> Result<Array> {
    dispatch!(x.dtype(), "log_softmax", float, T => Ok(along::<T, LOG_SOFTMAX>(x, dim)))
}

/// `log(Σ exp(x))` along `dim`, which vanishes.
pub(crate) fn logsumexp(x: &Array, dim: usize) -> Result<Array> {
    dispatch!(x.dtype(), "logsumexp", float, T => Ok(along::<T, LOGSUMEXP>(x, dim)))
}

const SOFTMAX: u8 = 0;
const LOG_SOFTMAX: u8 = 1;
const LOGSUMEXP: u8 = 2;

/// What the three need of an element.
trait Real: Float + Bounds + Widen<Wide = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// Columns that are worked on side by side.
const WIDTH: usize = 256;
/// Rows that are added up before a sum of sums, whose error is that of fewer steps.
const ROWS: usize = 512;
/// Columns of narrow rows whose sums stay in registers.
const STRIP: usize = 64;

fn along<T: Real, const WHAT: u8>(x: &Array, dim: usize) -> Array {
    let (shape, strides) = if WHAT == LOGSUMEXP {
        let shape = without_dim(x.shape(), dim);
        let mut strides = contiguous_strides(&shape);
        strides.insert(dim, 1);
        (shape, strides)
    } else {
        (Shape::from_slice(x.shape()), contiguous_strides(x.shape()))
    };
    let along = Loop { size: x.shape()[dim], steps: [x.strides()[dim], strides[dim]] };
    let others = Nest::over((0..x.rank()).filter(|&d| d != dim), x.shape(), [x.strides(), &strides]);
    let is_row = along.steps == [1, 1] || along.size <= 1;
    let vector = others.loops.iter().position(|l| l.steps == [1, 1] && !is_row);
    if !is_row && vector.is_none() && !x.is_contiguous() {
        return self::along::<T, WHAT>(&contiguous(x), dim);
    }
    let from = In::<T>::of(x);
    let nanos = x.numel() * size_of::<T>() / 6 + others.len() * 10;
    let write = |out: Out<T>| match vector {
        Some(v) => {
            let mut outer = others.clone();
            let width = outer.loops.remove(v).size;
            let chunks = width.div_ceil(WIDTH);
            split(outer.len() * chunks, 1, nanos, |range| {
                for unit in range {
                    let (group, first) = (unit / chunks, unit % chunks * WIDTH);
                    let w = WIDTH.min(width - first);
                    outer.walk(group..group + 1, |_, [a, b]| {
                        let (a, b) = (a + first as isize, b as usize + first);
                        // SAFETY: `w` columns of `x` from here on, and those of the result are ours.
                        unsafe { columns::<T, WHAT>(from.at(a), out.at(b), w, along) };
                    });
                }
            });
        }
        None => split(others.len(), 1, nanos, |range| {
            vectorize(
                #[inline(always)]
                || {
                    others.walk(
                        range.clone(),
                        #[inline(always)]
                        // SAFETY: a row of `x`, and that of the result is ours.
                        |_, [a, b]| unsafe { row::<T, WHAT>(from.at(a), out.at(b as usize), along.size) },
                    );
                },
            );
        }),
    };
    // SAFETY: every row or column of the result is written.
    unsafe { output(shape, write) }
}

/// The logarithm of the sum of exponentials, from the maximum and the sum relative to it.
#[inline(always)]
fn log_of_sum<T: Real>(max: T, sum: T) -> T {
    // An infinite maximum makes the sum NaN; the limit is the maximum itself.
    if max == T::INFINITY || max == -T::INFINITY { max } else { max + sum.log() }
}

/// The exponentials of neighbours, relative to a maximum.
#[derive(Clone, Copy)]
pub(super) struct Exponentials<T>(pub(super) *const T, pub(super) T);

impl<T: Float> Source<T> for Exponentials<T> {
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: by the contract.
        let mut values = unsafe { Neighbours(self.0).get::<N>(i) };
        for v in &mut values {
            *v = (*v - self.1).exp();
        }
        values
    }
}

/// One row of `n` neighbours.
///
/// # Safety
/// `n` elements of `x` must be valid, and as many of `out`, or one for logsumexp.
#[inline(always)]
unsafe fn row<T: Real, const WHAT: u8>(x: *const T, out: *mut T, n: usize) {
    // SAFETY: by the contract; `out` is written before it is read.
    unsafe {
        let max = run::<T, Max>(Neighbours(x), n);
        if WHAT == SOFTMAX {
            for i in 0..n {
                *out.add(i) = (*x.add(i) - max).exp();
            }
            let scale = T::ONE / run::<T, Sum>(Neighbours(out.cast_const()), n);
            for i in 0..n {
                *out.add(i) = *out.add(i) * scale;
            }
            return;
        }
        let sum = run::<T, Sum>(Exponentials(x, max), n);
        if WHAT == LOGSUMEXP {
            *out = log_of_sum(max, sum);
            return;
        }
        let log = sum.log();
        for i in 0..n {
            *out.add(i) = (*x.add(i) - max) - log;
        }
    }
}

/// The logarithms of the sums of exponentials of [`STRIP`] columns.
///
/// # Safety
/// As for [`columns`].
#[inline(always)]
unsafe fn strip<T: Real>(x: *const T, out: *mut T, along: Loop<2>) {
    // SAFETY: by the contract.
    let row = |k: usize| unsafe { Neighbours(x.wrapping_offset(k as isize * along.steps[0])).get::<STRIP>(0) };
    let mut max = [T::LOWEST; STRIP];
    for k in 0..along.size {
        let values = row(k);
        for l in 0..STRIP {
            max[l] = <Max as Monoid<T>>::join(max[l], values[l]);
        }
    }
    let mut sum = [T::ZERO; STRIP];
    for start in (0..along.size).step_by(ROWS) {
        let mut part = [T::ZERO; STRIP];
        for k in start..along.size.min(start + ROWS) {
            let values = row(k);
            for l in 0..STRIP {
                part[l] = part[l] + (values[l] - max[l]).exp();
            }
        }
        for l in 0..STRIP {
            sum[l] = sum[l] + part[l];
        }
    }
    for l in 0..STRIP {
        // SAFETY: by the contract.
        unsafe { *out.add(l) = log_of_sum(max[l], sum[l]) };
    }
}

/// `w` neighbouring columns.
///
/// # Safety
/// `w` elements must be valid at every step along the dim, or once in `out` for logsumexp.
unsafe fn columns<T: Real, const WHAT: u8>(x: *const T, out: *mut T, w: usize, along: Loop<2>) {
    let n = along.size as isize;
    if WHAT == LOGSUMEXP && w.is_multiple_of(STRIP) && w < WIDTH {
        return vectorize(
            #[inline(always)]
            || {
                for start in (0..w).step_by(STRIP) {
                    // SAFETY: by the contract.
                    unsafe { strip::<T>(x.add(start), out.add(start), along) };
                }
            },
        );
    }
    let mut max = [T::LOWEST; WIDTH];
    let (mut sum, mut part) = ([T::ZERO; WIDTH], [T::ZERO; WIDTH]);
    let (max, sum, part) = (&mut max[..w], &mut sum[..w], &mut part[..w]);
    vectorize(
        #[inline(always)]
        || {
            for k in 0..n {
                // SAFETY: by the contract.
                for (m, &v) in max.iter_mut().zip(unsafe { line(x, k * along.steps[0], w) }) {
                    *m = <Max as Monoid<T>>::join(*m, v);
                }
            }
            for k in 0..n {
                // SAFETY: by the contract.
                let (from, to) = unsafe { (line(x, k * along.steps[0], w), out.wrapping_offset(k * along.steps[1])) };
                for j in 0..w {
                    let e = (from[j] - max[j]).exp();
                    part[j] = part[j] + e;
                    if WHAT == SOFTMAX {
                        // SAFETY: `j` is below `w`.
                        unsafe { *to.add(j) = e };
                    }
                }
                if k + 1 == n || (k + 1) % ROWS as isize == 0 {
                    for (s, p) in sum.iter_mut().zip(part.iter_mut()) {
                        *s = *s + std::mem::replace(p, T::ZERO);
                    }
                }
            }
            for (s, &m) in sum.iter_mut().zip(max.iter()) {
                *s = match WHAT {
                    SOFTMAX => T::ONE / *s,
                    LOG_SOFTMAX => s.log(),
                    _ => log_of_sum(m, *s),
                };
            }
            if WHAT == LOGSUMEXP {
                // SAFETY: by the contract.
                unsafe { std::ptr::copy_nonoverlapping(sum.as_ptr(), out, w) };
                return;
            }
            for k in 0..n {
                // SAFETY: by the contract.
                let (from, to) = unsafe { (line(x, k * along.steps[0], w), out.wrapping_offset(k * along.steps[1])) };
                for j in 0..w {
                    // SAFETY: `j` is below `w`, and softmax has written here before.
                    unsafe {
                        let to = to.add(j);
                        *to = if WHAT == SOFTMAX { *to * sum[j] } else { (from[j] - max[j]) - sum[j] };
                    }
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Element;
    use crate::kernels::strided::testing::{at, indices, layouts, read};

    fn check<T: Element>(shape: &[usize], tolerance: f64) {
        for x in layouts::<T>(shape) {
            for dim in 0..shape.len() {
                let (soft, log, lse) =
                    (softmax(&x, dim).unwrap(), log_softmax(&x, dim).unwrap(), logsumexp(&x, dim).unwrap());
                assert_eq!((soft.shape(), log.shape(), lse.shape()), (shape, shape, &without_dim(shape, dim)[..]));
                for index in indices(shape) {
                    let sum: f64 = (0..shape[dim])
                        .map(|k| {
                            let mut index = index.clone();
                            index[dim] = k;
                            at(&x, &index).exp()
                        })
                        .sum();
                    let v = at(&x, &index);
                    let mut outer = index.clone();
                    outer.remove(dim);
                    for (g, e) in [
                        (at(&soft, &index), v.exp() / sum),
                        (at(&log, &index), v - sum.ln()),
                        (at(&lse, &outer), sum.ln()),
                    ] {
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
    fn agrees_with_the_definition_in_every_layout() {
        for shape in [
            &[1][..],
            &[9],
            &[4, 5],
            &[30, 3],
            &[2, 3, 4, 5],
            &[3, 300],
            &[300, 3],
            &[7, 1, 70],
            &[2, 5, 64],
            &[9, 128],
            &[0, 3],
        ] {
            check::<f32>(shape, 1e-6);
            check::<f64>(shape, 1e-14);
        }
    }

    #[test]
    fn large_numbers_neither_overflow_nor_lose_their_differences() {
        let x = Array::from_slice(Shape::from_slice(&[3]), &[1000f32, 1001.0, -1000.0]);
        let e = 1.0 / (1.0 + 1f64.exp());
        for (g, e) in read(&softmax(&x, 0).unwrap()).into_iter().zip([e, 1.0 - e, 0.0]) {
            assert!((g - e).abs() < 1e-6);
        }
        assert!((logsumexp(&x, 0).unwrap().first::<f32>() - 1001.3133).abs() < 1e-3);
    }

    #[test]
    fn rows_that_are_not_finite_follow_the_stated_convention() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (row, expected) in
            [([-inf, -inf], -inf), ([inf, 0.0], inf), ([inf, -inf], inf), ([nan, inf], nan), ([0.0, nan], nan)]
        {
            let x = Array::from_slice(Shape::from_slice(&[2]), &row);
            let wide = Array::from_slice(Shape::from_slice(&[2, 4]), &[[row[0]; 4], [row[1]; 4]].concat());
            for x in [x, wide] {
                let lse = logsumexp(&x, 0).unwrap();
                assert!(
                    read(&lse).iter().all(|v| v.total_cmp(&expected).is_eq() || v.is_nan() && expected.is_nan()),
                    "{row:?}"
                );
                assert!(read(&softmax(&x, 0).unwrap()).iter().all(|v| v.is_nan()), "{row:?}");
                assert!(read(&log_softmax(&x, 0).unwrap()).iter().any(|v| v.is_nan()), "{row:?}");
            }
        }
        // A few elements of -inf among finite ones are weights of zero.
        let x = Array::from_slice(Shape::from_slice(&[3]), &[-inf, 0.0, 0.0]);
        assert_eq!(read(&softmax(&x, 0).unwrap()), [0.0, 0.5, 0.5]);
        assert_eq!(read(&log_softmax(&x, 0).unwrap())[0], -inf);
    }

    #[test]
    fn long_columns_lose_no_more_digits_than_long_rows() {
        for (n, w) in [(300_000, 2), (10_000, 64)] {
            let x = Array::full(Shape::from_slice(&[n, w]), 0.25f32);
            let expected = 0.25 + (n as f64).ln();
            for value in read(&logsumexp(&x, 0).unwrap()) {
                assert!((value - expected).abs() < 2e-6, "{n} by {w}: {value} {expected}");
            }
            let total: f64 = read(&softmax(&x, 0).unwrap()).iter().step_by(w).sum();
            assert!((total - 1.0).abs() < 2e-6, "{n} by {w}: {total}");
        }
    }

    #[test]
    fn an_empty_dim_has_the_logsumexp_of_nothing() {
        let x = Array::full(Shape::from_slice(&[2, 0]), 1f32);
        assert_eq!(softmax(&x, 1).unwrap().shape(), [2, 0]);
        assert_eq!(read(&logsumexp(&x, 1).unwrap()), [f64::NEG_INFINITY; 2]);
        assert_eq!(logsumexp(&x, 0).unwrap().shape(), [0]);
    }
}
