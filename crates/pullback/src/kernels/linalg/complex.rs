//! Decompositions of complex matrices, in double precision and without vectors: what cannot be said with real matrices of
//! twice the size.

use num_complex::Complex64;

use super::lu::parity;
use super::{Results, each, nanos};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::shape::{Shape, numel};

const ZERO: Complex64 = <Complex64 as Element>::ZERO;
const ONE: Complex64 = <Complex64 as Element>::ONE;

/// A size of a number that takes no root. Pivots are compared by it, as in LAPACK.
pub(super) fn rough(z: Complex64) -> f64 {
    z.re.abs() + z.im.abs()
}

/// The factors of the matrices `[.., m, n]` by elimination with partial pivoting, as those of real ones.
pub(crate) fn factor(a: &Array) -> (Array, Array) {
    let a = contiguous(a);
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let lead = &a.shape()[..a.rank() - 2];
    let mut factors = Array::full(a.shape(), ZERO);
    let order_shape: Shape = lead.iter().copied().chain([m]).collect();
    let mut order = Array::full(&order_shape, 0i64);
    let data = a.as_slice::<Complex64>().unwrap_or_default();
    let (into, orders) = (Results::<Complex64>::new(&mut factors, m * n), Results::<i64>::new(&mut order, m));
    let done = each(numel(lead), nanos::<Complex64>(m * n * m.min(n)), &|k| {
        // SAFETY: each matrix is written by one call.
        let (out, order) = unsafe { (into.at(k), orders.at(k)) };
        out.copy_from_slice(&data[k * m * n..(k + 1) * m * n]);
        order.iter_mut().enumerate().for_each(|(i, o)| *o = i as i64);
        eliminate(m, n, out, order);
        Ok(())
    });
    debug_assert!(done.is_ok());
    (factors, order)
}

fn eliminate(m: usize, n: usize, a: &mut [Complex64], order: &mut [i64]) {
    for k in 0..m.min(n) {
        let mut pivot = k;
        for i in k + 1..m {
            if rough(a[i * n + k]) > rough(a[pivot * n + k]) {
                pivot = i;
            }
        }
        if pivot != k {
            order.swap(pivot, k);
            (0..n).for_each(|j| a.swap(pivot * n + j, k * n + j));
        }
        let (above, below) = a.split_at_mut((k + 1) * n);
        let first = &above[k * n..];
        if first[k] == ZERO {
            continue;
        }
        for row in below.chunks_exact_mut(n) {
            let factor = over(row[k], first[k]);
            row[k] = factor;
            for (v, f) in row[k + 1..].iter_mut().zip(&first[k + 1..]) {
                *v -= factor * f;
            }
        }
    }
}

/// A number times a power of 2, which may be beyond the range of exponents.
fn scaled(z: Complex64, mut exponent: i32) -> Complex64 {
    let mut z = z;
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        z *= 2f64.powi(step);
        exponent -= step;
    }
    z
}

/// `a / b`, also where the square of `b` is beyond the range of numbers.
pub(super) fn over(a: Complex64, b: Complex64) -> Complex64 {
    let (b, exponent) = near_one(b);
    scaled(a, -exponent) / b
}

/// A number near 1 in size, and the power of 2 that was taken out of it.
fn near_one(z: Complex64) -> (Complex64, i32) {
    let size = rough(z);
    if size == 0.0 || !size.is_finite() {
        return (z, 0);
    }
    let exponent = size.log2().floor() as i32;
    (scaled(z, -exponent), exponent)
}

/// Calls `f` with the sign of the order and the diagonal of each pair of factors.
fn per_matrix<R: Element>(factors: &Array, order: &Array, f: impl Fn(f64, &[Complex64]) -> R) -> Array {
    let n = factors.shape()[factors.rank() - 1];
    let lead = &factors.shape()[..factors.rank() - 2];
    let lu = factors.as_slice::<Complex64>().unwrap_or_default();
    let order = order.as_slice::<i64>().unwrap_or_default();
    let found: Vec<R> = (0..numel(lead))
        .map(|k| {
            let diagonal: Vec<Complex64> = (0..n).map(|i| lu[k * n * n + i * n + i]).collect();
            f(parity(&order[k * n..(k + 1) * n]), &diagonal)
        })
        .collect();
    Array::from_slice(lead, &found)
}

/// The determinants of the matrices with these factors.
pub(crate) fn determinant(factors: &Array, order: &Array) -> Array {
    per_matrix(factors, order, |sign, diagonal| {
        // Parts of the product may be larger or smaller than any number.
        let (mut product, mut exponent) = (ONE * sign, 0i32);
        for &pivot in diagonal {
            let (pivot, of_pivot) = near_one(pivot);
            let (near, of_product) = near_one(product * pivot);
            product = near;
            exponent = exponent.saturating_add(of_pivot).saturating_add(of_product);
        }
        scaled(product, exponent.clamp(-4000, 4000))
    })
}

/// The determinants of the matrices with these factors, divided by their magnitudes, and the logarithms of these.
pub(crate) fn log_determinant(factors: &Array, order: &Array) -> [Array; 2] {
    let sign = per_matrix(factors, order, |sign, diagonal| {
        diagonal.iter().fold(ONE * sign, |product, &pivot| {
            let next = product * direction(pivot);
            // Rounding must not pile up in the magnitude.
            direction(next)
        })
    });
    let log = per_matrix(factors, order, |_, diagonal| {
        diagonal.iter().fold(0.0, |sum, &pivot| {
            let (near, exponent) = near_one(pivot);
            sum + (near.norm().ln() + f64::from(exponent) * std::f64::consts::LN_2)
        })
    });
    [sign, log]
}

/// A number divided by its magnitude; 0 stays 0.
pub(super) fn direction(z: Complex64) -> Complex64 {
    let (z, _) = near_one(z);
    if z == ZERO { z } else { z / z.norm() }
}

/// The factors of the matrices `[.., m, n]`: `[.., m, k]` with orthonormal columns, and `[.., k, n]`, an upper triangle whose
/// diagonal is real. The signs are LAPACK's: each reflection turns the real part of a diagonal element to the other side.
pub(crate) fn qr(a: &Array, k: usize) -> [Array; 2] {
    let a = contiguous(a);
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let lead = &a.shape()[..a.rank() - 2];
    let shape = |r: usize, c: usize| lead.iter().copied().chain([r, c]).collect::<Shape>();
    let mut q = Array::full(shape(m, k), ZERO);
    let mut r = Array::full(shape(k, n), ZERO);
    let data = a.as_slice::<Complex64>().unwrap_or_default();
    let (of_q, of_r) = (Results::<Complex64>::new(&mut q, m * k), Results::<Complex64>::new(&mut r, k * n));
    let steps = m.min(n);
    let done = each(numel(lead), nanos::<Complex64>(4 * m * steps * (n + k)), &|matrix| {
        let mut work = data[matrix * m * n..(matrix + 1) * m * n].to_vec();
        // SAFETY: each matrix is written by one call.
        let (q, r) = unsafe { (of_q.at(matrix), of_r.at(matrix)) };
        let mut reflections = Vec::with_capacity(steps);
        for j in 0..steps {
            let (scale, v) = reflector(n, j, &mut work);
            reflect(n, [j, j + 1], scale.conj(), &v, &mut work);
            reflections.push((scale, v));
        }
        for i in 0..k.min(steps) {
            r[i * n + i..(i + 1) * n].copy_from_slice(&work[i * n + i..(i + 1) * n]);
        }
        for i in 0..k {
            q[i * k + i] = ONE;
        }
        for (j, (scale, v)) in reflections.iter().enumerate().rev() {
            reflect(k, [j, j], *scale, v, q);
        }
        Ok(())
    });
    debug_assert!(done.is_ok());
    [q, r]
}

/// The scale and the vector (from row `j` on) of the reflection `1 - scale v vᴴ` whose conjugate transpose clears column `j`
/// below the diagonal and makes the diagonal real.
fn reflector(n: usize, j: usize, a: &mut [Complex64]) -> (Complex64, Vec<Complex64>) {
    let mut v: Vec<Complex64> = a[j * n..].iter().skip(j).step_by(n).copied().collect();
    let alpha = v[0];
    let below = v[1..].iter().any(|x| *x != ZERO);
    if !below && alpha.im == 0.0 {
        return (ZERO, v);
    }
    let unit = v.iter().fold(0.0f64, |u, x| u.max(rough(*x)));
    let length = unit * v.iter().map(|x| (x / unit).norm_sqr()).sum::<f64>().sqrt();
    let beta = -length.copysign(alpha.re);
    let divisor = alpha - beta;
    v[0] = ONE;
    v[1..].iter_mut().for_each(|x| *x = over(*x, divisor));
    a[j * n + j] = beta.into();
    (-(divisor / beta), v)
}

/// Applies `1 - scale v vᴴ` to the rows and columns from `row` and `column` on of a matrix with `n` columns.
fn reflect(n: usize, [row, column]: [usize; 2], scale: Complex64, v: &[Complex64], a: &mut [Complex64]) {
    if scale == ZERO || column >= n {
        return;
    }
    let mut sums = vec![ZERO; n - column];
    let rows = |a: &mut [Complex64], f: &mut dyn FnMut(Complex64, &mut [Complex64])| {
        for (v, line) in v.iter().zip(a[row * n..].chunks_exact_mut(n)) {
            f(*v, &mut line[column..]);
        }
    };
    rows(a, &mut |v, line| sums.iter_mut().zip(line).for_each(|(s, x)| *s += v.conj() * *x));
    rows(a, &mut |v, line| line.iter_mut().zip(&sums).for_each(|(x, s)| *x -= scale * v * s));
}
