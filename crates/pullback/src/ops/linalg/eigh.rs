//! Eigenvalues and eigenvectors of symmetric matrices.

use smallvec::{SmallVec, smallvec};

use super::complex::try_computed;
use super::complex_samples as z;
use super::naive::{definite, per_matrix};
use super::phase::Phase;
use super::quotient::{By, Quotient, Zero};
use super::{
    MatrixOp, Slot, adjoint, apply1, apply2, conjugate, real_part, square, symmetric, times_adjoint, which, widened,
};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent};
use crate::kernels::linalg::{Stop, complex_jacobi, spectral};
use crate::ops::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::{Error, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The eigenvalues `w` of symmetric matrices in rising order, and orthonormal eigenvectors as the columns of `V`:
    /// `A = V diag(w) Vᵀ`.
    ///
    /// Of a matrix that is not symmetric, the symmetric part `(x + xᵀ) / 2` counts. Eigenvectors are unique up to their sign; here
    /// the largest component is positive. For complex numbers read conjugate transposes, and Hermitian for symmetric; the sign is then
    /// any number of magnitude 1, and the eigenvalues are real. The cargo feature `linalg` makes large real matrices faster.
    ///
    /// # Shapes
    /// `[.., n, n]` gives `[.., n]` and `[.., n, n]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `V (diag(g) + F ∘ (Vᵀ G)) Vᵀ`, made symmetric, for the cotangents `g` of `w` and `G` of `V`, with
    /// `F[i,j] = 1 / (w[j] - w[i])` and 0 on the diagonal. The eigenvectors of equal eigenvalues are not unique and have no
    /// derivative: where one is asked for, and their cotangents are not exactly 0, that is an error which names the
    /// eigenvalues. Eigenvalues alone have a derivative there: see [`eigvalsh`](Tensor::eigvalsh). A function of complex eigenvectors
    /// must not depend on their phases; a gradient that does is an error. In forward mode such vectors move at right angles to
    /// themselves.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square. The derivative is a `Value` error where it divides by a gap of 0 or depends on phases.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (w, v) = Tensor::from([[0.0, 2.0], [2.0, 0.0]]).eigh()?;
    /// let near = |x: &Tensor, want: &[f64]| {
    ///     Ok::<_, pullback::Error>(x.to_vec::<f64>()?.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-14))
    /// };
    /// let s = 0.5f64.sqrt();
    /// assert!(near(&w, &[-2.0, 2.0])? && near(&v, &[s, s, -s, s])?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn eigh(&self) -> Result<(Tensor, Tensor)> = eigh {
        samples: eigh_samples, errors: eigh_errors,
        python: eigh() -> (eigenvalues, eigenvectors)
    };

    /// The eigenvalues of symmetric matrices in rising order.
    ///
    /// Of a matrix that is not symmetric, the symmetric part `(x + xᵀ) / 2` counts; of a complex one, the Hermitian part.
    ///
    /// # Shapes
    /// `[.., n, n]` gives `[.., n]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `V diag(g) Vᵀ` with the eigenvectors `V`. Nothing is divided by gaps, so functions that treat equal eigenvalues alike have the
    /// right gradient. The second derivative is that of eigenvectors, and an error where eigenvalues are equal.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([[2.0, 0.0], [0.0, 2.0]]);
    /// assert_eq!(x.eigvalsh()?.to_vec::<f64>()?, [2.0, 2.0]);
    /// let g = grad(|x: &Tensor| x.eigvalsh()?.square()?.sum())(&x)?;
    /// assert_eq!(g.to_vec::<f64>()?, [4.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn eigvalsh(&self) -> Result<Tensor> = eigvalsh {
        samples: eigvalsh_samples, errors: eigvalsh_errors, kinks: eigvalsh_kinks
    };
}

/// The error for an iteration that did not end.
#[cold]
pub(super) fn not_converged(op: &str, x: &Array, stop: Stop) -> Error {
    let place = which(&x.shape()[..x.rank() - 2], stop);
    Error::new(ErrorKind::Value, format!("{op}: the iteration for {} did not converge{place}", x.ty()))
}

/// Values of complex matrices, and vectors, which have no elements unless asked for.
fn hermitian(op: &str, x: &Array, vectors: bool) -> Result<SmallVec<[Array; 2]>> {
    try_computed(x, &|a| Ok(complex_jacobi::hermitian(a, vectors)?.to_vec())).map_err(|stop| not_converged(op, x, stop))
}

#[derive(Clone, Debug)]
struct Eigh;

impl MatrixOp for Eigh {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::Out(0), Slot::Out(1)];

    fn name(&self) -> &'static str {
        "eigh"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return hermitian("eigh", x[0], true);
        }
        match dispatch!(x[0].dtype(), "eigh", float, T => Ok(spectral::eigh::<T>(x[0], true)))? {
            Ok((values, vectors)) => Ok(smallvec![values, vectors]),
            Err(stop) => Err(not_converged("eigh", x[0], stop)),
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let (w, v) = (&saved[0], &saved[1]);
        let Some(t) = t[0].as_tensor() else { return Ok([Tangent::zero(), Tangent::zero()].into_iter().collect()) };
        let inner = adjoint(v)?.matmul(&symmetric(t)?)?.matmul(v)?;
        let gaps = Quotient { of: "eigh", values: "eigenvalues", by: By::Gap, zero: Zero::Small };
        let vectors = v.matmul(&gaps.divide(&inner, w)?)?;
        Ok([real_part(&inner.diagonal(0, -2, -1)?)?.into(), vectors.into()].into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let (w, v) = (&saved[0], &saved[1]);
        let gaps = Quotient { of: "eigh", values: "eigenvalues", by: By::Gap, zero: Zero::Unused };
        let of_values = g[0].map(|g| g.to_dtype(v.dtype())?.diag_embed(0, -2, -1))?;
        let of_vectors = g[1].map(|g| gaps.divide(&Phase { of: "eigh" }.checked(&adjoint(v)?.matmul(g)?)?, w))?;
        let inner = of_values.plus(of_vectors)?;
        Ok(smallvec![inner.map(|g| symmetric(&times_adjoint(&v.matmul(g)?, v)?))?])
    }
}

/// The eigenvalues alone, whose derivative has no gaps.
#[derive(Clone, Debug)]
struct Values;

impl Values {
    fn vectors(a: &Tensor) -> Result<Tensor> {
        Ok(apply2(Eigh, &[a])?.1)
    }
}

impl MatrixOp for Values {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0)];

    fn name(&self) -> &'static str {
        "eigvalsh"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            let mut found = hermitian("eigvalsh", x[0], false)?;
            found.truncate(1);
            return Ok(found);
        }
        match dispatch!(x[0].dtype(), "eigvalsh", float, T => Ok(spectral::eigh::<T>(x[0], false)))? {
            Ok((values, _)) => Ok(smallvec![values]),
            Err(stop) => Err(not_converged("eigvalsh", x[0], stop)),
        }
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let tangent = t[0].map(|t| {
            let v = Values::vectors(&saved[0])?;
            real_part(&symmetric(t)?.matmul(&v)?.mul(&conjugate(&v)?)?)?.sum_dims(&[-2], false)
        })?;
        Ok(smallvec![tangent])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let g = g[0].map(|g| {
            let v = Values::vectors(&saved[0])?;
            times_adjoint(&v.mul(&g.unsqueeze(-2)?)?, &v)
        })?;
        Ok(smallvec![g])
    }
}

fn eigh(x: &Tensor) -> Result<(Tensor, Tensor)> {
    widened(x, |x| apply2(Eigh, &[&square("eigh", x)?]))
}

fn eigvalsh(x: &Tensor) -> Result<Tensor> {
    widened(x, |x| apply1(Values, &[&square("eigvalsh", x)?]))
}

/// The eigenvalues and the eigenvectors, as rows, of the symmetric part of a matrix: by taking out the pair of the largest
/// eigenvalue, which powers of the shifted matrix find, one after the other.
pub(super) fn naive_eigh(a: &Naive) -> Vec<(f64, Vec<f64>)> {
    let n = a.shape[0];
    let size: f64 = a.data.iter().map(|v| v.abs()).sum::<f64>() + 1.0;
    let mut pairs: Vec<(f64, Vec<f64>)> = Vec::new();
    for k in 0..n {
        // The square, again and again, of what is left of the shifted matrix, which is positive.
        let mut m: Vec<f64> = (0..n * n)
            .map(|e| {
                let (i, j) = (e / n, e % n);
                let taken: f64 = pairs.iter().map(|(w, v)| (w + size) * v[i] * v[j]).sum();
                0.5 * (a.data[e] + a.data[j * n + i]) + if i == j { size } else { 0.0 } - taken
            })
            .collect();
        for _ in 0..60 {
            let product = super::naive::product(
                &Naive { shape: vec![n, n], data: m.clone() },
                &Naive { shape: vec![n, n], data: m.clone() },
            );
            let largest = product.data.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            m = product.data.iter().map(|v| v / largest).collect();
        }
        let column = (0..n).max_by(|&i, &j| m[i * n + i].total_cmp(&m[j * n + j])).unwrap_or(k);
        let mut v: Vec<f64> = (0..n).map(|i| m[i * n + column]).collect();
        for (_, other) in &pairs {
            let part: f64 = v.iter().zip(other).map(|(x, y)| x * y).sum();
            v.iter_mut().zip(other).for_each(|(x, y)| *x -= part * y);
        }
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let largest = v.iter().fold(0.0f64, |m: f64, x| if x.abs() > m.abs() { *x } else { m });
        v.iter_mut().for_each(|x| *x /= length.copysign(largest));
        let w =
            (0..n).map(|i| (0..n).map(|j| v[i] * 0.5 * (a.data[i * n + j] + a.data[j * n + i]) * v[j]).sum::<f64>());
        pairs.push((w.sum(), v));
    }
    pairs.reverse();
    pairs
}

/// Symmetric matrices with eigenvalues well apart and of both signs.
pub(super) fn apart(shape: &[usize]) -> Tensor {
    let n = shape[shape.len() - 1];
    let make = || {
        let ladder: Vec<f64> = (0..n).map(|k| 1.7 * k as f64 - 1.0).collect();
        sample_tensor(shape, -0.4, 0.4, 3).add(&Tensor::from(ladder).reshape_to(&[n])?.diag(0)?)
    };
    make().expect("small matrices")
}

const SHAPES: [&[usize]; 6] = [&[3, 3], &[1, 1], &[2, 2, 2], &[4, 4], &[0, 0], &[0, 2, 2]];

/// Parts of matrices whose Hermitian parts have eigenvalues well apart.
fn parts(shape: &[usize]) -> [Tensor; 2] {
    [apart(shape), sample_tensor(shape, -0.5, 0.4, 4)]
}

/// The matrices with these values and vectors, which no phase changes.
fn assembled(w: &Tensor, v: &Tensor) -> Result<Tensor> {
    times_adjoint(&v.mul(&w.unsqueeze(-2)?)?, v)
}

fn eigh_samples() -> Vec<Sample> {
    let complex = SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![parts(shape)], move |x| {
            let (w, v) = x[0].eigh()?;
            let other = Tensor::arange(0, shape[shape.len() - 1] as i64, 1, w.dtype())?.square()?;
            Ok(vec![assembled(&w, &v)?, adjoint(&v)?.matmul(&v)?, w, assembled(&other, &v)?])
        })
        .reference(|x| {
            let a = z::blocks(&x[0], &x[1]);
            let n = a.shape[a.shape.len() - 1];
            // Each value is there twice, and its vectors span the same plane.
            let values = per_matrix(&a, &[n / 2], |a| naive_eigh(a).iter().step_by(2).map(|p| p.0).collect());
            let sum = |weight: fn(usize, f64) -> f64| {
                z::pairs(&per_matrix(&a, &[n, n], |a| {
                    let found = naive_eigh(a);
                    super::naive::elements(n, n, |i, j| {
                        found.iter().enumerate().map(|(k, (w, v))| weight(k / 2, *w) * v[i] * v[j]).sum()
                    })
                }))
            };
            vec![sum(|_, w| w), z::identity(&x[0], n / 2), values, sum(|k, _| (k * k) as f64)]
        })
        .tolerance(1e-9)
    });
    SHAPES
        .iter()
        .map(|&shape| {
            Sample::new(format!("{shape:?}"), [apart(shape)], |x| {
                let (w, v) = x[0].eigh()?;
                Ok(vec![w, v])
            })
            .reference(|x| {
                let n = x[0].shape[x[0].shape.len() - 1];
                let values = per_matrix(&x[0], &[n], |a| naive_eigh(a).iter().map(|p| p.0).collect());
                let vectors = per_matrix(&x[0], &[n, n], |a| {
                    let pairs = naive_eigh(a);
                    super::naive::elements(n, n, |i, j| pairs[j].1[i])
                });
                vec![values, vectors]
            })
            .tolerance(1e-9)
        })
        .chain(complex)
        .collect()
}

fn eigvalsh_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(format!("{label}{:?}", x.shape()), [x], |x| x[0].eigvalsh())
            .reference(|x| {
                let n = x[0].shape[x[0].shape.len() - 1];
                vec![per_matrix(&x[0], &[n], |a| naive_eigh(a).iter().map(|p| p.0).collect())]
            })
            .tolerance(1e-9)
    };
    let mut samples: Vec<Sample> = SHAPES.iter().map(|&s| case("", apart(s))).collect();
    samples.push(case("definite ", definite(&[3, 3], 1)));
    samples.extend(SHAPES.iter().map(|&shape| {
        z::of_parts(format!("{shape:?}"), vec![parts(shape)], |x| Ok(vec![x[0].eigvalsh()?]))
            .reference(|x| {
                let a = z::blocks(&x[0], &x[1]);
                let n = a.shape[a.shape.len() - 1] / 2;
                // Each is there twice.
                vec![per_matrix(&a, &[n], |a| naive_eigh(a).iter().step_by(2).map(|p| p.0).collect())]
            })
            .tolerance(1e-9)
    }));
    samples
}

fn eigh_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("vector", ErrorKind::Shape, "eigh: expected matrices, got f64[2]", || {
            Ok(Tensor::from([1.0, 2.0]).eigh()?.0)
        }),
        ErrorSample::new(
            "phases",
            ErrorKind::Value,
            "eigh: expected a function that does not depend on the phases of complex vectors",
            || {
                let [re, im] = parts(&[3, 3]);
                let x = crate::complex(&re, &im)?;
                crate::grad(|x: &Tensor| x.eigh()?.1.select(-2, 1)?.imag()?.sum())(&x)
            },
        ),
        ErrorSample::new(
            "equal eigenvalues",
            ErrorKind::Value,
            "eigh: expected distinct eigenvalues where a derivative needs their vectors, got some of which numbers 0 and 1, \
            2e0 and 2e0, are equal to rounding",
            || crate::grad(|x: &Tensor| x.eigh()?.1.sum())(&Tensor::eye(2, crate::DType::F64)?.mul(2.0)?),
        ),
    ]
}

fn eigvalsh_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("rectangle", ErrorKind::Shape, "eigvalsh: expected square matrices, got f64[2,3]", || {
        sample_tensor(&[2, 3], 0.0, 1.0, 1).eigvalsh()
    })]
}

fn eigvalsh_kinks() -> Vec<Kink> {
    let equal = Tensor::from([[2.0, 0.0], [0.0, 2.0]]);
    vec![Kink::new("equal eigenvalues", equal, [1.0, 0.0, 0.0, 1.0], |x| x.eigvalsh())]
}
