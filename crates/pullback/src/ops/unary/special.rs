//! The gamma function and what belongs to it, modified Bessel functions, and the inverse of the error function.

use std::f64::consts::PI;

use super::activation::erf_series;
use super::{Facts, Smooth, kinks_with, samples_with, smooth};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::function::OpRef;
use crate::kernels::map;
use crate::kernels::math::{Float, special};
use crate::ops::arith::mul_owned;
use crate::ops::family::{Slope, UnaryOp, UnaryWith, slope, unary_with};
use crate::ops::reduce::to_float;
use crate::ops::table::{ErrorSample, Kink, Sample, ops, sample_tensor};
use crate::{ErrorKind, Result, Tensor};

smooth! { OPS;
    /// The natural logarithm of the absolute value of the gamma function, elementwise; infinite at 0 and the negative
    /// whole numbers.
    lgamma = Lgamma, derivative "`digamma(x)`.",
        example "assert_eq!(Tensor::from([1.0, 2.0, 0.0]).lgamma()?.to_vec::<f64>()?, [0.0, 0.0, f64::INFINITY]);",
        python: lgamma(), python: special::gammaln();

    /// The inverse of `erf`, elementwise; infinite at -1 and 1, NaN beyond.
    erfinv = Erfinv, derivative "`sqrt(π)/2·exp(y²)` where `y` is the result.",
        example "assert_eq!(Tensor::from([0.0, 1.0]).erfinv()?.to_vec::<f64>()?, [0.0, f64::INFINITY]);";
}

smooth! { ODDS;
    /// The logarithm of the odds `x/(1 - x)`, elementwise, exact also near one half: the inverse of
    /// [`sigmoid`](Tensor::sigmoid). It is infinite at 0 and 1, and NaN beyond.
    logit = Logit, derivative "`1/(x·(1 - x))`, infinite at 0 and 1 and NaN beyond.",
        example "assert_eq!(Tensor::from([0.5, 1.0]).logit()?.to_vec::<f64>()?, [0.0, f64::INFINITY]);";
}

ops! { WITH_PARAMETERS;
    /// The logarithm of the odds, see [`logit`](Tensor::logit), of elements that are first clamped to `eps` and `1 - eps`.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `1/(x·(1 - x))` between `eps` and `1 - eps`, and at both, else 0.
    ///
    /// # Errors
    /// `Value` if `eps` is not between 0 and one half.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([0.0, 0.5]);
    /// let y = x.logit_with(Some(0.25))?.to_vec::<f64>()?;
    /// assert!((y[0] + 3f64.ln()).abs() < 1e-15 && y[1] == 0.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logit_with(&self, eps: Option<f64>) -> Result<Tensor> = logit_with {
        samples: logit_with_samples, errors: logit_with_errors, kinks: logit_with_kinks,
        python: logit(eps), python: special::logit(eps)
    };

    /// The derivative of [`lgamma`](Tensor::lgamma), elementwise: minus infinity at 0, NaN at the negative whole numbers.
    ///
    /// Near its zeros the result is exact to about `1e-15` in absolute terms, not relative to its size; so are the
    /// derivatives at negative arguments.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `polygamma(1)`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from(1.0).digamma()?.item::<f64>()?;
    /// assert!((y + 0.577_215_664_901_532_9).abs() < 1e-15);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn digamma(&self) -> Result<Tensor> = digamma {
        in_place: true, samples: digamma_samples,
        python: digamma(), python: special::digamma(), python: special::psi()
    };

    /// The derivative of order `n` of [`digamma`](Tensor::digamma), elementwise, which is that itself for 0. At 0 and the
    /// negative whole numbers it is infinite for odd `n` and NaN for even ones from 2 on.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `polygamma(n + 1)`.
    ///
    /// # Errors
    /// `Value` if `n` is greater than 100.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from(1.0).polygamma(1)?.item::<f64>()?;
    /// assert!((y - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-15);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn polygamma(&self, n: u32) -> Result<Tensor> = polygamma {
        in_place: true, samples: polygamma_samples, errors: polygamma_errors,
        python: polygamma(n, self as input),
        python: polygamma(self, n)
    };

    /// The modified Bessel function of the first kind of order 0, elementwise.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `i1(x)`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from(0.0).i0()?.item::<f64>()?, 1.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn i0(&self) -> Result<Tensor> = i0 { in_place: true, samples: i0_samples };

    /// The modified Bessel function of the first kind of order 1, elementwise.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `i0(x) - i1(x)/x`, with its limit one half at 0; all derivatives are exact near 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from(0.0).i1()?.item::<f64>()?, 0.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn i1(&self) -> Result<Tensor> = i1 { samples: i1_samples };

    /// `exp(-|x|)·i0(x)`, elementwise, which does not overflow.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `i1e(x) - sign(x)·i0e(x)`; 0 at 0, where it has a kink.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, f64::INFINITY]).i0e()?.to_vec::<f64>()?, [1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn i0e(&self) -> Result<Tensor> = i0e { samples: i0e_samples, kinks: i0e_kinks };

    /// `exp(-|x|)·i1(x)`, elementwise, which does not overflow.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `i0e(x) - (sign(x) + 1/x)·i1e(x)`, with its limit one half at 0; all derivatives are exact near 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([0.0, f64::INFINITY]).i1e()?.to_vec::<f64>()?, [0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn i1e(&self) -> Result<Tensor> = i1e { samples: i1e_samples };
}

/// All elements, through a function of one `f64`.
pub(super) fn in_double<T: Float>(x: &Array, f: impl Fn(f64) -> f64 + Copy + Send + Sync) -> Array {
    map::map::<T, T>(x, move |x| T::from_f64(f(x.to_f64())))
}

impl Facts for Lgamma {
    const DOMAIN: (f64, f64) = (0.3, 4.0);
    fn reference(x: f64) -> f64 {
        // Stirling's series, far out.
        let (mut y, mut product) = (x, 1.0);
        while y < 20.0 {
            product *= y;
            y += 1.0;
        }
        let series =
            1.0 / (12.0 * y) - 1.0 / (360.0 * y.powi(3)) + 1.0 / (1260.0 * y.powi(5)) - 1.0 / (1680.0 * y.powi(7));
        (y - 0.5) * y.ln() - y + 0.5 * (2.0 * PI).ln() + series - f64::ln(product)
    }
}

impl Smooth for Lgamma {
    fn scalar<T: Float>(x: T) -> T {
        T::from_f64(special::lgamma(x.to_f64()))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(x.digamma()?, d.clone())
    }
}

impl Facts for Logit {
    const DOMAIN: (f64, f64) = (0.02, 0.98);
    fn reference(x: f64) -> f64 {
        (x / (1.0 - x)).ln()
    }
}

impl Smooth for Logit {
    #[inline(always)]
    fn scalar<T: Float>(x: T) -> T {
        // The odds are near 1 in the middle, where their logarithm would lose digits.
        if x > T::from_f64(0.3) && x < T::from_f64(0.7) {
            Float::log1p((x + x - T::ONE) / (T::ONE - x))
        } else {
            Float::log(x) - Float::log1p(-x)
        }
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        slope::<Logit>(d, x)
    }
}

impl Slope for Logit {
    const NAME: &'static str = "logit_backward";
    #[inline(always)]
    fn times<T: Float>(d: T, x: T) -> T {
        // The absolute value, because -0 is an end of the domain like 0. There is nothing beyond the ends.
        let inside = d / (x.abs() * (T::ONE - x));
        if x < T::ZERO || x > T::ONE { T::NAN } else { inside }
    }
    fn derivative(x: &Tensor) -> Result<Tensor> {
        // Each part is infinite at one end, where the other is not.
        x.neg()?.add(1.0)?.square()?.reciprocal()?.sub(x.square()?.reciprocal()?)
    }
}

fn logit_with(x: &Tensor, eps: Option<f64>) -> Result<Tensor> {
    let Some(eps) = eps else { return x.logit() };
    if !(0.0..=0.5).contains(&eps) {
        bail!(Value, "logit: expected `eps` between 0 and 0.5, got {eps}");
    }
    to_float(x)?.clamp(Some(eps), Some(1.0 - eps)).map_err(|e| e.renamed("clamp", "logit"))?.logit()
}

fn logit_with_samples() -> Vec<Sample> {
    let odds = |x: f64| (x / (1.0 - x)).ln();
    let mut all = samples_with("no eps", (0.1, 0.9), |x| x.logit_with(None), odds);
    all.extend(samples_with("eps 0.2", (0.0, 1.0), |x| x.logit_with(Some(0.2)), move |x| odds(x.clamp(0.2, 0.8))));
    all
}

fn logit_with_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    vec![ErrorSample::new("eps", ErrorKind::Value, "logit: expected `eps` between 0 and 0.5, got 0.7", move || {
        x.logit_with(Some(0.7))
    })]
}

fn logit_with_kinks() -> Vec<Kink> {
    kinks_with(&[(0.25, 16.0 / 3.0), (0.0, 0.0)], |x| x.logit_with(Some(0.25)))
}

impl Facts for Erfinv {
    const DOMAIN: (f64, f64) = (-0.9, 0.9);
    fn reference(x: f64) -> f64 {
        if x == 0.0 {
            return x;
        }
        let (mut low, mut high) = (-3.0, 3.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            *if erf_series(middle) < x { &mut low } else { &mut high } = middle;
        }
        low
    }
}

impl Smooth for Erfinv {
    const READS_INPUT: bool = false;
    const READS_OUTPUT: bool = true;
    fn scalar<T: Float>(x: T) -> T {
        T::from_f64(special::erfinv(x.to_f64()))
    }
    fn derivative(d: &Tensor, _: &Tensor, y: &Tensor) -> Result<Tensor> {
        mul_owned(y.square()?.exp()?.mul(PI.sqrt() / 2.0)?, d.clone())
    }
}

/// The derivatives of the logarithm of the gamma function from the first one on.
#[derive(Clone, Copy, Debug)]
struct Polygamma {
    n: u32,
}

/// Above it, factorials and powers overflow.
const MAX_ORDER: u32 = 100;

fn digamma(x: &Tensor) -> Result<Tensor> {
    polygamma(x, 0)
}

fn polygamma(x: &Tensor, n: u32) -> Result<Tensor> {
    if n > MAX_ORDER {
        bail!(Value, "polygamma: expected an order of at most {MAX_ORDER}, got {n}");
    }
    unary_with(&Polygamma { n }, &to_float(x)?)
}

impl UnaryWith for Polygamma {
    const NAME: &'static str = "polygamma";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        let n = self.n;
        dispatch!(x.dtype(), "polygamma", float, T => Ok(if n == 0 {
            in_double::<T>(x, special::digamma)
        } else {
            in_double::<T>(x, move |x| special::polygamma(n, x))
        }))
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(polygamma(x, self.n + 1)?, d.clone())
    }
}

/// The defining series of `polygamma`, with the integral of what is left over.
fn polygamma_reference(n: u32, x: f64) -> f64 {
    const TERMS: u32 = 20_000;
    let terms = (0..TERMS).rev().map(f64::from);
    let end = x + f64::from(TERMS) - 0.5;
    if n == 0 {
        return end.ln() + 1.0 / (24.0 * end * end) - terms.map(|k| 1.0 / (x + k)).sum::<f64>();
    }
    let power = n as i32;
    let sum = terms.map(|k| (x + k).powi(-power - 1)).sum::<f64>() + end.powi(-power) / f64::from(n);
    let factorial: f64 = (1..=n).map(f64::from).product();
    if n % 2 == 1 { factorial * sum } else { -factorial * sum }
}

fn digamma_samples() -> Vec<Sample> {
    let mut all = samples_with("positive", (0.3, 4.0), Tensor::digamma, |x| polygamma_reference(0, x));
    // By the recurrence, where the series would have to be mirrored.
    let below = |x: f64| polygamma_reference(0, x + 2.0) - 1.0 / x - 1.0 / (x + 1.0);
    all.extend(samples_with("negative", (-1.8, -1.2), Tensor::digamma, below));
    all
}

fn polygamma_samples() -> Vec<Sample> {
    let with = |label: &'static str, n: u32| {
        samples_with(label, (0.5, 4.0), move |x| x.polygamma(n), move |x| polygamma_reference(n, x))
    };
    let below = |x: f64| polygamma_reference(2, x + 2.0) - 2.0 / x.powi(3) - 2.0 / (x + 1.0).powi(3);
    let negative = samples_with("order 2, negative", (-1.8, -1.2), |x| x.polygamma(2), below);
    [with("order 0", 0), with("order 1", 1), with("order 4", 4), negative].concat()
}

fn polygamma_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 1.0, 2.0, 0);
    let message = "polygamma: expected an order of at most 100, got 101";
    vec![ErrorSample::new("order", ErrorKind::Value, message, move || x.polygamma(101))]
}

/// Modified Bessel functions of the first kind, of which each has its neighbours in its derivative.
#[derive(Clone, Copy, Debug)]
struct BesselI {
    order: u32,
    /// Times `exp(-|x|)`.
    scaled: bool,
}

fn bessel_i(x: &Tensor, order: u32, scaled: bool) -> Result<Tensor> {
    unary_with(&BesselI { order, scaled }, &to_float(x)?)
}

fn i0(x: &Tensor) -> Result<Tensor> {
    bessel_i(x, 0, false)
}

fn i1(x: &Tensor) -> Result<Tensor> {
    bessel_i(x, 1, false)
}

fn i0e(x: &Tensor) -> Result<Tensor> {
    bessel_i(x, 0, true)
}

fn i1e(x: &Tensor) -> Result<Tensor> {
    bessel_i(x, 1, true)
}

impl UnaryWith for BesselI {
    const NAME: &'static str = "bessel_i";
    const READS_OUTPUT: bool = true;
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        let Self { order, scaled } = *self;
        dispatch!(x.dtype(), "bessel_i", float, T =>
            Ok(in_double::<T>(x, move |x| special::bessel_i(order, x, scaled))))
    }
    fn derivative(&self, d: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let Self { order, scaled } = *self;
        let above = bessel_i(x, order + 1, scaled)?;
        let mut slope = match order {
            0 => above,
            _ => bessel_i(x, order - 1, scaled)?.add(above)?.mul(0.5)?,
        };
        if scaled {
            slope = slope.sub(x.sign()?.mul(y)?)?;
        }
        mul_owned(slope, d.clone())
    }
}

/// Bessel's integral, by the trapezoidal rule, which is exact to rounding for a periodic function.
fn bessel_reference(order: u32, x: f64) -> f64 {
    let angles = (0..64).map(|k| 2.0 * PI * f64::from(k) / 64.0);
    angles.map(|a| (x * a.cos()).exp() * (f64::from(order) * a).cos()).sum::<f64>() / 64.0
}

fn i0_samples() -> Vec<Sample> {
    samples_with("order 0", (-4.0, 4.0), Tensor::i0, |x| bessel_reference(0, x))
}

fn i1_samples() -> Vec<Sample> {
    samples_with("order 1", (-4.0, 4.0), Tensor::i1, |x| bessel_reference(1, x))
}

fn i0e_samples() -> Vec<Sample> {
    samples_with("order 0, scaled", (0.5, 4.0), Tensor::i0e, |x| bessel_reference(0, x) * (-x.abs()).exp())
}

fn i1e_samples() -> Vec<Sample> {
    samples_with("order 1, scaled", (-4.0, -0.5), Tensor::i1e, |x| bessel_reference(1, x) * (-x.abs()).exp())
}

fn i0e_kinks() -> Vec<Kink> {
    kinks_with(&[(0.0, 0.0)], Tensor::i0e)
}
