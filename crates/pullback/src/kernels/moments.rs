//! Variances of sets of elements that fit in a cache, from which each is read for the second time.

use super::normalize::{Real, Squares};
use super::reduce::{Neighbours, Source, Sum, run};
use super::simd::vectorize;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::Shape;

/// Elements of a set at most.
const LONGEST: usize = 4096;
/// Neighbouring sets that are worked on side by side, and the elements that are added up before a sum of sums.
const STRIP: usize = 64;

/// The sum of squared deviations from the mean over `dims` (ascending), which vanish, divided by `divisor`, or the square root of that
/// if `root`. Nothing if the elements of a set are too many or lie elsewhere than in equal steps.
pub(crate) fn variance(x: &Array, dims: &[usize], divisor: usize, root: bool) -> Option<Array> {
    let (&first, &last) = (dims.first()?, dims.last()?);
    let size = |range: &[usize]| range.iter().product::<usize>();
    let (outer, n, inner) = (size(&x.shape()[..first]), size(&x.shape()[first..=last]), size(&x.shape()[last + 1..]));
    if last - first + 1 != dims.len() || !x.is_contiguous() || x.numel() == 0 || n > LONGEST || !x.dtype().is_float() {
        return None;
    }
    let shape = [&x.shape()[..first], &x.shape()[last + 1..]].concat();
    let sets = Sets { outer, n, inner };
    dispatch!(x.dtype(), "var", float, T => Ok(variances::<T>(x, sets, T::from_f64(divisor as f64), root, &shape))).ok()
}

/// `outer * inner` sets of `n` elements, `inner` apart.
#[derive(Clone, Copy)]
struct Sets {
    outer: usize,
    n: usize,
    inner: usize,
}

fn variances<T: Real>(x: &Array, sets: Sets, divisor: T, root: bool, shape: &[usize]) -> Array {
    let Sets { outer, n, inner } = sets;
    let strips = inner.div_ceil(STRIP);
    let from = In::<T>::of(x);
    let finish = |sum: T| if root { (sum / divisor).sqrt() } else { sum / divisor };
    let write = |out: Out<T>| {
        split(outer * strips, 1, x.numel() * size_of::<T>() / 8, |range| {
            vectorize(
                #[inline(always)]
                || {
                    for unit in range.clone() {
                        let (k, start) = (unit / strips, unit % strips * STRIP);
                        let (x, to) = (from.at((k * n * inner + start) as isize), out.at(k * inner + start));
                        let w = STRIP.min(inner - start);
                        // SAFETY: the sets are those of `x`, and their results are ours.
                        unsafe {
                            let sums = match w {
                                1 => {
                                    *to = finish(row(x, n, inner, divisor));
                                    continue;
                                }
                                STRIP => columns(n, divisor, |i| Neighbours(x.add(i * inner)).get::<STRIP>(0)),
                                _ => columns(n, divisor, |i| part(x.add(i * inner), w)),
                            };
                            for (l, &sum) in sums[..w].iter().enumerate() {
                                *to.add(l) = finish(sum);
                            }
                        }
                    }
                },
            );
        });
    };
    // SAFETY: every result is written.
    unsafe { output(Shape::from_slice(shape), write) }
}

/// Whether the rounding of a mean would show beside a variance: elements that are all equal would get a deviation, and a derivative.
#[inline(always)]
fn shows<T: Real>(sum: T, divisor: T, mean: T) -> bool {
    sum / divisor < mean * mean * T::from_f64(1e-6)
}

/// The sum of squared deviations of one set.
///
/// # Safety
/// `n` elements, `step` apart, must be valid.
#[inline(always)]
unsafe fn row<T: Real>(x: *const T, n: usize, step: usize, divisor: T) -> T {
    // SAFETY: by the contract.
    unsafe {
        if step != 1 {
            return columns(n, divisor, |i| [*x.add(i * step); 1])[0];
        }
        let count = T::from_f64(n as f64);
        let mean = run::<T, Sum>(Neighbours(x), n) / count;
        let sum = run::<T, Sum>(Squares(x, mean), n);
        if shows(sum, divisor, mean) { columns(n, divisor, |i| [*x.add(i); 1])[0] } else { sum }
    }
}

/// `w` neighbours, and zeros.
///
/// # Safety
/// They must be valid, and no more than there is room for.
#[inline(always)]
unsafe fn part<T: Real>(x: *const T, w: usize) -> [T; STRIP] {
    let mut values = [T::ZERO; STRIP];
    for (l, value) in values[..w].iter_mut().enumerate() {
        // SAFETY: by the contract.
        *value = unsafe { *x.add(l) };
    }
    values
}

/// The sums of squared deviations of several sets; `get` gives their elements with a number below `n`.
#[inline(always)]
fn columns<T: Real, const N: usize>(n: usize, divisor: T, get: impl Fn(usize) -> [T; N]) -> [T; N] {
    let count = T::from_f64(n as f64);
    let mean = sums(n, &get).map(|sum| sum / count);
    let squares = |i: usize, mean: &[T; N]| {
        let mut values = get(i);
        for l in 0..N {
            values[l] = (values[l] - mean[l]) * (values[l] - mean[l]);
        }
        values
    };
    let sum = sums(n, |i| squares(i, &mean));
    let mut any = false;
    for l in 0..N {
        any |= shows(sum[l], divisor, mean[l]);
    }
    if !any {
        return sum;
    }
    // Deviations from the rounded mean, whose own mean is what was lost.
    let less = |i: usize, rest: &[T; N]| {
        let mut values = get(i);
        for l in 0..N {
            values[l] = (values[l] - mean[l]) - rest[l];
        }
        values
    };
    let rest = sums(n, |i| less(i, &[T::ZERO; N])).map(|sum| sum / count);
    sums(n, |i| less(i, &rest).map(|value| value * value))
}

/// The sums of elements with numbers below `n`.
#[inline(always)]
fn sums<T: Real, const N: usize>(n: usize, get: impl Fn(usize) -> [T; N]) -> [T; N] {
    let mut total = [T::ZERO; N];
    for start in (0..n).step_by(STRIP) {
        let mut part = [T::ZERO; N];
        for i in start..n.min(start + STRIP) {
            let values = get(i);
            for l in 0..N {
                part[l] = part[l] + values[l];
            }
        }
        for l in 0..N {
            total[l] = total[l] + part[l];
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(x: &Array, dims: &[usize], correction: usize, expected: impl Fn(usize) -> Vec<f64>) {
        let n: usize = dims.iter().map(|&d| x.shape()[d]).product();
        let got = variance(x, dims, n - correction, false).expect("these sets suit");
        for (k, &v) in got.as_slice::<f64>().expect("contiguous").iter().enumerate() {
            let set = expected(k);
            let mean = set.iter().sum::<f64>() / n as f64;
            let wanted = set.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - correction) as f64;
            assert!((v - wanted).abs() <= 1e-12 * (1.0 + wanted), "{k}: {v} {wanted}");
        }
    }

    #[test]
    fn rows_and_columns_of_all_widths_agree_with_the_definition() {
        for (outer, n, inner) in [(3, 70, 1), (2, 5, 64), (2, 130, 3), (1, 9, 150), (4, 1, 2)] {
            let data: Vec<f64> = (0..outer * n * inner).map(|i| ((i * 37 % 101) as f64).sqrt()).collect();
            let at = |k: usize| -> Vec<f64> { (0..n).map(|i| data[(k / inner * n + i) * inner + k % inner]).collect() };
            let x = Array::from_slice([outer, n, inner], &data);
            close(&x, &[1], 0, at);
        }
    }

    #[test]
    fn equal_elements_far_from_zero_have_no_deviation() {
        for inner in [1, 3, 64] {
            let x = Array::full(Shape::from_slice(&[7, inner]), 1e6f32 / 3.0);
            let y = variance(&x, &[0], 6, true).expect("these sets suit");
            assert!(y.as_slice::<f32>().expect("contiguous").iter().all(|&v| v == 0.0), "{inner}");
        }
    }
}
