//! The distribution function of the normal distribution, its inverse and its logarithm, and what belongs to probabilities.

use std::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

use super::activation::erf_series;
use super::special::in_double;
use super::{Facts, Smooth, smooth};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::OpRef;
use crate::kernels::math::{Float, special};
use crate::ops::arith::mul_owned;
use crate::ops::family::{UnaryOp, UnaryWith, unary_with};
use crate::{Result, Tensor};

smooth! { OPS;
    /// The distribution function of the standard normal distribution, elementwise, exact also far below 0.
    ndtr = Ndtr, derivative "The density, `exp(-x²/2)/sqrt(2π)`.",
        example "assert_eq!(Tensor::from([0.0, 40.0]).ndtr()?.to_vec::<f64>()?, [0.5, 1.0]);",
        python: function::ndtr(), python: special::ndtr();

    /// The inverse of [`ndtr`](Tensor::ndtr), elementwise: the number that one of the standard normal distribution is below
    /// with this probability. It is infinite at 0 and 1, and NaN beyond.
    ndtri = Ndtri, derivative "`sqrt(2π)·exp(y²/2)` where `y` is the result; infinite at 0 and 1.",
        example "assert_eq!(Tensor::from([0.5, 1.0]).ndtri()?.to_vec::<f64>()?, [0.0, f64::INFINITY]);",
        python: function::ndtri(), python: special::ndtri();

    /// The logarithm of [`ndtr`](Tensor::ndtr), elementwise, also where that is too small for a float.
    log_ndtr = LogNdtr, derivative "`exp(-x²/2)/(sqrt(2π)·ndtr(x))`, which is near `-x` far below 0; exact to second order there.",
        example "let y = Tensor::from([-1e6, 40.0]).log_ndtr()?.to_vec::<f64>()?;\n\
            assert!((y[0] / -5e11 - 1.0).abs() < 1e-9 && y[1] == 0.0);",
        python: function::log_ndtr(), python: special::log_ndtr();

    /// `-x·log(x)`, elementwise, the share of a probability in an entropy: 0 at 0, and minus infinity below.
    entr = Entr, derivative "`-log(x) - 1`, infinite at 0 and NaN below.",
        example "assert_eq!(Tensor::from([0.0, 1.0, -1.0]).entr()?.to_vec::<f64>()?, [0.0, 0.0, f64::NEG_INFINITY]);",
        python: function::entr(), python: special::entr();
}

impl Facts for Ndtr {
    const DOMAIN: (f64, f64) = (-3.0, 3.0);
    fn reference(x: f64) -> f64 {
        (1.0 + erf_series(x * FRAC_1_SQRT_2)) / 2.0
    }
}

impl Smooth for Ndtr {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        Float::erfc(x * T::from_f64(-FRAC_1_SQRT_2)) * T::HALF
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        // Far out, where it is 0, its own derivative would be infinity times 0.
        let density = x.clamp(Some(-60.0), Some(60.0))?.square()?.mul(-0.5)?.exp()?.mul(1.0 / (2.0 * PI).sqrt())?;
        mul_owned(density, d.clone())
    }
}

impl Facts for Ndtri {
    const DOMAIN: (f64, f64) = (0.02, 0.98);
    fn reference(p: f64) -> f64 {
        if p == 0.0 || p == 1.0 {
            return if p == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
        }
        let (mut low, mut high) = (-3.0, 3.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            *if Ndtr::reference(middle) < p { &mut low } else { &mut high } = middle;
        }
        low
    }
}

impl Smooth for Ndtri {
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    fn scalar<T: Float>(p: T) -> T {
        let p = p.to_f64();
        // Around one half digits of `2p - 1` count, far from it those of `p`.
        let middle = (0.25..=0.75).contains(&p);
        T::from_f64(if middle { SQRT_2 * special::erfinv(2.0 * p - 1.0) } else { special::normal_quantile(p) })
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        mul_owned(y.square()?.mul(0.5)?.exp()?.mul((2.0 * PI).sqrt())?, d.clone())
    }
}

impl Facts for LogNdtr {
    const DOMAIN: (f64, f64) = (-1.5, 2.5);
    fn reference(x: f64) -> f64 {
        Ndtr::reference(x).ln()
    }
}

impl Smooth for LogNdtr {
    fn scalar<T: Float>(x: T) -> T {
        T::from_f64(special::log_ndtr(x.to_f64()))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(unary_with(&Hazard { fall: false }, x)?, d.clone())
    }
}

/// The density of the normal distribution over its distribution function, or how fast that falls.
#[derive(Clone, Copy, Debug)]
struct Hazard {
    fall: bool,
}

impl UnaryWith for Hazard {
    const NAME: &'static str = "log_ndtr_backward";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        let fall = self.fall;
        let of = move |x: f64| {
            let (hazard, above) = special::normal_hazard(x);
            // Far out, where the product would be infinity times 0, it is at its limits.
            let product = match (hazard, above) {
                (f64::INFINITY, _) => 1.0,
                (_, f64::INFINITY) => 0.0,
                _ => hazard * above,
            };
            if fall { product } else { hazard }
        };
        dispatch!(x.dtype(), "log_ndtr_backward", float, T => Ok(in_double::<T>(x, of)))
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        if !self.fall {
            return mul_owned(unary_with(&Hazard { fall: true }, x)?.neg()?, d.clone());
        }
        // Of the product `h·(x + h)`, whose derivative is 0 far out on both sides.
        let x = x.clamp(Some(-1e3), Some(60.0))?;
        let (hazard, fall) = (unary_with(&Hazard { fall: false }, &x)?, unary_with(&Hazard { fall: true }, &x)?);
        let slope = hazard.sub(&fall.mul(&x.add(&hazard.mul(2)?)?)?)?;
        mul_owned(slope, d.clone())
    }
}

impl Facts for Entr {
    const DOMAIN: (f64, f64) = (0.1, 3.0);
    fn reference(x: f64) -> f64 {
        -x * x.ln()
    }
}

impl Smooth for Entr {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        let inside = -x * Float::log(x);
        let ends = if x < T::ZERO { -T::INFINITY } else { inside };
        if x == T::ZERO { T::ZERO } else { ends }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.log()?.add(1)?.neg()?, d.clone())
    }
}
