//! Distributions of real numbers. Those with parameters are functions of the parameters and of numbers or seeds that do
//! not depend on them, which is what their derivatives hold fixed.

use super::draw::{Kind, Source};
use super::gamma::{log_gamma, normal_quantile};
use super::parameters::{Must, parameter};
use super::{check_float, draw, draws};
use crate::error::bail;
use crate::tensor::{Operand, checked_numel};
use crate::{DType, Result, Tensor};

draws! {
    /// Numbers of the exponential distribution with the given rate: the mean is `1 / rate`.
    ///
    /// # Shapes
    /// The rate broadcasts to `shape`.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// That of `e / rate`, where `e` has rate 1.
    ///
    /// # Errors
    /// `Value` for a rate that is not above 0 and finite; `Shape` if it does not broadcast; `Dtype` for another dtype;
    /// `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).exponential(4.0, &[10_000], DType::F64)?.to_vec::<f64>()?;
    /// assert!((x.iter().sum::<f64>() / 1e4 - 0.25).abs() < 0.01);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn exponential(rate: impl Operand, shape: &[usize], dtype: DType);

    /// Numbers of the Laplace distribution with mean 0 and scale 1; the variance is 2.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Errors
    /// `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let noise = Key::new(1).laplace(&[3], DType::F32)?;
    /// assert_eq!(noise.shape(), [3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn laplace(shape: &[usize], dtype: DType);

    /// Numbers of the Gumbel distribution with mode 0 and scale 1: what is added to logits to sample from them.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Errors
    /// `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, random::Key};
    /// // One category of each row, by the largest of its perturbed logits.
    /// let logits = Tensor::from([[0.0, -1e9], [-1e9, 0.0]]);
    /// let choice = logits.add(Key::new(1).gumbel(&[2, 2], DType::F64)?)?.argmax(1, false)?;
    /// assert_eq!(choice.to_vec::<i64>()?, [0, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn gumbel(shape: &[usize], dtype: DType);

    /// Numbers of the Cauchy distribution with median 0 and scale 1, which has no mean.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Errors
    /// `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// assert_eq!(Key::new(1).cauchy(&[3], DType::F32)?.shape(), [3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cauchy(shape: &[usize], dtype: DType);

    /// Numbers whose logarithms have a normal distribution with the given mean and standard deviation.
    ///
    /// # Shapes
    /// The parameters broadcast to `shape`.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// That of `exp(mean + std·z)`, where `z` is normal.
    ///
    /// # Errors
    /// `Value` for a mean that is not finite or a deviation that is not from 0 up and finite, in `f32` unless the
    /// dtype is `f64`; `Shape` if they do not
    /// broadcast; `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// assert_eq!(Key::new(1).log_normal(0.0, 0.0, &[2], DType::F64)?.to_vec::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn log_normal(mean: impl Operand, std: impl Operand, shape: &[usize], dtype: DType);

    /// Numbers of the standard normal distribution between `lower` and `upper`, which may be infinite.
    ///
    /// # Shapes
    /// The bounds broadcast to `shape`.
    ///
    /// # Dtypes
    /// Floats.
    ///
    /// # Derivative
    /// By both bounds, while the share of the distribution between them that is below the number stays.
    ///
    /// # Errors
    /// `Value` if `lower` is not below `upper`, or nothing of the distribution lies between them in `f64`, as beyond 38;
    /// `Shape` if the bounds do not broadcast; `Dtype` for another dtype; `Randomness` under a `vmap` that forbids it.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).truncated_normal(1.0, 2.0, &[100], DType::F64)?.to_vec::<f64>()?;
    /// assert!(x.iter().all(|x| (1.0..=2.0).contains(x)));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn truncated_normal(lower: impl Operand, upper: impl Operand, shape: &[usize], dtype: DType);

    /// Numbers of the gamma distribution with the given concentration and rate 1: mean and variance are the concentration.
    ///
    /// # Shapes
    /// The concentration broadcasts to `shape`.
    ///
    /// # Dtypes
    /// Floats; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// By the concentration, while the share of the distribution that is below the number stays: `-(∂F/∂a) / p`, with
    /// distribution function `F` and density `p`. There are two derivatives in every mode; a third one is refused.
    ///
    /// # Errors
    /// `Value` for a concentration that is not from 1e-100 up and finite; `Shape` if it does not broadcast; `Dtype` for another
    /// dtype; `Randomness` under a `vmap` that forbids it; `NotDifferentiable` for a third derivative.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, grad, random::Key};
    /// // The mean is the concentration, so its slope is 1.
    /// let mean = |a: &Tensor| Key::new(1).gamma(a, &[10_000], DType::F64)?.mean();
    /// let slope = grad(mean)(&Tensor::from(3.0))?.item::<f64>()?;
    /// assert!((slope - 1.0).abs() < 0.02);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. Figurnov, Mohamed, Mnih, "Implicit
    /// reparameterization gradients", 2018.
    fn gamma(concentration: impl Operand, shape: &[usize], dtype: DType);

    /// Numbers of the beta distribution on [0, 1], `x / (x + y)` of two of the gamma distribution with the concentrations
    /// `a` and `b`.
    ///
    /// # Shapes
    /// The concentrations broadcast to `shape`.
    ///
    /// # Dtypes
    /// Floats; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// That of [`gamma`](crate::random::Key::gamma).
    ///
    /// # Errors
    /// As for [`gamma`](crate::random::Key::gamma).
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).beta(2.0, 6.0, &[10_000], DType::F64)?.to_vec::<f64>()?;
    /// assert!((x.iter().sum::<f64>() / 1e4 - 0.25).abs() < 0.01);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn beta(a: impl Operand, b: impl Operand, shape: &[usize], dtype: DType);

    /// Vectors of positive numbers with sum 1: those of the gamma distribution, divided by their sum.
    ///
    /// # Shapes
    /// `shape` is that of the result, whose last dimension holds the vectors; the concentration broadcasts to it.
    ///
    /// # Dtypes
    /// Floats; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// That of [`gamma`](crate::random::Key::gamma).
    ///
    /// # Errors
    /// As for [`gamma`](crate::random::Key::gamma), and `Shape` for `[]`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, random::Key};
    /// let x = Key::new(1).dirichlet(Tensor::from([1.0, 2.0, 3.0]), &[5, 3], DType::F64)?;
    /// assert!(x.sum_dims(&[1], false)?.to_vec::<f64>()?.iter().all(|s| (s - 1.0).abs() < 1e-14));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn dirichlet(concentration: impl Operand, shape: &[usize], dtype: DType);

    /// Numbers of the χ² distribution with `df` degrees of freedom, not only whole ones: twice those of the gamma
    /// distribution of concentration `df / 2`.
    ///
    /// # Shapes
    /// The degrees broadcast to `shape`.
    ///
    /// # Dtypes
    /// Floats; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// That of [`gamma`](crate::random::Key::gamma).
    ///
    /// # Errors
    /// As for [`gamma`](crate::random::Key::gamma).
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// let x = Key::new(1).chi2(3.0, &[10_000], DType::F64)?.to_vec::<f64>()?;
    /// assert!((x.iter().sum::<f64>() / 1e4 - 3.0).abs() < 0.1);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn chi2(df: impl Operand, shape: &[usize], dtype: DType);

    /// Numbers of Student's t distribution with `df` degrees of freedom: a normal one, divided by the root of one of
    /// [`chi2`](crate::random::Key::chi2) over `df`.
    ///
    /// # Shapes
    /// The degrees broadcast to `shape`.
    ///
    /// # Dtypes
    /// Floats; numbers are drawn in `f64` and converted.
    ///
    /// # Derivative
    /// That of [`gamma`](crate::random::Key::gamma).
    ///
    /// # Errors
    /// As for [`gamma`](crate::random::Key::gamma).
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, random::Key};
    /// assert_eq!(Key::new(1).student_t(3.0, &[3], DType::F32)?.shape(), [3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn student_t(df: impl Operand, shape: &[usize], dtype: DType);
}

/// The dtype in which numbers of a dtype are made: half precision would round some of them to 0 on the way.
fn working(dtype: DType) -> DType {
    if dtype.is_half() { DType::F32 } else { dtype }
}

fn exponential(from: Source, rate: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("exponential", dtype)?;
    if rate.as_scalar().is_some_and(|r| r.to_f64() == 1.0) {
        return draw("exponential", Kind::Exponential(working(dtype)), shape, from)?.to_dtype(dtype);
    }
    let rate = parameter("exponential", "rate", Must::POSITIVE, rate, shape)?;
    let e = draw("exponential", Kind::Exponential(working(dtype)), shape, from)?;
    e.div(rate.to_dtype(working(dtype))?)?.to_dtype(dtype)
}

/// `n` draws in one.
fn several(op: &'static str, kind: Kind, n: usize, shape: &[usize], from: Source) -> Result<Vec<Tensor>> {
    checked_numel(op, shape)?;
    let all = draw(op, kind, &[&[n], shape].concat(), from)?;
    (0..n as isize).map(|k| all.select(0, k)).collect()
}

fn laplace(from: Source, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("laplace", dtype)?;
    let both = several("laplace", Kind::Exponential(working(dtype)), 2, shape, from)?;
    both[0].sub(&both[1])?.to_dtype(dtype)
}

fn gumbel(from: Source, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("gumbel", dtype)?;
    draw("gumbel", Kind::Exponential(working(dtype)), shape, from)?.log()?.neg()?.to_dtype(dtype)
}

/// Half of the step of uniform numbers in `f64`: with it they are never 0.
const HALF_STEP: f64 = 0.5 / (1u64 << 53) as f64;

fn cauchy(from: Source, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("cauchy", dtype)?;
    // Strictly between the poles, in `f64`, where nothing is rounded.
    let turn = draw("cauchy", Kind::Uniform(DType::F64), shape, from)?.sub(0.5)?.add(HALF_STEP)?;
    turn.mul(std::f64::consts::PI)?.tan()?.to_dtype(dtype)
}

fn log_normal(from: Source, mean: impl Operand, std: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    let op = "log_normal";
    check_float(op, dtype)?;
    // In single precision those beyond it would be infinite, and their sum no number.
    let (finite, not_negative) = if working(dtype) == DType::F32 {
        (
            Must { be: "finite in f32", hold: |v| (v as f32).is_finite() },
            Must { be: "from 0 up and finite in f32", hold: |v| v >= 0.0 && (v as f32).is_finite() },
        )
    } else {
        (Must { be: "finite", hold: f64::is_finite }, Must::NOT_NEGATIVE)
    };
    let mean = parameter(op, "mean", finite, mean, shape)?.to_dtype(working(dtype))?;
    let std = parameter(op, "standard deviation", not_negative, std, shape)?.to_dtype(working(dtype))?;
    draw(op, Kind::Normal(working(dtype)), shape, from)?.mul(std)?.add(mean)?.exp()?.to_dtype(dtype)
}

fn truncated_normal(
    from: Source,
    lower: impl Operand,
    upper: impl Operand,
    shape: &[usize],
    dtype: DType,
) -> Result<Tensor> {
    let op = "truncated_normal";
    check_float(op, dtype)?;
    let lower = parameter(op, "lower bound", Must::ORDERED, lower, shape)?;
    let upper = parameter(op, "upper bound", Must::ORDERED, upper, shape)?;
    let wide = Must {
        be: "between the bounds above 0: `lower` must be below `upper`, and not both more than 38 deviations from 0",
        hold: |v| v > 0.0,
    };
    // In the half where the tail is small and exact. Where both signs occur, either will do.
    let mirrored = lower.gt(0.0)?;
    let below = mirrored.where_(upper.neg()?, &lower)?;
    let above = mirrored.where_(lower.neg()?, &upper)?;
    let share = |x: &Tensor| x.mul(-std::f64::consts::FRAC_1_SQRT_2)?.erfc()?.mul(0.5);
    let (start, end) = (share(&below)?, share(&above)?);
    let width = parameter(op, "probability", wide, end.sub(&start)?, shape)?;
    let at = draw(op, Kind::Uniform(DType::F64), shape, from)?.add(HALF_STEP)?;
    let x = normal_quantile(&start.add(at.mul(width)?)?)?;
    let x = mirrored.where_(x.neg()?, &x)?.to_dtype(dtype)?;
    // Rounding may leave the interval.
    x.maximum(lower.detach()?.to_dtype(dtype)?)?.minimum(upper.detach()?.to_dtype(dtype)?)
}

fn gamma(from: Source, concentration: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("gamma", dtype)?;
    let a = parameter("gamma", "concentration", Must::CONCENTRATION, concentration, shape)?;
    log_gamma(&draw("gamma", Kind::Bits, shape, from)?, &a)?.exp()?.to_dtype(dtype)
}

fn beta(from: Source, a: impl Operand, b: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("beta", dtype)?;
    let a = parameter("beta", "first concentration", Must::CONCENTRATION, a, shape)?;
    let b = parameter("beta", "second concentration", Must::CONCENTRATION, b, shape)?;
    let seeds = several("beta", Kind::Bits, 2, shape, from)?;
    log_gamma(&seeds[0], &a)?.sub(log_gamma(&seeds[1], &b)?)?.sigmoid()?.to_dtype(dtype)
}

fn dirichlet(from: Source, concentration: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("dirichlet", dtype)?;
    if shape.is_empty() {
        bail!(Shape, "dirichlet: expected a shape with a last dimension for the vectors, got []");
    }
    let a = parameter("dirichlet", "concentration", Must::CONCENTRATION, concentration, shape)?;
    log_gamma(&draw("dirichlet", Kind::Bits, shape, from)?, &a)?.softmax(-1)?.to_dtype(dtype)
}

fn chi2(from: Source, df: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("chi2", dtype)?;
    let df = parameter("chi2", "number of degrees of freedom", Must::CONCENTRATION, df, shape)?;
    log_gamma(&draw("chi2", Kind::Bits, shape, from)?, &df.mul(0.5)?)?.exp()?.mul(2.0)?.to_dtype(dtype)
}

fn student_t(from: Source, df: impl Operand, shape: &[usize], dtype: DType) -> Result<Tensor> {
    check_float("student_t", dtype)?;
    let half = parameter("student_t", "number of degrees of freedom", Must::CONCENTRATION, df, shape)?.mul(0.5)?;
    let seeds = several("student_t", Kind::Bits, 2, shape, from)?;
    // A normal number is the root of twice one of concentration one half, with a random sign.
    let spread = log_gamma(&seeds[0], &half)?.sub(half.log()?)?.mul(-0.5)?.exp()?;
    let z = log_gamma(&seeds[1], &Tensor::full(shape, 0.5, DType::F64)?)?.mul(0.5)?.exp()?;
    let z = z.mul(std::f64::consts::SQRT_2)?;
    seeds[1].lt(0)?.where_(z.neg()?, &z)?.mul(spread)?.to_dtype(dtype)
}
