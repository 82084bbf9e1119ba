//! Activations that are the input times a gate between 0 and 1, and those made of clamps.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::activation::{bounded, erf_series};
use super::{Facts, Smooth, kinks_with, samples_of_shapes, samples_with, smooth};
use crate::kernels::math::Float;
use crate::ops::arith::mul_owned;
use crate::ops::family::{Slope, slope};
use crate::ops::reduce::to_float;
use crate::ops::table::{Kink, Sample, ops};
use crate::{Result, Tensor};

smooth! { OPS;
    /// `x·Φ(x)`, elementwise, where `Φ` is the distribution function of the standard normal distribution; 0 at minus
    /// infinity.
    gelu = Gelu, derivative "`Φ(x) + x·φ(x)` where `φ` is the density.",
        example "assert_eq!(Tensor::from([0.0, 1000.0]).gelu()?.to_vec::<f64>()?, [0.0, 1000.0]);";

    /// `x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³)))`, elementwise: the approximation of [`gelu`](Tensor::gelu) that
    /// PyTorch has as `approximate=\"tanh\"`.
    gelu_tanh = GeluTanh, derivative "That of the formula.",
        example "assert_eq!(Tensor::from([0.0, 1000.0]).gelu_tanh()?.to_vec::<f64>()?, [0.0, 1000.0]);";

    /// `x·tanh(softplus(x))`, elementwise; 0 at minus infinity.
    mish = Mish, derivative "`w + x·(1 - w²)·sigmoid(x)` where `w` is `tanh(softplus(x))`.",
        example "assert_eq!(Tensor::from([0.0, 1000.0]).mish()?.to_vec::<f64>()?, [0.0, 1000.0]);";

    /// `x/(1 + |x|)`, elementwise, -1 and 1 at the infinities.
    softsign = Softsign, derivative "`1/(1 + |x|)²`.",
        example "assert_eq!(Tensor::from([1.0, -3.0]).softsign()?.to_vec::<f64>()?, [0.5, -0.75]);";
}

impl Facts for Gelu {
    const DOMAIN: (f64, f64) = (-3.0, 3.0);
    fn reference(x: f64) -> f64 {
        x * (1.0 + erf_series(x * FRAC_1_SQRT_2)) / 2.0
    }
}

/// The distribution function of the standard normal distribution.
#[inline(always)]
fn normal<T: Float>(x: T) -> T {
    Float::erfc(x * T::from_f64(-FRAC_1_SQRT_2)) * T::HALF
}

impl Smooth for Gelu {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        let gate = normal(x);
        if x < T::ZERO { bounded(x) * gate } else { x * gate }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Gelu>(d, x)
    }
}

impl Slope for Gelu {
    const NAME: &'static str = "gelu_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        let density = Float::exp(-(x * x * T::HALF)) * T::from_f64(1.0 / (2.0 * PI).sqrt());
        d * (normal(x) + bounded(x) * density)
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        // Far out, where it is 0, the square would be infinite.
        let square = x.clamp(Some(-50.0), Some(50.0))?.square()?;
        let density = square.mul(-0.5)?.exp()?.mul(1.0 / (2.0 * PI).sqrt())?;
        mul_owned(square.mul(-1.0)?.add(2.0)?, density)
    }
}

/// `2·sqrt(2/π)`, and what the cube is multiplied with.
const TANH_SCALE: f64 = 1.595_769_121_605_730_7;
const TANH_CUBE: f64 = 0.044715;

impl Facts for GeluTanh {
    const DOMAIN: (f64, f64) = (-3.0, 3.0);
    fn reference(x: f64) -> f64 {
        x / 2.0 * (1.0 + ((2.0 / PI).sqrt() * (x + TANH_CUBE * x.powi(3))).tanh())
    }
}

/// The argument of the sigmoid that is the gate: the hyperbolic tangent of an argument is that of its double.
#[inline(always)]
fn gate_argument<T: Float>(x: T) -> T {
    T::from_f64(TANH_SCALE) * x * (T::ONE + T::from_f64(TANH_CUBE) * x * x)
}

impl Smooth for GeluTanh {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        let gate = gate_argument(x).sigmoid();
        if x < T::ZERO { bounded(x) * gate } else { x * gate }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<GeluTanh>(d, x)
    }
}

impl Slope for GeluTanh {
    const NAME: &'static str = "gelu_tanh_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        let x = bounded(x);
        let u = gate_argument(x);
        let v = T::from_f64(TANH_SCALE) * (T::ONE + T::from_f64(3.0 * TANH_CUBE) * x * x);
        // 1 - sigmoid(u) is sigmoid(-u), which does not cancel.
        d * (u.sigmoid() * (T::ONE + x * v * (-u).sigmoid()))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        // Far out, where it is 0, the powers would be infinite.
        let x = x.clamp(Some(-50.0), Some(50.0))?;
        let square = x.square()?;
        let u = mul_owned(square.mul(TANH_SCALE * TANH_CUBE)?.add(TANH_SCALE)?, x.clone())?;
        let v = square.mul(3.0 * TANH_SCALE * TANH_CUBE)?.add(TANH_SCALE)?;
        let bell = mul_owned(u.sigmoid()?, u.neg()?.sigmoid()?)?;
        // 1 - 2·sigmoid(u) is -tanh(u/2).
        let bend = u.mul(0.5)?.tanh()?.neg()?.mul(v.square()?)?.add(x.mul(6.0 * TANH_SCALE * TANH_CUBE)?)?;
        mul_owned(bend.mul(x)?.add(v.mul(2.0)?)?, bell)
    }
}

impl Facts for Mish {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        x * (1.0 + x.exp()).ln().tanh()
    }
}

/// The numerator of `w = tanh(softplus(x)) = n/(n + m)`, and `m`, in terms of the exponential that is at most 1.
#[inline(always)]
fn mish_gate<T: Float>(x: T) -> (T, T) {
    let e = Float::exp(-x.abs());
    if x < T::ZERO { (e * (e + T::TWO), T::TWO) } else { (T::ONE + T::TWO * e, T::TWO * e * e) }
}

impl Smooth for Mish {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        let (n, m) = mish_gate(x);
        let gate = n / (n + m);
        if x < T::ZERO { bounded(x) * gate } else { x * gate }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Mish>(d, x)
    }
}

impl Slope for Mish {
    const NAME: &'static str = "mish_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        let x = bounded(x);
        let (n, m) = mish_gate(x);
        let w = n / (n + m);
        d * (w + x * (m / (n + m)) * (T::ONE + w) * x.sigmoid())
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        // Far out, where it is 0, the product with the input would be infinity times 0.
        let x = x.clamp(Some(-1000.0), Some(1000.0))?;
        let (w, s) = (x.softplus()?.tanh()?, x.sigmoid()?);
        let bend = x.neg()?.sigmoid()?.sub(w.mul(2.0)?.mul(&s)?)?.mul(x)?.add(2.0)?;
        let slope = mul_owned(w.square()?.neg()?.add(1.0)?, s)?;
        mul_owned(bend, slope)
    }
}

impl Facts for Softsign {
    const DOMAIN: (f64, f64) = (-3.0, 3.0);
    fn reference(x: f64) -> f64 {
        if x < 0.0 { 1.0 / (1.0 - x) - 1.0 } else { 1.0 - 1.0 / (1.0 + x) }
    }
}

impl Smooth for Softsign {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        let y = x / (T::ONE + x.abs());
        if x.abs() == T::INFINITY { T::ONE.copysign(x) } else { y }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        let root = x.abs()?.add(1.0)?.reciprocal()?;
        mul_owned(root.square()?, d.clone())
    }
}

ops! { CLAMPED;
    /// `x·clamp(x + 3, 0, 6)/6`, elementwise.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 0 up to -3 and 1 from 3 on, each with the end; between them `x/3 + 1/2`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([-4.0, 0.0, 3.0]).hardswish()?.to_vec::<f64>()?, [0.0, 0.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn hardswish(&self) -> Result<Tensor> = hardswish { in_place: true, samples: hardswish_samples, kinks: hardswish_kinks };

    /// `1.0507…·elu(x, 1.67326…)`, elementwise, with the constants of Klambauer et al. (2017).
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The first constant where `x` is positive, else both times `exp(x)`, also at 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0]).selu()?.to_vec::<f64>()?, [0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn selu(&self) -> Result<Tensor> = selu { in_place: true, samples: selu_samples };

    /// The logarithm of [`sigmoid`](Tensor::sigmoid), elementwise, without underflow.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `sigmoid(-x)`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1000.0, -1000.0]).log_sigmoid()?.to_vec::<f64>()?, [-0.0, -1000.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn log_sigmoid(&self) -> Result<Tensor> = log_sigmoid {
        samples: log_sigmoid_samples,
        python: log_sigmoid(),
        python: nn::functional::logsigmoid()
    };

    /// `clamp(x/6 + 1/2, 0, 1)`, elementwise.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1/6 between -3 and 3, and at both; else 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([-4.0, 0.0]).hardsigmoid()?.to_vec::<f64>()?, [0.0, 0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn hardsigmoid(&self) -> Result<Tensor> = hardsigmoid { in_place: true, samples: hardsigmoid_samples };

    /// `clamp(x, 0, 6)`, elementwise.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 between 0 and 6, else 0, also at both.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([-4.0, 1.0, 8.0]).relu6()?.to_vec::<f64>()?, [0.0, 1.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn relu6(&self) -> Result<Tensor> = relu6 { in_place: true, samples: relu6_samples, kinks: relu6_kinks };

    /// [`gelu`](Tensor::gelu), exact or by the formula of [`gelu_tanh`](Tensor::gelu_tanh).
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// That of the function.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::Approximate};
    /// let x = Tensor::from([0.5]);
    /// assert_eq!(x.gelu_with(Approximate::Tanh)?.to_vec::<f64>()?, x.gelu_tanh()?.to_vec::<f64>()?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn gelu_with(&self, approximate: Approximate) -> Result<Tensor> = gelu_with { in_place: true, samples: gelu_with_samples };
}

/// How [`Tensor::gelu_with`] computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Approximate {
    /// The distribution function of the normal distribution.
    #[default]
    None,
    /// A hyperbolic tangent in its place.
    Tanh,
}

fn relu6(x: &Tensor) -> Result<Tensor> {
    let x = to_float(x)?.relu()?;
    // Not "below", which would make a NaN 6; at 6 the slope is the one above.
    x.ge(6.0)?.where_(6.0, x)
}

fn gelu_with(x: &Tensor, approximate: Approximate) -> Result<Tensor> {
    match approximate {
        Approximate::None => x.gelu(),
        Approximate::Tanh => x.gelu_tanh(),
    }
}

fn relu6_samples() -> Vec<Sample> {
    samples_of_shapes((-3.0, 9.0), Tensor::relu6, |x| x.clamp(0.0, 6.0))
}

fn relu6_kinks() -> Vec<Kink> {
    kinks_with(&[(0.0, 0.0), (6.0, 0.0), (3.0, 1.0)], Tensor::relu6)
}

fn gelu_with_samples() -> Vec<Sample> {
    let mut all = samples_with("none", (-3.0, 3.0), |x| x.gelu_with(Approximate::None), Gelu::reference);
    all.extend(samples_with("tanh", (-3.0, 3.0), |x| x.gelu_with(Approximate::Tanh), GeluTanh::reference));
    all
}

fn hardswish(x: &Tensor) -> Result<Tensor> {
    let x = to_float(x)?;
    // By cases, so that each end has the slope outside, the smaller one. What is not chosen must not be infinite: a cotangent of 0 would
    // make it NaN.
    let near = x.clamp(Some(-3.0), Some(3.0))?;
    let inner = near.mul(near.add(3.0)?)?.mul(1.0 / 6.0)?;
    let upper = x.lt(3.0)?.where_(&inner, &x)?;
    // Not "above", which would make a NaN 0.
    x.le(-3.0)?.where_(0.0, upper)
}

const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

fn selu(x: &Tensor) -> Result<Tensor> {
    x.elu(SELU_ALPHA)?.mul(SELU_SCALE)
}

fn log_sigmoid(x: &Tensor) -> Result<Tensor> {
    to_float(x)?.neg()?.softplus()?.neg()
}

fn hardsigmoid(x: &Tensor) -> Result<Tensor> {
    to_float(x)?.clamp(Some(-3.0), Some(3.0))?.add(3.0)?.mul(1.0 / 6.0)
}

fn selu_samples() -> Vec<Sample> {
    let reference = |x: f64| SELU_SCALE * if x > 0.0 { x } else { SELU_ALPHA * (x.exp() - 1.0) };
    samples_of_shapes((-2.0, 2.0), Tensor::selu, reference)
}

fn log_sigmoid_samples() -> Vec<Sample> {
    samples_of_shapes((-4.0, 4.0), Tensor::log_sigmoid, |x| (1.0 / (1.0 + (-x).exp())).ln())
}

fn hardsigmoid_samples() -> Vec<Sample> {
    samples_of_shapes((-5.0, 5.0), Tensor::hardsigmoid, |x| (x / 6.0 + 0.5).clamp(0.0, 1.0))
}

fn hardswish_samples() -> Vec<Sample> {
    let reference = |x: f64| x * (x + 3.0).clamp(0.0, 6.0) / 6.0;
    samples_of_shapes((-5.0, 5.0), Tensor::hardswish, reference)
}

fn hardswish_kinks() -> Vec<Kink> {
    kinks_with(&[(-3.0, 0.0), (3.0, 1.0)], Tensor::hardswish)
}
