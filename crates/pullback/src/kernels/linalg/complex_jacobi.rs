//! Eigenvalues and singular values of complex matrices by plane rotations, as those of real ones: a number of magnitude 1 makes an
//! element real before a rotation clears it.

use num_complex::Complex64;

use super::complex::direction;
use super::jacobi::{converges, rotation, unit_of};
use super::{Results, Stop, each, nanos};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::shape::{Shape, numel};

const ZERO: Complex64 = <Complex64 as Element>::ZERO;
const ONE: Complex64 = <Complex64 as Element>::ONE;
const NAN: Complex64 = Complex64 { re: f64::NAN, im: f64::NAN };

/// The eigenvalues of the Hermitian parts of matrices in rising order, and the eigenvectors as columns if they are asked for.
pub(crate) fn hermitian(a: &Array, vectors: bool) -> Result<[Array; 2], Stop> {
    let a = contiguous(a);
    let n = a.shape()[a.rank() - 1];
    let lead = &a.shape()[..a.rank() - 2];
    let of_values: Shape = lead.iter().copied().chain([n]).collect();
    let size = if vectors { n } else { 0 };
    let of_vectors: Shape = lead.iter().copied().chain([size, size]).collect();
    let (mut values, mut columns) = (Array::full(&of_values, 0.0f64), Array::full(&of_vectors, ZERO));
    let data = a.as_slice::<Complex64>().unwrap_or_default();
    let (into, to) = (Results::<f64>::new(&mut values, n), Results::<Complex64>::new(&mut columns, size * size));
    each(numel(lead), nanos::<Complex64>(30 * n * n * n), &|k| {
        let a = &data[k * n * n..(k + 1) * n * n];
        // SAFETY: each matrix is written by one call.
        let (values, columns) = unsafe { (into.at(k), to.at(k)) };
        if !a.iter().all(|z| z.is_finite()) {
            values.fill(f64::NAN);
            columns.fill(NAN);
            return Ok(());
        }
        let found = eigen(n, a, vectors).ok_or(0usize)?;
        for (j, (value, vector)) in found.into_iter().enumerate() {
            values[j] = value;
            vector.iter().enumerate().for_each(|(i, x)| columns[i * n + j] = *x);
        }
        Ok(())
    })?;
    Ok([values, columns])
}

/// Matrices of rows `x[p]` and `x[q]` become `c x[p] - s x[q]` and `s x[p] + c x[q]`, after `x[q]` was turned.
fn turn(x: &mut [Complex64], n: usize, [p, q]: [usize; 2], phase: Complex64, (c, s): (f64, f64)) {
    for i in 0..n {
        let (a, b) = (x[p * n + i], x[q * n + i] * phase);
        x[p * n + i] = a * c - b * s;
        x[q * n + i] = a * s + b * c;
    }
}

fn parts(a: &[Complex64]) -> impl Iterator<Item = f64> {
    a.iter().flat_map(|z| [z.re, z.im])
}

fn identity(n: usize) -> Vec<Complex64> {
    (0..n * n).map(|k| if k / n == k % n { ONE } else { ZERO }).collect()
}

/// The largest of the first components, by a margin that rounding does not reach, becomes positive.
fn phase_of(row: &[Complex64]) -> Complex64 {
    let largest = row.iter().fold(0.0f64, |m, z| m.max(z.norm()));
    row.iter().find(|z| z.norm() >= (1.0 - 1e-8) * largest).map_or(ONE, |z| direction(*z).conj())
}

fn eigen(n: usize, matrix: &[Complex64], vectors: bool) -> Option<Vec<(f64, Vec<Complex64>)>> {
    let unit = unit_of(parts(matrix));
    let mut a: Vec<Complex64> =
        (0..n * n).map(|k| matrix[k] / unit * 0.5 + (matrix[k % n * n + k / n] / unit).conj() * 0.5).collect();
    let mut v = identity(if vectors { n } else { 0 });
    let converged = converges(n, |[p, q], floor| {
        let (app, aqq, apq) = (a[p * n + p].re, a[q * n + q].re, a[p * n + q]);
        let size = apq.norm();
        if size <= 0.25 * f64::EPSILON * (app.abs() * aqq.abs()).sqrt() || size < floor {
            return false;
        }
        let (phase, by) = (direction(apq).conj(), rotation((aqq - app) / (2.0 * size)));
        // Rows, then columns.
        turn(&mut a, n, [p, q], phase.conj(), by);
        for i in 0..n {
            let (x, y) = (a[i * n + p], a[i * n + q] * phase);
            a[i * n + p] = x * by.0 - y * by.1;
            a[i * n + q] = x * by.1 + y * by.0;
        }
        (a[p * n + q], a[q * n + p]) = (ZERO, ZERO);
        if vectors {
            turn(&mut v, n, [p, q], phase, by);
        }
        true
    });
    if !converged {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].re.total_cmp(&a[j * n + j].re));
    let vector = |i: usize| {
        let row = if vectors { &v[i * n..(i + 1) * n] } else { &[] };
        let phase = phase_of(row);
        row.iter().map(|z| z * phase).collect()
    };
    Some(order.into_iter().map(|i| (a[i * n + i].re * unit, vector(i))).collect())
}

/// Left vectors as columns, values in falling order, and right vectors as columns, of matrices `[.., m, n]`: as many as the smaller size,
/// or as many as there are rows and columns if `full`.
pub(crate) fn svd(a: &Array, full: bool) -> Result<[Array; 3], Stop> {
    let a = contiguous(a);
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let lead = &a.shape()[..a.rank() - 2];
    let k = m.min(n);
    let (left, right) = if full { (m, n) } else { (k, k) };
    let shape = |core: &[usize]| lead.iter().chain(core).copied().collect::<Shape>();
    let (mut u, mut v) = (Array::full(shape(&[m, left]), ZERO), Array::full(shape(&[n, right]), ZERO));
    let mut s = Array::full(shape(&[k]), 0.0f64);
    let data = a.as_slice::<Complex64>().unwrap_or_default();
    let (to_u, to_v) = (Results::<Complex64>::new(&mut u, m * left), Results::<Complex64>::new(&mut v, n * right));
    let to_s = Results::<f64>::new(&mut s, k);
    each(numel(lead), nanos::<Complex64>(30 * m * n * k), &|matrix| {
        let a = &data[matrix * m * n..(matrix + 1) * m * n];
        // SAFETY: each matrix is written by one call.
        let (u, s, v) = unsafe { (to_u.at(matrix), to_s.at(matrix), to_v.at(matrix)) };
        if !a.iter().all(|z| z.is_finite()) {
            s.fill(f64::NAN);
            [u, v].into_iter().for_each(|x| x.fill(NAN));
            return Ok(());
        }
        // The columns of the matrix, or those of its conjugate transpose, as rows.
        let tall: Vec<Complex64> = if m >= n {
            (0..m * n).map(|e| a[e % m * n + e / m]).collect()
        } else {
            a.iter().map(|z| z.conj()).collect()
        };
        let (values, mut long, short) = singular(k, m.max(n), tall).ok_or(0usize)?;
        s.copy_from_slice(&values);
        complete(&mut long, m.max(n), if full { m.max(n) } else { k });
        let write = |to: &mut [Complex64], rows: &[Vec<Complex64>]| {
            for (j, row) in rows.iter().enumerate() {
                row.iter().enumerate().for_each(|(i, x)| to[i * rows.len() + j] = *x);
            }
        };
        let (of_u, of_v) = if m >= n { (&long, &short) } else { (&short, &long) };
        write(u, of_u);
        write(v, of_v);
        Ok(())
    })?;
    Ok([u, s, v])
}

/// Values, the vectors of length `m` and those of length `k`, of a matrix whose `k` columns of that length are given as rows. Vectors
/// of values that are 0 are missing from the long ones, and leave them empty.
#[allow(clippy::type_complexity)]
fn singular(k: usize, m: usize, mut a: Vec<Complex64>) -> Option<(Vec<f64>, Vec<Vec<Complex64>>, Vec<Vec<Complex64>>)> {
    let unit = unit_of(parts(&a));
    a.iter_mut().for_each(|z| *z /= unit);
    let mut v = identity(k);
    let converged = converges(k, |[p, q], floor| {
        let (x, y) = (&a[p * m..(p + 1) * m], &a[q * m..(q + 1) * m]);
        let square = |x: &[Complex64]| x.iter().map(Complex64::norm_sqr).sum::<f64>();
        let (alpha, beta) = (square(x), square(y));
        let gamma: Complex64 = x.iter().zip(y).map(|(x, y)| x.conj() * y).sum();
        let (size, both) = (gamma.norm(), (alpha * beta).sqrt());
        if size <= f64::EPSILON * both || size < floor {
            return false;
        }
        let (phase, by) = (direction(gamma).conj(), rotation((beta - alpha) / (2.0 * size)));
        turn(&mut a, m, [p, q], phase, by);
        turn(&mut v, k, [p, q], phase, by);
        size > m as f64 * f64::EPSILON * both
    });
    if !converged {
        return None;
    }
    let length = |i: usize| a[i * m..(i + 1) * m].iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..k).map(length).collect();
    let mut order: Vec<usize> = (0..k).collect();
    order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
    let largest = order.first().map_or(0.0, |&i| lengths[i]);
    let (mut values, mut long, mut short) = (Vec::new(), Vec::new(), Vec::new());
    for i in order {
        let phase = phase_of(&v[i * k..(i + 1) * k]);
        values.push(lengths[i] * unit);
        short.push(v[i * k..(i + 1) * k].iter().map(|z| z * phase).collect());
        // The direction of a column that is nothing but rounding error is not at right angles to the others.
        if lengths[i] > f64::EPSILON * largest * m as f64 || lengths[i].is_nan() {
            long.push(a[i * m..(i + 1) * m].iter().map(|z| z * phase / lengths[i]).collect());
        }
    }
    Some((values, long, short))
}

/// Adds unit vectors, made orthogonal, until there are `count` orthonormal ones of length `m`.
fn complete(vectors: &mut Vec<Vec<Complex64>>, m: usize, count: usize) {
    while vectors.len() < count {
        // What the vectors say of each unit vector; the one that they say least of has most left.
        let share = |i: usize| vectors.iter().map(|v| v[i].norm_sqr()).sum::<f64>();
        let axis = (0..m).min_by(|&i, &j| share(i).total_cmp(&share(j))).unwrap_or(0);
        let mut new = vec![ZERO; m];
        new[axis] = ONE;
        for _ in 0..2 {
            for v in vectors.iter() {
                let part: Complex64 = v.iter().zip(&new).map(|(v, x)| v.conj() * x).sum();
                new.iter_mut().zip(v).for_each(|(x, v)| *x -= part * v);
            }
        }
        let length = new.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
        vectors.push(new.into_iter().map(|x| x / length).collect());
    }
}
