//! Sums, means, and whether any or all elements hold, over dimensions.

use super::discrete::{Discrete, discrete};
use super::family::{Linear, linear};
use super::reduction::{Over, naive_reduce, reshaped};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::kernels::math::Float;
use crate::kernels::{map, reduce};
use crate::shape::{Brackets, Shape, broadcasts_to, with_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The sum of all elements, as a 0-d tensor.
    ///
    /// Sums are pairwise above blocks, and the same for every number of threads.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, repeated.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0]).sum()?.item::<f64>()?, 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sum(&self) -> Result<Tensor> = sum_all { samples: sum_samples };

    /// The sum over `dims`, all of them if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. The sum of nothing is 0.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, repeated along the dimensions.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.sum_dims(&[0], false)?.to_vec::<f64>()?, [4.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sum_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = sum_dims {
        samples: sum_dims_samples, errors: sum_dims_errors,
        python: sum(dims = [], keepdim, dtype)
    };

    /// The sum over everything that broadcasting repeated: the inverse of [`expand`](Tensor::expand) for cotangents.
    ///
    /// # Shapes
    /// `shape` must broadcast to the shape of the tensor.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, expanded.
    ///
    /// # Errors
    /// `Shape` if it does not broadcast.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let g = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(g.sum_to(&[2])?.to_vec::<f64>()?, [4.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn sum_to(&self, shape: &[usize]) -> Result<Tensor> = sum_to {
        samples: sum_to_samples, errors: sum_to_errors,
        python: sum_to_size(*shape as size)
    };

    /// The mean of all elements, as a 0-d tensor.
    ///
    /// # Shapes
    /// The mean of no elements is NaN.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The cotangent divided by the number of elements, repeated.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1, 2]).mean()?.item::<f32>()?, 1.5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn mean(&self) -> Result<Tensor> = mean_all { samples: mean_samples };

    /// The mean over `dims`, all of them if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. The mean of no elements is NaN.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The cotangent divided by the number of elements, repeated along the dimensions.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 5.0]]);
    /// assert_eq!(x.mean_dims(&[1], false)?.to_vec::<f64>()?, [1.5, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn mean_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = mean_dims {
        samples: mean_dims_samples, errors: mean_dims_errors,
        python: mean(dims = [], keepdim, dtype)
    };

    /// Whether any element is non-zero, as a 0-d tensor of dtype bool.
    ///
    /// # Shapes
    /// `false` for no elements.
    ///
    /// # Dtypes
    /// All; NaN counts as non-zero.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert!(Tensor::from([false, true]).any()?.item::<bool>()?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn any(&self) -> Result<Tensor> = any_all { samples: any_samples };

    /// Whether any element is non-zero along `dims`, all of them if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. `false` for no elements.
    ///
    /// # Dtypes
    /// All; NaN counts as non-zero.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0, 1], [0, 0]]);
    /// assert_eq!(x.any_dims(&[1], false)?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn any_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = any_dims {
        samples: any_dims_samples, errors: any_dims_errors
    };

    /// Whether all elements are non-zero, as a 0-d tensor of dtype bool.
    ///
    /// # Shapes
    /// `true` for no elements.
    ///
    /// # Dtypes
    /// All; NaN counts as non-zero.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert!(!Tensor::from([false, true]).all()?.item::<bool>()?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn all(&self) -> Result<Tensor> = all_all { samples: all_samples };

    /// Whether all elements are non-zero along `dims`, all of them if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. `true` for no elements.
    ///
    /// # Dtypes
    /// All; NaN counts as non-zero.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[0, 1], [2, 3]]);
    /// assert_eq!(x.all_dims(&[1], false)?.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn all_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = all_dims {
        samples: all_dims_samples, errors: all_dims_errors
    };
}

/// The sum, or the mean.
#[derive(Clone, Debug)]
pub(super) struct Sum<const MEAN: bool>(pub(super) Over);

/// The transpose of [`Sum`]: the elements repeated to `shape`, divided by the number of copies for the mean.
#[derive(Clone, Debug)]
struct Repeat<const MEAN: bool> {
    over: Over,
    shape: Shape,
}

impl<const MEAN: bool> Linear for Sum<MEAN> {
    const NAME: &'static str = if MEAN { "mean" } else { "sum" };
    fn kernel(&self, x: &Array) -> Result<Array> {
        let mut y = reduce::sum(x, &self.0.dims)?;
        if MEAN {
            y = divide(y, self.0.count(x.shape()))?;
        }
        Ok(self.0.finish(y, x.shape()))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        linear(Repeat::<MEAN> { over: self.0.clone(), shape: Shape::from_slice(input) }, g)
    }
    fn batched(&self, _: usize) -> Sum<MEAN> {
        Sum(self.0.batched())
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Sum<MEAN>, usize)> {
        let (over, lane) = self.0.batched_at(lane);
        Some((Sum(over), lane))
    }
}

impl<const MEAN: bool> Linear for Repeat<MEAN> {
    const NAME: &'static str = if MEAN { "mean_backward" } else { "sum_backward" };
    const COMPUTES: bool = MEAN;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let mut y = reshaped(x, &self.over.kept(&self.shape));
        if MEAN {
            y = divide(y, self.over.count(&self.shape))?;
        }
        Ok(y.expand(&self.shape))
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(Sum::<MEAN>(self.over.clone()), g)
    }
    fn batched(&self, size: usize) -> Repeat<MEAN> {
        Repeat { over: self.over.batched(), shape: with_dim(&self.shape, 0, size) }
    }
}

/// The elements of a float array divided by `n`.
pub(super) fn divide(x: Array, n: usize) -> Result<Array> {
    fn run<T: Float>(mut x: Array, n: T) -> Array {
        if map::map_in_place::<T>(&mut x, |v| v / n) { x } else { map::map::<T, T>(&x, |v| v / n) }
    }
    dispatch!(x.dtype(), "mean", float, T => Ok(run::<T>(x, n as T)))
}

fn sum_all(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 && x.dtype().is_float() {
        return x.unchanged("sum");
    }
    linear(Sum::<false>(Over::all(x.rank())), x)
}

fn sum_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    linear(Sum::<false>(Over::new("sum_dims", x, dims, keepdim)?), x)
}

/// The sum over one dimension, which stays with size 1.
pub(super) fn sum_kept(x: &Tensor, dim: usize) -> Result<Tensor> {
    linear(Sum::<false>(Over::one(dim, true)), x)
}

fn sum_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if x.shape() == shape {
        return x.unchanged("sum_to");
    }
    if !broadcasts_to(shape, x.shape()) {
        bail!(Shape, "sum_to: {} does not broadcast to {}", Brackets(shape), x.ty());
    }
    linear(Sum::<false>(Over::between(shape, x.shape())), x)
}

/// [`to_float`] for what is not defined for complex numbers, although the operations that it is made of are.
pub(super) fn to_real_float(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        bail!(Dtype, "{op}: expected real numbers, got {}", x.ty(); help = "take its `real`, `imag` or `abs`");
    }
    to_float(x)
}

/// `x`, converted to a float dtype if it is neither that nor complex.
pub(super) fn to_float(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(x.dtype().to_float())
}

fn mean_all(x: &Tensor) -> Result<Tensor> {
    let x = to_float(x)?;
    if x.rank() == 0 {
        return Ok(x);
    }
    linear(Sum::<true>(Over::all(x.rank())), &x)
}

fn mean_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    linear(Sum::<true>(Over::new("mean_dims", x, dims, keepdim)?), &to_float(x)?)
}

/// Whether all elements hold, or any.
#[derive(Clone, Debug)]
struct Holds<const ALL: bool>(Over);

impl<const ALL: bool> Discrete for Holds<ALL> {
    const NAME: &'static str = if ALL { "all" } else { "any" };
    fn kernel(&self, x: &Array) -> Result<Array> {
        let y = if ALL { reduce::all(x, &self.0.dims) } else { reduce::any(x, &self.0.dims) };
        Ok(self.0.finish(y?, x.shape()))
    }
    fn batched(&self) -> Holds<ALL> {
        Holds(self.0.batched())
    }
}

fn any_all(x: &Tensor) -> Result<Tensor> {
    discrete(Holds::<false>(Over::all(x.rank())), x)
}

fn any_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    discrete(Holds::<false>(Over::new("any_dims", x, dims, keepdim)?), x)
}

fn all_all(x: &Tensor) -> Result<Tensor> {
    discrete(Holds::<true>(Over::all(x.rank())), x)
}

fn all_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    discrete(Holds::<true>(Over::new("all_dims", x, dims, keepdim)?), x)
}

/// Samples of a reduction to a 0-d tensor.
pub(super) fn total_samples(
    range: (f64, f64),
    shapes: &[&[usize]],
    call: fn(&Tensor) -> Result<Tensor>,
    reference: fn(&[f64]) -> f64,
) -> Vec<Sample> {
    shapes
        .iter()
        .map(|shape| {
            Sample::one(format!("{shape:?}"), [sample_tensor(shape, range.0, range.1, 1)], move |x| call(&x[0]))
                .reference(move |x| vec![Naive { shape: vec![], data: vec![reference(&x[0].data)] }])
        })
        .collect()
}

/// Samples of a reduction over dimensions; those in which elements of the result come from none only if `empty`.
pub(super) fn dims_samples(
    range: (f64, f64),
    empty: bool,
    call: fn(&Tensor, &[isize], bool) -> Result<Tensor>,
    reference: fn(&[f64]) -> f64,
) -> Vec<Sample> {
    let cases: &[(&'static [usize], &'static [isize], &'static [usize], bool)] = &[
        (&[2, 3, 2], &[1], &[1], false),
        (&[2, 3, 2], &[-1, 0], &[0, 2], false),
        (&[3, 2], &[0], &[0], true),
        (&[2, 3], &[], &[0, 1], true),
        (&[], &[], &[], false),
        (&[0, 2], &[1], &[1], false),
        (&[2, 0], &[1], &[1], false),
    ];
    cases
        .iter()
        .filter(|(shape, _, dims, _)| empty || dims.iter().all(|&d| shape[d] > 0))
        .map(|&(shape, dims, resolved, keepdim)| {
            let label = format!("{dims:?} of {shape:?}{}", if keepdim { " keepdim" } else { "" });
            Sample::one(label, [sample_tensor(shape, range.0, range.1, 1)], move |x| call(&x[0], dims, keepdim))
                .reference(move |x| vec![naive_reduce(&x[0], resolved, keepdim, reference)])
        })
        .collect()
}

/// Wrong dimensions for a reduction called `op`.
pub(super) fn dims_errors(call: fn(&Tensor, &[isize], bool) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new("range", ErrorKind::Dim, "dim 2 is out of range for f64[2,3] (valid: -2..=1)", move || {
            call(&x, &[2], false)
        }),
        ErrorSample::new("twice", ErrorKind::Dim, "dim -1 is given twice for f64[2,3]", move || {
            call(&y, &[1, -1], true)
        }),
    ]
}

/// Samples whose inputs are integers.
pub(super) fn discrete_samples(samples: Vec<Sample>) -> Vec<Sample> {
    samples
        .into_iter()
        .map(|mut s| {
            for x in &mut s.inputs {
                *x = x.to_dtype(DType::I64).expect("samples are concrete");
            }
            s.not_differentiable()
        })
        .collect()
}

const SHAPES: &[&[usize]] = &[&[2, 3], &[], &[0, 2]];
const RANGE: (f64, f64) = (-1.0, 1.0);

fn total(x: &[f64]) -> f64 {
    x.iter().sum()
}

fn average(x: &[f64]) -> f64 {
    total(x) / x.len() as f64
}

fn sum_samples() -> Vec<Sample> {
    total_samples(RANGE, SHAPES, Tensor::sum, total)
}

fn sum_dims_samples() -> Vec<Sample> {
    dims_samples(RANGE, true, Tensor::sum_dims, total)
}

fn sum_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::sum_dims)
}

fn sum_to_samples() -> Vec<Sample> {
    let case = |from: &[usize], to: &'static [usize], dims: &'static [usize]| {
        Sample::one(format!("{from:?} to {to:?}"), [sample_tensor(from, -1.0, 1.0, 1)], move |x| x[0].sum_to(to))
            .reference(move |x| vec![Naive { shape: to.to_vec(), ..naive_reduce(&x[0], dims, true, total) }])
    };
    vec![
        case(&[2, 3], &[3], &[0]),
        case(&[2, 3], &[2, 1], &[1]),
        case(&[2, 3, 2], &[3, 1], &[0, 2]),
        case(&[2, 3], &[], &[0, 1]),
        case(&[2, 3], &[2, 3], &[]),
        case(&[0, 3], &[3], &[0]),
    ]
}

fn sum_to_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![ErrorSample::new("shape", ErrorKind::Shape, "[2] does not broadcast to f64[2,3]", move || x.sum_to(&[2]))]
}

fn mean_samples() -> Vec<Sample> {
    total_samples(RANGE, &SHAPES[..2], Tensor::mean, average)
}

fn mean_dims_samples() -> Vec<Sample> {
    dims_samples(RANGE, false, Tensor::mean_dims, average)
}

fn mean_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::mean_dims)
}

fn any_of(x: &[f64]) -> f64 {
    f64::from(x.iter().any(|&v| v != 0.0))
}

fn all_of(x: &[f64]) -> f64 {
    f64::from(x.iter().all(|&v| v != 0.0))
}

fn any_samples() -> Vec<Sample> {
    discrete_samples(total_samples((-2.0, 2.0), SHAPES, Tensor::any, any_of))
}

fn any_dims_samples() -> Vec<Sample> {
    discrete_samples(dims_samples((-1.5, 1.5), true, Tensor::any_dims, any_of))
}

fn any_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::any_dims)
}

fn all_samples() -> Vec<Sample> {
    discrete_samples(total_samples((-2.0, 2.0), SHAPES, Tensor::all, all_of))
}

fn all_dims_samples() -> Vec<Sample> {
    discrete_samples(dims_samples((-3.0, 3.0), true, Tensor::all_dims, all_of))
}

fn all_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::all_dims)
}
