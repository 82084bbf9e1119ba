//! Medians.

use super::discrete::{Discrete, discrete};
use super::reduction::naive_reduce;
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::median as kernel;
use crate::shape::resolve_dim;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The middle one of all elements in order, of two middle ones the smaller, as a 0-d tensor; NaN if there is one.
    ///
    /// For the mean of two middle ones see [`quantile`](Tensor::quantile).
    ///
    /// # Dtypes
    /// All, which stay what they are.
    ///
    /// # Derivative
    /// The cotangent goes to one element; of those that tie, to the one that is in the middle after a stable
    /// [`sort`](Tensor::sort).
    ///
    /// # Errors
    /// `Shape` if there are no elements.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// assert_eq!(Tensor::from([4.0, 1.0, 3.0, 2.0]).median()?.item::<f64>()?, 2.0);
    /// let ties = grad(Tensor::median)(&Tensor::from([1.0, 1.0, 3.0]))?;
    /// assert_eq!(ties.to_vec::<f64>()?, [0.0, 1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Values are those of PyTorch, where elements that tie share the cotangent.
    fn median(&self) -> Result<Tensor> = median_all { samples: median_samples, errors: median_errors, kinks: median_kinks };

    /// The middle elements in order along `dim`, of two middle ones the smaller, and their positions, as `i64`; NaN where
    /// there is one.
    ///
    /// Of equal elements it is the position of the one that is in the middle after a stable [`sort`](Tensor::sort), and of
    /// NaNs that of the first.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All, which stay what they are.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements at these positions.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([[4.0, 1.0, 3.0], [0.0, 2.0, 2.0]]).median_dim(1, false)?;
    /// assert_eq!(values.to_vec::<f64>()?, [3.0, 2.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn median_dim(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> = median_dim {
        samples: median_dim_samples, errors: median_dim_errors, kinks: median_dim_kinks,
        python: median(dim, keepdim) -> (values, indices)
    };

    /// The [`median`](Tensor::median) of the elements that are not NaN, as a 0-d tensor; NaN if all are.
    ///
    /// # Dtypes
    /// All, which stay what they are.
    ///
    /// # Derivative
    /// As that of [`median`](Tensor::median).
    ///
    /// # Errors
    /// `Shape` if there are no elements.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([4.0, f64::NAN, 3.0]).nanmedian()?.item::<f64>()?, 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nanmedian(&self) -> Result<Tensor> = nanmedian_all {
        samples: nanmedian_samples, errors: nanmedian_errors, kinks: nanmedian_kinks
    };

    /// The medians along `dim` of the elements that are not NaN, and their positions, as `i64`; see
    /// [`median_dim`](Tensor::median_dim).
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`. Where all elements are NaN, it is the first of them.
    ///
    /// # Dtypes
    /// All, which stay what they are.
    ///
    /// # Derivative
    /// Tangents and cotangents move with the elements at these positions.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (values, indices) = Tensor::from([4.0, f64::NAN, 3.0]).nanmedian_dim(0, true)?;
    /// assert_eq!(values.to_vec::<f64>()?, [3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nanmedian_dim(&self, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> = nanmedian_dim {
        samples: nanmedian_dim_samples, errors: nanmedian_dim_errors, kinks: nanmedian_dim_kinks,
        python: nanmedian(dim, keepdim) -> (values, indices)
    };
}

/// Where the median along a dimension is.
#[derive(Clone, Debug)]
struct MedianPlace {
    dim: usize,
    skip_nan: bool,
}

impl Discrete for MedianPlace {
    const NAME: &'static str = "median";
    fn kernel(&self, x: &Array) -> Result<Array> {
        kernel::median(x, self.dim, self.skip_nan)
    }
    fn batched(&self) -> MedianPlace {
        MedianPlace { dim: self.dim + 1, ..self.clone() }
    }
}

/// The dimension, which has elements.
pub(super) fn filled_dim(op: &str, x: &Tensor, dim: isize) -> Result<usize> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    match u32::try_from(x.shape()[dim]) {
        Ok(0) => bail!(Shape, "{op}: expected at least one element along dim {dim}, got {}", x.ty()),
        Ok(_) => Ok(dim),
        Err(_) => bail!(Shape, "{op}: expected at most {} elements along dim {dim}, got {}", u32::MAX, x.ty()),
    }
}

/// All elements as a vector.
pub(super) fn flat(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.numel() == 0 {
        bail!(Shape, "{op}: expected at least one element, got {}", x.ty());
    }
    x.reshape_to(&[x.numel()])
}

fn median_along(op: &str, x: &Tensor, dim: isize, keepdim: bool, skip_nan: bool) -> Result<(Tensor, Tensor)> {
    let dim = filled_dim(op, x, dim)?;
    let places = discrete(MedianPlace { dim, skip_nan }, x)?;
    let dim = dim as isize;
    let values = x.gather(dim, &places)?;
    if keepdim { Ok((values, places)) } else { Ok((values.squeeze(dim)?, places.squeeze(dim)?)) }
}

fn median_all(x: &Tensor) -> Result<Tensor> {
    Ok(median_along("median", &flat("median", x)?, 0, false, false)?.0)
}

fn median_dim(x: &Tensor, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    median_along("median_dim", x, dim, keepdim, false)
}

fn nanmedian_all(x: &Tensor) -> Result<Tensor> {
    Ok(median_along("nanmedian", &flat("nanmedian", x)?, 0, false, true)?.0)
}

fn nanmedian_dim(x: &Tensor, dim: isize, keepdim: bool) -> Result<(Tensor, Tensor)> {
    median_along("nanmedian_dim", x, dim, keepdim, true)
}

/// Place of the median by counting how many elements come before each one.
fn naive_median(x: &[f64], skip_nan: bool) -> usize {
    let holes = x.iter().filter(|v| v.is_nan()).count();
    if holes == x.len() || (holes > 0 && !skip_nan) {
        return x.iter().position(|v| v.is_nan()).expect("there are NaNs");
    }
    let middle = (x.len() - holes - 1) / 2;
    let before = |k: usize| (0..x.len()).filter(|&j| x[j] < x[k] || (x[j] == x[k] && j < k)).count();
    (0..x.len()).find(|&k| !x[k].is_nan() && before(k) == middle).expect("some element is in the middle")
}

fn all_samples(call: fn(&Tensor) -> Result<Tensor>, skip_nan: bool) -> Vec<Sample> {
    let case = |label: &str, x: Tensor| {
        Sample::one(label, [x], move |x| call(&x[0])).reference(move |x| {
            vec![Naive { shape: vec![], data: vec![x[0].data[naive_median(&x[0].data, skip_nan)]] }]
        })
    };
    vec![
        case("odd", sample_tensor(&[5], -1.0, 1.0, 1)),
        case("even", sample_tensor(&[2, 4], -1.0, 1.0, 1)),
        case("0-d", sample_tensor(&[], -1.0, 1.0, 1)),
        case("ties", Tensor::from([2.0, 1.0, 2.0, 1.0])).not_differentiable(),
        case("NaN", Tensor::from([2.0, f64::NAN, -1.0, 7.0, f64::NAN])).special(),
        case("NaN alone", Tensor::from([f64::NAN, f64::NAN])).special(),
    ]
}

fn dim_samples(call: fn(&Tensor, isize, bool) -> Result<(Tensor, Tensor)>, skip_nan: bool) -> Vec<Sample> {
    let case = |label: &str, x: Tensor, dim: isize, resolved: usize, keepdim: bool| {
        Sample::new(label, [x], move |x| call(&x[0], dim, keepdim).map(|(values, places)| vec![values, places]))
            .reference(move |x| {
                vec![
                    naive_reduce(&x[0], &[resolved], keepdim, |x| x[naive_median(x, skip_nan)]),
                    naive_reduce(&x[0], &[resolved], keepdim, |x| naive_median(x, skip_nan) as f64),
                ]
            })
    };
    let nan = f64::NAN;
    vec![
        case("odd", sample_tensor(&[2, 5], -1.0, 1.0, 1), -1, 1, false),
        case("even, first dim", sample_tensor(&[4, 3], -1.0, 1.0, 1), 0, 0, true),
        case("middle dim", sample_tensor(&[2, 3, 2], -1.0, 1.0, 1), 1, 1, false),
        case("one", sample_tensor(&[3, 1], -1.0, 1.0, 1), 1, 1, false),
        case("empty beside", sample_tensor(&[0, 2], -1.0, 1.0, 1), 1, 1, false),
        case("ties", Tensor::from([[2.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]]), 1, 1, true).not_differentiable(),
        case("NaN", Tensor::from([[2.0, nan, -1.0, 7.0], [nan, 1.0, nan, 0.0], [nan, nan, nan, nan]]), 1, 1, false)
            .special(),
    ]
}

fn all_errors(call: fn(&Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    vec![ErrorSample::new("empty", ErrorKind::Shape, "expected at least one element, got f64[2,0]", move || call(&x))]
}

fn dim_errors(call: fn(&Tensor, isize, bool) -> Result<(Tensor, Tensor)>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    let y = x.clone();
    vec![
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,0] (valid: -2..=1)", move || {
            Ok(call(&x, 2, false)?.0)
        }),
        ErrorSample::new("empty", ErrorKind::Shape, "at least one element along dim 1, got f64[2,0]", move || {
            Ok(call(&y, -1, false)?.0)
        }),
    ]
}

fn tie_kinks(call: fn(&Tensor) -> Result<Tensor>) -> Vec<Kink> {
    vec![
        Kink::new("two ties of three", Tensor::from([1.0, 1.0, 3.0]), [0.0, 1.0, 0.0], call),
        Kink::new("ties alone", Tensor::from([2.0; 4]), [0.0, 1.0, 0.0, 0.0], call),
    ]
}

fn hole_kink(call: fn(&Tensor) -> Result<Tensor>, gradient: [f64; 4]) -> Kink {
    Kink::new("NaN", Tensor::from([3.0, f64::NAN, 1.0, f64::NAN]), gradient, call)
}

fn median_samples() -> Vec<Sample> {
    all_samples(Tensor::median, false)
}

fn median_errors() -> Vec<ErrorSample> {
    all_errors(Tensor::median)
}

fn median_kinks() -> Vec<Kink> {
    [tie_kinks(Tensor::median), vec![hole_kink(Tensor::median, [0.0, 1.0, 0.0, 0.0])]].concat()
}

fn median_dim_samples() -> Vec<Sample> {
    dim_samples(Tensor::median_dim, false)
}

fn median_dim_errors() -> Vec<ErrorSample> {
    dim_errors(Tensor::median_dim)
}

fn median_dim_kinks() -> Vec<Kink> {
    tie_kinks(|x| Ok(x.median_dim(0, true)?.0))
}

fn nanmedian_samples() -> Vec<Sample> {
    all_samples(Tensor::nanmedian, true)
}

fn nanmedian_errors() -> Vec<ErrorSample> {
    all_errors(Tensor::nanmedian)
}

fn nanmedian_kinks() -> Vec<Kink> {
    [tie_kinks(Tensor::nanmedian), vec![hole_kink(Tensor::nanmedian, [0.0, 0.0, 1.0, 0.0])]].concat()
}

fn nanmedian_dim_samples() -> Vec<Sample> {
    dim_samples(Tensor::nanmedian_dim, true)
}

fn nanmedian_dim_errors() -> Vec<ErrorSample> {
    dim_errors(Tensor::nanmedian_dim)
}

fn nanmedian_dim_kinks() -> Vec<Kink> {
    vec![hole_kink(|x| Ok(x.nanmedian_dim(0, true)?.0), [0.0, 0.0, 1.0, 0.0])]
}
