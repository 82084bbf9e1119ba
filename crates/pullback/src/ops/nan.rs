//! Sums and means that leave NaN out, and how many elements are not zero.

use super::compare::truth;
use super::family::{Unary, linear, unary};
use super::reduce::{Sum, dims_errors, dims_samples, discrete_samples, to_float, total_samples};
use super::reduction::{Over, naive_reduce};
use super::table::{ErrorSample, Kink, Naive, Sample, ops};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::map;
use crate::{Result, Tensor};

ops! { OPS;
    /// The sum of all elements that are not NaN, as a 0-d tensor.
    ///
    /// # Shapes
    /// The sum of nothing is 0.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, repeated, and 0 for elements that are NaN.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([1.0, f64::NAN, 2.0]);
    /// assert_eq!(x.nansum()?.item::<f64>()?, 3.0);
    /// assert_eq!(grad(Tensor::nansum)(&x)?.to_vec::<f64>()?, [1.0, 0.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nansum(&self) -> Result<Tensor> = nansum_all { samples: nansum_samples, kinks: nansum_kinks };

    /// The sum over `dims` of the elements that are not NaN, over all dimensions if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. The sum of nothing is 0.
    ///
    /// # Dtypes
    /// All; integers and bools sum as `i64`.
    ///
    /// # Derivative
    /// The cotangent, repeated along the dimensions, and 0 for elements that are NaN.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, f64::NAN], [2.0, 3.0]]);
    /// assert_eq!(x.nansum_dims(&[0], false)?.to_vec::<f64>()?, [3.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nansum_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = nansum_dims {
        samples: nansum_dims_samples, errors: nansum_dims_errors, kinks: nansum_dims_kinks,
        python: nansum(dims = [], keepdim, dtype)
    };

    /// The mean of all elements that are not NaN, as a 0-d tensor.
    ///
    /// # Shapes
    /// The mean of nothing is NaN.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The cotangent divided by the number of elements that are not NaN, repeated, and 0 for those that are.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([1.0, f64::NAN, 2.0]);
    /// assert_eq!(x.nanmean()?.item::<f64>()?, 1.5);
    /// assert_eq!(grad(Tensor::nanmean)(&x)?.to_vec::<f64>()?, [0.5, 0.0, 0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nanmean(&self) -> Result<Tensor> = nanmean_all { samples: nanmean_samples, kinks: nanmean_kinks };

    /// The mean over `dims` of the elements that are not NaN, over all dimensions if the list is empty.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. The mean of nothing is NaN.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// The cotangent divided by the number of elements that are not NaN, repeated along the dimensions, and 0 for those
    /// that are.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, f64::NAN], [2.0, 3.0]]);
    /// assert_eq!(x.nanmean_dims(&[0], false)?.to_vec::<f64>()?, [1.5, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nanmean_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = nanmean_dims {
        samples: nanmean_dims_samples, errors: nanmean_dims_errors, kinks: nanmean_dims_kinks,
        python: nanmean(dims = [], keepdim, dtype)
    };

    /// How many elements are not zero, as a 0-d tensor of dtype `i64`.
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
    /// assert_eq!(Tensor::from([0.0, 1.0, -2.0]).count_nonzero()?.item::<i64>()?, 2);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn count_nonzero(&self) -> Result<Tensor> = count_all { samples: count_samples };

    /// How many elements along `dims` are not zero, all dimensions if the list is empty, as `i64`.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
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
    /// assert_eq!(x.count_nonzero_dims(&[1], false)?.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn count_nonzero_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = count_dims {
        samples: count_dims_samples, errors: count_dims_errors
    };
}

/// The elements, with 0 for NaN.
struct ZeroForNan;

impl Unary for ZeroForNan {
    const NAME: &'static str = "nansum";
    fn kernel(x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), "nansum", float, T => Ok(map::map::<T, T>(x,
            #[inline(always)] |v| if v.is_nan() { 0.0 } else { v })))
    }
    fn derivative(d: &Tensor, x: &Tensor, _: &Tensor) -> Result<Tensor> {
        x.isnan()?.where_(0, d)
    }
}

fn nansum_over(x: &Tensor, over: Over) -> Result<Tensor> {
    let sum = |x: &Tensor| linear(Sum::<false>(over), x);
    if x.dtype().is_differentiable() { sum(&unary::<ZeroForNan>(x)?) } else { sum(x) }
}

fn nanmean_over(x: &Tensor, over: Over) -> Result<Tensor> {
    if !x.dtype().is_differentiable() {
        return linear(Sum::<true>(over), &to_float(x)?);
    }
    let count = linear(Sum::<false>(over.clone()), &x.eq(x)?)?;
    nansum_over(x, over)?.div(count.to_dtype(x.dtype())?)
}

fn nansum_all(x: &Tensor) -> Result<Tensor> {
    nansum_over(x, Over::all(x.rank()))
}

fn nansum_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    nansum_over(x, Over::new("nansum_dims", x, dims, keepdim)?)
}

fn nanmean_all(x: &Tensor) -> Result<Tensor> {
    nanmean_over(x, Over::all(x.rank()))
}

fn nanmean_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    nanmean_over(x, Over::new("nanmean_dims", x, dims, keepdim)?)
}

fn count_over(x: &Tensor, over: Over) -> Result<Tensor> {
    linear(Sum::<false>(over), &truth(x)?)
}

fn count_all(x: &Tensor) -> Result<Tensor> {
    count_over(x, Over::all(x.rank()))
}

fn count_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    count_over(x, Over::new("count_nonzero_dims", x, dims, keepdim)?)
}

const RANGE: (f64, f64) = (-1.0, 1.0);

fn naive_sum(x: &[f64]) -> f64 {
    x.iter().filter(|v| !v.is_nan()).sum()
}

fn naive_mean(x: &[f64]) -> f64 {
    naive_sum(x) / x.iter().filter(|v| !v.is_nan()).count() as f64
}

fn holes() -> Tensor {
    Tensor::from([[1.0, f64::NAN, -2.0], [f64::NAN, f64::NAN, 0.5]])
}

/// NaN among the elements.
fn with_holes(
    mut samples: Vec<Sample>,
    call: fn(&Tensor, &[isize], bool) -> Result<Tensor>,
    reference: fn(&[f64]) -> f64,
) -> Vec<Sample> {
    samples.push(
        Sample::one("some NaN", [holes()], move |x| call(&x[0], &[1], false))
            .reference(move |x| vec![naive_reduce(&x[0], &[1], false, reference)])
            .special(),
    );
    samples.push(
        Sample::one(
            "NaN alone",
            [holes().narrow(0, 0, 1).and_then(|x| x.narrow(1, 1, 1)).expect("in range")],
            move |x| call(&x[0], &[1], true),
        )
        .reference(move |x| vec![naive_reduce(&x[0], &[1], true, reference)])
        .special(),
    );
    samples
}

fn hole_kinks(call: fn(&Tensor) -> Result<Tensor>, each: f64) -> Vec<Kink> {
    vec![Kink::new("NaN", Tensor::from([1.0, f64::NAN, -2.0]), [each, 0.0, each], call)]
}

fn nansum_samples() -> Vec<Sample> {
    with_holes(
        total_samples(RANGE, &[&[2, 3], &[], &[0, 2]], Tensor::nansum, naive_sum),
        Tensor::nansum_dims,
        naive_sum,
    )
}

fn nansum_kinks() -> Vec<Kink> {
    hole_kinks(Tensor::nansum, 1.0)
}

fn nansum_dims_samples() -> Vec<Sample> {
    with_holes(dims_samples(RANGE, true, Tensor::nansum_dims, naive_sum), Tensor::nansum_dims, naive_sum)
}

fn nansum_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::nansum_dims)
}

fn nansum_dims_kinks() -> Vec<Kink> {
    hole_kinks(|x| x.nansum_dims(&[0], true), 1.0)
}

fn nanmean_samples() -> Vec<Sample> {
    with_holes(total_samples(RANGE, &[&[2, 3], &[]], Tensor::nanmean, naive_mean), Tensor::nanmean_dims, naive_mean)
}

fn nanmean_kinks() -> Vec<Kink> {
    hole_kinks(Tensor::nanmean, 0.5)
}

fn nanmean_dims_samples() -> Vec<Sample> {
    with_holes(dims_samples(RANGE, false, Tensor::nanmean_dims, naive_mean), Tensor::nanmean_dims, naive_mean)
}

fn nanmean_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::nanmean_dims)
}

fn nanmean_dims_kinks() -> Vec<Kink> {
    hole_kinks(|x| x.nanmean_dims(&[0], true), 0.5)
}

fn naive_count(x: &[f64]) -> f64 {
    x.iter().filter(|&&v| v != 0.0).count() as f64
}

fn count_samples() -> Vec<Sample> {
    discrete_samples(total_samples((-2.0, 2.0), &[&[2, 3], &[], &[0, 2]], Tensor::count_nonzero, naive_count))
}

fn count_dims_samples() -> Vec<Sample> {
    let mut samples = discrete_samples(dims_samples((-1.5, 1.5), true, Tensor::count_nonzero_dims, naive_count));
    samples.push(
        Sample::one("NaN", [Tensor::from([f64::NAN, 0.0, -0.0, 2.0])], |x| x[0].count_nonzero_dims(&[0], false))
            .reference(|x| vec![Naive { shape: vec![], data: vec![naive_count(&x[0].data)] }])
            .special(),
    );
    samples
}

fn count_dims_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::count_nonzero_dims)
}
