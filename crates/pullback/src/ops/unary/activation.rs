//! Functions that neural networks are made of, and the error function.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::{Facts, Smooth, constant, kinks_with, samples_with, smooth};
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::function::OpRef;
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::ops::arith::mul_owned;
use crate::ops::family::{Slope, UnaryOp, UnaryWith, slope, unary_with};
use crate::ops::reduce::to_float;
use crate::ops::table::{Kink, Sample, ops};
use crate::{Result, Tensor};

smooth! { OPS;
    /// `1/(1 + exp(-x))`, elementwise, without overflow.
    sigmoid = Sigmoid, derivative "`y·(1 - y)` where `y` is the result.",
        example "assert_eq!(Tensor::from([0.0, -1000.0]).sigmoid()?.to_vec::<f64>()?, [0.5, 0.0]);",
        python: sigmoid(), python: nn::functional::sigmoid(), python: special::expit();

    /// `log(1 + exp(x))`, elementwise, without overflow.
    softplus = Softplus, derivative "`sigmoid(x)`.",
        example "assert_eq!(Tensor::from([1000.0, -1000.0]).softplus()?.to_vec::<f64>()?, [1000.0, 0.0]);";

    /// The error function, elementwise: `2/sqrt(π)` times the integral of `exp(-t²)` from 0 to `x`.
    erf = Erf, derivative "`2/sqrt(π)·exp(-x²)`.",
        example "assert_eq!(Tensor::from([0.0, 10.0]).erf()?.to_vec::<f64>()?, [0.0, 1.0]);",
        python: erf(), python: special::erf();

    /// `1 - erf(x)`, elementwise, exact also where `erf` is close to 1.
    erfc = Erfc, derivative "`-2/sqrt(π)·exp(-x²)`.",
        example "assert_eq!(Tensor::from([0.0, -10.0]).erfc()?.to_vec::<f64>()?, [1.0, 2.0]);",
        python: erfc(), python: special::erfc();

    /// `x·sigmoid(x)`, elementwise, with the limit 0 at minus infinity. Also known as swish.
    silu = Silu, derivative "`s·(1 + x·(1 - s))` where `s` is `sigmoid(x)`.",
        example "assert_eq!(Tensor::from([0.0, 1000.0]).silu()?.to_vec::<f64>()?, [0.0, 1000.0]);";
}

ops! { WITH_PARAMETERS;
    /// `x` where it is positive, else `negative_slope·x`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where `x` is positive, else `negative_slope`, also at 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, -2.0]).leaky_relu(0.5)?.to_vec::<f64>()?, [3.0, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn leaky_relu(&self, negative_slope: f64) -> Result<Tensor> = leaky_relu {
        in_place: true, samples: leaky_relu_samples, kinks: leaky_relu_kinks,
        python: leaky_relu(negative_slope = 0.01)
    };

    /// `x` where it is positive, else `alpha·(exp(x) - 1)`, exact also near 0.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// 1 where `x` is positive, else `alpha·exp(x)`, also at 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, -1000.0]).elu(2.0)?.to_vec::<f64>()?, [3.0, -2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn elu(&self, alpha: f64) -> Result<Tensor> = elu {
        in_place: true, samples: elu_samples, kinks: elu_kinks,
        python: elu(alpha = 1.0)
    };
}

impl Facts for Sigmoid {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        1.0 / (1.0 + (-x).exp())
    }
}

impl Smooth for Sigmoid {
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.sigmoid()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Sigmoid>(d, y)
    }
}

impl Slope for Sigmoid {
    const NAME: &'static str = "sigmoid_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d * (y * (T::ONE - y))
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        constant(1.0, y).sub(y.mul(2.0)?)
    }
}

impl Facts for Softplus {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        (1.0 + x.exp()).ln()
    }
}

impl Smooth for Softplus {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.softplus()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.sigmoid()?, d.clone())
    }
}

/// The Maclaurin series of the error function.
pub(super) fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..60 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    FRAC_2_SQRT_PI * sum
}

impl Facts for Erf {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        erf_series(x)
    }
}

impl Smooth for Erf {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.erf()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Erf>(d, x)
    }
}

impl Slope for Erf {
    const NAME: &'static str = "erf_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d * (T::from_f64(FRAC_2_SQRT_PI) * (-(x * x)).exp())
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        // Far out, where it is 0, the product would be infinity times 0.
        slope::<Erf>(&x.clamp(Some(-50.0), Some(50.0))?.mul(-2.0)?, x)
    }
}

impl Facts for Erfc {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        1.0 - Erf::reference(x)
    }
}

impl Smooth for Erfc {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.erfc()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Erf>(&d.neg()?, x)
    }
}

impl Facts for Silu {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        x / (1.0 + (-x).exp())
    }
}

/// `x` as far out as `exp(-|x|/2)` is 0, so that no product with it is NaN.
#[inline(always)]
pub(super) fn bounded<T: Float>(x: T) -> T {
    let far = T::from_f64(2000.0);
    if x.abs() > far { far.copysign(x) } else { x }
}

impl Smooth for Silu {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        // The root of exp(-|x|), since the exponential would lose digits to underflow before the product does.
        let root = Float::exp(-(x.abs() * T::HALF));
        let (left, part) = if x < T::ZERO { (bounded(x) * root, root) } else { (x, T::ONE) };
        left * (part / (T::ONE + root * root))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Silu>(d, x)
    }
}

impl Slope for Silu {
    const NAME: &'static str = "silu_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        let x = bounded(x);
        let root = Float::exp(-(x.abs() * T::HALF));
        let (below, above) = if x < T::ZERO { (root, T::ONE) } else { (T::ONE, root) };
        let sum = T::ONE + root * root;
        // 1 - sigmoid(x) is sigmoid(-x), which does not cancel.
        d * (below * (T::ONE + x * (above * above / sum)) * (below / sum))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        // Far out, where it is 0, the product would be infinity times 0.
        let near = x.clamp(Some(-2000.0), Some(2000.0))?;
        let bend = near.mul(0.5)?.tanh()?.mul(&near)?;
        slope::<Bell>(&constant(2.0, x).sub(bend)?, x)
    }
}

/// The derivative of the sigmoid as a function of the input, which tells elements near 0 apart where the output no
/// longer does.
struct Bell;

impl Slope for Bell {
    const NAME: &'static str = "silu_backward_bell";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        let e = Float::exp(-x.abs());
        let sum = T::ONE + e;
        d * (e / (sum * sum))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        slope::<Bell>(&x.mul(-0.5)?.tanh()?, x)
    }
}

#[derive(Clone, Copy, Debug)]
struct LeakyRelu {
    negative_slope: f64,
}

fn leaky_relu(x: &Tensor, negative_slope: f64) -> Result<Tensor> {
    unary_with(&LeakyRelu { negative_slope }, &to_float(x)?)
}

impl UnaryWith for LeakyRelu {
    const NAME: &'static str = "leaky_relu";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "leaky_relu", float, T => {
            let slope = T::from_f64(self.negative_slope);
            Ok(map::map::<T, T>(x, #[inline(always)] move |x| if x > T::ZERO { x } else { slope * x }))
        })
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        x.gt(0)?.where_(d, d.mul(self.negative_slope)?)
    }
}

fn leaky_relu_samples() -> Vec<Sample> {
    let with = |label: &'static str, slope: f64| {
        samples_with(label, (-2.0, 2.0), move |x| x.leaky_relu(slope), move |x| if x > 0.0 { x } else { slope * x })
    };
    [with("slope 0.1", 0.1), with("slope 0", 0.0), with("slope -2", -2.0)].concat()
}

fn leaky_relu_kinks() -> Vec<Kink> {
    kinks_with(&[(0.0, 0.1), (-0.0, 0.1)], |x| x.leaky_relu(0.1))
}

#[derive(Clone, Copy, Debug)]
struct Elu {
    alpha: f64,
}

fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    unary_with(&Elu { alpha }, &to_float(x)?)
}

impl UnaryWith for Elu {
    const NAME: &'static str = "elu";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "elu", float, T => {
            let alpha = T::from_f64(self.alpha);
            Ok(map::map::<T, T>(x, #[inline(always)] move |x| if x > T::ZERO { x } else { alpha * Float::expm1(x) }))
        })
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        let positive = x.gt(0)?;
        // The exponential of a large element that is not chosen would be infinite, and its own derivative NaN.
        let below = positive.where_(0.0, x)?.exp()?.mul(self.alpha)?;
        positive.where_(d, mul_owned(below, d.clone())?)
    }
}

fn elu_samples() -> Vec<Sample> {
    let with = |label: &'static str, alpha: f64| {
        let reference = move |x: f64| if x > 0.0 { x } else { alpha * (x.exp() - 1.0) };
        samples_with(label, (-2.0, 2.0), move |x| x.elu(alpha), reference)
    };
    [with("alpha 1", 1.0), with("alpha 0.3", 0.3), with("alpha -2", -2.0)].concat()
}

fn elu_kinks() -> Vec<Kink> {
    kinks_with(&[(0.0, 0.3), (-0.0, 0.3)], |x| x.elu(0.3))
}
