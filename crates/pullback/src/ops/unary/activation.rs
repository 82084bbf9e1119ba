//! Functions that neural networks are made of, and the error function.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::{Facts, Smooth, constant, smooth};
use crate::kernels::math::Float;
use crate::ops::arith::mul_owned;
use crate::ops::family::{Slope, slope};
use crate::{Result, Tensor};

smooth! { OPS;
    /// `1/(1 + exp(-x))`, elementwise, without overflow.
    sigmoid = Sigmoid, derivative "`y·(1 - y)` where `y` is the result.",
        example "assert_eq!(Tensor::from([0.0, -1000.0]).sigmoid()?.to_vec::<f64>()?, [0.5, 0.0]);";

    /// `log(1 + exp(x))`, elementwise, without overflow.
    softplus = Softplus, derivative "`sigmoid(x)`.",
        example "assert_eq!(Tensor::from([1000.0, -1000.0]).softplus()?.to_vec::<f64>()?, [1000.0, 0.0]);";

    /// The error function, elementwise: `2/sqrt(π)` times the integral of `exp(-t²)` from 0 to `x`.
    erf = Erf, derivative "`2/sqrt(π)·exp(-x²)`.",
        example "assert_eq!(Tensor::from([0.0, 10.0]).erf()?.to_vec::<f64>()?, [0.0, 1.0]);";

    /// `1 - erf(x)`, elementwise, exact also where `erf` is close to 1.
    erfc = Erfc, derivative "`-2/sqrt(π)·exp(-x²)`.",
        example "assert_eq!(Tensor::from([0.0, -10.0]).erfc()?.to_vec::<f64>()?, [1.0, 2.0]);";
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

impl Facts for Erf {
    const DOMAIN: (f64, f64) = (-2.0, 2.0);
    fn reference(x: f64) -> f64 {
        // The Maclaurin series.
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        FRAC_2_SQRT_PI * sum
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
        slope::<Erf>(&x.mul(-2.0)?, x)
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
