//! Transcendental functions of two tensors.

use super::arith::{binary_samples, constant, mul_owned, with_common_dtype};
use super::family::{Binary, Operands, Reads, binary};
use super::moments::over_or_zero;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::kernels::reduce::is_nan;
use crate::tensor::Operand;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// `sqrt(x² + y²)`, elementwise, without overflow.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`](crate::DType); integers and bools become `f32`.
    ///
    /// # Derivative
    /// `x / hypot(x, y)` with respect to the left operand, `y / hypot(x, y)` with respect to the right one. At the
    /// origin, where it has no derivative, both are 0.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, -5.0]).hypot(&Tensor::from([4.0, 12.0]))?.to_vec::<f64>()?, [5.0, 13.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn hypot(&self, rhs: impl Operand) -> Result<Tensor> = hypot { in_place: true, samples: hypot_samples, errors: pair_errors, kinks: hypot_kinks };

    /// The angle in radians, from `-π` to `π`, of the point whose ordinate is this tensor and whose abscissa is `x`.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`](crate::DType); integers and bools become `f32`.
    ///
    /// # Derivative
    /// `x / (x² + y²)` with respect to this tensor `y`, `-y / (x² + y²)` with respect to `x`. At the origin, where it
    /// has no derivative, both are 0.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, 0.0]).atan2(&Tensor::from([1.0, -1.0]))?.to_vec::<f64>()?, [0.0, std::f64::consts::PI]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn atan2(&self, x: impl Operand) -> Result<Tensor> = atan2 {
        in_place: true, samples: atan2_samples, errors: pair_errors, kinks: atan2_kinks,
        python: atan2(x as other),
        python: arctan2(x as other)
    };

    /// `log(exp(x) + exp(y))`, elementwise, without overflow: the sum of two numbers given by their logarithms.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`](crate::DType); integers and bools become `f32`.
    ///
    /// # Derivative
    /// `sigmoid(x - y)` with respect to the left operand, `sigmoid(y - x)` with respect to the right one; one half for
    /// both where they are the same infinity.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([1000.0, f64::NEG_INFINITY]).logaddexp(&Tensor::from([0.0, 2.0]))?;
    /// assert_eq!(y.to_vec::<f64>()?, [1000.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logaddexp(&self, rhs: impl Operand) -> Result<Tensor> = logaddexp { samples: logaddexp_samples, errors: pair_errors, kinks: logaddexp_kinks };

    /// `x·log(y)`, elementwise, and 0 where `x` is 0, unless `y` is NaN.
    ///
    /// # Shapes
    /// Both operands broadcast against each other.
    ///
    /// # Dtypes
    /// Floats, promoted by the table of [`DType`](crate::DType); integers and bools become `f32`.
    ///
    /// # Derivative
    /// `log(y)` with respect to the left operand, `x/y` with respect to the right one; both are 0 where `x` is 0 and `y`
    /// is not positive, and so are the higher ones.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, 2.0]).xlogy(&Tensor::from([0.0, 1.0]))?.to_vec::<f64>()?, [0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn xlogy(&self, rhs: impl Operand) -> Result<Tensor> = xlogy {
        in_place: true, samples: xlogy_samples, errors: pair_errors, kinks: xlogy_kinks,
        python: xlogy(rhs), python: special::xlogy(rhs)
    };
}

/// Applies a function of two floats.
pub(super) fn pair<K: Binary>(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    rhs.with_operand(K::NAME, a.dtype().to_float(), |b| with_common_dtype(a, b, true, binary::<K>))
}

struct Hypot;

fn hypot(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    pair::<Hypot>(a, rhs)
}

impl Binary for Hypot {
    const NAME: &'static str = "hypot";
    // A path instead of a closure would not be inlined into the loop.
    #[allow(clippy::redundant_closure)]
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "hypot", float, T => Ok(map::zip::<T, T, T>(a, b, shape,
            #[inline(always)] |x, y| Float::hypot(x, y))))
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: needs.0, rhs: needs.1, output: true }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(over_or_zero(values.lhs(), values.output())?, d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(over_or_zero(values.rhs(), values.output())?, d.clone())
    }
}

struct Atan2;

fn atan2(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    pair::<Atan2>(a, rhs)
}

/// `a / (x² + y²)` in steps that do not overflow, and 0 at the origin and at infinity.
fn inverted(a: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let length = x.hypot(y)?;
    over_or_zero(&over_or_zero(a, &length)?, &length)
}

impl Binary for Atan2 {
    const NAME: &'static str = "atan2";
    #[allow(clippy::redundant_closure)]
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "atan2", float, T => Ok(map::zip::<T, T, T>(a, b, shape,
            #[inline(always)] |y, x| Float::atan2(y, x))))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(inverted(values.rhs(), values.lhs(), values.rhs())?, d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(inverted(&values.lhs().neg()?, values.lhs(), values.rhs())?, d.clone())
    }
}

struct LogAddExp;

fn logaddexp(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    pair::<LogAddExp>(a, rhs)
}

impl Binary for LogAddExp {
    const NAME: &'static str = "logaddexp";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "logaddexp", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, y| {
            // The difference of equal infinities is no number.
            let difference = if x == y { T::ZERO } else { Float::abs(x - y) };
            Float::maximum(x, y) + Float::log1p(Float::exp(-difference))
        })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(difference(values.lhs(), values.rhs())?.sigmoid()?, d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(difference(values.rhs(), values.lhs())?.sigmoid()?, d.clone())
    }
}

struct Xlogy;

fn xlogy(a: &Tensor, rhs: impl Operand) -> Result<Tensor> {
    pair::<Xlogy>(a, rhs)
}

impl Binary for Xlogy {
    const NAME: &'static str = "xlogy";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "xlogy", float, T => Ok(map::zip::<T, T, T>(a, b, shape, #[inline(always)] |x, y| {
            // Of a y that is NaN, the product is NaN in any case.
            let y = if x == T::ZERO && !is_nan(y) { T::ONE } else { y };
            x * Float::log(y)
        })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(flat(values)?.where_(1, values.rhs())?.log()?, d.clone())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        let flat = flat(values)?;
        mul_owned(flat.where_(0, values.lhs())?.div(flat.where_(1, values.rhs())?)?, d.clone())
    }
}

/// Where the left operand is 0 and the right one has no logarithm that is a number: there all derivatives are 0, so that those of
/// second order are symmetric.
fn flat(values: Operands<'_>) -> Result<Tensor> {
    values.lhs().eq(0)?.logical_and(values.rhs().le(0)?)
}

/// `a - b`, and 0 for equal infinities.
pub(super) fn difference(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let same = binary::<SameInfinity>(a, b)?;
    let zero = constant(0.0, a);
    same.where_(&zero, a)?.sub(same.where_(&zero, b)?)
}

/// Whether both elements are the same infinity.
struct SameInfinity;

impl Binary for SameInfinity {
    const NAME: &'static str = "same_infinity";
    const DIFFERENTIABLE: bool = false;
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(a.dtype(), "same_infinity", float, T => Ok(map::zip::<T, T, bool>(a, b, shape,
            #[inline(always)] |x, y| x == y && Float::abs(x) == T::INFINITY)))
    }
}

fn hypot_samples() -> Vec<Sample> {
    binary_samples((0.5, 2.0), |a, b| a.hypot(b), |a, b| (a * a + b * b).sqrt())
}

fn hypot_kinks() -> Vec<Kink> {
    let far = Tensor::from([f64::INFINITY, 1.0, f64::NEG_INFINITY]);
    vec![
        Kink::new("the origin", Tensor::from([0.0, 1.0]), [0.0, 1.0], |x| x.hypot(0.0)),
        Kink::new("infinities", far, [1.0, 0.0, -1.0], |x| x.hypot(Tensor::from([2.0, f64::INFINITY, 0.0]))),
    ]
}

fn atan2_samples() -> Vec<Sample> {
    let mut all = binary_samples((0.5, 2.0), |a, b| a.atan2(b), |a, b| (a / b).atan());
    all.push(
        Sample::one(
            "every quadrant",
            [Tensor::from([1.0, 2.0, -1.0, -2.0]), Tensor::from([2.0, -1.0, -2.0, 1.0])],
            |x| x[0].atan2(&x[1]),
        )
        .reference(|x| {
            // Half the angle by the tangent, which has no branches away from the negative axis.
            vec![Naive::from_fn(&[4], |i| {
                let (y, x) = (x[0].at(i), x[1].at(i));
                2.0 * (y / ((x * x + y * y).sqrt() + x)).atan()
            })]
        }),
    );
    all
}

fn atan2_kinks() -> Vec<Kink> {
    let far = Tensor::from([f64::INFINITY, 1.0, f64::NEG_INFINITY]);
    vec![
        Kink::new("the origin", Tensor::from([0.0]), [0.0], |x| x.atan2(0.0)),
        Kink::new("infinities", far, [0.0; 3], |y| y.atan2(Tensor::from([2.0, f64::INFINITY, f64::INFINITY]))),
    ]
}

fn logaddexp_samples() -> Vec<Sample> {
    binary_samples((-2.0, 2.0), |a, b| a.logaddexp(b), |a, b| (a.exp() + b.exp()).ln())
}

fn logaddexp_kinks() -> Vec<Kink> {
    let x = Tensor::from([f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY]);
    vec![Kink::new("infinities", x, [0.5, 0.5, 0.0], |x| {
        x.logaddexp(Tensor::from([f64::NEG_INFINITY, f64::INFINITY, 0.0]))
    })]
}

fn xlogy_samples() -> Vec<Sample> {
    binary_samples((0.5, 2.0), |a, b| a.xlogy(b), |a, b| a * b.ln())
}

fn xlogy_kinks() -> Vec<Kink> {
    vec![
        Kink::new("left, both 0", Tensor::from([0.0]), [0.0], |x| x.xlogy(0.0)),
        Kink::new("right, both 0", Tensor::from([0.0]), [0.0], |y| Tensor::from([0.0]).xlogy(y)),
        Kink::new("left, right below 0", Tensor::from([0.0]), [0.0], |x| x.xlogy(-2.0)),
        Kink::new("right, left 0", Tensor::from([2.0]), [0.0], |y| Tensor::from([0.0]).xlogy(y)),
    ]
}

fn pair_errors() -> Vec<ErrorSample> {
    pair_errors_of(|a, b| a.hypot(b).and(a.atan2(b)).and(a.logaddexp(b)))
}

pub(super) fn pair_errors_of(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let (a, b) = (sample_tensor(&[2, 3], 0.0, 1.0, 1), sample_tensor(&[4], 0.0, 1.0, 2));
    vec![ErrorSample::new(
        "shapes",
        ErrorKind::Shape,
        "shapes must broadcast, got lhs f64[2,3] and rhs f64[4]",
        move || call(&a, &b),
    )]
}
