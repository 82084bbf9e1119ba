//! Exponentials, logarithms and roots.

use std::f64::consts::{LN_2, LN_10};

use super::{Facts, Smooth, constant, smooth};
use crate::kernels::complex::Function2;
use crate::kernels::math::complex::divide;
use crate::kernels::math::{Float, complex};
use crate::ops::arith::{div_owned, mul_owned};
use crate::ops::family::{Slope, slope};
use crate::{Complex64, Result, Tensor};

smooth! { OPS;
    /// The exponential function, elementwise.
    exp = Exp + complex, derivative "Itself.",
        example "assert_eq!(Tensor::from([0.0, f64::NEG_INFINITY]).exp()?.to_vec::<f64>()?, [1.0, 0.0]);";

    /// Two to the power of each element.
    exp2 = Exp2 + complex, derivative "`ln(2)·exp2(x)`.",
        example "assert_eq!(Tensor::from([3.0, -1.0]).exp2()?.to_vec::<f64>()?, [8.0, 0.5]);",
        python: exp2(), python: special::exp2();

    /// `exp(x) - 1`, elementwise, exact also for small `x`.
    expm1 = Expm1 + complex, derivative "`exp(x)`.",
        example "assert_eq!(Tensor::from(1e-20).expm1()?.item::<f64>()?, 1e-20);",
        python: expm1(), python: special::expm1();

    /// The natural logarithm, elementwise; NaN below 0.
    log = Log + complex, derivative "`1/x`.",
        example "assert_eq!(Tensor::from([1.0, 0.0]).log()?.to_vec::<f64>()?, [0.0, f64::NEG_INFINITY]);";

    /// The logarithm to base 2, elementwise; NaN below 0.
    log2 = Log2 + complex, derivative "`1/(ln(2)·x)`.",
        example "assert_eq!(Tensor::from([8.0, 0.5]).log2()?.to_vec::<f64>()?, [3.0, -1.0]);";

    /// The logarithm to base 10, elementwise; NaN below 0.
    log10 = Log10 + complex, derivative "`1/(ln(10)·x)`.",
        example "assert_eq!(Tensor::from([1.0, 0.0]).log10()?.to_vec::<f64>()?, [0.0, f64::NEG_INFINITY]);";

    /// `log(1 + x)`, elementwise, exact also for small `x`.
    log1p = Log1p + complex, derivative "`1/(1 + x)`.",
        example "assert_eq!(Tensor::from(1e-20).log1p()?.item::<f64>()?, 1e-20);",
        python: log1p(), python: special::log1p();

    /// The square root, elementwise; NaN below 0.
    sqrt = Sqrt + complex, derivative "`1/(2·sqrt(x))`, which is infinite at 0.",
        example "assert_eq!(Tensor::from([9.0, 2.25]).sqrt()?.to_vec::<f64>()?, [3.0, 1.5]);";

    /// One over the square root, elementwise; NaN below 0.
    rsqrt = Rsqrt + complex, derivative "`-rsqrt(x)³/2`.",
        example "assert_eq!(Tensor::from([4.0, 0.25]).rsqrt()?.to_vec::<f64>()?, [0.5, 2.0]);";

    /// The cube root, elementwise, also of negative numbers.
    cbrt = Cbrt, derivative "`1/(3·cbrt(x)²)`, which is infinite at 0.",
        example "assert_eq!(Tensor::from([0.0, 1.0, -1.0]).cbrt()?.to_vec::<f64>()?, [0.0, 1.0, -1.0]);";

    /// One over each element.
    reciprocal = Reciprocal + complex, derivative "`-1/x²`.",
        example "assert_eq!(Tensor::from([4.0, -0.5]).reciprocal()?.to_vec::<f64>()?, [0.25, -2.0]);";
}

impl Facts for Exp {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        x.exp()
    }
}

impl Smooth for Exp {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::exp);
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.exp()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        d.mul(y)
    }
}

impl Facts for Exp2 {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        (x * LN_2).exp()
    }
}

impl Smooth for Exp2 {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::exp2);
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.exp2()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Exp2>(d, y)
    }
}

impl Slope for Exp2 {
    const NAME: &'static str = "exp2_backward";
    const COMPLEX: Option<Function2> = Some(|d, y| d * y * LN_2);
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d * (y * T::from_f64(LN_2))
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        Ok(constant(LN_2, y))
    }
}

impl Facts for Expm1 {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        x.exp() - 1.0
    }
}

impl Smooth for Expm1 {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::expm1);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.expm1()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        // Not the output plus one, which has no digits left for very negative inputs.
        mul_owned(x.exp()?, d.clone())
    }
}

impl Facts for Log {
    const DOMAIN: (f64, f64) = (0.3, 3.0);
    fn reference(x: f64) -> f64 {
        x.ln()
    }
}

impl Smooth for Log {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::log);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.log()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        d.div(x)
    }
}

impl Facts for Log2 {
    const DOMAIN: (f64, f64) = (0.3, 3.0);
    fn reference(x: f64) -> f64 {
        x.ln() / LN_2
    }
}

impl Smooth for Log2 {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::log2);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.log2()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Log2>(d, x)
    }
}

impl Slope for Log2 {
    const NAME: &'static str = "log2_backward";
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, x * LN_2));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / (x * T::from_f64(LN_2))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        div_owned(constant(-1.0 / LN_2, x), x.square()?)
    }
}

impl Facts for Log10 {
    const DOMAIN: (f64, f64) = (0.3, 3.0);
    fn reference(x: f64) -> f64 {
        x.ln() / LN_10
    }
}

impl Smooth for Log10 {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::log10);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.log10()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Log10>(d, x)
    }
}

impl Slope for Log10 {
    const NAME: &'static str = "log10_backward";
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, x * LN_10));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / (x * T::from_f64(LN_10))
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        div_owned(constant(-1.0 / LN_10, x), x.square()?)
    }
}

impl Facts for Log1p {
    const DOMAIN: (f64, f64) = (-0.6, 2.0);
    fn reference(x: f64) -> f64 {
        (1.0 + x).ln()
    }
}

impl Smooth for Log1p {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::log1p);
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.log1p()
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Log1p>(d, x)
    }
}

impl Slope for Log1p {
    const NAME: &'static str = "log1p_backward";
    const COMPLEX: Option<Function2> = Some(|d, x| divide(d, x + 1.0));
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        d / (T::ONE + x)
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        div_owned(constant(-1.0, x), x.add(1.0)?.square()?)
    }
}

impl Facts for Sqrt {
    const DOMAIN: (f64, f64) = (0.3, 3.0);
    fn reference(x: f64) -> f64 {
        x.powf(0.5)
    }
}

impl Smooth for Sqrt {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::sqrt);
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.sqrt()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Sqrt>(d, y)
    }
}

impl Slope for Sqrt {
    const NAME: &'static str = "sqrt_backward";
    const COMPLEX: Option<Function2> = Some(|d, y| divide(d * 0.5, y));
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d * T::from_f64(0.5) / y
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        div_owned(constant(-0.5, y), y.square()?)
    }
}

impl Facts for Rsqrt {
    const DOMAIN: (f64, f64) = (0.3, 3.0);
    fn reference(x: f64) -> f64 {
        x.powf(-0.5)
    }
}

impl Smooth for Rsqrt {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::rsqrt);
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.rsqrt()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Rsqrt>(d, y)
    }
}

impl Slope for Rsqrt {
    const NAME: &'static str = "rsqrt_backward";
    const COMPLEX: Option<Function2> = Some(|d, y| d * y * y * y * -0.5);
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d * (T::from_f64(-0.5) * y * y * y)
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        mul_owned(y.square()?, constant(-1.5, y))
    }
}

impl Facts for Cbrt {
    const DOMAIN: (f64, f64) = (0.3, 3.0);
    fn reference(x: f64) -> f64 {
        x.powf(1.0 / 3.0)
    }
}

impl Smooth for Cbrt {
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        x.cbrt()
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Cbrt>(d, y)
    }
}

impl Slope for Cbrt {
    const NAME: &'static str = "cbrt_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        d / (T::from_f64(3.0) * y * y)
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        div_owned(constant(-2.0 / 3.0, y), y.powi(3)?)
    }
}

impl Facts for Reciprocal {
    const DOMAIN: (f64, f64) = (0.5, 2.0);
    fn reference(x: f64) -> f64 {
        1.0 / x
    }
}

impl Smooth for Reciprocal {
    const COMPLEX: Option<fn(Complex64) -> Complex64> = Some(complex::reciprocal);
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        T::ONE / x
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        slope::<Reciprocal>(d, y)
    }
}

impl Slope for Reciprocal {
    const NAME: &'static str = "reciprocal_backward";
    const COMPLEX: Option<Function2> = Some(|d, y| -(d * y * y));
    #[inline(always)]
    fn times<T: Float>(d: T, y: T) -> T {
        -(d * y * y)
    }
    fn derivative(y: &Tensor) -> Result<Tensor> {
        y.mul(-2.0)
    }
}
