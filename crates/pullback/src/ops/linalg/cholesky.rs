//! Cholesky factors.

use smallvec::{SmallVec, smallvec};

use super::naive::{definite, elements, per_matrix};
use super::triangular::{Triangular, check_fit};
use super::{MatrixOp, Slot, apply1, flipped, half_triangle, square, symmetric, which, widened};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent, backward_through, jvp_through};
use crate::kernels::linalg::cholesky as kernel;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The lower triangle `L` with a positive diagonal for which `L Lᵀ` is the symmetric positive definite matrix.
    ///
    /// Of a matrix that is not symmetric, the symmetric part `(x + xᵀ) / 2` counts, which makes this a smooth function of all
    /// elements. The upper factor is the transpose. For complex numbers read conjugate transposes, and Hermitian for symmetric.
    ///
    /// # Shapes
    /// `[.., n, n]`, as is the result.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers, of Hermitian matrices; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `L⁻ᵀ sym(Φ(Lᵀ g)) L⁻¹`, where `Φ` keeps the lower triangle and half of the diagonal: a symmetric matrix.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square; `Value` for a matrix that is not positive definite: the message has the order
    /// of the first leading minor that is not positive, and the number of the matrix among many. NaN gives NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let l = Tensor::from([[4.0, 2.0], [2.0, 10.0]]).cholesky()?;
    /// assert_eq!(l.to_vec::<f64>()?, [2.0, 0.0, 1.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The derivative is that of I. Murray, "Differentiation of the Cholesky decomposition", 2016.
    fn cholesky(&self) -> Result<Tensor> = cholesky { samples: cholesky_samples, errors: cholesky_errors };

    /// The solutions `X` of `(L Lᵀ) X = B` from a [`cholesky`](Tensor::cholesky) factor, this tensor being `L`.
    ///
    /// # Shapes
    /// Factors `[.., n, n]` and right-hand sides `[.., n, m]`, whose leading dimensions broadcast.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of two triangular solutions; of the factor only the lower triangle counts.
    ///
    /// # Errors
    /// `Shape` if the factors are not square or do not fit; `Value` for a zero on a diagonal.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let a = Tensor::from([[4.0, 2.0], [2.0, 10.0]]);
    /// let x = a.cholesky()?.cholesky_solve(&Tensor::from([[8.0], [22.0]]))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cholesky_solve(&self, b: &Tensor) -> Result<Tensor> = cholesky_solve {
        samples: cholesky_solve_samples, errors: cholesky_solve_errors,
        python: cholesky_solve(b as input, self as L),
        python: cholesky_solve(b as self, self as L)
    };
}

/// The factor of the symmetric part.
#[derive(Clone, Debug)]
struct Cholesky;

impl MatrixOp for Cholesky {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0)];

    fn name(&self) -> &'static str {
        "cholesky"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let a = x[0];
        match dispatch!(a.dtype(), "cholesky", float, T => Ok(kernel::cholesky::<T>(a)))? {
            Ok(l) => Ok(smallvec![l]),
            Err(stop) => {
                let place = which(&a.shape()[..a.rank() - 2], stop);
                bail!(Value, "cholesky: expected positive definite matrices, got {} whose leading minor of order {} is \
                    not positive{place}", a.ty(), stop.step + 1; help = "add a small multiple of the identity, or \
                    use `lu_factor` for matrices that are not definite");
            }
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let l = &saved[0];
        let lower = Triangular::lower("cholesky");
        let tangent = t[0].map(|t| {
            let half = lower.solve(l, &symmetric(t)?)?;
            l.matmul(&half_triangle(&lower.solve(l, &flipped(&half)?)?)?)
        })?;
        Ok(smallvec![tangent])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![g[0].map(|g| apply1(Pullback, &[&saved[0], g]))?])
    }
}

/// The cotangent of a matrix from its factor and the cotangent of that: one pass over small matrices.
#[derive(Clone, Debug)]
struct Pullback;

impl Pullback {
    /// What the pass computes.
    fn definition(l: &Tensor, g: &Tensor) -> Result<Tensor> {
        let inner = symmetric(&half_triangle(&flipped(l)?.matmul(g)?)?)?;
        let lower = Triangular { transposed: true, ..Triangular::lower("cholesky") };
        lower.solve(l, &flipped(&lower.solve(l, &inner)?)?)
    }

    fn of_pair(pair: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![Pullback::definition(&pair[0], &pair[1])?])
    }
}

impl MatrixOp for Pullback {
    const CORES: &'static [usize] = &[2, 2];
    const SAVED: &'static [Slot] = &[Slot::In(0), Slot::In(1)];

    fn name(&self) -> &'static str {
        "cholesky_backward"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let whole = crate::shape::broadcast(x[0].shape(), x[1].shape()).unwrap_or_default();
        let (l, g) = (x[0].expand(&whole), x[1].expand(&whole));
        if let Some(found) = dispatch!(l.dtype(), "cholesky", float, T => Ok(kernel::pullback::<T>(&l, &g)))? {
            return Ok(smallvec![found]);
        }
        let found = Pullback::definition(&x[0].clone().into(), &x[1].clone().into())?;
        Ok(smallvec![found.concrete().clone()])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        Ok(jvp_through(|x: &Vec<Tensor>| Pullback::of_pair(x), &saved.to_vec(), &t.to_vec())?.into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        Ok(backward_through(|x: &Vec<Tensor>| Pullback::of_pair(x), &saved.to_vec(), needs, &g.to_vec())?
            .into_iter()
            .collect())
    }
}

fn cholesky(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return super::complex::cholesky(x);
    }
    widened(x, |x| apply1(Cholesky, &[&square("cholesky", x)?]))
}

fn cholesky_solve(l: &Tensor, b: &Tensor) -> Result<Tensor> {
    if l.dtype().is_complex() || b.dtype().is_complex() {
        return super::complex::cholesky_solve(l, b);
    }
    super::common(l, b, |l, b| {
        check_fit("cholesky_solve", l, b)?;
        let lower = Triangular::lower("cholesky_solve");
        Triangular { transposed: true, ..lower }.solve(l, &lower.solve(l, b)?)
    })
}

fn naive_cholesky(a: &Naive) -> Vec<f64> {
    let n = a.shape[0];
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let rest = 0.5 * (a.at(&[i, j]) + a.at(&[j, i])) - (0..j).map(|k| l[i][k] * l[j][k]).sum::<f64>();
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    elements(n, n, |i, j| l[i][j])
}

fn cholesky_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(format!("{label} {:?}", x.shape()), [x], |x| x[0].cholesky())
            .reference(|x| vec![per_matrix(&x[0], &x[0].shape[x[0].shape.len() - 2..], naive_cholesky)])
    };
    let shapes: [&[usize]; 6] = [&[3, 3], &[1, 1], &[2, 2, 2], &[0, 0], &[0, 2, 2], &[2, 0, 0]];
    let mut samples: Vec<Sample> = shapes.iter().map(|s| case("definite", definite(s, 1))).collect();
    // Not symmetric, and of either way through the kernels.
    samples.push(case("any", definite(&[3, 3], 2).add(&sample_tensor(&[3, 3], -0.1, 0.1, 5)).expect("a sum")));
    samples.push(case("large", definite(&[13, 13], 3)).tolerance(1e-11));
    samples
}

fn cholesky_errors() -> Vec<ErrorSample> {
    let call = |label: &str, kind, message, x: Tensor| ErrorSample::new(label, kind, message, move || x.cholesky());
    vec![
        call("vector", ErrorKind::Shape, "cholesky: expected matrices, got f64[2]", Tensor::from([1.0, 2.0])),
        call(
            "rectangle",
            ErrorKind::Shape,
            "cholesky: expected square matrices, got f64[2,3] (2 rows, 3 columns)",
            sample_tensor(&[2, 3], 0.0, 1.0, 1),
        ),
        call(
            "indefinite",
            ErrorKind::Value,
            "cholesky: expected positive definite matrices, got f64[2,2] whose leading minor of order 2 is not positive",
            Tensor::from([[1.0, 2.0], [2.0, 1.0]]),
        ),
        call(
            "one of several",
            ErrorKind::Value,
            "got f64[3,1,1] whose leading minor of order 1 is not positive (matrix 1 of 3)",
            Tensor::from([[[1.0]], [[0.0]], [[-1.0]]]),
        ),
    ]
}

fn cholesky_solve_samples() -> Vec<Sample> {
    let case = |a: &[usize], b: &[usize]| {
        let inputs = [definite(a, 1).cholesky().expect("definite"), sample_tensor(b, -1.0, 1.0, 2)];
        Sample::one(format!("{a:?} and {b:?}"), inputs, |x| x[0].cholesky_solve(&x[1])).reference(|x| {
            let n = x[0].shape[x[0].shape.len() - 1];
            let whole = per_matrix(&x[0], &[n, n], |l| {
                let lower = |i: usize, j: usize| if j <= i { l.at(&[i, j]) } else { 0.0 };
                elements(n, n, |i, j| (0..n).map(|k| lower(i, k) * lower(j, k)).sum())
            });
            vec![super::solve::naive_solve(&whole, &x[1])]
        })
    };
    vec![case(&[3, 3], &[3, 2]), case(&[2, 2, 2], &[2, 1]), case(&[2, 2], &[3, 2, 2]), case(&[0, 0], &[0, 2])]
}

fn cholesky_solve_errors() -> Vec<ErrorSample> {
    let (l, b) = (sample_tensor(&[2, 2], 1.0, 2.0, 1), sample_tensor(&[3, 1], 0.0, 1.0, 1));
    vec![ErrorSample::new("rows", ErrorKind::Shape, "cholesky_solve: expected as many rows as", move || {
        l.cholesky_solve(&b)
    })]
}
