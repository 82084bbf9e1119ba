//! Trigonometric and hyperbolic functions, and their inverses.

use super::{Facts, Smooth, constant, smooth};
use crate::array::Array;
use crate::kernels::math::{self, Float};
use crate::ops::arith::{div_owned, mul_owned};
use crate::ops::family::{Slope, slope};
use crate::{Result, Tensor};

smooth! { OPS;
    /// The sine, elementwise, of an angle in radians.
    sin = Sin, derivative "`cos(x)`.",
        example "assert_eq!(Tensor::from(0.0).sin()?.item::<f64>()?, 0.0);";

    /// The cosine, elementwise, of an angle in radians.
    cos = Cos, derivative "`-sin(x)`.",
        example "assert_eq!(Tensor::from(0.0).cos()?.item::<f64>()?, 1.0);";

    /// The tangent, elementwise, of an angle in radians.
    tan = Tan, derivative "`1 + tan(x)²`.",
        example "assert_eq!(Tensor::from(0.0).tan()?.item::<f64>()?, 0.0);";

    /// The angle in radians, from `-π/2` to `π/2`, whose sine each element is; NaN outside `-1..=1`.
    asin = Asin, derivative "`1/sqrt(1 - x²)`, which is infinite at 1 and -1.",
        example "assert_eq!(Tensor::from(0.0).asin()?.item::<f64>()?, 0.0);";

    /// The angle in radians, from `0` to `π`, whose cosine each element is; NaN outside `-1..=1`.
    acos = Acos, derivative "`-1/sqrt(1 - x²)`, which is infinite at 1 and -1.",
        example "assert_eq!(Tensor::from(1.0).acos()?.item::<f64>()?, 0.0);";

    /// The angle in radians, from `-π/2` to `π/2`, whose tangent each element is.
    atan = Atan, derivative "`1/(1 + x²)`.",
        example "assert_eq!(Tensor::from(0.0).atan()?.item::<f64>()?, 0.0);";

    /// The hyperbolic sine, elementwise.
    sinh = Sinh, derivative "`cosh(x)`.",
        example "assert_eq!(Tensor::from(0.0).sinh()?.item::<f64>()?, 0.0);";

    /// The hyperbolic cosine, elementwise.
    cosh = Cosh, derivative "`sinh(x)`.",
        example "assert_eq!(Tensor::from(0.0).cosh()?.item::<f64>()?, 1.0);";

    /// The hyperbolic tangent, elementwise.
    tanh = Tanh, derivative "`1 - tanh(x)²`.",
        example "assert_eq!(Tensor::from([0.0, 100.0]).tanh()?.to_vec::<f64>()?, [0.0, 1.0]);";

    /// The number whose hyperbolic sine each element is.
    asinh = Asinh, derivative "`1/sqrt(x² + 1)`.",
        example "assert_eq!(Tensor::from(0.0).asinh()?.item::<f64>()?, 0.0);";

    /// The number, not negative, whose hyperbolic cosine each element is; NaN below 1.
    acosh = Acosh, derivative "`1/sqrt(x² - 1)`, which is infinite at 1; NaN below 1, also below -1.",
        example "assert_eq!(Tensor::from(1.0).acosh()?.item::<f64>()?, 0.0);";

    /// The number whose hyperbolic tangent each element is; NaN outside `-1..=1`.
    atanh = Atanh, derivative "`1/(1 - x²)`, which is infinite at 1 and -1.",
        example "assert_eq!(Tensor::from([0.0, 1.0]).atanh()?.to_vec::<f64>()?, [0.0, f64::INFINITY]);";
}

impl Facts for Sin {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        x.sin()
    }
}

impl Smooth for Sin {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.sin()
    }
    fn array<T: Float>(x: &Array) -> Array {
        math::sin::<T>(x)
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.cos()?, d.clone())
    }
}

impl Facts for Cos {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        x.cos()
    }
}

impl Smooth for Cos {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.cos()
    }
    fn array<T: Float>(x: &Array) -> Array {
        math::cos::<T>(x)
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<MinusTimes>(d, &x.sin()?)
    }
}

/// `-d·v`.
struct MinusTimes;

impl Slope for MinusTimes {
    const NAME: &'static str = "minus_times";
    #[inline(always)]
    fn times<T: Float>(d: T, v: T) -> T {
        -(d * v)
    }
    fn derivative(v: &Tensor) -> Result<Tensor> {
        Ok(constant(-1.0, v))
    }
}

impl Facts for Tan {
    const DOMAIN: (f64, f64) = (-1.2, 1.2);
    fn reference(x: f64) -> f64 {
        x.sin() / x.cos()
    }
}

impl Smooth for Tan {
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.tan()
    }
    fn array<T: Float>(x: &Array) -> Array {
        math::tan::<T>(x)
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Tan>(d, y)
    }
}

impl Slope for Tan {
    const NAME: &'static str = "tan_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d * (T::ONE + y * y)
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        y.mul(2.0)
    }
}

/// `1 - x²`, exact near 1 and -1.
fn one_minus_square(x: &Tensor) -> Result<Tensor> {
    mul_owned(constant(1.0, x).sub(x)?, x.add(1.0)?)
}

impl Facts for Asin {
    const DOMAIN: (f64, f64) = (-0.9, 0.9);
    fn reference(x: f64) -> f64 {
        (x / (1.0 - x * x).sqrt()).atan()
    }
}

impl Smooth for Asin {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.asin()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Asin>(d, x)
    }
}

impl Slope for Asin {
    const NAME: &'static str = "asin_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / ((T::ONE - x) * (T::ONE + x)).sqrt()
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        let s = one_minus_square(x)?;
        let root = s.sqrt()?;
        div_owned(x.div(s)?, root)
    }
}

impl Facts for Acos {
    const DOMAIN: (f64, f64) = (-0.9, 0.9);
    fn reference(x: f64) -> f64 {
        2.0 * ((1.0 - x) / (1.0 + x)).sqrt().atan()
    }
}

impl Smooth for Acos {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.acos()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Acos>(d, x)
    }
}

impl Slope for Acos {
    const NAME: &'static str = "acos_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        -(d / ((T::ONE - x) * (T::ONE + x)).sqrt())
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        <Asin as Slope>::derivative(x)?.neg()
    }
}

impl Facts for Atan {
    const DOMAIN: (f64, f64) = (-3.0, 3.0);
    fn reference(x: f64) -> f64 {
        (x / (1.0 + x * x).sqrt()).asin()
    }
}

impl Smooth for Atan {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.atan()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Atan>(d, x)
    }
}

impl Slope for Atan {
    const NAME: &'static str = "atan_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / (T::ONE + x * x)
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        div_owned(x.mul(-2.0)?, x.square()?.add(1.0)?.square()?)
    }
}

impl Facts for Sinh {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        (x.exp() - (-x).exp()) / 2.0
    }
}

impl Smooth for Sinh {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.sinh()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.cosh()?, d.clone())
    }
}

impl Facts for Cosh {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        (x.exp() + (-x).exp()) / 2.0
    }
}

impl Smooth for Cosh {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.cosh()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.sinh()?, d.clone())
    }
}

impl Facts for Tanh {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        ((2.0 * x).exp() - 1.0) / ((2.0 * x).exp() + 1.0)
    }
}

impl Smooth for Tanh {
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.tanh()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Tanh>(d, y)
    }
}

impl Slope for Tanh {
    const NAME: &'static str = "tanh_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d * (T::ONE - y * y)
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        y.mul(-2.0)
    }
}

impl Facts for Asinh {
    const DOMAIN: (f64, f64) = (-3.0, 3.0);
    fn reference(x: f64) -> f64 {
        (x + (x * x + 1.0).sqrt()).ln()
    }
}

impl Smooth for Asinh {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.asinh()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Asinh>(d, x)
    }
}

impl Slope for Asinh {
    const NAME: &'static str = "asinh_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        // The square of a large input would overflow.
        let a = x.abs();
        let root = (T::ONE + x * x).sqrt();
        d / if a > T::from_f64(1e17) { a } else { root }
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        let one = constant(1.0, x);
        let r = slope::<Asinh>(&one, x)?;
        mul_owned(x.mul(&r)?, r.square()?)?.neg()
    }
}

impl Facts for Acosh {
    const DOMAIN: (f64, f64) = (1.2, 4.0);
    fn reference(x: f64) -> f64 {
        (x + (x * x - 1.0).sqrt()).ln()
    }
}

impl Smooth for Acosh {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.acosh()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Acosh>(d, x)
    }
}

impl Slope for Acosh {
    const NAME: &'static str = "acosh_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        // One root of the product would overflow for large inputs.
        d / ((x - T::ONE).sqrt() * (x + T::ONE).sqrt())
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        let one = constant(1.0, x);
        let r = slope::<Acosh>(&one, x)?;
        mul_owned(x.mul(&r)?, r.square()?)?.neg()
    }
}

impl Facts for Atanh {
    const DOMAIN: (f64, f64) = (-0.9, 0.9);
    fn reference(x: f64) -> f64 {
        ((1.0 + x) / (1.0 - x)).ln() / 2.0
    }
}

impl Smooth for Atanh {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.atanh()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Atanh>(d, x)
    }
}

impl Slope for Atanh {
    const NAME: &'static str = "atanh_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / ((T::ONE - x) * (T::ONE + x))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        div_owned(x.mul(2.0)?, one_minus_square(x)?.square()?)
    }
}
