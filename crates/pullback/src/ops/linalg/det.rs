//! Determinants.

use smallvec::{SmallVec, smallvec};

use super::complex::computed;
use super::complex_samples as z;
use super::naive::{determinant, per_matrix, regular};
use super::solve::inverse_of;
use super::{MatrixOp, Slot, adjoint, apply1, apply2, flipped, sizes, square, transposed, widened};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::op::{Cotangents, Tangents};
use crate::function::{Cotangent, Tangent, backward_through, jvp_through};
use crate::kernels::linalg::{complex, lu as kernel, minors};
use crate::ops::shape::broadcast_to;
use crate::ops::table::{ErrorSample, Kink, Sample, ops, sample_tensor};
use crate::shape::Shape;
use crate::{Complex64, ErrorKind, Result, Tensor, cat};

ops! { OPS;
    /// The determinants of matrices.
    ///
    /// Where they are too large or too small for a number, [`slogdet`](Tensor::slogdet) is not.
    ///
    /// # Shapes
    /// `[.., n, n]` becomes `[..]`; that of a matrix without elements is 1.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The transposed adjugate, the matrix of cofactors, which is computed without a division: it is right for singular
    /// matrices too. So are the derivatives of order 2 and 3 for matrices whose rank is at least `n - 3`.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square. Derivatives of order 2 and higher of a matrix of less than that rank are `Value`
    /// errors.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    /// assert_eq!(x.det()?.item::<f64>()?, 0.0);
    /// assert_eq!(grad(|x: &Tensor| x.det())(&x)?.to_vec::<f64>()?, [4.0, -2.0, -2.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn det(&self) -> Result<Tensor> = det { samples: det_samples, errors: det_errors, kinks: det_kinks };

    /// The signs of the determinants of matrices, for complex ones `det / |det|`, and the natural logarithms of their magnitudes.
    ///
    /// A singular matrix has sign 0 and logarithm -∞.
    ///
    /// # Shapes
    /// `[.., n, n]` becomes twice `[..]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The transposed inverse for the logarithm. The sign of a real determinant has none; that of a complex one turns with the imaginary
    /// part of the trace of `A⁻¹ dA`.
    ///
    /// # Errors
    /// `Shape` unless the matrices are square. The derivative of a matrix that is singular to working precision is a `Value`
    /// error.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (sign, log) = Tensor::from([[0.0, 1e-200], [1e-200, 0.0]]).slogdet()?;
    /// assert_eq!((sign.item::<f64>()?, log.item::<f64>()?), (-1.0, -400.0 * 10f64.ln()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn slogdet(&self) -> Result<(Tensor, Tensor)> = slogdet {
        samples: slogdet_samples, errors: slogdet_errors,
        python: slogdet() -> (sign, logabsdet)
    };

    /// The logarithms of the determinants of matrices: NaN where they are negative, -∞ where they are 0. Complex ones have an imaginary
    /// part between -π and π.
    ///
    /// For a symmetric positive definite matrix, twice the sum of the logarithms on the diagonal of its
    /// [`cholesky`](Tensor::cholesky) factor is faster.
    ///
    /// # Shapes
    /// `[.., n, n]` becomes `[..]`.
    ///
    /// # Dtypes
    /// `f32`, `f64` and complex numbers; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The transposed inverse.
    ///
    /// # Errors
    /// As those of [`slogdet`](Tensor::slogdet).
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[2.0, 0.0], [0.0, 0.5]]);
    /// assert_eq!(x.logdet()?.item::<f64>()?, 0.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logdet(&self) -> Result<Tensor> = logdet { samples: logdet_samples, errors: logdet_errors };
}

/// The sum of the products of the elements of two matrices.
fn inner(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.mul(b)?.sum_dims(&[-2, -1], false)
}

/// Numbers as matrices of one element, which broadcast.
fn as_matrix(x: &Tensor) -> Result<Tensor> {
    x.unsqueeze(-1)?.unsqueeze(-1)
}

#[derive(Clone, Debug)]
struct Det;

impl MatrixOp for Det {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0)];

    fn name(&self) -> &'static str {
        "det"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return Ok(computed(x[0], &|a| {
                let (lu, order) = complex::factor(a);
                vec![complex::determinant(&lu, &order)]
            }));
        }
        let det = dispatch!(x[0].dtype(), "det", float, T => {
            let (lu, order) = kernel::factor::<T>(x[0]);
            Ok(kernel::determinant::<T>(&lu, &order))
        })?;
        Ok(smallvec![det])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let tangent = t[0].map(|t| inner(&flipped(&apply1(Adjugate, &[&saved[0]])?)?, t))?;
        Ok(smallvec![tangent])
    }

    fn cotangents(&self, saved: &[Tensor], _: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        let g = g[0].map(|g| adjoint(&apply1(Adjugate, &[&saved[0]])?)?.mul(&as_matrix(g)?))?;
        Ok(smallvec![g])
    }
}

fn det(x: &Tensor) -> Result<Tensor> {
    widened(x, |x| apply1(Det, &[&square("det", x)?]))
}

/// The adjugate: the derivative of the determinant, transposed.
#[derive(Clone, Debug)]
struct Adjugate;

impl Adjugate {
    /// The adjugate of a matrix `A` of size `n`, differentiable at a rank of at least `n - 3`.
    ///
    /// Unit vectors make a larger, regular matrix of it: `M = [[A, B], [C, 0]]`. With the inverse `[[E, F], [G, H]]` of
    /// that, `det A = det M · det H`, and what is singular is in `H`, which is so small that its adjugate is written down.
    fn definition(a: &Tensor) -> Result<Tensor> {
        let [n, _] = sizes(a);
        let k = n.min(3);
        let (right, below) = apply2(Border { k }, &[&a.detach()?])?;
        let shape: Shape = a.shape()[..a.rank() - 2].iter().copied().chain([k, k]).collect();
        let corner = broadcast_to(&Tensor::zeros(&[], a.dtype())?, &shape)?;
        let whole = cat(&[&cat(&[a, &right], -1)?, &cat(&[&below, &corner], -1)?], -2)?;
        let inverse = inverse_of("det", &whole).map_err(|e| {
            if e.kind() != ErrorKind::Value {
                return e;
            }
            crate::Error::new(
                ErrorKind::Value,
                format!("det: expected matrices of a rank of at least {}, got {} with one of less", n - k, a.ty()),
            )
            .with_help("its first derivative is zero, and higher ones are not computed")
        })?;
        let part = |row: usize, column: usize| {
            let size = |at: usize| if at == 0 { n } else { k };
            inverse.narrow(-2, row as isize, size(row))?.narrow(-1, column as isize, size(column))
        };
        let [e, f, g, h] = [part(0, 0)?, part(0, n)?, part(n, 0)?, part(n, n)?];
        let cofactors = small_cofactors(&h)?;
        let det_h = if k == 0 {
            broadcast_to(&Tensor::ones(&[], a.dtype())?, &shape[..shape.len() - 2])?
        } else {
            h.select(-2, 0)?.mul(&cofactors.select(-2, 0)?)?.sum_dims(&[-1], false)?
        };
        let sum = e.mul(&as_matrix(&det_h)?)?.sub(&f.matmul(&flipped(&cofactors)?)?.matmul(&g)?)?;
        sum.mul(&as_matrix(&det(&whole)?)?)
    }

    fn of_one(x: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![Adjugate::definition(&x[0])?])
    }
}

/// The cofactors of matrices of up to three rows.
fn small_cofactors(h: &Tensor) -> Result<Tensor> {
    let rolled = |rows: isize, columns: isize| h.roll(&[-rows, -columns], &[-2, -1]);
    match sizes(h)[0] {
        0 => Ok(h.clone()),
        1 => h.mul(0.0)?.add(1.0),
        2 => rolled(1, 1)?.mul(&Tensor::from([[1.0, -1.0], [-1.0, 1.0]]).to_dtype(h.dtype())?),
        _ => rolled(1, 1)?.mul(&rolled(2, 2)?)?.sub(&rolled(1, 2)?.mul(&rolled(2, 1)?)?),
    }
}

impl MatrixOp for Adjugate {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0)];

    fn name(&self) -> &'static str {
        "adjugate"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return Ok(computed(x[0], &|a| vec![minors::adjugate::<Complex64>(a)]));
        }
        Ok(smallvec![dispatch!(x[0].dtype(), "det", float, T => Ok(minors::adjugate::<T>(x[0])))?])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        Ok(jvp_through(|x: &Vec<Tensor>| Adjugate::of_one(x), &saved.to_vec(), &t.to_vec())?.into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        Ok(backward_through(|x: &Vec<Tensor>| Adjugate::of_one(x), &saved.to_vec(), needs, &g.to_vec())?
            .into_iter()
            .collect())
    }
}

/// The unit vectors that border a matrix; see [`minors::border`].
#[derive(Clone, Debug)]
struct Border {
    k: usize,
}

impl MatrixOp for Border {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[];
    const DIFFERENTIABLE: bool = false;

    fn name(&self) -> &'static str {
        "border"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return Ok(computed(x[0], &|a| {
                let (right, below) = minors::border::<Complex64>(a, self.k);
                vec![right, below]
            }));
        }
        let (right, below) = dispatch!(x[0].dtype(), "det", float, T => Ok(minors::border::<T>(x[0], self.k)))?;
        Ok(smallvec![right, below])
    }

    fn tangents(&self, _: &[Tensor], _: &[Tangent]) -> Result<Tangents> {
        Ok([Tangent::zero(), Tangent::zero()].into_iter().collect())
    }

    fn cotangents(&self, _: &[Tensor], _: &[bool], _: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![Cotangent::zero()])
    }
}

/// Sign and logarithm.
#[derive(Clone, Debug)]
struct SignLog;

impl MatrixOp for SignLog {
    const CORES: &'static [usize] = &[2];
    const SAVED: &'static [Slot] = &[Slot::In(0), Slot::Out(0)];

    fn name(&self) -> &'static str {
        "slogdet"
    }

    fn kernel(&self, x: &[&Array]) -> Result<SmallVec<[Array; 2]>> {
        if x[0].dtype().is_complex() {
            return Ok(computed(x[0], &|a| {
                let (lu, order) = complex::factor(a);
                complex::log_determinant(&lu, &order).to_vec()
            }));
        }
        let (sign, log) = dispatch!(x[0].dtype(), "slogdet", float, T => {
            let (lu, order) = kernel::factor::<T>(x[0]);
            Ok(kernel::log_determinant::<T>(&lu, &order))
        })?;
        Ok(smallvec![sign, log])
    }

    fn tangents(&self, saved: &[Tensor], t: &[Tangent]) -> Result<Tangents> {
        let tangent = t[0].map(|t| inner(&flipped(&inverse_of("slogdet", &saved[0])?)?, t))?;
        let Some(of_complex) = tangent.as_tensor().filter(|t| t.dtype().is_complex()) else {
            return Ok([Tangent::zero(), tangent].into_iter().collect());
        };
        // The imaginary part turns the sign.
        let turn = of_complex.imag()?.mul(Complex64::new(0.0, 1.0))?;
        Ok([turn.mul(&saved[1])?.into(), of_complex.real()?.into()].into_iter().collect())
    }

    fn cotangents(&self, saved: &[Tensor], needs: &[bool], g: &[Cotangent]) -> Result<Cotangents> {
        if saved[0].dtype().is_complex() {
            return transposed(&[&saved[0]], needs, g, |t| self.tangents(saved, t));
        }
        let inverse = || flipped(&inverse_of("slogdet", &saved[0])?);
        Ok(smallvec![g[1].map(|g| inverse()?.mul(&as_matrix(g)?))?])
    }
}

fn slogdet(x: &Tensor) -> Result<(Tensor, Tensor)> {
    widened(x, |x| apply2(SignLog, &[&square("slogdet", x)?]))
}

fn logdet(x: &Tensor) -> Result<Tensor> {
    widened(x, |x| {
        let (sign, log) = apply2(SignLog, &[&square("logdet", x)?])?;
        if sign.dtype().is_complex() {
            return sign.log()?.imag()?.mul(Complex64::new(0.0, 1.0))?.add(&log);
        }
        sign.lt(0)?.where_(f64::NAN, &log)
    })
}

const SHAPES: [&[usize]; 7] = [&[3, 3], &[1, 1], &[2, 2, 2], &[5, 5], &[0, 0], &[0, 2, 2], &[2, 0, 0]];

fn det_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(format!("{label}{:?}", x.shape()), [x], |x| x[0].det())
            .reference(|x| vec![per_matrix(&x[0], &[], |a| vec![determinant(a)])])
    };
    let mut samples: Vec<Sample> = SHAPES.iter().map(|&s| case("", regular(s, 1))).collect();
    // Of less than full rank: the numbers are such that elimination is exact.
    let (zeros, pair) = ([0.0; 4], [[1.0, 2.0, 0.0, 0.0], [2.0, 4.0, 0.0, 0.0]]);
    samples.push(case("rank 1 of ", Tensor::from([pair[0], pair[1], zeros, pair[1]])));
    samples.push(case("rank 2 of ", Tensor::from([pair[0], pair[1], [0.0, 0.0, 4.0, 2.0], [0.0, 0.0, 2.0, 1.0]])));
    samples.push(case("rank 3 of ", Tensor::from([pair[0], pair[1], [0.0, 0.0, 4.0, 1.0], [0.0, 0.0, 0.0, 2.0]])));
    samples.push(case("zeros ", Tensor::zeros(&[2, 2], crate::DType::F64).expect("zeros")));
    let case = |label: &str, parts: [Tensor; 2]| {
        z::of_parts(format!("{label}{:?}", parts[0].shape()), vec![parts], |x| Ok(vec![x[0].det()?]))
            .reference(|x| vec![z::per_complex(x, &[], 2, |n, _, a| vec![z::determinant(n, a)])])
    };
    samples.extend(SHAPES.iter().map(|&s| case("", z::square(s))));
    // The product of a column and a row.
    let (re, im) =
        ([[1.0, 1.0, -1.0], [0.0, -1.0, 0.0], [2.0, 2.0, -2.0]], [[0.0, 1.0, 0.0], [1.0, 1.0, -1.0], [0.0, 2.0, 0.0]]);
    samples.push(case("rank 1 of ", [Tensor::from(re), Tensor::from(im)]));
    samples
}

fn det_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("rectangle", ErrorKind::Shape, "det: expected square matrices, got f64[2,3]", || {
            sample_tensor(&[2, 3], 0.0, 1.0, 1).det()
        }),
        ErrorSample::new("complex", ErrorKind::Shape, "det: expected square matrices, got c128[2,3]", || {
            sample_tensor(&[2, 3], 0.0, 1.0, 1).to_dtype(crate::DType::C128)?.det()
        }),
        ErrorSample::new(
            "rank",
            ErrorKind::Value,
            "det: expected matrices of a rank of at least 1, got f64[4,4]",
            || crate::hessian(|x: &Tensor| x.det())(&Tensor::zeros(&[4, 4], crate::DType::F64)?),
        ),
    ]
}

fn det_kinks() -> Vec<Kink> {
    vec![Kink::new("a singular matrix", Tensor::from([[1.0, 1.0], [1.0, 1.0]]), [1.0, -1.0, -1.0, 1.0], |x| x.det())]
}

fn slogdet_samples() -> Vec<Sample> {
    let case = |x: Tensor| {
        Sample::new(format!("{:?}", x.shape()), [x], |x| {
            let (sign, log) = x[0].slogdet()?;
            Ok(vec![sign, log])
        })
        .reference(|x| {
            let of = |f: fn(f64) -> f64| per_matrix(&x[0], &[], move |a| vec![f(determinant(a))]);
            vec![of(|d| if d == 0.0 { 0.0 } else { d.signum() }), of(|d| d.abs().ln())]
        })
    };
    let mut samples: Vec<Sample> = SHAPES.iter().map(|&s| case(regular(s, 1))).collect();
    let negative = Tensor::from([[[0.0, 2.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 3.0]]]);
    samples.push(case(negative));
    samples.push({
        let mut singular = case(Tensor::from([[1.0, 2.0], [2.0, 4.0]])).special();
        singular.label = "singular".into();
        singular
    });
    let case = |label: &str, parts: [Tensor; 2]| {
        z::of_parts(format!("{label}{:?}", parts[0].shape()), vec![parts], |x| {
            let (sign, log) = x[0].slogdet()?;
            Ok(vec![sign, log])
        })
        .reference(|x| {
            let sign = |d: Complex64| if d.norm() == 0.0 { d } else { d / d.norm() };
            vec![
                z::per_complex(x, &[], 2, |n, _, a| vec![sign(z::determinant(n, a))]),
                z::per_complex(x, &[], 1, |n, _, a| vec![z::determinant(n, a).norm().ln().into()]),
            ]
        })
    };
    samples.extend(SHAPES.iter().map(|&s| case("", z::square(s))));
    let (re, im) = ([[1.0, 2.0], [0.0, 0.0]], [[1.0, 2.0], [1.0, 2.0]]);
    samples.push(case("singular ", [Tensor::from(re), Tensor::from(im)]).special());
    samples
}

fn slogdet_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("derivative", ErrorKind::Value, "slogdet: expected regular matrices, got f64[2,2]", || {
            crate::grad(|x: &Tensor| Ok(x.slogdet()?.1))(&Tensor::from([[1.0, 2.0], [2.0, 4.0]]))
        }),
        ErrorSample::new("complex", ErrorKind::Value, "slogdet: expected regular matrices, got c128[2,2]", || {
            let x = Tensor::from([[1.0, 2.0], [2.0, 4.0]]).to_dtype(crate::DType::C128)?;
            crate::grad(|x: &Tensor| Ok(x.slogdet()?.1))(&x)
        }),
    ]
}

fn logdet_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(format!("{label}{:?}", x.shape()), [x], |x| x[0].logdet())
            .reference(|x| vec![per_matrix(&x[0], &[], |a| vec![determinant(a).ln()])])
    };
    let mut samples: Vec<Sample> = SHAPES.iter().map(|&s| case("", super::naive::definite(s, 1))).collect();
    samples.push(case("negative ", Tensor::from([[0.0, 1.0], [1.0, 0.0]])).special());
    samples.extend(SHAPES.iter().map(|&s| {
        z::of_parts(format!("{s:?}"), vec![z::square(s)], |x| Ok(vec![x[0].logdet()?]))
            .reference(|x| vec![z::per_complex(x, &[], 2, |n, _, a| vec![z::determinant(n, a).ln()])])
    }));
    samples
}

fn logdet_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("vector", ErrorKind::Shape, "logdet: expected matrices, got f64[2]", || {
        Tensor::from([1.0, 2.0]).logdet()
    })]
}
