//! Variances and standard deviations.

use super::arith::mul_owned;
use super::family::{Binary, Operands, Reads, binary, linear};
use super::norm::{out_of_range, unit_of};
use super::reduce::{Sum, dims_errors, divide, to_float};
use super::reduction::{Over, Reduce, naive_reduce, reduction, reshaped};
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::math::Float;
use crate::kernels::{map, moments, reduce};
use crate::{DType, Result, Tensor};

ops! { OPS;
    /// The unbiased variance of all elements, as a 0-d tensor: the sum of squared deviations from the mean, divided
    /// by one less than the number of elements.
    ///
    /// # Shapes
    /// NaN for fewer than two elements.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `2 (x - mean) / (n - 1)`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0, 3.0]).var()?.item::<f64>()?, 1.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn var(&self) -> Result<Tensor> = var_all { samples: var_samples };

    /// The variance over `dims`, all of them if the list is empty: the sum of squared deviations from the mean,
    /// divided by `n - correction` for `n` elements.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. A divisor below 1 counts as 0, which gives NaN
    /// or infinity.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `2 (x - mean) / (n - correction)`.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 3.0], [2.0, 2.0]]);
    /// assert_eq!(x.var_dims(&[1], 1, false)?.to_vec::<f64>()?, [2.0, 0.0]);
    /// assert_eq!(x.var_dims(&[1], 0, false)?.to_vec::<f64>()?, [1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// `correction` is that of the Python array API standard: 1 for the unbiased estimate (Bessel), 0 for the variance
    /// of a population.
    fn var_dims(&self, dims: &[isize], correction: usize, keepdim: bool) -> Result<Tensor> = var_dims {
        samples: var_dims_samples, errors: var_dims_errors,
        python: var(dims = [], correction = 1, keepdim),
        python: var(dims, correction as unbiased: Unbiased, keepdim),
        python: var(correction as unbiased: Unbiased, dims = [], keepdim)
    };

    /// The square root of the unbiased variance of all elements, as a 0-d tensor.
    ///
    /// # Shapes
    /// NaN for fewer than two elements.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `(x - mean) / ((n - 1) std)`. Where all elements are equal it is 0, the value that the symmetry of the kink
    /// singles out, and so are the higher ones; [`var`](Tensor::var) is smooth there.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([1.0, 3.0, 5.0]).std()?.item::<f64>()?, 2.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn std(&self) -> Result<Tensor> = std_all { samples: std_samples, kinks: std_kinks };

    /// The standard deviation over `dims`, all of them if the list is empty: the square root of
    /// [`var_dims`](Tensor::var_dims).
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`. A divisor below 1 counts as 0, which gives NaN
    /// or infinity.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `(x - mean) / ((n - correction) std)`, and 0 where all elements are equal; see [`std`](Tensor::std).
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 3.0], [2.0, 2.0]]);
    /// assert_eq!(x.std_dims(&[1], 0, false)?.to_vec::<f64>()?, [1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn std_dims(&self, dims: &[isize], correction: usize, keepdim: bool) -> Result<Tensor> = std_dims {
        samples: std_dims_samples, errors: std_dims_errors, kinks: std_dims_kinks,
        python: std(dims = [], correction = 1, keepdim),
        python: std(dims, correction as unbiased: Unbiased, keepdim),
        python: std(correction as unbiased: Unbiased, dims = [], keepdim)
    };

    /// The variance over `dims`, all of them if the list is empty, and the mean; see [`var_dims`](Tensor::var_dims).
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// As those of [`var_dims`](Tensor::var_dims) and [`mean_dims`](Tensor::mean_dims).
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (var, mean) = Tensor::from([1.0, 2.0, 3.0]).var_mean(&[], 1, false)?;
    /// assert_eq!((var.item::<f64>()?, mean.item::<f64>()?), (1.0, 2.0));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn var_mean(&self, dims: &[isize], correction: usize, keepdim: bool) -> Result<(Tensor, Tensor)> = var_mean {
        samples: var_mean_samples, errors: var_mean_errors,
        python: function::var_mean(self as input, dims = [], correction = 1, keepdim),
        python: function::var_mean(self as input, dims, correction as unbiased: Unbiased, keepdim),
        python: function::var_mean(self as input, correction as unbiased: Unbiased, dims = [], keepdim)
    };

    /// The standard deviation over `dims`, all of them if the list is empty, and the mean; see [`std_dims`](Tensor::std_dims).
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// As those of [`std_dims`](Tensor::std_dims) and [`mean_dims`](Tensor::mean_dims).
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (std, mean) = Tensor::from([1.0, 3.0, 5.0]).std_mean(&[], 1, false)?;
    /// assert_eq!((std.item::<f64>()?, mean.item::<f64>()?), (2.0, 3.0));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn std_mean(&self, dims: &[isize], correction: usize, keepdim: bool) -> Result<(Tensor, Tensor)> = std_mean {
        samples: std_mean_samples, errors: std_mean_errors,
        python: function::std_mean(self as input, dims = [], correction = 1, keepdim),
        python: function::std_mean(self as input, dims, correction as unbiased: Unbiased, keepdim),
        python: function::std_mean(self as input, correction as unbiased: Unbiased, dims = [], keepdim)
    };
}

fn var_mean(x: &Tensor, dims: &[isize], correction: usize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let over = Over::new("var_mean", x, dims, keepdim)?;
    let x = to_float(x)?;
    Ok((reduction(Var::<false> { correction }, over.clone(), &x)?, linear(Sum::<true>(over), &x)?))
}

fn std_mean(x: &Tensor, dims: &[isize], correction: usize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let over = Over::new("std_mean", x, dims, keepdim)?;
    let x = to_float(x)?;
    Ok((reduction(Var::<true> { correction }, over.clone(), &x)?, linear(Sum::<true>(over), &x)?))
}

type CallWithMean = fn(&Tensor, &[isize], usize, bool) -> Result<(Tensor, Tensor)>;

fn with_mean_samples(call: CallWithMean, of_variance: fn(f64) -> f64) -> Vec<Sample> {
    let case = |shape: &[usize], dims: &'static [isize], over: &'static [usize], correction: usize, keepdim: bool| {
        let label = format!("{dims:?} of {shape:?} correction {correction}, keepdim {keepdim}");
        Sample::new(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
            let (spread, mean) = call(&x[0], dims, correction, keepdim)?;
            Ok(vec![spread, mean])
        })
        .reference(move |x| {
            vec![
                naive_reduce(&x[0], over, keepdim, |x| of_variance(naive_variance(x, correction))),
                naive_reduce(&x[0], over, keepdim, |x| x.iter().sum::<f64>() / x.len() as f64),
            ]
        })
    };
    vec![
        case(&[2, 3, 2], &[1], &[1], 1, false),
        case(&[2, 3], &[], &[0, 1], 0, true),
        case(&[0, 2], &[1], &[1], 1, false),
    ]
}

fn var_mean_samples() -> Vec<Sample> {
    with_mean_samples(Tensor::var_mean, |v| v)
}

fn std_mean_samples() -> Vec<Sample> {
    with_mean_samples(Tensor::std_mean, f64::sqrt)
}

fn var_mean_errors() -> Vec<ErrorSample> {
    dims_errors(|x, dims, keepdim| Ok(x.var_mean(dims, 1, keepdim)?.0))
}

fn std_mean_errors() -> Vec<ErrorSample> {
    dims_errors(|x, dims, keepdim| Ok(x.std_mean(dims, 1, keepdim)?.0))
}

/// The variance, or its square root.
#[derive(Clone)]
struct Var<const ROOT: bool> {
    correction: usize,
}

impl<const ROOT: bool> Reduce for Var<ROOT> {
    const NAME: &'static str = if ROOT { "std" } else { "var" };
    const READS_OUTPUT: bool = ROOT;

    fn kernel(&self, x: &Array, over: &Over) -> Result<Array> {
        let divisor = over.count(x.shape()).saturating_sub(self.correction);
        dispatch!(x.dtype(), Self::NAME, float, T => {
            let y = variance::<T>(x, over, divisor, ROOT)?;
            if ROOT && out_of_range::<T>(&y, 2.0) { scaled_root::<T>(x, over, divisor) } else { Ok(y) }
        })
    }

    fn weights(&self, x: &Tensor, y: &Tensor, over: &Over) -> Result<Tensor> {
        let divisor = over.count(x.shape()).saturating_sub(self.correction) as f64;
        let deviation = x.sub(linear(Sum::<true>(over.keeping()), x)?)?;
        if !ROOT {
            return deviation.mul(2.0 / divisor);
        }
        over_or_zero(&deviation, y)?.div(divisor)
    }
}

/// The root of a variance that would overflow or vanish, in units of the largest magnitude.
fn scaled_root<T: Float>(x: &Array, over: &Over, divisor: usize) -> Result<Array> {
    let x = Tensor::from(x.clone());
    let unit = unit_of(reduce::max(x.abs()?.concrete(), &over.dims)?.into())?;
    let scaled = x.div(unit.reshape_to(&over.kept(x.shape()))?)?;
    Ok(Tensor::from(variance::<T>(scaled.concrete(), over, divisor, true)?).mul(unit)?.concrete().clone())
}

fn variance<T: Float>(x: &Array, over: &Over, divisor: usize, root: bool) -> Result<Array> {
    let kept = over.kept(x.shape());
    if let Some(y) = moments::variance(x, &over.dims, divisor, root) {
        return Ok(y);
    }
    let mean_of = |x: &Array| Ok(reshaped(&divide(reduce::sum(x, &over.dims)?, over.count(x.shape()))?, &kept));
    let squared = |x: &Array, mean: &Array| {
        let squares = map::zip::<T, T, T>(x, mean, x.shape(), |x, m| (x - m) * (x - m));
        divide(reduce::sum(&squares, &over.dims)?, divisor)
    };
    let mean = mean_of(x)?;
    let mut y = squared(x, &mean)?;
    // Beside a large mean, its rounding would show: elements that are all equal would get a deviation, and a derivative.
    let shows = map::zip::<T, T, bool>(&reshaped(&y, &kept), &mean, &kept, |v, m| v < m * m * T::from_f64(1e-6));
    if reduce::any(&shows, &(0..kept.len()).collect::<Vec<_>>())?.first::<bool>() {
        let deviations = map::zip::<T, T, T>(x, &mean, x.shape(), |x, m| x - m);
        y = squared(&deviations, &mean_of(&deviations)?)?;
    }
    Ok(if root { map::map::<T, T>(&y, |v| v.sqrt()) } else { y })
}

/// `a / b`, and 0 where `b` is 0, with all derivatives: the share that an element has in a length. Of infinite ones it is the sign.
struct OverOrZero;

/// See [`OverOrZero`].
pub(super) fn over_or_zero(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    binary::<OverOrZero>(a, b)
}

/// Whether all elements are 0 or have an inverse with all its digits.
fn invertible<T: Float>(b: &Array) -> bool {
    let least = T::from_f64(match T::DTYPE {
        DType::F32 => f64::from(f32::MIN_POSITIVE),
        _ => f64::MIN_POSITIVE,
    });
    let most = T::ONE / least;
    b.as_slice::<T>().is_some_and(|b| b.iter().all(|&b| b == T::ZERO || (least..=most).contains(&b.abs())))
}

impl Binary for OverOrZero {
    const NAME: &'static str = "over_or_zero";
    fn kernel(a: &Array, b: &Array, shape: &[usize]) -> Result<Array> {
        dispatch!(b.dtype(), Self::NAME, float, T => Ok(if b.numel() < a.numel() && invertible::<T>(b) {
            // Fewer divisions.
            let inverse = map::map::<T, T>(b, #[inline(always)] |b| if b == 0.0 { 0.0 } else { 1.0 / b });
            map::zip::<T, T, T>(a, &inverse, shape, #[inline(always)] |a, b| a * b)
        } else {
            map::zip::<T, T, T>(a, b, shape, #[inline(always)] |a, b| {
                let quotient = if b == 0.0 { 0.0 } else { a / b };
                if a.abs() == T::INFINITY && b.abs() == T::INFINITY { a.signum() * b.signum() } else { quotient }
            })
        }))
    }
    fn reads(needs: (bool, bool)) -> Reads {
        Reads { lhs: false, rhs: true, output: needs.1 }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        over_or_zero(d, values.rhs())
    }
    fn right(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        mul_owned(over_or_zero(d, values.rhs())?, values.output().neg()?)
    }
}

fn var_all(x: &Tensor) -> Result<Tensor> {
    reduction(Var::<false> { correction: 1 }, Over::all(x.rank()), &to_float(x)?)
}

fn var_dims(x: &Tensor, dims: &[isize], correction: usize, keepdim: bool) -> Result<Tensor> {
    reduction(Var::<false> { correction }, Over::new("var_dims", x, dims, keepdim)?, &to_float(x)?)
}

fn std_all(x: &Tensor) -> Result<Tensor> {
    reduction(Var::<true> { correction: 1 }, Over::all(x.rank()), &to_float(x)?)
}

fn std_dims(x: &Tensor, dims: &[isize], correction: usize, keepdim: bool) -> Result<Tensor> {
    reduction(Var::<true> { correction }, Over::new("std_dims", x, dims, keepdim)?, &to_float(x)?)
}

fn naive_variance(x: &[f64], correction: usize) -> f64 {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (x.len() - correction) as f64
}

type Call = fn(&Tensor, &[isize], usize, bool) -> Result<Tensor>;

fn moment_samples(call: Call, of_variance: fn(f64) -> f64) -> Vec<Sample> {
    let cases: &[(&'static [usize], &'static [isize], &'static [usize], usize, bool)] = &[
        (&[2, 3, 2], &[1], &[1], 1, false),
        (&[2, 3, 2], &[-1, 0], &[0, 2], 0, false),
        (&[4, 2], &[0], &[0], 2, true),
        (&[2, 3], &[], &[0, 1], 1, true),
        (&[0, 2], &[1], &[1], 1, false),
    ];
    cases
        .iter()
        .map(|&(shape, dims, resolved, correction, keepdim)| {
            let label =
                format!("{dims:?} of {shape:?} correction {correction}{}", if keepdim { " keepdim" } else { "" });
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0], dims, correction, keepdim))
                .reference(move |x| {
                    vec![naive_reduce(&x[0], resolved, keepdim, |x| of_variance(naive_variance(x, correction)))]
                })
        })
        .collect()
}

fn total_samples(call: fn(&Tensor) -> Result<Tensor>, of_variance: fn(f64) -> f64) -> Vec<Sample> {
    let mut samples: Vec<Sample> = [&[2usize, 3][..], &[5]]
        .into_iter()
        .map(|shape| {
            Sample::one(format!("{shape:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0])).reference(
                move |x| vec![Naive { shape: vec![], data: vec![of_variance(naive_variance(&x[0].data, 1))] }],
            )
        })
        .collect();
    samples.push(
        Sample::one("one element", [Tensor::from(2.0)], move |x| call(&x[0]))
            .reference(|_| vec![Naive { shape: vec![], data: vec![f64::NAN] }])
            .special(),
    );
    samples
}

fn var_samples() -> Vec<Sample> {
    total_samples(Tensor::var, |v| v)
}

fn var_dims_samples() -> Vec<Sample> {
    moment_samples(Tensor::var_dims, |v| v)
}

fn var_dims_errors() -> Vec<ErrorSample> {
    dims_errors(|x, dims, keepdim| x.var_dims(dims, 1, keepdim))
}

fn std_samples() -> Vec<Sample> {
    total_samples(Tensor::std, f64::sqrt)
}

fn std_dims_samples() -> Vec<Sample> {
    moment_samples(Tensor::std_dims, f64::sqrt)
}

fn std_dims_errors() -> Vec<ErrorSample> {
    dims_errors(|x, dims, keepdim| x.std_dims(dims, 1, keepdim))
}

fn std_kinks() -> Vec<Kink> {
    vec![
        Kink::new("equal elements", Tensor::from([2.0, 2.0, 2.0]), [0.0; 3], Tensor::std),
        // Their sum and mean are rounded.
        Kink::new("equal elements that are no sums of powers of 2", Tensor::from([0.1; 3]), [0.0; 3], Tensor::std),
        Kink::new("large equal elements", Tensor::from([1.1e200; 12]), [0.0; 12], Tensor::std),
    ]
}

fn std_dims_kinks() -> Vec<Kink> {
    vec![Kink::new("equal elements in a row", Tensor::from([[0.7; 7]; 2]), [0.0; 14], |x| x.std_dims(&[1], 0, false))]
}
