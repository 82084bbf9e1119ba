//! Trigonometric and hyperbolic functions, and their inverses.

use std::f64::consts::PI;

use super::{Facts, Smooth, constant, smooth};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::OpRef;
use crate::kernels::complex::Function2;
use crate::kernels::map;
use crate::kernels::math::complex::divide;
use crate::kernels::math::{self, Float, complex};
use crate::ops::arith::{div_owned, mul_owned};
use crate::ops::family::{Slope, UnaryOp, UnaryWith, slope, unary_with};
use crate::{Complex64, Result, Tensor};

smooth! { OPS;
    /// The sine, elementwise, of an angle in radians.
    sin = Sin + complex, derivative "`cos(x)`.",
        example "assert_eq!(Tensor::from(0.0).sin()?.item::<f64>()?, 0.0);";

    /// The cosine, elementwise, of an angle in radians.
    cos = Cos + complex, derivative "`-sin(x)`.",
        example "assert_eq!(Tensor::from(0.0).cos()?.item::<f64>()?, 1.0);";

    /// The tangent, elementwise, of an angle in radians.
    tan = Tan + complex, derivative "`1 + tan(x)²`.",
        example "assert_eq!(Tensor::from(0.0).tan()?.item::<f64>()?, 0.0);";

    /// The angle in radians, from `-π/2` to `π/2`, whose sine each element is; NaN outside `-1..=1`.
    asin = Asin + complex, derivative "`1/sqrt(1 - x²)`, which is infinite at 1 and -1.",
        example "assert_eq!(Tensor::from(0.0).asin()?.item::<f64>()?, 0.0);",
        python: asin(), python: arcsin();

    /// The angle in radians, from `0` to `π`, whose cosine each element is; NaN outside `-1..=1`.
    acos = Acos + complex, derivative "`-1/sqrt(1 - x²)`, which is infinite at 1 and -1.",
        example "assert_eq!(Tensor::from(1.0).acos()?.item::<f64>()?, 0.0);",
        python: acos(), python: arccos();

    /// The angle in radians, from `-π/2` to `π/2`, whose tangent each element is.
    atan = Atan + complex, derivative "`1/(1 + x²)`.",
        example "assert_eq!(Tensor::from(0.0).atan()?.item::<f64>()?, 0.0);",
        python: atan(), python: arctan();

    /// The hyperbolic sine, elementwise.
    sinh = Sinh + complex, derivative "`cosh(x)`.",
        example "assert_eq!(Tensor::from(0.0).sinh()?.item::<f64>()?, 0.0);";

    /// The hyperbolic cosine, elementwise.
    cosh = Cosh + complex, derivative "`sinh(x)`.",
        example "assert_eq!(Tensor::from(0.0).cosh()?.item::<f64>()?, 1.0);";

    /// The hyperbolic tangent, elementwise.
    tanh = Tanh + complex, derivative "`1 - tanh(x)²`.",
        example "assert_eq!(Tensor::from([0.0, 100.0]).tanh()?.to_vec::<f64>()?, [0.0, 1.0]);",
        python: tanh(), python: nn::functional::tanh();

    /// The number whose hyperbolic sine each element is.
    asinh = Asinh + complex, derivative "`1/sqrt(x² + 1)`.",
        example "assert_eq!(Tensor::from(0.0).asinh()?.item::<f64>()?, 0.0);",
        python: asinh(), python: arcsinh();

    /// The number, not negative, whose hyperbolic cosine each element is; NaN below 1.
    acosh = Acosh + complex, derivative "`1/sqrt(x² - 1)`, which is infinite at 1; NaN below 1, also below -1.",
        example "assert_eq!(Tensor::from(1.0).acosh()?.item::<f64>()?, 0.0);",
        python: acosh(), python: arccosh();

    /// The number whose hyperbolic tangent each element is; NaN outside `-1..=1`.
    atanh = Atanh + complex, derivative "`1/(1 - x²)`, which is infinite at 1 and -1.",
        example "assert_eq!(Tensor::from([0.0, 1.0]).atanh()?.to_vec::<f64>()?, [0.0, f64::INFINITY]);",
        python: atanh(), python: arctanh();

    /// `sin(πx)/(πx)`, elementwise, 1 at 0; exactly 0 at the other whole numbers and at infinity.
    sinc = Sinc, derivative "`(cos(πx) - sinc(x))/x`, with its limit 0 at 0; all derivatives are exact near 0.",
        example "assert_eq!(Tensor::from(0.0).sinc()?.item::<f64>()?, 1.0);",
        python: sinc(), python: special::sinc();

    /// The angle in radians of an angle in degrees.
    deg2rad = Deg2rad, derivative "`π/180`.",
        example "assert_eq!(Tensor::from(180.0).deg2rad()?.item::<f64>()?, std::f64::consts::PI);";

    /// The angle in degrees of an angle in radians.
    rad2deg = Rad2deg, derivative "`180/π`.",
        example "assert_eq!(Tensor::from(std::f64::consts::PI).rad2deg()?.item::<f64>()?, 180.0);";
}

impl Facts for Deg2rad {
    const DOMAIN: (f64, f64) = (-180.0, 180.0);
    fn reference(x: f64) -> f64 {
        x.to_radians()
    }
}

impl Smooth for Deg2rad {
    const READS_INPUT: bool = false;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x * T::from_f64(PI / 180.0)
    }
    fn derivative(d: &Tensor, _: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.mul(PI / 180.0)
    }
}

impl Facts for Rad2deg {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        x.to_degrees()
    }
}

impl Smooth for Rad2deg {
    const READS_INPUT: bool = false;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x * T::from_f64(180.0 / PI)
    }
    fn derivative(d: &Tensor, _: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.mul(180.0 / PI)
    }
}

impl Facts for Sin {
    const DOMAIN: (f64, f64) = (-4.0, 4.0);
    fn reference(x: f64) -> f64 {
        x.sin()
    }
}

impl Smooth for Sin {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::sin);
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::cos);
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
    const COMPLEX: Option<Function2> = Some(|d, v| -(d * v));
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::tan);
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
    const COMPLEX: Option<Function2> = Some(|d, y| d * (y * y + 1.0));
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::asin);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.asin()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Asin>(d, x)
    }
}

/// The root of `1 - x²` on the sheet of the derivative of `asin`.
fn around(x: Complex64) -> Complex64 {
    complex::sqrt(1.0 - x) * complex::sqrt(1.0 + x)
}

impl Slope for Asin {
    const NAME: &'static str = "asin_backward";
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, around(x)));
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::acos);
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
    const COMPLEX: Option<Function2> = Some(|d, x| -divide(d, around(x)));
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::atan);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.atan()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Atan>(d, x)
    }
}

/// `f`, and 0 at infinity, where it would be infinity times 0.
fn flat_at_infinity(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let far = x.isinf()?;
    far.where_(0.0, f(&far.where_(2.0, x)?)?)
}

/// The derivative `-x r³` of a slope `r` that is one over a root of `x² ± 1`.
fn bend<S: Slope>(x: &Tensor) -> Result<Tensor> {
    flat_at_infinity(x, |x| {
        let r = slope::<S>(&constant(1.0, x), x)?;
        mul_owned(x.mul(&r)?, r.square()?)?.neg()
    })
}

impl Slope for Atan {
    const NAME: &'static str = "atan_backward";
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, x * x + 1.0));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / (T::ONE + x * x)
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        flat_at_infinity(x, |x| div_owned(x.mul(-2.0)?, x.square()?.add(1.0)?.square()?))
    }
}

impl Facts for Sinh {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        (x.exp() - (-x).exp()) / 2.0
    }
}

impl Smooth for Sinh {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::sinh);
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::cosh);
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::tanh);
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
    const COMPLEX: Option<Function2> = Some(|d, y| d * (1.0 - y * y));
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
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::asinh);
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
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, complex::sqrt(x * x + 1.0)));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        // The square of a large input would overflow.
        let a = x.abs();
        let root = (T::ONE + x * x).sqrt();
        d / if a > T::from_f64(1e17) { a } else { root }
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        bend::<Asinh>(x)
    }
}

impl Facts for Acosh {
    const DOMAIN: (f64, f64) = (1.2, 4.0);
    fn reference(x: f64) -> f64 {
        (x + (x * x - 1.0).sqrt()).ln()
    }
}

impl Smooth for Acosh {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::acosh);
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
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, complex::sqrt(x - 1.0) * complex::sqrt(x + 1.0)));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        // One root of the product would overflow for large inputs.
        d / ((x - T::ONE).sqrt() * (x + T::ONE).sqrt())
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        bend::<Acosh>(x)
    }
}

impl Facts for Atanh {
    const DOMAIN: (f64, f64) = (-0.9, 0.9);
    fn reference(x: f64) -> f64 {
        ((1.0 + x) / (1.0 - x)).ln() / 2.0
    }
}

impl Smooth for Atanh {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::atanh);
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
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, (1.0 - x) * (1.0 + x)));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / ((T::ONE - x) * (T::ONE + x))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        div_owned(x.mul(2.0)?, one_minus_square(x)?.square()?)
    }
}

impl Facts for Sinc {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        match x.fract() == 0.0 {
            true => f64::from(x == 0.0),
            false => (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x),
        }
    }
}

impl Smooth for Sinc {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        let y = sin_cos_pi(x).0 / (T::PI * x);
        let y = if x.abs() == T::INFINITY { T::ZERO } else { y };
        if x == T::ZERO { T::ONE } else { y }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(unary_with(&SincDerivative(1), x)?, d.clone())
    }
}

/// `sin(πx)` and `cos(πx)`, with `x` reduced before it is multiplied: a large `πx` is known to no fraction of a turn.
#[inline(always)]
fn sin_cos_pi<T: Float>(x: T) -> (T, T) {
    let whole = x.round();
    let rest = x - whole;
    let half = whole * T::HALF;
    let (sin, cos) = ((T::PI * rest).sin_core(), (T::PI * (T::HALF - rest.abs())).sin_core());
    if half == half.trunc() { (sin, cos) } else { (-sin, -cos) }
}

/// A derivative of [`Sinc`] of order 1 or higher, as a function of its own: quotients by `x` would lose all digits near
/// 0, and the more the higher the order.
#[derive(Clone, Copy, Debug)]
struct SincDerivative(u32);

impl UnaryWith for SincDerivative {
    const NAME: &'static str = "sinc_derivative";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        let order = self.0;
        dispatch!(x.dtype(), "sinc_derivative", float, T =>
            Ok(map::map::<T, T>(x, #[inline(always)] move |x| sinc_derivative(x, order))))
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(unary_with(&SincDerivative(self.0 + 1), x)?, d.clone())
    }
}

/// The derivative of some order of `sinc` at `x`: `π^order` times that of `sin(z)/z` at `z = πx`.
#[inline(always)]
fn sinc_derivative<T: Float>(x: T, order: u32) -> T {
    let z = T::PI * x;
    let number = |n: u32| T::from_f64(f64::from(n));
    let mut y;
    // The recurrence from order to order loses about order!/z^order, the series about exp(z); here they are alike.
    if z.abs() < T::from_f64(1.5 + 0.37 * f64::from(order)) {
        // The sum of (-1)^k z^p/p!/(2k + 1) for p = 2k - order, from the first p that is not negative.
        let (mut p, first) = (order % 2, order.div_ceil(2));
        let mut term = if first.is_multiple_of(2) { T::ONE } else { -T::ONE };
        if p == 1 {
            term = term * z;
        }
        y = T::ZERO;
        for _ in 0..14 + order {
            y = y + term / number(order + p + 1);
            term = -(term * z * z / number((p + 1) * (p + 2)));
            p += 2;
        }
    } else {
        // z·f⁽ⁿ⁾ + n·f⁽ⁿ⁻¹⁾ = sin⁽ⁿ⁾(z), for f = sin(z)/z.
        let (sin, cos) = sin_cos_pi(x);
        y = sin / z;
        for n in 1..=order {
            let top = [sin, cos, -sin, -cos][n as usize % 4];
            y = (top - number(n) * y) / z;
        }
        y = if x.abs() == T::INFINITY { T::ZERO } else { y };
    }
    for _ in 0..order {
        y = y * T::PI;
    }
    y
}
