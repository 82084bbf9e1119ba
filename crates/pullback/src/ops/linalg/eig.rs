//! Real eigenvalues and eigenvectors of any matrices.

use smallvec::{SmallVec, smallvec};

use super::naive::{elements, inverse, per_matrix, product};
use super::quotient::{By, Quotient, Zero};
use super::solve::Inverse;
use super::{MatrixOp, Slot, apply1, apply2, flipped, real_square, times_flipped, transposed, which, widened};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::copy::contiguous;
use crate::kernels::linalg::{Stop, external};
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, numel};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The eigenvalues `w` of matrices in rising order, if all are real, and eigenvectors of length 1 as the columns of `V`:
    /// `A V = V diag(w)`. Needs the cargo feature `linalg`.
    ///
    /// Eigenvectors are unique up to their sign; here the largest component is positive. For symmetric matrices
    /// [`eigh`](Tensor::eigh) is faster and more accurate.
    ///
    /// # Shapes
    /// `[.., n, n]` gives `[.., n]` and `[.., n, n]`.
    ///
    /// # Dtypes
    /// `f32` and `f64`; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `dw = diag(V⁻¹ dA V)`, and the eigenvectors turn by `V⁻¹ dA V` over the gaps between eigenvalues, at constant length. Equal
    /// eigenvalues are an error where a derivative of their vectors is asked for.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square; `Value` if eigenvalues are complex, with the first pair and the number of the matrix
    /// among many. The derivative is a `Value` error if there is no basis of eigenvectors, or where it divides by a gap of 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (w, _) = Tensor::from([[1.0, 2.0], [0.0, 3.0]]).eig()?;
    /// assert_eq!(w.to_vec::<f64>()?, [1.0, 3.0]);
    /// let rotation = Tensor::from([[0.0, -1.0], [1.0, 0.0]]);
    /// assert!(rotation.eig().unwrap_err().to_string().contains("±"));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn eig(&self) -> Result<(Tensor, Tensor)> = eig {
        samples: eig_samples, errors: eig_errors,
        python: eig() -> (eigenvalues, eigenvectors)
    };

    /// The eigenvalues of matrices in rising order, if all are real. Needs the cargo feature `linalg`.
    ///
    /// # Shapes
    /// `[.., n, n]` gives `[.., n]`.
    ///
    /// # Dtypes
    /// `f32` and `f64`; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `V⁻ᵀ diag(g) Vᵀ` with the eigenvectors `V`, without gaps.
    ///
    /// # Errors
    /// As those of [`eig`](Tensor::eig).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let w = Tensor::from([[1.0, 2.0], [0.0, 3.0]]).eigvals()?;
    /// assert_eq!(w.to_vec::<f64>()?, [1.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn eigvals(&self) -> Result<Tensor> = eigvals { samples: eigvals_samples, errors: eigvals_errors };
}

/// Values and vectors, in double precision.
fn decomposed(op: &str, x: &Array) -> Result<(Array, Array)> {
    let a = Tensor::from(x.clone()).to_dtype(DType::F64)?;
    let a = contiguous(a.concrete());
    let n = a.shape()[a.rank() - 1];
    let lead = &a.shape()[..a.rank() - 2];
    let (mut values, mut vectors) = (Vec::new(), Vec::new());
    let data = a.as_slice::<f64>().unwrap_or_default();
    for k in 0..numel(lead) {
        let a = &data[k * n * n..(k + 1) * n * n];
        let place = || which(lead, Stop { matrix: k, step: 0 });
        if !a.iter().all(|v| v.is_finite()) {
            values.extend(std::iter::repeat_n(f64::NAN, n));
            vectors.extend(std::iter::repeat_n(f64::NAN, n * n));
            continue;
        }
        match external::general(n, a) {
            Some(Ok((w, rows))) => {
                values.extend(w);
                vectors.extend((0..n * n).map(|e| rows[e % n * n + e / n]));
            }
            Some(Err((re, im))) => bail!(
                Value,
                "{op}: expected matrices with real eigenvalues, got {} with {re:e} ± {im:e}i{}",
                x.ty(),
                place()
            ),
            None => bail!(Value, "{op}: the iteration for {} did not converge{}", x.ty(), place()),
        }
    }
    let shape = |core: &[usize]| lead.iter().chain(core).copied().collect::<Shape>();
    let back = |data: &[f64], core: &[usize]| {
        Ok::<_, crate::Error>(Tensor::from_slice(data, &shape(core))?.to_dtype(x.dtype())?.concrete().clone())
    };
    Ok((back(&values, &[n])?, back(&vectors, &[n, n])?))
}

#[derive(Clone, Debug)]
struct Eig;

impl MatrixOp for Eig {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0), Slot::Out(1)];

    fn name(&self) -> &'static str {
        "eig"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        let (values, vectors) = decomposed("eig", x[0])?;
        Ok(smallvec![values, vectors])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (w, v) = (&saved[0], &saved[1]);
        let Some(t) = t[0].as_tensor() else { return Ok([Tangent::zero(), Tangent::zero()].into_iter().collect()) };
        let inverse = apply1(Inverse::of_basis("eig"), &[v])?;
        let inner = inverse.matmul(t)?.matmul(v)?;
        let gaps = Quotient { of: "eig", values: "eigenvalues", by: By::Gap, zero: Zero::Small };
        let turned = v.matmul(&gaps.divide(&inner, w)?)?;
        // At constant length.
        let along = v.mul(&turned)?.sum_dims(&[-2], true)?;
        let vectors = turned.sub(&v.mul(&along)?)?;
        Ok([inner.diagonal(0, -2, -1)?.into(), vectors.into()].into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let v = &saved[1];
        if g[1].is_zero() {
            let inverse = apply1(Inverse::of_basis("eig"), &[v])?;
            let found = g[0].map(|g| flipped(&v.mul(&g.unsqueeze(-2)?)?.matmul(&inverse)?))?;
            return Ok(smallvec![found]);
        }
        transposed(&[v], needs, g, |t| self.tangents(saved, t))
    }
}

/// The eigenvalues alone, whose derivative has no gaps.
#[derive(Clone, Debug)]
struct Values;

impl Values {
    /// The eigenvectors, and their inverse.
    fn basis(a: &Tensor) -> Result<(Tensor, Tensor)> {
        let v = apply2(Eig, &[a])?.1;
        let inverse = apply1(Inverse::of_basis("eigvals"), &[&v])?;
        Ok((v, inverse))
    }
}

impl MatrixOp for Values {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0)];

    fn name(&self) -> &'static str {
        "eigvals"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        Ok(smallvec![decomposed("eigvals", x[0])?.0])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let tangent = t[0].map(|t| {
            let (v, inverse) = Values::basis(&saved[0])?;
            inverse.matmul(t)?.mul(&flipped(&v)?)?.sum_dims(&[-1], false)
        })?;
        Ok(smallvec![tangent])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let g = g[0].map(|g| {
            let (v, inverse) = Values::basis(&saved[0])?;
            times_flipped(&flipped(&inverse)?.mul(&g.unsqueeze(-2)?)?, &v)
        })?;
        Ok(smallvec![g])
    }
}

fn eig(x: &Tensor) -> Result<(Tensor, Tensor)> {
    widened(x, |x| apply2(Eig, &[&real_square("eig", x)?]))
}

fn eigvals(x: &Tensor) -> Result<Tensor> {
    widened(x, |x| apply1(Values, &[&real_square("eigvals", x)?]))
}

/// Matrices with real eigenvalues well apart: a ladder in another basis.
fn ladders(shape: &[usize]) -> Tensor {
    let n = shape[shape.len() - 1];
    let make = || {
        let ladder: Vec<f64> = (0..n).map(|k| 1.5 * k as f64 - 1.0).collect();
        sample_tensor(shape, -0.25, 0.25, 3).add(&Tensor::from(ladder).reshape_to(&[n])?.diag(0)?)
    };
    make().expect("small matrices")
}

/// Eigenvalues in rising order with vectors of length 1, by inverse iteration from the diagonal, which they are near to.
fn naive_eig(a: &Naive) -> Vec<(f64, Vec<f64>)> {
    let n = a.shape[0];
    // Vectors of equal eigenvalues are not unique, and whole numbers have many.
    if a.data.iter().all(|v| v.fract() == 0.0) {
        return vec![(f64::NAN, vec![f64::NAN; n]); n];
    }
    (0..n)
        .map(|k| {
            let mut w = a.at(&[k, k]) + 1e-3;
            let mut v: Vec<f64> = (0..n).map(|i| if i == k { 1.0 } else { 0.1 }).collect();
            for step in 0..60 {
                let shifted = elements(n, n, |i, j| a.at(&[i, j]) - if i == j { w } else { 0.0 });
                let inverse = Naive { shape: vec![n, n], data: inverse(&Naive { shape: vec![n, n], data: shifted }) };
                let column = Naive { shape: vec![n, 1], data: v.clone() };
                let next = product(&inverse, &column).data;
                if !next.iter().all(|x| x.is_finite()) {
                    break;
                }
                let length = next.iter().map(|x| x * x).sum::<f64>().sqrt();
                v = next.iter().map(|x| x / length).collect();
                let image = product(a, &Naive { shape: vec![n, 1], data: v.clone() }).data;
                if step > 10 && step < 14 {
                    w = v.iter().zip(&image).map(|(x, y)| x * y).sum::<f64>() + 1e-9;
                }
            }
            let image = product(a, &Naive { shape: vec![n, 1], data: v.clone() }).data;
            let w = v.iter().zip(&image).map(|(x, y)| x * y).sum::<f64>();
            let largest = v.iter().fold(0.0f64, |m: f64, x| if x.abs() > m.abs() { *x } else { m });
            (w, v.iter().map(|x| x * 1f64.copysign(largest)).collect())
        })
        .collect()
}

const SHAPES: [&[usize]; 5] = [&[3, 3], &[1, 1], &[2, 2, 2], &[0, 0], &[0, 2, 2]];

fn eig_samples() -> Vec<Sample> {
    SHAPES
        .iter()
        .map(|&shape| {
            Sample::new(format!("{shape:?}"), [ladders(shape)], |x| {
                let (w, v) = x[0].eig()?;
                Ok(vec![w, v])
            })
            .reference(|x| {
                let n = x[0].shape[x[0].shape.len() - 1];
                let values = per_matrix(&x[0], &[n], |a| naive_eig(a).iter().map(|p| p.0).collect());
                let vectors = per_matrix(&x[0], &[n, n], |a| {
                    let pairs = naive_eig(a);
                    elements(n, n, |i, j| pairs[j].1[i])
                });
                vec![values, vectors]
            })
            .tolerance(1e-8)
        })
        .collect()
}

fn eigvals_samples() -> Vec<Sample> {
    SHAPES
        .iter()
        .map(|&shape| {
            Sample::one(format!("{shape:?}"), [ladders(shape)], |x| x[0].eigvals())
                .reference(|x| {
                    let n = x[0].shape[x[0].shape.len() - 1];
                    vec![per_matrix(&x[0], &[n], |a| naive_eig(a).iter().map(|p| p.0).collect())]
                })
                .tolerance(1e-8)
        })
        .collect()
}

fn eig_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new(
            "complex",
            ErrorKind::Value,
            "eig: expected matrices with real eigenvalues, got f64[2,2] with",
            || Ok(Tensor::from([[0.0, -1.0], [1.0, 0.0]]).eig()?.0),
        ),
        ErrorSample::new("defective", ErrorKind::Value, "eig: expected regular matrices", || {
            crate::grad(|x: &Tensor| x.eig()?.0.sum())(&Tensor::from([[1.0, 1.0], [0.0, 1.0]]))
        }),
    ]
}

fn eigvals_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("rectangle", ErrorKind::Shape, "eigvals: expected square matrices", || {
        sample_tensor(&[2, 3], 0.0, 1.0, 1).eigvals()
    })]
}
