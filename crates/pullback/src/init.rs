//! First values of parameters.
//!
//! Each function takes a shape, a dtype and a [`Generator`], and returns a tensor. Weights are
//! `[outputs, inputs, ..kernel]`, as the operations take them.
//!
//! ```
//! use pullback::{DType, init, random::Generator};
//!
//! let generator = Generator::new(1);
//! let weight = init::kaiming_uniform(&[64, 3, 7, 7], DType::F32, init::Fan::In, init::Gain::Relu, &generator)?;
//! let bias = init::uniform(&[64], -0.1, 0.1, DType::F32, &generator)?;
//! assert_eq!((weight.shape(), bias.shape()), (&[64, 3, 7, 7][..], &[64][..]));
//! # Ok::<(), pullback::Error>(())
//! ```

use crate::error::bail;
use crate::random::Generator;
use crate::shape::{Brackets, numel};
use crate::{DType, Result, Tensor};

/// How many of the inputs or outputs of a layer one element of its weight's other side meets.
///
/// ```
/// use pullback::init::Fan;
/// assert_eq!((Fan::In.of(&[8, 4, 3, 3])?, Fan::Out.of(&[8, 4, 3, 3])?), (36, 72));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fan {
    /// The inputs of an output, which keeps the size of activations.
    In,
    /// The outputs of an input, which keeps the size of gradients.
    Out,
}

impl Fan {
    /// The number for a weight of a shape.
    ///
    /// # Errors
    /// `Shape` if there are fewer than two dimensions.
    pub fn of(self, shape: &[usize]) -> Result<usize> {
        let &[outputs, inputs, ref kernel @ ..] = shape else {
            bail!(Shape, "init: expected the shape of a weight, [outputs, inputs, ..], got {}", Brackets(shape));
        };
        crate::tensor::checked_numel("init", shape)?;
        let side = if self == Fan::In { inputs } else { outputs };
        Ok(side * numel(kernel))
    }
}

/// The function behind a layer, which decides by how much a weight makes up for it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Gain {
    /// None, a convolution, or a sigmoid: 1.
    Linear,
    /// [`tanh`](Tensor::tanh): 5/3.
    Tanh,
    /// [`relu`](Tensor::relu): √2.
    Relu,
    /// [`leaky_relu`](Tensor::leaky_relu) with this slope: `sqrt(2/(1 + slope²))`.
    LeakyRelu(f64),
    /// [`selu`](Tensor::selu): 3/4.
    Selu,
    /// A factor of your own.
    Factor(f64),
}

/// The factor by which a weight makes up for the function behind its layer.
///
/// ```
/// use pullback::init::{Gain, calculate_gain};
/// assert_eq!(calculate_gain(Gain::Relu), 2f64.sqrt());
/// assert_eq!(calculate_gain(Gain::LeakyRelu(1.0)), 1.0);
/// ```
pub fn calculate_gain(gain: Gain) -> f64 {
    match gain {
        Gain::Linear => 1.0,
        Gain::Tanh => 5.0 / 3.0,
        Gain::Relu => std::f64::consts::SQRT_2,
        Gain::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
        Gain::Selu => 0.75,
        Gain::Factor(factor) => factor,
    }
}

/// Numbers uniform in `[low, high)`.
///
/// # Errors
/// `Value` unless `low` and `high` are finite and `low` is at most `high`; `Dtype` unless the dtype is a float.
///
/// ```
/// use pullback::{DType, init, random::Generator};
/// let x = init::uniform(&[100], 2.0, 3.0, DType::F64, &Generator::new(1))?.to_vec::<f64>()?;
/// assert!(x.iter().all(|x| (2.0..3.0).contains(x)));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn uniform(shape: &[usize], low: f64, high: f64, dtype: DType, generator: &Generator) -> Result<Tensor> {
    if !(low <= high && (high - low).is_finite()) {
        bail!(Value, "init::uniform: expected finite low <= high, got {low} and {high}");
    }
    generator.uniform(shape, dtype)?.mul(high - low)?.add(low)
}

/// Numbers of a normal distribution.
///
/// # Errors
/// `Value` if `std` is negative or one of both is no finite number; `Dtype` unless the dtype is a float.
///
/// ```
/// use pullback::{DType, init, random::Generator};
/// let x = init::normal(&[10_000], 5.0, 0.1, DType::F64, &Generator::new(1))?;
/// assert!((x.mean()?.item::<f64>()? - 5.0).abs() < 0.01);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn normal(shape: &[usize], mean: f64, std: f64, dtype: DType, generator: &Generator) -> Result<Tensor> {
    check_normal("normal", mean, std)?;
    generator.normal(shape, dtype)?.mul(std)?.add(mean)
}

fn check_normal(op: &str, mean: f64, std: f64) -> Result<()> {
    if !(std >= 0.0 && std.is_finite() && mean.is_finite()) {
        bail!(Value, "init::{op}: expected a finite mean and a std that is not negative, got {mean} and {std}");
    }
    Ok(())
}

/// Numbers of the part of a normal distribution that lies in `[low, high]`.
///
/// # Errors
/// `Value` if `std` is not positive, unless `low` is below `high`, or if the interval lies so far from the mean that nothing falls
/// into it; `Dtype` unless the dtype is a float.
///
/// ```
/// use pullback::{DType, init, random::Generator};
/// let x = init::trunc_normal(&[1000], 0.0, 1.0, -0.5, 2.0, DType::F64, &Generator::new(1))?.to_vec::<f64>()?;
/// assert!(x.iter().all(|x| (-0.5..=2.0).contains(x)));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// By the inverse of the distribution function.
pub fn trunc_normal(
    shape: &[usize],
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    dtype: DType,
    generator: &Generator,
) -> Result<Tensor> {
    check_normal("trunc_normal", mean, std)?;
    if low.is_nan() || high.is_nan() || low >= high || std == 0.0 {
        bail!(Value, "init::trunc_normal: expected low < high and a positive std, got {low}, {high} and {std}");
    }
    if !dtype.is_float() {
        bail!(Dtype, "init::trunc_normal: expected a floating dtype, got {dtype}");
    }
    // The distribution function less 1/2, doubled: of the negative side, so that nothing is lost where it is close to 1.
    let ends =
        Tensor::from([low, high]).sub(mean)?.mul(std::f64::consts::FRAC_1_SQRT_2 / std)?.erf()?.to_vec::<f64>()?;
    if ends[0] == ends[1] {
        bail!(
            Value,
            "init::trunc_normal: expected an interval that the distribution reaches, got {low} to {high} for mean \
            {mean} and std {std}"
        );
    }
    let u = generator.uniform(shape, DType::F64)?.mul(ends[1] - ends[0])?.add(ends[0])?;
    // A place of 1 or -1 would be at infinity, which the clamp brings back to the end of the interval.
    u.erfinv()?.mul(std * std::f64::consts::SQRT_2)?.add(mean)?.clamp(Some(low), Some(high))?.to_dtype(dtype)
}

fn check_gain(op: &str, gain: Gain) -> Result<f64> {
    let factor = calculate_gain(gain);
    if !(factor >= 0.0 && factor.is_finite()) {
        bail!(Value, "init::{op}: expected a finite gain that is not negative, got {factor}");
    }
    Ok(factor)
}

/// The standard deviation that keeps the size of activations and of gradients about the same.
fn xavier(op: &str, shape: &[usize], gain: Gain) -> Result<f64> {
    let sum = Fan::In.of(shape)? + Fan::Out.of(shape)?;
    Ok(check_gain(op, gain)? * (2.0 / sum.max(1) as f64).sqrt())
}

/// A weight uniform in `±gain·sqrt(6/(fan in + fan out))`.
///
/// # Errors
/// `Shape` if there are fewer than two dimensions; `Value` for a negative gain; `Dtype` unless the dtype is a float.
///
/// ```
/// use pullback::{DType, init::{self, Gain}, random::Generator};
/// let w = init::xavier_uniform(&[2, 4], DType::F64, Gain::Linear, &Generator::new(1))?;
/// assert!(w.to_vec::<f64>()?.iter().all(|x| x.abs() <= 1.0));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
pub fn xavier_uniform(shape: &[usize], dtype: DType, gain: Gain, generator: &Generator) -> Result<Tensor> {
    let bound = 3f64.sqrt() * xavier("xavier_uniform", shape, gain)?;
    uniform(shape, -bound, bound, dtype, generator)
}

/// A weight of the normal distribution with standard deviation `gain·sqrt(2/(fan in + fan out))`.
///
/// # Errors
/// As for [`xavier_uniform`].
///
/// ```
/// use pullback::{DType, init::{self, Gain}, random::Generator};
/// let w = init::xavier_normal(&[100, 100], DType::F64, Gain::Tanh, &Generator::new(1))?;
/// assert!((w.std()?.item::<f64>()? - 1.0 / 6.0).abs() < 0.01);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn xavier_normal(shape: &[usize], dtype: DType, gain: Gain, generator: &Generator) -> Result<Tensor> {
    normal(shape, 0.0, xavier("xavier_normal", shape, gain)?, dtype, generator)
}

fn kaiming(op: &str, shape: &[usize], fan: Fan, gain: Gain) -> Result<f64> {
    Ok(check_gain(op, gain)? / (fan.of(shape)?.max(1) as f64).sqrt())
}

/// A weight uniform in `±gain·sqrt(3/fan)`.
///
/// # Errors
/// As for [`xavier_uniform`].
///
/// ```
/// use pullback::{DType, init::{self, Fan, Gain}, random::Generator};
/// let w = init::kaiming_uniform(&[5, 6], DType::F64, Fan::In, Gain::Relu, &Generator::new(1))?;
/// assert!(w.to_vec::<f64>()?.iter().all(|x| x.abs() <= 1.0));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// He et al., "Delving deep into rectifiers", 2015.
pub fn kaiming_uniform(shape: &[usize], dtype: DType, fan: Fan, gain: Gain, generator: &Generator) -> Result<Tensor> {
    let bound = 3f64.sqrt() * kaiming("kaiming_uniform", shape, fan, gain)?;
    uniform(shape, -bound, bound, dtype, generator)
}

/// A weight of the normal distribution with standard deviation `gain/sqrt(fan)`.
///
/// # Errors
/// As for [`xavier_uniform`].
///
/// ```
/// use pullback::{DType, init::{self, Fan, Gain}, random::Generator};
/// let w = init::kaiming_normal(&[100, 50], DType::F64, Fan::Out, Gain::Relu, &Generator::new(1))?;
/// assert!((w.std()?.item::<f64>()? - 0.02f64.sqrt()).abs() < 0.01);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn kaiming_normal(shape: &[usize], dtype: DType, fan: Fan, gain: Gain, generator: &Generator) -> Result<Tensor> {
    normal(shape, 0.0, kaiming("kaiming_normal", shape, fan, gain)?, dtype, generator)
}

/// A weight whose rows, all dimensions but the first taken together, are orthogonal to each other and of length `gain`; or its columns, if it has more
/// rows. Every such matrix is equally likely.
///
/// # Errors
/// As for [`xavier_uniform`].
///
/// ```
/// use pullback::{DType, Tensor, init::{self, Gain}, random::Generator};
/// let w = init::orthogonal(&[3, 5], DType::F64, Gain::Linear, &Generator::new(1))?;
/// let product = w.matmul(&w.transpose(0, 1)?)?;
/// assert!((product - Tensor::eye(3, DType::F64)?).abs()?.max()?.item::<f64>()? < 1e-12);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2013.
pub fn orthogonal(shape: &[usize], dtype: DType, gain: Gain, generator: &Generator) -> Result<Tensor> {
    Fan::In.of(shape)?;
    let factor = check_gain("orthogonal", gain)?;
    if !dtype.is_float() {
        bail!(Dtype, "init::orthogonal: expected a floating dtype, got {dtype}");
    }
    let (rows, columns) = (shape[0], numel(&shape[1..]));
    let (long, short) = (rows.max(columns), rows.min(columns));
    let mut vectors = generator.normal(&[short, long], DType::F64)?.to_vec::<f64>()?;
    orthonormalize(&mut vectors, long);
    let matrix = Tensor::from_slice(&vectors, &[short, long])?;
    let matrix = if rows < columns { matrix } else { matrix.transpose(0, 1)? };
    matrix.mul(factor)?.reshape_to(shape)?.to_dtype(dtype)
}

/// Makes vectors of length `n` orthogonal to each other, and of length 1, by taking from each the parts along those before it. Twice, since
/// what the first time leaves is small against rounding.
fn orthonormalize(vectors: &mut [f64], n: usize) {
    if n == 0 {
        return;
    }
    for k in 0..vectors.len() / n {
        let (before, rest) = vectors.split_at_mut(k * n);
        let own = &mut rest[..n];
        for _ in 0..2 {
            for other in before.chunks(n) {
                let part: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other).for_each(|(a, b)| *a -= part * b);
            }
            let length = own.iter().map(|a| a * a).sum::<f64>().sqrt();
            own.iter_mut().for_each(|a| *a /= length);
        }
    }
}

/// The weight of a convolution that passes its channels on: 1 in the middle of the kernel where output and input have the same number, in each of
/// `groups` groups, and 0 elsewhere.
///
/// # Errors
/// `Shape` unless there are three to five dimensions and a multiple of `groups` outputs; `Value` if `groups` is 0.
///
/// ```
/// use pullback::{DType, Tensor, init, nn::Conv};
/// let w = init::dirac(&[2, 2, 3], 1, DType::F64)?;
/// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// assert_eq!(x.conv1d(&w, None, &Conv::new().padding(1))?.to_vec::<f64>()?, x.to_vec::<f64>()?);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn dirac(shape: &[usize], groups: usize, dtype: DType) -> Result<Tensor> {
    if groups == 0 {
        bail!(Value, "init::dirac: expected at least one group, got 0");
    }
    if !(3..=5).contains(&shape.len()) || !shape[0].is_multiple_of(groups) {
        bail!(
            Shape,
            "init::dirac: expected the shape of a weight of a convolution with a multiple of {groups} outputs, got {}",
            Brackets(shape)
        );
    }
    crate::tensor::checked_numel("init::dirac", shape)?;
    let (each, inputs, kernel) = (shape[0] / groups, shape[1], &shape[2..]);
    let size = numel(kernel);
    let middle = kernel.iter().fold(0, |flat, &n| flat * n + n / 2);
    let mut values = vec![0.0; numel(shape)];
    if size > 0 {
        for output in 0..shape[0] {
            if output % each < inputs {
                values[(output * inputs + output % each) * size + middle] = 1.0;
            }
        }
    }
    Tensor::from_slice(&values, shape)?.to_dtype(dtype)
}

/// A matrix of the normal distribution with standard deviation `std` in which a part of each column, `sparsity`, rounded up to
/// whole elements, is 0.
///
/// # Errors
/// `Shape` unless there are two dimensions; `Value` unless `sparsity` lies in [0, 1], or for a negative `std`; `Dtype` unless the dtype is
/// a float.
///
/// ```
/// use pullback::{DType, init, random::Generator};
/// let w = init::sparse(&[10, 3], 0.25, 1.0, DType::F64, &Generator::new(1))?;
/// assert_eq!(w.eq(0.0)?.count_nonzero()?.item::<i64>()?, 9);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// Martens, "Deep learning via Hessian-free optimization", 2010.
pub fn sparse(shape: &[usize], sparsity: f64, std: f64, dtype: DType, generator: &Generator) -> Result<Tensor> {
    let &[rows, _] = shape else {
        bail!(Shape, "init::sparse: expected the shape of a matrix, got {}", Brackets(shape));
    };
    if !(0.0..=1.0).contains(&sparsity) {
        bail!(Value, "init::sparse: expected a sparsity from 0 to 1, got {sparsity}");
    }
    let zeros = (sparsity * rows as f64).ceil() as i64;
    // The places of the smallest of as many random numbers are a random choice.
    let order = generator.uniform(shape, DType::F64)?.argsort(0, false)?.argsort(0, false)?;
    order.lt(zeros)?.where_(0.0, &normal(shape, 0.0, std, dtype, generator)?)
}
