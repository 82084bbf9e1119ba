//! Linear systems with a matrix, by elimination.

use super::solver::Failure;
use crate::error::bail;
use crate::kernels::linalg::element_of;
use crate::kernels::linalg::lu::{factor_one, solve_one};
use crate::shape::{Shape, broadcast, numel};
use crate::{DType, Result, Tensor};

/// The solutions of `a·x = b` for matrices `[…, n, n]` and vectors `[…, n]`, whose leading dimensions broadcast, on values
/// without derivatives. Each matrix is taken apart once, however many vectors it serves.
pub(super) fn solve(a: &Tensor, b: &Tensor, failure: Failure) -> Result<Tensor> {
    let n = b.shape().last().copied().unwrap_or(0);
    let (of_a, of_b) = (&a.shape()[..a.rank().saturating_sub(2)], &b.shape()[..b.rank().saturating_sub(1)]);
    let Some(lead) = broadcast(of_a, of_b) else {
        bail!(Internal, "matrices {} and vectors {} do not fit", a.ty(), b.ty());
    };
    let epsilon = if b.dtype() == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let read = |t: &Tensor| t.to_dtype(DType::F64)?.to_vec::<f64>();
    let (matrices, vectors) = (read(a)?, read(b)?);
    let systems = numel(&lead);
    let mut factors: Vec<Option<Factors>> = (0..numel(of_a)).map(|_| None).collect();
    let mut solutions = Vec::with_capacity(systems * n);
    for k in 0..systems {
        let (i, j) = (element_of(of_a, &lead, k), element_of(of_b, &lead, k));
        let factors = factors[i].get_or_insert_with(|| {
            Factors::of(matrices[i * n * n..(i + 1) * n * n].to_vec(), n, (n as f64).sqrt() * epsilon)
        });
        let b = &vectors[j * n..(j + 1) * n];
        if let (Some(row), Failure::Error) = (factors.singular, failure) {
            let which = if systems == 1 { String::new() } else { format!(" in system {k} of {systems}") };
            bail!(Value, "expected a linear system with one solution, got a matrix of size {n} that is singular to \
                working precision{which} (nothing is left to divide by in step {row})"; help = "there is \
                no solution to differentiate or to step to (start Newton's method elsewhere); \
                `nan_on_failure` gives NaN instead of an error");
        }
        solutions.extend(factors.solve(b));
    }
    let shape: Shape = lead.iter().copied().chain([n]).collect();
    Tensor::from_slice(&solutions, &shape)?.to_dtype(b.dtype())
}

/// A matrix as the product of a lower and an upper triangle, with exchanged rows.
struct Factors {
    n: usize,
    /// Both triangles.
    elements: Vec<f64>,
    order: Vec<i64>,
    rows: Vec<f64>,
    columns: Vec<f64>,
    /// The step at which there was no pivot.
    singular: Option<usize>,
    finite: bool,
}

impl Factors {
    /// Elimination with partial pivoting; no pivot may be smaller than `tiny`.
    fn of(mut a: Vec<f64>, n: usize, tiny: f64) -> Factors {
        let finite = a.iter().all(|v| v.is_finite());
        // Rows and columns of size 1 make pivots comparable, in whatever units the equations and unknowns are.
        let size = |of: &mut dyn Iterator<Item = f64>| {
            let size = of.fold(0.0f64, |m, v| m.max(v.abs()));
            if size > 0.0 && size.is_finite() { size } else { 1.0 }
        };
        let rows: Vec<f64> = a.chunks(n.max(1)).map(|row| size(&mut row.iter().copied())).collect();
        for (row, size) in a.chunks_mut(n.max(1)).zip(&rows) {
            row.iter_mut().for_each(|v| *v /= size);
        }
        let columns: Vec<f64> = (0..n).map(|j| size(&mut (0..n).map(|i| a[i * n + j]))).collect();
        for row in a.chunks_mut(n.max(1)) {
            row.iter_mut().zip(&columns).for_each(|(v, size)| *v /= size);
        }
        let order = if finite { factor_one(n, &mut a) } else { Vec::new() };
        let singular = (0..n).find(|&k| finite && a[k * n + k].abs() <= tiny);
        Factors { n, elements: a, order, rows, columns, singular, finite }
    }

    /// The solution for a right-hand side; NaN where there is none.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.n;
        if !self.finite || self.singular.is_some() {
            return vec![f64::NAN; n];
        }
        let mut x: Vec<f64> = self.order.iter().map(|&row| b[row as usize] / self.rows[row as usize]).collect();
        solve_one(n, &self.elements, &mut x);
        x.iter_mut().zip(&self.columns).for_each(|(x, size)| *x /= size);
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn vector(v: &[f64]) -> Tensor {
        Tensor::from_slice(v, &[v.len()]).unwrap()
    }

    fn solved(a: &Tensor, b: &Tensor) -> Vec<f64> {
        solve(a, b, Failure::Error).unwrap().to_vec::<f64>().unwrap()
    }

    #[test]
    fn solves_what_has_a_solution_and_refuses_what_has_none() {
        // The first pivot is zero, and rows differ in size by far.
        let a = Tensor::from([[0.0, 2.0, 1.0], [1e-30, 1e-30, 0.0], [3e20, 0.0, 1e20]]);
        let x = solved(&a, &vector(&[5.0, 3e-30, 4e20]));
        assert!(x.iter().zip([1.0, 2.0, 1.0]).all(|(x, want)| (x - want).abs() < 1e-14), "{x:?}");
        let x = solved(&Tensor::from([[1.0, 1e-20], [1.0, 2e-20]]), &vector(&[3.0, 4.0]));
        assert!((x[0] - 2.0).abs() < 1e-14 && (x[1] / 1e20 - 1.0).abs() < 1e-14, "{x:?}");
        for singular in [[[1.0, 2.0], [2.0, 4.0]], [[0.1, 0.3], [0.3, 0.9]], [[0.0, 0.0], [0.0, 1.0]]] {
            let e = solve(&Tensor::from(singular), &vector(&[1.0, 1.0]), Failure::Error).unwrap_err();
            assert!(e.kind() == ErrorKind::Value && e.to_string().contains("singular to working precision"), "{e}");
        }
        // One of two fails, and the other does not notice.
        let a = Tensor::from([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]]);
        let b = Tensor::from([[1.0, 1.0], [1.0, 1.0]]);
        let x = solve(&a, &b, Failure::Nan).unwrap().to_vec::<f64>().unwrap();
        assert!(x[0].is_nan() && x[1].is_nan() && x[2..] == [0.5, 0.25], "{x:?}");
        let e = solve(&a, &b, Failure::Error).unwrap_err().to_string();
        assert!(e.contains("in system 0 of 2"), "{e}");
        assert!(solved(&Tensor::from([[f64::NAN]]), &vector(&[1.0]))[0].is_nan());
        assert!(solved(&Tensor::from([[f64::INFINITY]]), &vector(&[1.0]))[0].is_nan());
        assert!(solved(&Tensor::zeros(&[0, 0], DType::F64).unwrap(), &vector(&[])).is_empty());
    }

    #[test]
    fn leading_dimensions_broadcast() {
        // Matrices [2, 1, 1, 1] and vectors [1, 3, 1]: each number by each.
        let a = Tensor::from([[[[2.0]]], [[[4.0]]]]);
        let b = Tensor::from([[[1.0], [2.0], [3.0]]]);
        let x = solve(&a, &b, Failure::Error).unwrap();
        assert_eq!((x.shape(), x.to_vec::<f64>().unwrap()), (&[2, 3, 1][..], vec![0.5, 1.0, 1.5, 0.25, 0.5, 0.75]));
        let x = solve(&Tensor::from([[2.0]]), &Tensor::from([[[1.0], [2.0]], [[3.0], [4.0]]]), Failure::Error).unwrap();
        assert_eq!((x.shape(), x.to_vec::<f64>().unwrap()), (&[2, 2, 1][..], vec![0.5, 1.0, 1.5, 2.0]));
        let x = solve(&Tensor::from([[[2.0]], [[4.0]]]), &vector(&[1.0]), Failure::Error).unwrap();
        assert_eq!((x.shape(), x.to_vec::<f64>().unwrap()), (&[2, 1][..], vec![0.5, 0.25]));
    }
}
