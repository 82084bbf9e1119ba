//! Linear systems by products alone, on values without derivatives.

use crate::Result;

/// When to stop.
pub(super) struct Limits {
    /// Relative to the size of the right-hand side.
    pub(super) tolerance: f64,
    pub(super) max_iterations: usize,
}

/// A solution, or why there is none.
type Found = std::result::Result<Vec<f64>, String>;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// `y += a·x`.
fn add(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

fn too_long(limits: &Limits, left: f64, size: f64) -> Found {
    let (n, tolerance) = (limits.max_iterations, limits.tolerance);
    Err(format!("a residual of {:.1e} after {n} iterations, where the tolerance is {tolerance:.1e}", left / size))
}

/// Conjugate gradients, for a symmetric and positive definite map.
pub(super) fn cg(product: &dyn Fn(&[f64]) -> Result<Vec<f64>>, b: &[f64], limits: &Limits) -> Result<Found> {
    let size = norm(b);
    let mut x = vec![0.0; b.len()];
    if size == 0.0 {
        return Ok(Ok(x));
    }
    let (mut rest, mut along) = (b.to_vec(), b.to_vec());
    let mut square = dot(&rest, &rest);
    for _ in 0..limits.max_iterations {
        let pushed = product(&along)?;
        let curvature = dot(&along, &pushed);
        if !curvature.is_finite() || !square.is_finite() {
            return Ok(Ok(vec![f64::NAN; b.len()]));
        }
        if curvature <= 0.0 {
            return Ok(Err(format!("a direction d with d·A·d = {curvature:.1e}, so A is not positive definite")));
        }
        let step = square / curvature;
        add(&mut x, step, &along);
        add(&mut rest, -step, &pushed);
        let next = dot(&rest, &rest);
        if next.sqrt() <= limits.tolerance * size {
            return Ok(Ok(x));
        }
        let keep = next / square;
        along.iter_mut().zip(&rest).for_each(|(d, r)| *d = r + keep * *d);
        square = next;
    }
    Ok(too_long(limits, square.sqrt(), size))
}

/// GMRES with restarts, for any map.
pub(super) fn gmres(
    product: &dyn Fn(&[f64]) -> Result<Vec<f64>>,
    b: &[f64],
    restart: usize,
    limits: &Limits,
) -> Result<Found> {
    let size = norm(b);
    let mut x = vec![0.0; b.len()];
    if size == 0.0 {
        return Ok(Ok(x));
    }
    let (mut rest, mut left, mut used) = (b.to_vec(), size, 0);
    while used < limits.max_iterations {
        let steps = restart.min(b.len()).min(limits.max_iterations - used);
        let basis = cycle(product, &rest, left, steps, limits.tolerance * size)?;
        let Some((step, count)) = basis else { return Ok(Ok(vec![f64::NAN; b.len()])) };
        used += count;
        add(&mut x, 1.0, &step);
        // The residual that the cycle predicts is not the true one in rounded arithmetic.
        rest = b.to_vec();
        add(&mut rest, -1.0, &product(&x)?);
        let before = std::mem::replace(&mut left, norm(&rest));
        if left <= limits.tolerance * size {
            return Ok(Ok(x));
        }
        if left > 0.999 * before && (count < steps || steps == b.len()) {
            // All directions were used up and it did not get better.
            let tolerance = limits.tolerance;
            return Ok(Err(format!(
                "a residual of {:.1e} that cannot be made smaller, where the tolerance is {tolerance:.1e}: the matrix is \
                singular, or close to it",
                left / size
            )));
        }
    }
    Ok(too_long(limits, left, size))
}

/// The step that makes the residual smallest among all combinations of `rest`, `A·rest`, … up to `steps` products, and the
/// number of products; `None` if something is not finite.
fn cycle(
    product: &dyn Fn(&[f64]) -> Result<Vec<f64>>,
    rest: &[f64],
    size: f64,
    steps: usize,
    enough: f64,
) -> Result<Option<(Vec<f64>, usize)>> {
    let mut basis = vec![rest.iter().map(|v| v / size).collect::<Vec<f64>>()];
    // The columns of the map in that basis, made triangular by rotations as they come.
    let (mut columns, mut rotations): (Vec<Vec<f64>>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
    let mut right = vec![size];
    for k in 0..steps {
        let mut next = product(&basis[k])?;
        let before = norm(&next);
        if !before.is_finite() {
            return Ok(None);
        }
        let mut column = vec![0.0; k + 1];
        // Twice, because once leaves rounding errors when little of the vector is left.
        for _ in 0..2 {
            for (h, v) in column.iter_mut().zip(&basis) {
                let along = dot(&next, v);
                *h += along;
                add(&mut next, -along, v);
            }
        }
        let outside = norm(&next);
        let complete = outside <= 4.0 * f64::EPSILON * before;
        for (i, (c, s)) in rotations.iter().enumerate() {
            (column[i], column[i + 1]) = (c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]);
        }
        let length = column[k].hypot(if complete { 0.0 } else { outside });
        if length <= 4.0 * f64::EPSILON * before {
            // The map takes this direction to the span of the others.
            break;
        }
        let (c, s) = (column[k] / length, if complete { 0.0 } else { outside / length });
        column[k] = length;
        columns.push(column);
        rotations.push((c, s));
        right.push(-s * right[k]);
        right[k] *= c;
        if complete || right[k + 1].abs() <= 0.1 * enough {
            break;
        }
        next.iter_mut().for_each(|v| *v /= outside);
        basis.push(next);
    }
    let n = columns.len();
    let mut weights = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| columns[j][k] * weights[j]).sum();
        weights[k] = (right[k] - known) / columns[k][k];
    }
    let mut step = vec![0.0; rest.len()];
    weights.iter().zip(&basis).for_each(|(w, v)| add(&mut step, *w, v));
    Ok(Some((step, n.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(a: &[f64], v: &[f64]) -> Vec<f64> {
        a.chunks(v.len()).map(|row| dot(row, v)).collect()
    }

    /// Irregular numbers between -1 and 1.
    fn numbers(n: usize) -> Vec<f64> {
        (0..n).map(|k| ((k * k + 3 * k + 1) as f64).sin()).collect()
    }

    const LIMITS: Limits = Limits { tolerance: 1e-12, max_iterations: 400 };

    #[test]
    fn gmres_solves_systems_that_are_not_symmetric() {
        for (n, restart) in [(1, 1), (2, 50), (7, 50), (20, 50), (20, 8)] {
            let mut a = numbers(n * n);
            (0..n).for_each(|k| a[k * n + k] += 6.0);
            let want = numbers(n);
            let b = times(&a, &want);
            let x = gmres(&|v| Ok(times(&a, v)), &b, restart, &LIMITS).unwrap().unwrap();
            assert!(x.iter().zip(&want).all(|(x, w)| (x - w).abs() < 1e-10), "{n}, {restart}: {x:?}");
        }
        // Rotation by a right angle: nothing is gained before the last step.
        let x = gmres(&|v| Ok(vec![-v[1], v[0]]), &[1.0, 2.0], 50, &LIMITS).unwrap().unwrap();
        assert!((x[0] - 2.0).abs() < 1e-12 && (x[1] + 1.0).abs() < 1e-12, "{x:?}");
    }

    #[test]
    fn cg_solves_positive_definite_systems() {
        let n = 12;
        let root = numbers(n * n);
        let mut a: Vec<f64> = (0..n * n).map(|k| dot(&root[k / n * n..][..n], &root[k % n * n..][..n])).collect();
        (0..n).for_each(|k| a[k * n + k] += 1.0);
        let want = numbers(n);
        let x = cg(&|v| Ok(times(&a, v)), &times(&a, &want), &LIMITS).unwrap().unwrap();
        assert!(x.iter().zip(&want).all(|(x, w)| (x - w).abs() < 1e-10), "{x:?}");
        let why = cg(&|v| Ok(vec![v[0], -v[1]]), &[1.0, 2.0], &LIMITS).unwrap().unwrap_err();
        assert!(why.contains("not positive definite"), "{why}");
    }

    #[test]
    fn failures_say_why() {
        let short = Limits { tolerance: 1e-12, max_iterations: 3 };
        let n = 20;
        let mut a = numbers(n * n);
        (0..n).for_each(|k| a[k * n + k] += 6.0);
        let why = gmres(&|v| Ok(times(&a, v)), &numbers(n), 50, &short).unwrap().unwrap_err();
        assert!(why.contains("after 3 iterations"), "{why}");
        for singular in [vec![1.0, 2.0, 2.0, 4.0], vec![0.0, 1.0, 0.0, 0.0], vec![0.0; 4]] {
            let why = gmres(&|v| Ok(times(&singular, v)), &[1.0, 1.0], 50, &LIMITS).unwrap().unwrap_err();
            assert!(why.contains("singular"), "{singular:?}: {why}");
        }
        let x = gmres(&|_| Ok(vec![f64::NAN; 2]), &[1.0, 1.0], 50, &LIMITS).unwrap().unwrap();
        assert!(x.iter().all(|v| v.is_nan()));
        for solver in [cg(&|v| Ok(v.to_vec()), &[0.0; 3], &LIMITS), gmres(&|v| Ok(v.to_vec()), &[0.0; 3], 5, &LIMITS)] {
            assert_eq!(solver.unwrap().unwrap(), [0.0; 3]);
        }
    }
}
