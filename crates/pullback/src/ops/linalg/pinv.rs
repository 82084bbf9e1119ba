//! Pseudoinverses and ranks: what depends on the singular values that count as 0.

use smallvec::{SmallVec, smallvec};

use super::complex_samples as z;
use super::naive::{elements, per_matrix};
use super::svd::{SHAPES, Svd, apart, epsilon, naive_svd, of_vector, parts, singular_values};
use super::{MatrixOp, Slot, adjoint, apply1, matrices, sizes, times_adjoint, transposed, widened};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::classes::position;
use crate::kernels::copy::contiguous;
use crate::ops::discrete::{Discrete, discrete};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The pseudoinverses of matrices: what takes `b` to the shortest `x` for which `A x` is nearest to it.
    ///
    /// Singular values of at most `rtol` times the largest count as 0; by default `rtol` is the larger size of the matrix times the
    /// distance from 1 to the next number.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[.., n, m]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That for matrices of the same rank. Where a matrix can gain rank, the function is not continuous.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions; `Value` for an `rtol` that is negative or not finite.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let p = Tensor::from([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]).pinv(None)?;
    /// assert_eq!(p.to_vec::<f64>()?, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// The derivative is that of G. Golub and V. Pereyra, 1973.
    fn pinv(&self, rtol: Option<f64>) -> Result<Tensor> = pinv {
        samples: pinv_samples, errors: pinv_errors,
        python: pinv(rtol), python: function::pinverse(rtol)
    };

    /// The numbers of singular values above `rtol` times the largest, as `i64`. By default `rtol` is the larger size of the matrix
    /// times the distance from 1 to the next number.
    ///
    /// # Shapes
    /// `[.., m, n]` gives `[..]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Shape` for fewer than two dimensions; `Value` for an `rtol` that is negative or not finite, and for matrices with NaN or
    /// infinite elements.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([[0.1, 0.3], [0.3, 0.9]]).matrix_rank(None)?.item::<i64>()?, 1);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn matrix_rank(&self, rtol: Option<f64>) -> Result<Tensor> = matrix_rank { samples: rank_samples, errors: rank_errors };
}

/// The part of the largest singular value that counts as 0.
fn tolerance(op: &str, x: &Tensor, rtol: Option<f64>) -> Result<f64> {
    let [m, n] = sizes(x);
    match rtol {
        None => Ok(m.max(n) as f64 * epsilon(x.dtype())),
        Some(rtol) if rtol >= 0.0 && rtol.is_finite() => Ok(rtol),
        Some(rtol) => bail!(Value, "{op}: expected an `rtol` from 0 up and finite, got {rtol} for {}", x.ty()),
    }
}

/// The pseudoinverse for matrices of constant rank.
#[derive(Clone, Debug)]
struct Pinv {
    rtol: f64,
}

impl MatrixOp for Pinv {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0), Slot::Out(0)];

    fn name(&self) -> &'static str {
        "pinv"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let [u, s, v] = Svd { of: "pinv", full: false }.parts(&x[0].clone().into())?;
        if s.shape()[s.rank() - 1] == 0 {
            return Ok(smallvec![v.matmul(&adjoint(&u)?)?.concrete().clone()]);
        }
        let used = s.gt(&s.narrow(-1, 0, 1)?.mul(self.rtol)?)?;
        let inverse = used.where_(&s.reciprocal()?, 0)?;
        let y = times_adjoint(&v.mul(&inverse.unsqueeze(-2)?)?, &u)?;
        Ok(smallvec![y.concrete().clone()])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (a, p) = (&saved[0], &saved[1]);
        let tangent = t[0].map(|t| {
            let (turned, pt) = (adjoint(t)?, adjoint(p)?);
            let within = p.matmul(t)?.matmul(p)?;
            // P Pᵀ dAᵀ (1 - A P) and (1 - P A) dAᵀ Pᵀ P.
            let left = p.matmul(&pt)?.matmul(&turned)?;
            let left = left.sub(&left.matmul(a)?.matmul(p)?)?;
            let right = turned.matmul(&pt)?.matmul(p)?;
            let right = right.sub(&p.matmul(&a.matmul(&right)?)?)?;
            left.add(&right)?.sub(&within)
        })?;
        Ok(smallvec![tangent])
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        transposed(&[&saved[0]], needs, g, |t| self.tangents(saved, t))
    }
}

fn pinv(x: &Tensor, rtol: Option<f64>) -> Result<Tensor> {
    widened(x, |x| {
        let x = matrices("pinv", x)?;
        apply1(Pinv { rtol: tolerance("pinv", &x, rtol)? }, &[&x])
    })
}

/// The check that singular values are numbers: of others there is no count.
#[derive(Clone, Debug)]
struct Known {
    lanes: usize,
}

impl Discrete for Known {
    const NAME: &'static str = "matrix_rank";
    fn kernel(&self, s: &Array) -> Result<Array> {
        dispatch!(s.dtype(), Self::NAME, float, T => {
            let s = contiguous(s);
            if let Some(k) = s.as_slice::<T>().unwrap_or_default().iter().position(|v| !v.is_finite()) {
                let matrix = k / s.shape()[s.rank() - 1];
                let at = position(&s.shape()[..s.rank() - 1], matrix, self.lanes);
                bail!(Value, "matrix_rank: expected finite matrices, got one with NaN or infinite elements{at}");
            }
            Ok(s)
        })
    }
    fn batched(&self) -> Known {
        Known { lanes: self.lanes + 1 }
    }
}

fn matrix_rank(x: &Tensor, rtol: Option<f64>) -> Result<Tensor> {
    if x.dtype().is_half() {
        return matrix_rank(&x.to_dtype(DType::F32)?, rtol);
    }
    let x = matrices("matrix_rank", x)?;
    let rtol = tolerance("matrix_rank", &x, rtol)?;
    let s = discrete(Known { lanes: 0 }, &singular_values("matrix_rank", &x.detach()?)?)?;
    if s.shape()[s.rank() - 1] == 0 {
        return s.gt(0)?.sum_dims(&[-1], false);
    }
    s.gt(&s.narrow(-1, 0, 1)?.mul(rtol)?)?.sum_dims(&[-1], false)
}

fn naive_pinv(a: &Naive) -> Vec<f64> {
    let (m, n) = (a.shape[0], a.shape[1]);
    let found: Vec<_> = naive_svd(a).into_iter().filter(|p| p.0.is_nan() || p.0 > 1e-6).collect();
    elements(n, m, |i, j| found.iter().map(|(s, u, v)| v[i] * u[j] / s).sum())
}

fn pinv_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(format!("{label}{:?}", x.shape()), [x], |x| x[0].pinv(None))
            .reference(|x| {
                let rank = x[0].shape.len();
                let (m, n) = (x[0].shape[rank - 2], x[0].shape[rank - 1]);
                vec![per_matrix(&x[0], &[n, m], naive_pinv)]
            })
            .tolerance(1e-8)
    };
    let mut samples: Vec<Sample> = SHAPES.iter().map(|&s| case("", apart(s))).collect();
    // Of rank 1: by no differences, since a change of one element makes it another rank.
    samples.push(case("rank 1 of ", Tensor::from([[1.0, 2.0], [2.0, 4.0], [0.5, 1.0]])).not_differentiable());
    for sample in &mut samples[8..] {
        let input = sample.inputs[0].clone();
        *sample = sample.clone().lanes(move |lane| vec![input.mul(1.0 + lane as f64).expect("a product")]);
    }
    samples.extend(SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![parts(shape)], |x| Ok(vec![x[0].pinv(None)?]))
            .reference(|x| {
                let a = z::blocks(&x[0], &x[1]);
                let (m, n) = (a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1]);
                vec![z::pairs(&per_matrix(&a, &[n, m], naive_pinv))]
            })
            .tolerance(1e-8)
    }));
    samples
}

/// The number of pivots that elimination finds.
fn naive_rank(a: &Naive) -> f64 {
    let (m, n) = (a.shape[0], a.shape[1]);
    let mut rows: Vec<Vec<f64>> = (0..m).map(|i| (0..n).map(|j| a.at(&[i, j])).collect()).collect();
    let mut rank = 0;
    for j in 0..n {
        let Some(pivot) = (rank..m).max_by(|&i, &k| rows[i][j].abs().total_cmp(&rows[k][j].abs())) else { break };
        if rows[pivot][j].abs() < 1e-9 {
            continue;
        }
        rows.swap(rank, pivot);
        let first = rows[rank].clone();
        for row in &mut rows[rank + 1..] {
            let factor = row[j] / first[j];
            row.iter_mut().zip(&first).for_each(|(v, f)| *v -= factor * f);
        }
        rank += 1;
    }
    rank as f64
}

fn rank_samples() -> Vec<Sample> {
    let case = |x: Tensor, rank: i64| {
        Sample::one(format!("{rank} of {:?}", x.shape()), [x.clone()], |x| x[0].matrix_rank(Some(1e-5)))
            .reference(|x| vec![per_matrix(&x[0], &[], |a| vec![naive_rank(a)])])
            .not_differentiable()
            .fixed_dtype()
            .lanes(move |lane| vec![x.mul(1.0 + lane as f64).expect("a product")])
    };
    vec![
        case(apart(&[3, 3]), 3),
        case(apart(&[2, 4, 2]), 2),
        case(Tensor::from([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), 1),
        case(Tensor::zeros(&[2, 2], DType::F64).expect("zeros"), 0),
        case(Tensor::zeros(&[0, 2], DType::F64).expect("nothing"), 0),
    ]
}

fn pinv_errors() -> Vec<ErrorSample> {
    let mut all = of_vector(|x| x.pinv(None), "pinv: expected matrices, got f64[2]");
    for rtol in [f64::NAN, -1.0, f64::INFINITY] {
        let message = "pinv: expected an `rtol` from 0 up and finite, got";
        all.push(ErrorSample::new("rtol", ErrorKind::Value, message, move || {
            sample_tensor(&[2, 3], 0.0, 1.0, 1).pinv(Some(rtol))
        }));
    }
    all
}

fn rank_errors() -> Vec<ErrorSample> {
    let mut all = of_vector(|x| x.matrix_rank(None), "matrix_rank: expected matrices, got f64[2]");
    for rtol in [f64::NAN, -1.0, f64::INFINITY] {
        let message = "matrix_rank: expected an `rtol` from 0 up and finite, got";
        all.push(ErrorSample::new("rtol", ErrorKind::Value, message, move || {
            sample_tensor(&[2, 3], 0.0, 1.0, 1).matrix_rank(Some(rtol))
        }));
    }
    all
}
