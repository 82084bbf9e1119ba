//! The exponential of matrices: a Padé approximant of a matrix scaled to be small, squared back.

use super::lu::eliminate;
use super::triangular::{Triangle, in_place};
use super::{Results, Scalar, each, multiply, nanos};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::shape::numel;

/// The coefficients of the approximant of order 13, over the first.
const PADE: [f64; 14] = [
    1.0,
    0.5,
    7_771_770_303_897_600.0 / 64_764_752_532_480_000.0,
    1_187_353_796_428_800.0 / 64_764_752_532_480_000.0,
    129_060_195_264_000.0 / 64_764_752_532_480_000.0,
    10_559_470_521_600.0 / 64_764_752_532_480_000.0,
    670_442_572_800.0 / 64_764_752_532_480_000.0,
    33_522_128_640.0 / 64_764_752_532_480_000.0,
    1_323_241_920.0 / 64_764_752_532_480_000.0,
    40_840_800.0 / 64_764_752_532_480_000.0,
    960_960.0 / 64_764_752_532_480_000.0,
    16_380.0 / 64_764_752_532_480_000.0,
    182.0 / 64_764_752_532_480_000.0,
    1.0 / 64_764_752_532_480_000.0,
];

/// The norm up to which the approximant is exact to rounding (Higham 2005).
const LIMIT: f64 = 5.371_920_351_148_152;

/// The exponentials of the matrices in the last two dimensions.
pub(crate) fn exponential<T: Scalar>(a: &Array) -> Array {
    let a = contiguous(a);
    let n = a.shape()[a.rank() - 1];
    let mut out = Array::full(a.shape(), <T as Element>::ZERO);
    let data = a.as_slice::<T>().unwrap_or_default();
    let results = Results::<T>::new(&mut out, n * n);
    let done = each(numel(&a.shape()[..a.rank() - 2]), nanos::<T>(15 * n * n * n), &|k| {
        // SAFETY: each matrix is written by one call.
        one(n, &data[k * n * n..(k + 1) * n * n], unsafe { results.at(k) });
        Ok(())
    });
    debug_assert!(done.is_ok());
    out
}

/// The largest sum of magnitudes in a column.
fn norm<T: Scalar>(n: usize, a: &[T]) -> f64 {
    (0..n)
        .map(|j| (0..n).map(|i| a[i * n + j].abs().to_f64()).sum::<f64>())
        .fold(0.0, |m, v| if v > m || v.is_nan() { v } else { m })
}

fn one<T: Scalar>(n: usize, a: &[T], out: &mut [T]) {
    if n == 0 {
        return;
    }
    let size = norm(n, a);
    if !size.is_finite() {
        return out.fill(T::NAN);
    }
    let squarings = if size > LIMIT { (size / LIMIT).log2().ceil() as i32 } else { 0 };
    let half = 0.5f64.powi(squarings);
    let a: Vec<T> = a.iter().map(|&v| v * T::from_f64(half)).collect();
    let product = |a: &[T], b: &[T]| {
        let mut c = vec![<T as Element>::ZERO; n * n];
        multiply(n, a, b, &mut c);
        c
    };
    let a2 = product(&a, &a);
    let a4 = product(&a2, &a2);
    let a6 = product(&a2, &a4);
    let b = PADE.map(T::from_f64);
    let sum = |c: [T; 4]| -> Vec<T> {
        let mut s: Vec<T> = (0..n * n).map(|i| c[3] * a6[i] + c[2] * a4[i] + c[1] * a2[i]).collect();
        (0..n).for_each(|i| s[i * n + i] += c[0]);
        s
    };
    let zero = <T as Element>::ZERO;
    let plus = |mut x: Vec<T>, y: Vec<T>| {
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        x
    };
    let u = plus(product(&a6, &sum([zero, b[9], b[11], b[13]])), sum([b[1], b[3], b[5], b[7]]));
    let u = product(&a, &u);
    let v = plus(product(&a6, &sum([zero, b[8], b[10], b[12]])), sum([b[0], b[2], b[4], b[6]]));
    let mut divisor: Vec<T> = v.iter().zip(&u).map(|(&v, &u)| v - u).collect();
    let dividend: Vec<T> = v.iter().zip(&u).map(|(&v, &u)| v + u).collect();
    let mut order: Vec<i64> = (0..n as i64).collect();
    eliminate(n, n, n, &mut divisor, &mut order);
    for (row, &from) in out.chunks_exact_mut(n).zip(&order) {
        row.copy_from_slice(&dividend[from as usize * n..(from as usize + 1) * n]);
    }
    in_place(n, &divisor, Triangle { upper: false, transposed: false, unit: true }, n, out);
    in_place(n, &divisor, Triangle { upper: true, transposed: false, unit: false }, n, out);
    let mut square = vec![zero; n * n];
    for _ in 0..squarings {
        multiply(n, out, out, &mut square);
        out.copy_from_slice(&square);
    }
}
