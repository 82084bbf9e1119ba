//! Elimination with partial pivoting, and the solutions that its factors give.

use super::triangular::{Triangle, in_place, substitute};
use super::{Part, Results, Scalar, Stack, Stop, each, leads, nanos, subtract_product};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::kernels::simd::vectorize;
use crate::shape::{Shape, numel};

/// Columns that are eliminated one by one.
const NARROW: usize = 24;

/// The factors of the matrices `[.., m, n]`, both in one matrix, and the order of the rows: row `i` of the product is row
/// `order[i]` of the matrix.
pub(crate) fn factor<T: Scalar>(a: &Array) -> (Array, Array) {
    let a = contiguous(a);
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let lead = &a.shape()[..a.rank() - 2];
    let mut factors = Array::full(a.shape(), <T as Element>::ZERO);
    let order_shape: Shape = lead.iter().copied().chain([m]).collect();
    let mut order = Array::full(&order_shape, 0i64);
    let data = a.as_slice::<T>().unwrap_or_default();
    let (into, orders) = (Results::<T>::new(&mut factors, m * n), Results::<i64>::new(&mut order, m));
    let done = each(numel(lead), nanos::<T>(m * n * m.min(n) / 2), &|k| {
        // SAFETY: each matrix is written by one call.
        let (out, order) = unsafe { (into.at(k), orders.at(k)) };
        out.copy_from_slice(&data[k * m * n..(k + 1) * m * n]);
        order.iter_mut().enumerate().for_each(|(i, o)| *o = i as i64);
        eliminate(m, n, n, out, order);
        Ok(())
    });
    debug_assert!(done.is_ok());
    (factors, order)
}

/// Eliminates the first `n` of `row` columns of `m` rows, and moves whole rows. Halves of the columns are taken one
/// after the other, so that the bulk of the work is products.
pub(super) fn eliminate<T: Scalar>(m: usize, n: usize, row: usize, a: &mut [T], order: &mut [i64]) {
    if m > 0 && n > 0 {
        columns(m, 0, n, row, a, order);
    }
}

/// Columns `from..to`, whose pivots are sought from row `from` on.
fn columns<T: Scalar>(m: usize, from: usize, to: usize, row: usize, a: &mut [T], order: &mut [i64]) {
    let to = to.min(row);
    if from >= m {
        return;
    }
    let pivots = to.min(m);
    if pivots - from <= NARROW {
        vectorize(
            #[inline(always)]
            || narrow(m, from, to, row, a, order),
        );
        return;
    }
    let middle = from + (pivots - from) / 2;
    columns(m, from, middle, row, a, order);
    let base = a.as_mut_ptr();
    let whole = Part { start: base.cast_const(), steps: [row as isize, 1] };
    // SAFETY: blocks of the matrix that do not overlap.
    unsafe {
        substitute(middle - from, whole.from(from, from), true, true, to - middle, base.add(from * row + middle), row);
        subtract_product(
            [m - middle, middle - from, to - middle],
            base.add(middle * row + middle),
            row,
            whole.from(middle, from),
            whole.from(from, middle),
        );
    }
    columns(m, middle, to, row, a, order);
}

/// [`columns`] one at a time.
#[inline(always)]
fn narrow<T: Scalar>(m: usize, from: usize, to: usize, row: usize, a: &mut [T], order: &mut [i64]) {
    for k in from..to.min(m) {
        let mut pivot = k;
        let mut largest = a[k * row + k].abs();
        for i in k + 1..m {
            let size = a[i * row + k].abs();
            if size > largest {
                (pivot, largest) = (i, size);
            }
        }
        if pivot != k {
            order.swap(pivot, k);
            let (above, below) = a.split_at_mut(pivot * row);
            above[k * row..(k + 1) * row].swap_with_slice(&mut below[..row]);
        }
        if largest == T::ZERO {
            continue;
        }
        let (above, below) = a.split_at_mut((k + 1) * row);
        let first = &above[k * row..];
        let divisor = first[k];
        for other in below.chunks_exact_mut(row).take(m - k - 1) {
            let factor = other[k] / divisor;
            other[k] = factor;
            for (v, &f) in other[k + 1..to].iter_mut().zip(&first[k + 1..to]) {
                *v = (-factor).mul_add(f, *v);
            }
        }
    }
}

/// The factors of one square matrix in its place, and the order of its rows.
pub(crate) fn factor_one(n: usize, a: &mut [f64]) -> Vec<i64> {
    let mut order: Vec<i64> = (0..n as i64).collect();
    eliminate(n, n, n, a, &mut order);
    order
}

/// The solution of one system from the factors of its matrix, in the place of the right-hand side, whose elements are in the
/// order of the rows.
pub(crate) fn solve_one(n: usize, factors: &[f64], x: &mut [f64]) {
    in_place(n, factors, Triangle { upper: false, transposed: false, unit: true }, 1, x);
    in_place(n, factors, Triangle { upper: true, transposed: false, unit: false }, 1, x);
}

/// The solutions of `a x = b`, or of the transposed system, from the factors of `a`.
pub(crate) fn solve<T: Scalar>(factors: &Array, order: &Array, b: &Array, transposed: bool) -> Array {
    let (factors, order, b) = (contiguous(factors), contiguous(order), contiguous(b));
    let whole = leads(&factors, 2, &b, 2);
    let [n, m] = [b.shape()[b.rank() - 2], b.shape()[b.rank() - 1]];
    let shape: Shape = whole.iter().copied().chain([n, m]).collect();
    let mut out = Array::full(&shape, <T as Element>::ZERO);
    let of_factors = Stack::<T>::new(&factors, 2, &whole);
    let (of_order, of_b) = (Stack::<i64>::new(&order, 1, &whole), Stack::<T>::new(&b, 2, &whole));
    let results = Results::<T>::new(&mut out, n * m);
    let done = each(numel(&whole), nanos::<T>(n * n * m), &|k| {
        let (lu, order, b) = (of_factors.at(k), of_order.at(k), of_b.at(k));
        // SAFETY: each matrix is written by one call.
        let out = unsafe { results.at(k) };
        let lower = Triangle { upper: false, transposed, unit: true };
        let upper = Triangle { upper: true, transposed, unit: false };
        if !transposed {
            for (row, &from) in out.chunks_exact_mut(m.max(1)).zip(order) {
                row.copy_from_slice(&b[from as usize * m..(from as usize + 1) * m]);
            }
            in_place(n, lu, lower, m, out);
            in_place(n, lu, upper, m, out);
        } else {
            let mut x = b.to_vec();
            in_place(n, lu, upper, m, &mut x);
            in_place(n, lu, lower, m, &mut x);
            for (row, &to) in x.chunks_exact(m.max(1)).zip(order) {
                out[to as usize * m..(to as usize + 1) * m].copy_from_slice(row);
            }
        }
        Ok(())
    });
    debug_assert!(done.is_ok());
    out
}

/// Stops at the first matrix that is singular to working precision: one with a pivot that is nothing but rounding error,
/// in whatever units its columns are, and its rows unless they have one `unit`. Matrices that are not finite are left alone.
pub(crate) fn check_regular<T: Scalar>(a: &Array, factors: &Array, order: &Array, unit: bool) -> Result<(), Stop> {
    let (a, factors, order) = (contiguous(a), contiguous(factors), contiguous(order));
    let n = a.shape()[a.rank() - 1];
    let (a, factors) = (a.as_slice::<T>().unwrap_or_default(), factors.as_slice::<T>().unwrap_or_default());
    let order = order.as_slice::<i64>().unwrap_or_default();
    let size = (n * n).max(1);
    let (mut rows, mut columns) = (vec![T::ONE; n], vec![T::ZERO; n]);
    for (matrix, (a, lu)) in a.chunks_exact(size).zip(factors.chunks_exact(size)).enumerate() {
        if !a.iter().all(|v| v.is_finite()) {
            continue;
        }
        let tiny = T::from_f64((n as f64).sqrt() * if unit { 64.0 } else { 1.0 }) * T::EPSILON;
        columns.fill(T::ZERO);
        for (row, scale) in a.chunks_exact(n).zip(&mut rows) {
            let largest = row.iter().fold(T::ZERO, |m, v| if v.abs() > m { v.abs() } else { m });
            *scale = if largest > T::ZERO && !unit { largest } else { T::ONE };
            for (v, column) in row.iter().zip(&mut columns) {
                let size = v.abs() / *scale;
                if size > *column {
                    *column = size;
                }
            }
        }
        let order = &order[matrix * n..(matrix + 1) * n];
        for k in 0..n {
            let pivot = lu[k * n + k].abs() / rows[order[k] as usize];
            if pivot <= tiny * columns[k] {
                return Err(Stop { matrix, step: k });
            }
        }
    }
    Ok(())
}

/// The signs of the orders of rows: 1 for an even number of exchanges, else -1.
pub(super) fn parity(order: &[i64]) -> f64 {
    let mut seen = vec![false; order.len()];
    let mut sign = 1.0;
    for start in 0..order.len() {
        let (mut at, mut len) = (start, 0);
        while !seen[at] {
            seen[at] = true;
            at = order[at] as usize;
            len += 1;
        }
        if len > 0 && len % 2 == 0 {
            sign = -sign;
        }
    }
    sign
}

/// The determinants of the matrices with these factors.
pub(crate) fn determinant<T: Scalar>(factors: &Array, order: &Array) -> Array {
    per_matrix(factors, order, |n, lu: &[T], order| {
        T::from_f64(product(parity(order), (0..n).map(|k| lu[k * n + k].to_f64())))
    })
}

/// A product whose parts may be larger or smaller than any number.
pub(super) fn product(first: f64, factors: impl Iterator<Item = f64>) -> f64 {
    const LARGE: f64 = 1.157_920_892_373_162e77; // 2²⁵⁶
    let (mut product, mut exponent) = (first, 0i32);
    for mut factor in factors {
        for v in [&mut factor, &mut product] {
            while v.abs() > LARGE && v.is_finite() {
                *v /= LARGE;
                exponent += 1;
            }
            while v.abs() < 1.0 / LARGE && *v != 0.0 {
                *v *= LARGE;
                exponent -= 1;
            }
        }
        product *= factor;
    }
    for _ in 0..exponent.unsigned_abs() {
        product = if exponent > 0 { product * LARGE } else { product / LARGE };
    }
    product
}

/// The signs of the determinants of the matrices with these factors, and the logarithms of their magnitudes.
pub(crate) fn log_determinant<T: Scalar>(factors: &Array, order: &Array) -> (Array, Array) {
    let sign = per_matrix(factors, order, |n, lu: &[T], order| {
        (0..n).fold(T::from_f64(parity(order)), |product, k| product * lu[k * n + k].sign())
    });
    let log = per_matrix(factors, order, |n, lu: &[T], _| {
        (0..n).fold(T::ZERO, |sum, k| sum + T::from_f64(lu[k * n + k].abs().to_f64().ln()))
    });
    (sign, log)
}

fn per_matrix<T: Scalar>(factors: &Array, order: &Array, f: impl Fn(usize, &[T], &[i64]) -> T) -> Array {
    let (factors, order) = (contiguous(factors), contiguous(order));
    let (lead, n) = (&factors.shape()[..factors.rank() - 2], factors.shape()[factors.rank() - 1]);
    let (lu, order) = (factors.as_slice::<T>().unwrap_or_default(), order.as_slice::<i64>().unwrap_or_default());
    let found: Vec<T> =
        (0..numel(lead)).map(|k| f(n, &lu[k * n * n..(k + 1) * n * n], &order[k * n..(k + 1) * n])).collect();
    Array::from_slice(lead, &found)
}
