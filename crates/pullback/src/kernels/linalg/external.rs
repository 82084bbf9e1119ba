//! Decompositions by faer: of large matrices, and those that nobody else here has.

use faer::{MatRef, Side};

use super::jacobi::{Singular, direction, scaled};

/// As [`super::jacobi::symmetric`].
pub(super) fn symmetric(n: usize, a: &[f64], vectors: bool) -> Option<(Vec<f64>, Vec<f64>)> {
    let (unit, a) = scaled(a);
    let a = MatRef::from_row_major_slice(&a, n, n);
    if !vectors {
        let mut values: Vec<f64> =
            a.self_adjoint_eigenvalues(Side::Lower).ok()?.into_iter().map(|v| v * unit).collect();
        values.sort_by(f64::total_cmp);
        return Some((values, Vec::new()));
    }
    let found = a.self_adjoint_eigen(Side::Lower).ok()?;
    let values: Vec<f64> = found.S().column_vector().iter().copied().collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut rows = Vec::with_capacity(n * n);
    for &j in &order {
        let row: Vec<f64> = (0..n).map(|i| found.U()[(i, j)]).collect();
        let sign = direction(&row);
        rows.extend(row.iter().map(|v| sign * v));
    }
    Some((order.iter().map(|&j| values[j] * unit).collect(), rows))
}

/// As [`super::jacobi::singular`].
pub(super) fn singular(m: usize, n: usize, a: &[f64], vectors: bool, full: bool) -> Option<Singular> {
    let (unit, a) = scaled(a);
    let a = MatRef::from_row_major_slice(&a, m, n);
    if !vectors {
        let values = a.singular_values().ok()?.into_iter().map(|v| v * unit).collect();
        return Some(Singular { left: Vec::new(), values, right: Vec::new() });
    }
    let found = if full { a.svd() } else { a.thin_svd() }.ok()?;
    let values: Vec<f64> = found.S().column_vector().iter().map(|v| v * unit).collect();
    let (u, v) = (found.U(), found.V());
    let column = |x: MatRef<'_, f64>, j: usize| (0..x.nrows()).map(|i| x[(i, j)]).collect::<Vec<f64>>();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for j in 0..u.ncols().max(v.ncols()) {
        let of_v = if j < v.ncols() { column(v, j) } else { Vec::new() };
        let sign = if j < m.min(n) { direction(&of_v) } else { 1.0 };
        right.extend(of_v.iter().map(|x| sign * x));
        if j < u.ncols() {
            left.extend(column(u, j).iter().map(|x| sign * x));
        }
    }
    Some(Singular { left, values, right })
}

/// The eigenvalues of a matrix, or the first pair that is complex as its real and imaginary part, and the eigenvectors of
/// length 1 as rows. `None` if the iteration does not converge.
pub(crate) fn general(n: usize, a: &[f64]) -> Option<Result<(Vec<f64>, Vec<f64>), (f64, f64)>> {
    let (unit, a) = scaled(a);
    let found = MatRef::from_row_major_slice(&a, n, n).eigen().ok()?;
    let values: Vec<_> = found.S().column_vector().iter().copied().collect();
    if let Some(complex) = values.iter().find(|v| v.im != 0.0) {
        return Some(Err((complex.re * unit, complex.im.abs() * unit)));
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].re.total_cmp(&values[j].re));
    let mut rows = Vec::with_capacity(n * n);
    for &j in &order {
        let row: Vec<f64> = (0..n).map(|i| found.U()[(i, j)].re).collect();
        let size = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        let sign = direction(&row) / size;
        rows.extend(row.iter().map(|v| sign * v));
    }
    Some(Ok((order.iter().map(|&j| values[j].re * unit).collect(), rows)))
}
