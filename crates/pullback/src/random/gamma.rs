//! Numbers of the gamma distribution, by their logarithms, and how they move with the concentration.

use crate::array::Array;
use crate::error::bail;
use crate::kernels::math::{implicit, special};
use crate::kernels::{map, samplers};
use crate::ops::family::{Binary, Operands, Reads, binary};
use crate::{Result, Tensor};

/// The logarithm of a number of the gamma distribution for each seed (`i64`) and concentration (`f64`).
pub(super) fn log_gamma(seeds: &Tensor, concentration: &Tensor) -> Result<Tensor> {
    binary::<LogGamma>(seeds, concentration)
}

struct LogGamma;

impl Binary for LogGamma {
    const NAME: &'static str = "gamma";
    fn kernel(seeds: &Array, concentration: &Array, shape: &[usize]) -> Result<Array> {
        let (seeds, concentration) = (seeds.expand(shape), concentration.expand(shape));
        Ok(samplers::sample(&seeds, &[&concentration], samplers::log_gamma))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: false, rhs: true, output: true }
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        d.mul(binary::<Slope>(values.output(), values.rhs())?)
    }
}

/// The derivative of the logarithm (left) by the concentration (right) while the place among all numbers stays.
struct Slope;

impl Binary for Slope {
    const NAME: &'static str = "gamma_slope";
    fn kernel(log: &Array, concentration: &Array, shape: &[usize]) -> Result<Array> {
        Ok(map::zip::<f64, f64, f64>(log, concentration, shape, implicit::log_gamma_slope))
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: true, rhs: true, output: needs.0 }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        // The slope is -F_a/g, and the density g does not depend on anything else.
        let (l, a) = (values.lhs(), values.rhs());
        let moved = l.sub(a.digamma()?)?.add(values.output().mul(a.sub(l.exp()?)?)?)?;
        d.mul(moved)?.neg()
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        d.mul(binary::<Curvature>(values.lhs(), values.rhs())?)
    }
}

/// The derivative of [`Slope`] by the concentration at a constant number.
struct Curvature;

impl Binary for Curvature {
    const NAME: &'static str = "gamma_curvature";
    fn kernel(log: &Array, concentration: &Array, shape: &[usize]) -> Result<Array> {
        Ok(map::zip::<f64, f64, f64>(log, concentration, shape, implicit::log_gamma_slope_by_concentration))
    }
    fn left(_: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        no_third_derivative()
    }
    fn right(_: &Tensor, _: Operands<'_>) -> Result<Tensor> {
        no_third_derivative()
    }
}

fn no_third_derivative() -> Result<Tensor> {
    bail!(NotDifferentiable, "gamma: numbers of the gamma distribution have two derivatives by the concentration, and the \
        third was asked for"; help = "`detach` the concentration, or the second derivative")
}

/// The place of a number in the standard normal distribution, from its probability: what a part of one is drawn by.
pub(super) fn normal_quantile(p: &Tensor) -> Result<Tensor> {
    crate::ops::family::unary::<NormalQuantile>(p)
}

struct NormalQuantile;

impl crate::ops::family::Unary for NormalQuantile {
    const NAME: &'static str = "normal_quantile";
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    fn kernel(x: &Array) -> Result<Array> {
        Ok(map::map::<f64, f64>(x, special::normal_quantile))
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        d.mul(y.square()?.mul(0.5)?.exp()?)?.mul(std::f64::consts::TAU.sqrt())
    }
}
