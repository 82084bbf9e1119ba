//! Complex numbers and their parts.
//!
//! Derivatives follow the convention of the crate: the derivative of a function of complex numbers is that of the function of
//! their real and imaginary parts. Where it is the multiplication by a number, the transpose is that by the conjugate,
//! which the families see to; what is here is no such multiplication, and has rules of its own.

use super::family::{Binary, Linear, Operands, Unary, binary, linear, unary};
use super::moments::over_or_zero;
use super::reduce::to_float;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::kernels::math::complex as math;
use crate::kernels::{complex as kernel, map};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The complex numbers with these real and imaginary parts.
    ///
    /// # Shapes
    /// The parts broadcast against each other.
    ///
    /// # Dtypes
    /// `c128` if a part is `f64`, else `c64`.
    ///
    /// # Derivative
    /// The parts of the cotangent.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` if a part is complex.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex64, Tensor, complex};
    /// let z = complex(&Tensor::from([1.0, 2.0]), &Tensor::from(-1.0))?;
    /// assert_eq!(z.to_vec::<Complex64>()?, [Complex64::new(1.0, -1.0), Complex64::new(2.0, -1.0)]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn complex(re: &Tensor, im: &Tensor) -> Result<Tensor> = from_parts {
        samples: complex_samples, errors: complex_errors
    };

    /// The complex numbers with these absolute values and angles: `abs·exp(i·angle)`.
    ///
    /// # Shapes
    /// Both broadcast against each other.
    ///
    /// # Dtypes
    /// `c128` if one of them is `f64`, else `c64`.
    ///
    /// # Derivative
    /// By both.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` if one is complex.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex, Tensor, polar};
    /// assert_eq!(polar(&Tensor::from(2.0), &Tensor::from(0.0))?.item::<Complex<f64>>()?, Complex::new(2.0, 0.0));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn polar(abs: &Tensor, angle: &Tensor) -> Result<Tensor> = from_polar {
        samples: polar_samples, errors: polar_errors
    };

    /// The real part; a real tensor is its own.
    ///
    /// # Shapes
    /// That of the tensor, which it shares its memory with.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent as the real part, with 0 as the imaginary one.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex, Tensor};
    /// assert_eq!(Tensor::from([Complex::new(1.0, 2.0)]).real()?.to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn real(&self) -> Result<Tensor> = real { samples: real_samples };

    /// The imaginary part.
    ///
    /// # Shapes
    /// That of the tensor, which it shares its memory with.
    ///
    /// # Dtypes
    /// Complex.
    ///
    /// # Derivative
    /// The cotangent as the imaginary part, with 0 as the real one.
    ///
    /// # Errors
    /// `Dtype` for real numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex, Tensor};
    /// assert_eq!(Tensor::from([Complex::new(1.0, 2.0)]).imag()?.to_vec::<f64>()?, [2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn imag(&self) -> Result<Tensor> = imag { samples: imag_samples, errors: imag_errors };

    /// The complex conjugate; a real tensor is its own.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The conjugate of the cotangent.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex64, Tensor};
    /// assert_eq!(Tensor::from([Complex64::new(1.0, 2.0)]).conj()?.to_vec::<Complex64>()?, [Complex64::new(1.0, -2.0)]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn conj(&self) -> Result<Tensor> = conj { samples: conj_samples };

    /// The angle of each number from the positive real axis, from -π to π: 0 or π for real ones, NaN for NaN.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All. The result is real; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `i·x/|x|²` times the cotangent, and 0 at 0; 0 for real numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex, Tensor};
    /// let z = Tensor::from([Complex::new(0.0, 2.0), Complex::new(-1.0, 0.0)]);
    /// assert_eq!(z.angle()?.to_vec::<f64>()?, [std::f64::consts::FRAC_PI_2, std::f64::consts::PI]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn angle(&self) -> Result<Tensor> = angle { samples: angle_samples };

    /// Each number divided by its absolute value, and 0 for 0: the sign of real numbers.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Numbers, which keep their dtype.
    ///
    /// # Derivative
    /// The part of the cotangent across the number, divided by the absolute value, and 0 at 0; 0 for real numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex64, Tensor};
    /// assert_eq!(Tensor::from([Complex64::new(3.0, 4.0)]).sgn()?.to_vec::<Complex64>()?, [Complex64::new(0.6, 0.8)]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sgn(&self) -> Result<Tensor> = sgn { in_place: true, samples: sgn_samples };

    /// Real and imaginary part along one more dimension, the last one.
    ///
    /// # Shapes
    /// `[…, 2]`; the memory is shared.
    ///
    /// # Dtypes
    /// Complex.
    ///
    /// # Derivative
    /// The cotangent [as complex numbers](Tensor::view_as_complex).
    ///
    /// # Errors
    /// `Dtype` for real numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex, Tensor};
    /// let pairs = Tensor::from([Complex::new(1.0, 2.0)]).view_as_real()?;
    /// assert_eq!((pairs.shape(), pairs.to_vec::<f64>()?), (&[1, 2][..], vec![1.0, 2.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn view_as_real(&self) -> Result<Tensor> = view_as_real { samples: as_real_samples, errors: as_real_errors };

    /// Complex numbers whose real and imaginary parts lie along the last dimension, of size 2.
    ///
    /// # Shapes
    /// That of the tensor without the last dimension. The memory is shared where the pairs lie in a row; elsewhere, unlike in
    /// PyTorch, they are copied.
    ///
    /// # Dtypes
    /// `f32`, `f64`.
    ///
    /// # Derivative
    /// The parts of the cotangent.
    ///
    /// # Errors
    /// `Shape` unless the last dimension has size 2; `Dtype` for another dtype.
    ///
    /// # Example
    /// ```
    /// use pullback::{Complex64, Tensor};
    /// let z = Tensor::from([[1.0, 2.0]]).view_as_complex()?;
    /// assert_eq!(z.to_vec::<Complex64>()?, [Complex64::new(1.0, 2.0)]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn view_as_complex(&self) -> Result<Tensor> = view_as_complex {
        samples: as_complex_samples, errors: as_complex_errors
    };
}

/// Complex numbers of two parts.
struct FromParts;

impl Binary for FromParts {
    const NAME: &'static str = "complex";
    fn kernel(re: &Array, im: &Array, shape: &[usize]) -> Result<Array> {
        kernel::join(re, im, shape)
    }
    // A tangent is real, a cotangent complex.
    fn left(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        if d.dtype().is_complex() { linear(Part::<false>, d) } else { linear(Only::<false>, d) }
    }
    fn right(d: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        if d.dtype().is_complex() { linear(Part::<true>, d) } else { linear(Only::<true>, d) }
    }
}

fn from_parts(re: &Tensor, im: &Tensor) -> Result<Tensor> {
    let (a, b) = real_pair("complex", re, im)?;
    binary::<FromParts>(&a, &b)
}

fn from_polar(abs: &Tensor, angle: &Tensor) -> Result<Tensor> {
    let (abs, angle) = real_pair("polar", abs, angle)?;
    super::family::broadcast_shape("polar", &abs, &angle)?;
    binary::<FromParts>(&abs.mul(angle.cos()?)?, &abs.mul(angle.sin()?)?)
}

/// Two real tensors in the dtype of parts.
fn real_pair(op: &str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    for (t, which) in [(a, "first"), (b, "second")] {
        if t.dtype().is_complex() {
            bail!(Dtype, "{op}: expected real numbers, got {} as the {which} argument", t.ty());
        }
    }
    let dtype = if a.dtype() == DType::F64 || b.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    Ok((a.to_dtype(dtype)?, b.to_dtype(dtype)?))
}

/// The real or imaginary part.
#[derive(Clone, Debug)]
struct Part<const IMAG: bool>;

/// Complex numbers of which only one part is not 0: the transpose of [`Part`].
#[derive(Clone, Debug)]
struct Only<const IMAG: bool>;

impl<const IMAG: bool> Linear for Part<IMAG> {
    const NAME: &'static str = if IMAG { "imag" } else { "real" };
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let [re, im] = kernel::parts(x);
        Ok(if IMAG { im } else { re })
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(Only::<IMAG>, g)
    }
    fn batched(&self, _: usize) -> Self {
        Part
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Self, usize)> {
        Some((Part, lane))
    }
}

impl<const IMAG: bool> Linear for Only<IMAG> {
    const NAME: &'static str = if IMAG { "imag_backward" } else { "real_backward" };
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let zero = dispatch!(x.dtype(), Self::NAME, float, T => Ok(Array::full::<T>([], 0.0)))?;
        let (re, im) = if IMAG { (&zero, x) } else { (x, &zero) };
        kernel::join(re, im, x.shape())
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(Part::<IMAG>, g)
    }
    fn batched(&self, _: usize) -> Self {
        Only
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Self, usize)> {
        Some((Only, lane))
    }
}

fn real(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { linear(Part::<false>, x) } else { x.unchanged("real") }
}

fn check_complex(op: &str, x: &Tensor) -> Result<()> {
    if !x.dtype().is_complex() {
        bail!(Dtype, "{op}: expected complex numbers, got {}", x.ty(); help = "convert them with `to_dtype`");
    }
    Ok(())
}

fn imag(x: &Tensor) -> Result<Tensor> {
    check_complex("imag", x)?;
    linear(Part::<true>, x)
}

#[derive(Clone, Debug)]
struct Conj;

impl Linear for Conj {
    const NAME: &'static str = "conj";
    const BY_PARTS: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "conj", complex, T => Ok(map::map::<T, T>(x, #[inline(always)] |z| z.conj())))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(Conj, g)
    }
    fn batched(&self, _: usize) -> Conj {
        Conj
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Conj, usize)> {
        Some((Conj, lane))
    }
}

fn conj(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { linear(Conj, x) } else { x.unchanged("conj") }
}

#[derive(Clone, Debug)]
struct AsReal;

#[derive(Clone, Debug)]
struct AsComplex;

impl Linear for AsReal {
    const NAME: &'static str = "view_as_real";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        Ok(x.as_reals())
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(AsComplex, g)
    }
    fn batched(&self, _: usize) -> AsReal {
        AsReal
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(AsReal, usize)> {
        Some((AsReal, lane))
    }
}

impl Linear for AsComplex {
    const NAME: &'static str = "view_as_complex";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        kernel::from_pairs(x)
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(AsReal, g)
    }
    fn batched(&self, _: usize) -> AsComplex {
        AsComplex
    }
}

fn view_as_real(x: &Tensor) -> Result<Tensor> {
    check_complex("view_as_real", x)?;
    linear(AsReal, x)
}

fn view_as_complex(x: &Tensor) -> Result<Tensor> {
    if x.shape().last() != Some(&2) {
        bail!(Shape, "view_as_complex: expected a last dimension of size 2, got {}", x.ty());
    }
    if !matches!(x.dtype(), DType::F32 | DType::F64) {
        bail!(Dtype, "view_as_complex: expected f32 or f64, got {}", x.ty(); help = "convert it with `to_dtype`");
    }
    linear(AsComplex, x)
}

/// The derivative of a real function of complex numbers whose gradient is `slope`, in both modes: cotangents are real, and
/// tangents complex.
pub(super) fn real_slope(d: &Tensor, slope: &Tensor) -> Result<Tensor> {
    if d.dtype().is_complex() { real(&slope.conj()?.mul(d)?) } else { slope.mul(d) }
}

struct Angle;

impl Unary for Angle {
    const NAME: &'static str = "angle";
    const HOLOMORPHIC: bool = false;
    fn kernel(x: &Array) -> Result<Array> {
        Ok(kernel::map_real(x, math::angle))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        let size = x.abs()?;
        // i x/|x|², which is 0 where x is, in steps that do not overflow.
        let over = |part: Tensor| over_or_zero(&over_or_zero(&part, &size)?, &size);
        real_slope(d, &binary::<FromParts>(&over(imag(x)?.neg()?)?, &over(real(x)?)?)?)
    }
}

/// The absolute values with 1 in the place of 0, and where that is.
fn size_or_one(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let size = x.abs()?;
    let zero = size.eq(0.0)?;
    Ok((zero.where_(1.0, size)?, zero))
}

fn angle(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return unary::<Angle>(x);
    }
    let x = to_float(x)?.detach()?;
    let half_turn = x.lt(0.0)?.where_(std::f64::consts::PI, 0.0)?.to_dtype(x.dtype())?;
    x.isnan()?.where_(&x, half_turn)
}

struct Sgn;

impl Unary for Sgn {
    const NAME: &'static str = "sgn";
    const HOLOMORPHIC: bool = false;
    const READS_OUTPUT: bool = true;
    fn kernel(x: &Array) -> Result<Array> {
        Ok(kernel::map(x, &math::sgn))
    }
    fn derivative(d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let (size, zero) = size_or_one(x)?;
        let along = y.mul(real_slope(d, y)?)?;
        zero.where_(0.0, d.sub(along)?.div(size)?)
    }
}

fn sgn(x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() { unary::<Sgn>(x) } else { x.sign() }
}

/// A sample whose inputs are the parts of a complex tensor.
pub(super) fn of_parts(
    label: &str,
    shape: &[usize],
    call: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> Sample {
    let (re, im) = (sample_tensor(shape, 0.3, 1.7, 1), sample_tensor(shape, -1.4, 1.1, 2));
    Sample::one(label, [re, im], move |x| {
        let y = call(&complex(&x[0], &x[1])?)?;
        if y.dtype().is_complex() { y.view_as_real() } else { Ok(y) }
    })
}

/// Samples of a function of one complex number, which `reference` computes of its parts.
fn part_samples<const N: usize>(
    call: fn(&Tensor) -> Result<Tensor>,
    reference: fn(f64, f64) -> [f64; N],
) -> Vec<Sample> {
    let shapes: [(&str, &[usize]); 4] = [("vector", &[5]), ("matrix", &[2, 3]), ("0-d", &[]), ("empty", &[0, 2])];
    let mut all = Vec::new();
    for (label, shape) in shapes {
        all.push(of_parts(label, shape, call).reference(move |x| {
            let mut shape = x[0].shape.clone();
            if N == 2 {
                shape.push(2);
            }
            let data = x[0].data.iter().zip(&x[1].data).flat_map(|(&re, &im)| reference(re, im)).collect();
            vec![Naive { shape, data }]
        }));
    }
    all
}

fn complex_samples() -> Vec<Sample> {
    let mut all = part_samples(|z| Ok(z.clone()), |re, im| [re, im]);
    let inputs = [sample_tensor(&[3, 1], -1.0, 1.0, 1), sample_tensor(&[2], -1.0, 1.0, 2)];
    all.push(
        Sample::one("broadcast", inputs, |x| complex(&x[0], &x[1])?.view_as_real())
            .reference(|x| vec![Naive::from_fn(&[3, 2, 2], |i| x[i[2]].at_broadcast(&i[..2]))]),
    );
    all
}

fn complex_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2], 0.0, 1.0, 1), sample_tensor(&[3], 0.0, 1.0, 1));
    let z = Tensor::ones(&[2], DType::C64).expect("a small tensor");
    let x = a.clone();
    vec![
        ErrorSample::new("shapes", ErrorKind::Shape, "complex: shapes must broadcast", move || complex(&a, &b)),
        ErrorSample::new("complex", ErrorKind::Dtype, "got c64[2] as the second argument", move || complex(&x, &z)),
    ]
}

fn polar_samples() -> Vec<Sample> {
    let case = |label: &str, a: &[usize], b: &[usize]| {
        let inputs = [sample_tensor(a, 0.5, 2.0, 1), sample_tensor(b, -3.0, 3.0, 2)];
        Sample::one(label, inputs, |x| polar(&x[0], &x[1])?.view_as_real()).reference(|x| {
            let mut shape = crate::shape::broadcast(&x[0].shape, &x[1].shape).expect("samples broadcast");
            shape.push(2);
            let value = |i: &[usize]| {
                let (at, part) = i.split_at(i.len() - 1);
                let angle = x[1].at_broadcast(at);
                x[0].at_broadcast(at) * if part[0] == 0 { angle.cos() } else { angle.sin() }
            };
            vec![Naive::from_fn(&shape, value)]
        })
    };
    vec![case("vector", &[4], &[4]), case("broadcast", &[2, 1], &[3]), case("0-d", &[], &[]), case("empty", &[0], &[])]
}

fn polar_errors() -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2], 0.0, 1.0, 1), sample_tensor(&[3], 0.0, 1.0, 1));
    vec![ErrorSample::new("shapes", ErrorKind::Shape, "polar: shapes must broadcast", move || polar(&a, &b))]
}

fn real_samples() -> Vec<Sample> {
    part_samples(Tensor::real, |re, _| [re])
}

fn imag_samples() -> Vec<Sample> {
    part_samples(Tensor::imag, |_, im| [im])
}

fn conj_samples() -> Vec<Sample> {
    part_samples(Tensor::conj, |re, im| [re, -im])
}

fn angle_samples() -> Vec<Sample> {
    part_samples(Tensor::angle, |re, im| [im.atan2(re)])
}

fn sgn_samples() -> Vec<Sample> {
    part_samples(Tensor::sgn, |re, im| [re / re.hypot(im), im / re.hypot(im)])
}

fn as_real_samples() -> Vec<Sample> {
    part_samples(Tensor::view_as_real, |re, im| [re, im])
}

fn as_complex_samples() -> Vec<Sample> {
    let case =
        |label: &str, shape: &[usize], call: fn(&Tensor) -> Result<Tensor>, reference: fn(&[usize]) -> Vec<usize>| {
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
                let z = call(&x[0])?;
                // Not the inverse, which could hide what both do.
                crate::stack(&[&z.real()?, &z.imag()?], 0)
            })
            .reference(move |x| {
                let mut shape = vec![2];
                let all = &x[0].shape;
                shape.extend_from_slice(&if all[all.len() - 1] == 2 {
                    all[..all.len() - 1].to_vec()
                } else {
                    all[1..].to_vec()
                });
                vec![Naive::from_fn(&shape, |i| x[0].at(&reference(i)))]
            })
        };
    vec![
        case("vector", &[3, 2], Tensor::view_as_complex, |i| vec![i[1], i[0]]),
        case("0-d", &[2], Tensor::view_as_complex, |i| vec![i[0]]),
        case("empty", &[0, 2], Tensor::view_as_complex, |i| vec![i[1], i[0]]),
        case("not in a row", &[2, 3], |x| x.t()?.view_as_complex(), |i| vec![i[0], i[1]]),
    ]
}

fn imag_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("real", ErrorKind::Dtype, "imag: expected complex numbers, got f64[1]", || {
        Tensor::from([1.0]).imag()
    })]
}

fn as_real_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("real", ErrorKind::Dtype, "view_as_real: expected complex numbers, got f64[1]", || {
        Tensor::from([1.0]).view_as_real()
    })]
}

fn as_complex_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new("size", ErrorKind::Shape, "view_as_complex: expected a last dimension of size 2", || {
            Tensor::from([1.0]).view_as_complex()
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "view_as_complex: expected f32 or f64, got i64[2]", || {
            Tensor::from([1i64, 2]).view_as_complex()
        }),
    ]
}
