//! Signs, powers of 2 and logarithms of two tensors: relatives of functions in `pairwise`.

use std::f64::consts::{LN_2, LOG2_E};

use super::arith::{binary_samples, mul_owned};
use super::discrete::{Discrete, discrete};
use super::family::{Binary, Operands, Reads, binary};
use super::pairwise::{difference, pair, pair_errors_of};
use super::reduce::to_float;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::kernels::reduce::is_nan;
use crate::tensor::Operand;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The magnitudes of the elements with the signs of those of `sign`, which zeros have too.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`]; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where the sign is that of the element, else -1, and 0 where the element is 0. With respect to the sign it is 0.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, -2.0]).copysign(Tensor::from([-0.0, 3.0]))?.to_vec::<f64>()?, [-1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn copysign(&self, sign: impl Operand) -> Result<Tensor> = copysign {
        in_place: true, samples: copysign_samples, errors: copysign_errors, kinks: copysign_kinks,
        python: copysign(sign as other)
    };

    /// `log2(2^x + 2^y)`, elementwise, without overflow: the sum of two numbers given by their logarithms to base 2.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`]; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `sigmoid((x - y)·ln(2))` with respect to the left operand, `sigmoid((y - x)·ln(2))` with respect to the right one;
    /// one half for both where they are the same infinity.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([2000.0, 3.0]).logaddexp2(&Tensor::from([0.0, 3.0]))?;
    /// assert_eq!(y.to_vec::<f64>()?, [2000.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logaddexp2(&self, rhs: impl Operand) -> Result<Tensor> = logaddexp2 {
        samples: logaddexp2_samples, errors: logaddexp2_errors, kinks: logaddexp2_kinks
    };

    /// `x·log(1 + y)`, elementwise, exact for small `y`, and 0 where `x` is 0, unless `y` is NaN.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`]; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `log(1 + y)` with respect to the left operand, `x/(1 + y)` with respect to the right one; both are 0 where `x` is 0
    /// and `y` is not above -1, and so are the higher ones.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, 2.0]).xlog1py(&Tensor::from([-1.0, 0.0]))?.to_vec::<f64>()?, [0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn xlog1py(&self, rhs: impl Operand) -> Result<Tensor> = xlog1py {
        samples: xlog1py_samples, errors: xlog1py_errors, kinks: xlog1py_kinks,
        python: special::xlog1py(rhs)
    };

    /// The elements times 2 to the power of those of `exponent`, exact for whole ones, also where that power overflows.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`]; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `2^exponent` with respect to the elements, and `ln(2)` times the result with respect to the exponent.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 1e-300]).ldexp(&Tensor::from([2, 0]))?.to_vec::<f64>()?, [12.0, 1e-300]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn ldexp(&self, exponent: impl Operand) -> Result<Tensor> = ldexp {
        in_place: true, samples: ldexp_samples, errors: ldexp_errors,
        python: ldexp(exponent as other)
    };

    /// Each element as a number from one half up to, but not including, 1, or its negative, and the whole power of 2 to
    /// multiply it with, as `i32`. Zeros, infinities and NaN have the power 0.
    ///
    /// # Shapes
    /// Both results have the shape of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `2^-exponent` for the first result; the exponent is discrete.
    ///
    /// # Errors
    /// `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (mantissa, exponent) = Tensor::from([12.0, -0.25]).frexp()?;
    /// assert_eq!(mantissa.to_vec::<f64>()?, [0.75, -0.5]);
    /// assert_eq!(exponent.to_vec::<i32>()?, [4, -1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn frexp(&self) -> Result<(Tensor, Tensor)> = frexp {
        samples: frexp_samples, errors: frexp_errors,
        python: frexp() -> (mantissa, exponent)
    };
}

struct CopySign;

fn copysign(a: &Tensor, sign: impl Operand) -> Result<Tensor> {
    pair::<CopySign>(a, sign)
}

impl Binary for CopySign {
    const NAME: &'static str = "copysign";
    const VARIES_RIGHT: bool = false;
    // A path instead of a closure would not be inlined into the loop.
    #[allow(clippy::redundant_closure)]
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "copysign", float, T => Ok(map::zip::<T, T, T>(a, b, shape,
            #[inline(always)] |x, s| Float::copysign(x, s))))
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: needs.0, rhs: needs.0, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(binary::<Turned>(values.lhs(), values.rhs())?, d.clone())
    }
}

/// 1 where both have one sign, else -1, and 0 where the left operand is 0.
struct Turned;

impl Binary for Turned {
    const NAME: &'static str = "copysign_slope";
    const DIFFERENTIABLE: bool = false;
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "copysign_slope", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, s| {
            let slope = Float::copysign(T::ONE, x) * Float::copysign(T::ONE, s);
            if x == T::ZERO { T::ZERO } else { slope }
        })))
    }
}

struct LogAddExp2;

fn logaddexp2(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    pair::<LogAddExp2>(a, rhs)
}

impl Binary for LogAddExp2 {
    const NAME: &'static str = "logaddexp2";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "logaddexp2", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, y| {
            // The difference of equal infinities is no number.
            let difference = if x == y { T::ZERO } else { Float::abs(x - y) };
            let rest = Float::log1p(Float::exp2(-difference)) * T::from_f64(LOG2_E);
            Float::maximum(x, y) + if difference == T::ZERO { T::ONE } else { rest }
        })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(difference(values.lhs(), values.rhs())?.mul(LN_2)?.sigmoid()?, d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(difference(values.rhs(), values.lhs())?.mul(LN_2)?.sigmoid()?, d.clone())
    }
}

struct Xlog1py;

fn xlog1py(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    pair::<Xlog1py>(a, rhs)
}

impl Binary for Xlog1py {
    const NAME: &'static str = "xlog1py";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "xlog1py", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, y| {
            // Of a y that is NaN, the product is NaN in any case.
            let y = if x == T::ZERO && !is_nan(y) { T::ZERO } else { y };
            x * Float::log1p(y)
        })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(flat(values)?.where_(0, values.rhs())?.log1p()?, d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        let flat = flat(values)?;
        mul_owned(flat.where_(0, values.lhs())?.div(flat.where_(0, values.rhs())?.add(1)?)?, d.clone())
    }
}

/// Where the left operand is 0 and the right one has no logarithm that is a number: there all derivatives are 0.
fn flat(values: Operands<'_>) -> Result<Tensor> {
    values.lhs().eq(0)?.logical_and(values.rhs().le(-1)?)
}

struct Ldexp;

fn ldexp(a: &Tensor, exponent: impl Operand) -> Result<Tensor> {
    pair::<Ldexp>(a, exponent)
}

impl Binary for Ldexp {
    const NAME: &'static str = "ldexp";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "ldexp", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, e| {
            // In two steps, because the power overflows before the product does.
            let half = Float::trunc(e * T::HALF);
            let rest = if half == e { half } else { e - half };
            let product = x * Float::exp2(half) * Float::exp2(rest);
            if x == T::ZERO && !is_nan(e) { x } else { product }
        })))
    }
    fn reads((left, right): (bool, bool)) -> Reads {
        Reads { lhs: false, rhs: left, output: right }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        binary::<Ldexp>(d, values.rhs())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(values.output().mul(LN_2)?, d.clone())
    }
}

/// The exponents of [`frexp`].
#[derive(Clone, Debug)]
struct Exponent;

impl Discrete for Exponent {
    const NAME: &'static str = "frexp";
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "frexp", float, T => Ok(map::map::<T, i32>(x, |x| exponent(x.to_f64()))))
    }
    fn batched(&self) -> Exponent {
        Exponent
    }
}

/// The whole number whose power of 2 is above the magnitude, by a factor of at most 2.
fn exponent(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    // Numbers without a leading 1 get one.
    let (x, moved) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(64), 64) } else { (x, 0) };
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1022 - moved
}

fn frexp(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let x = to_float(x)?;
    let exponent = discrete(Exponent, &x)?;
    Ok((x.ldexp(&exponent.neg()?)?, exponent))
}

fn copysign_samples() -> Vec<Sample> {
    let mut all = binary_samples((0.5, 2.0), |a, b| a.copysign(b), |a, b| a.copysign(b));
    let signs = [Tensor::from([1.0, -1.0, 2.0, -2.0]), Tensor::from([1.0, 2.0, -1.0, -2.0])];
    all.push(
        Sample::one("every pair of signs", signs, |x| x[0].copysign(&x[1]))
            .reference(|_| vec![Naive { shape: vec![4], data: vec![1.0, 1.0, -2.0, -2.0] }]),
    );
    all
}

fn copysign_kinks() -> Vec<Kink> {
    vec![Kink::new("zeros", Tensor::from([0.0, -0.0]), [0.0, 0.0], |x| x.copysign(Tensor::from([1.0, 1.0])))]
}

fn copysign_errors() -> Vec<ErrorSample> {
    pair_errors_of(|a, b| a.copysign(b))
}

fn logaddexp2_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.logaddexp2(b), |a, b| (a.exp2() + b.exp2()).log2())
}

fn logaddexp2_kinks() -> Vec<Kink> {
    let x = Tensor::from([f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY]);
    vec![Kink::new("infinities", x, [0.5, 0.5, 0.0], |x| {
        x.logaddexp2(Tensor::from([f64::NEG_INFINITY, f64::INFINITY, 0.0]))
    })]
}

fn logaddexp2_errors() -> Vec<ErrorSample> {
    pair_errors_of(|a, b| a.logaddexp2(b))
}

fn xlog1py_samples() -> Vec<Sample> {
    binary_samples((0.5, 2.0), |a, b| a.xlog1py(b), |a, b| a * (1.0 + b).ln())
}

fn xlog1py_kinks() -> Vec<Kink> {
    vec![
        Kink::new("left, right -1", Tensor::from([0.0]), [0.0], |x| x.xlog1py(-1.0)),
        Kink::new("right, left 0", Tensor::from([-1.0]), [0.0], |y| Tensor::from([0.0]).xlog1py(y)),
        Kink::new("left, right below -1", Tensor::from([0.0]), [0.0], |x| x.xlog1py(-2.0)),
    ]
}

fn xlog1py_errors() -> Vec<ErrorSample> {
    pair_errors_of(|a, b| a.xlog1py(b))
}

fn ldexp_samples() -> Vec<Sample> {
    let mut all = binary_samples((-2.0, 2.0), |a, b| a.ldexp(b), |a, b| a * b.exp2());
    all.push(
        Sample::one("whole exponents", [sample_tensor(&[3], -2.0, 2.0, 1), Tensor::from([-3i64, 0, 5])], |x| {
            x[0].ldexp(&x[1])
        })
        .reference(|x| vec![Naive::from_fn(&[3], |i| x[0].at(i) * [0.125, 1.0, 32.0][i[0]])]),
    );
    all
}

fn ldexp_errors() -> Vec<ErrorSample> {
    pair_errors_of(|a, b| a.ldexp(b))
}

fn frexp_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::new(label, [x], |x| x[0].frexp().map(|(mantissa, exponent)| vec![mantissa, exponent])).reference(|x| {
            let power = |v: f64| if v == 0.0 { 0.0 } else { v.abs().log2().floor() + 1.0 };
            vec![
                Naive::from_fn(&x[0].shape, |i| x[0].at(i) / power(x[0].at(i)).exp2()),
                Naive::from_fn(&x[0].shape, |i| power(x[0].at(i))),
            ]
        })
    };
    vec![
        case("matrix", sample_tensor(&[2, 3], 4.5, 7.5, 1)),
        case("negative", sample_tensor(&[3], -0.9, -0.6, 1)),
        case("0-d", sample_tensor(&[], 0.3, 0.4, 1)),
        case("empty", sample_tensor(&[0, 2], 0.3, 0.4, 1)),
        case("powers and zero", Tensor::from([0.0, 1.0, -2.0, 0.25])).not_differentiable(),
    ]
}

fn frexp_errors() -> Vec<ErrorSample> {
    vec![ErrorSample::new("complex", ErrorKind::Dtype, "frexp", || {
        Tensor::zeros(&[2], DType::C128)?.frexp().map(|parts| parts.0)
    })]
}
