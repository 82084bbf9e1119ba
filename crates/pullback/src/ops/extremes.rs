//! Largest and smallest elements and their positions.

use super::discrete::{Discrete, discrete};
use super::reduce::{dims_errors, dims_samples, total_samples};
use super::reduction::{Over, Reduce, naive_reduce, reduction, reshaped};
use super::table::{ErrorSample, Kink, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::kernels::math::Float;
use crate::kernels::{map, reduce};
use crate::shape::{resolve_dim, with_dim};
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The largest element, as a 0-d tensor; NaN if there is one.
    ///
    /// # Dtypes
    /// All; `true` is larger than `false`.
    ///
    /// # Derivative
    /// The cotangent goes to the largest element; elements that tie share it equally, in both modes.
    ///
    /// # Errors
    /// `Shape` if there are no elements.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let x = Tensor::from([1.0, 3.0, 3.0]);
    /// assert_eq!(x.max()?.item::<f64>()?, 3.0);
    /// assert_eq!(grad(Tensor::max)(&x)?.to_vec::<f64>()?, [0.0, 0.5, 0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max(&self) -> Result<Tensor> = max_all { samples: max_samples, errors: max_errors, kinks: max_kinks };

    /// The largest elements over `dims`, all of them if the list is empty; NaN where there is one.
    ///
    /// For their positions see [`argmax`](Tensor::argmax), for several [`topk`](Tensor::topk).
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All; `true` is larger than `false`.
    ///
    /// # Derivative
    /// The cotangent goes to the largest element; elements that tie share it equally, in both modes.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice; `Shape` if a dimension is empty.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 4.0], [3.0, 2.0]]);
    /// assert_eq!(x.max_dims(&[1], false)?.to_vec::<f64>()?, [4.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Values and derivative are those of PyTorch's `amax`.
    fn max_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = max_dims {
        samples: max_dims_samples, errors: max_dims_errors, kinks: max_dims_kinks,
        python: amax(dims = [], keepdim)
    };

    /// The smallest element, as a 0-d tensor; NaN if there is one.
    ///
    /// # Dtypes
    /// All; `false` is smaller than `true`.
    ///
    /// # Derivative
    /// The cotangent goes to the smallest element; elements that tie share it equally, in both modes.
    ///
    /// # Errors
    /// `Shape` if there are no elements.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([2.0, 1.0, 3.0]).min()?.item::<f64>()?, 1.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn min(&self) -> Result<Tensor> = min_all { samples: min_samples, errors: min_errors, kinks: min_kinks };

    /// The smallest elements over `dims`, all of them if the list is empty; NaN where there is one.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// All; `false` is smaller than `true`.
    ///
    /// # Derivative
    /// The cotangent goes to the smallest element; elements that tie share it equally, in both modes.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice; `Shape` if a dimension is empty.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 4.0], [3.0, 2.0]]);
    /// assert_eq!(x.min_dims(&[1], false)?.to_vec::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn min_dims(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = min_dims {
        samples: min_dims_samples, errors: min_dims_errors, kinks: min_dims_kinks,
        python: amin(dims = [], keepdim)
    };

    /// The position of the largest element along `dim`, or for `None` of all elements in row-major order, as `i64`.
    ///
    /// Of equal elements the first counts, and NaN is the largest.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`; for `None` all are.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 4.0], [3.0, 2.0]]);
    /// assert_eq!(x.argmax(1, false)?.to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(x.argmax(None, false)?.item::<i64>()?, 1);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn argmax(&self, dim: impl Into<Option<isize>>, keepdim: bool) -> Result<Tensor> = argmax {
        samples: argmax_samples, errors: argmax_errors
    };

    /// The position of the smallest element along `dim`, or for `None` of all elements in row-major order, as `i64`.
    ///
    /// Of equal elements the first counts, and NaN is the smallest.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`; for `None` all are.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// None: the result is discrete.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 4.0], [3.0, 2.0]]);
    /// assert_eq!(x.argmin(0, true)?.to_vec::<i64>()?, [0, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn argmin(&self, dim: impl Into<Option<isize>>, keepdim: bool) -> Result<Tensor> = argmin {
        samples: argmin_samples, errors: argmin_errors
    };

    /// The smallest and the largest elements along `dim`, or for `None` of all elements; NaN where there is one.
    ///
    /// # Shapes
    /// The dimension is removed, or kept with size 1 if `keepdim`; for `None` all are.
    ///
    /// # Dtypes
    /// All; `false` is smaller than `true`.
    ///
    /// # Derivative
    /// As those of [`min_dims`](Tensor::min_dims) and [`max_dims`](Tensor::max_dims): elements that tie share equally.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Shape` if there is no element to choose from.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 4.0], [3.0, 2.0]]);
    /// let (min, max) = x.aminmax(1, false)?;
    /// assert_eq!(min.to_vec::<f64>()?, [1.0, 2.0]);
    /// assert_eq!(max.to_vec::<f64>()?, [4.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn aminmax(&self, dim: impl Into<Option<isize>>, keepdim: bool) -> Result<(Tensor, Tensor)> = aminmax {
        samples: aminmax_samples, errors: aminmax_errors, kinks: aminmax_kinks,
        python: aminmax(dim, keepdim) -> (min, max)
    };
}

/// The largest element, or the smallest.
#[derive(Clone)]
struct Extreme<const LARGEST: bool>;

fn extreme(x: &Array, over: &Over, largest: bool) -> Result<Array> {
    if largest { reduce::max(x, &over.dims) } else { reduce::min(x, &over.dims) }
}

impl<const LARGEST: bool> Reduce for Extreme<LARGEST> {
    const NAME: &'static str = if LARGEST { "max" } else { "min" };
    fn kernel(&self, x: &Array, over: &Over) -> Result<Array> {
        extreme(x, over, LARGEST)
    }
    fn weights(&self, x: &Tensor, _: &Tensor, over: &Over) -> Result<Tensor> {
        discrete(Ties::<LARGEST>(over.clone()), x)
    }
}

/// One for the extreme element and zero for the others; those that tie share the one.
#[derive(Clone, Debug)]
struct Ties<const LARGEST: bool>(Over);

impl<const LARGEST: bool> Discrete for Ties<LARGEST> {
    const NAME: &'static str = if LARGEST { "max_backward" } else { "min_backward" };
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), Self::NAME, float, T => ties::<T>(x, &self.0, LARGEST))
    }
    fn batched(&self) -> Ties<LARGEST> {
        Ties(self.0.batched())
    }
}

fn ties<T: Float>(x: &Array, over: &Over, largest: bool) -> Result<Array> {
    let kept = over.kept(x.shape());
    let best = reshaped(&extreme(x, over, largest)?, &kept);
    // NaNs tie with each other.
    let mut weights =
        map::zip::<T, T, T>(
            x,
            &best,
            x.shape(),
            |x, b| {
                if (x == b) | (x.is_nan() & b.is_nan()) { T::ONE } else { T::ZERO }
            },
        );
    let count = reshaped(&reduce::sum(&weights, &over.dims)?, &kept);
    let unique = count.as_slice::<T>().is_some_and(|c| c.iter().all(|&c| c == T::ONE));
    if !unique && !map::zip_in_place::<T>(&mut weights, &count, |w, c| w / c) {
        weights = map::zip::<T, T, T>(&weights, &count, x.shape(), |w, c| w / c);
    }
    Ok(weights)
}

pub(super) fn extreme_of<const LARGEST: bool>(op: &str, x: &Tensor, over: Over) -> Result<Tensor> {
    over.check_not_empty(op, x)?;
    reduction(Extreme::<LARGEST>, over, x)
}

fn max_all(x: &Tensor) -> Result<Tensor> {
    extreme_of::<true>("max", x, Over::all(x.rank()))
}

fn max_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    extreme_of::<true>("max_dims", x, Over::new("max_dims", x, dims, keepdim)?)
}

fn min_all(x: &Tensor) -> Result<Tensor> {
    extreme_of::<false>("min", x, Over::all(x.rank()))
}

fn min_dims(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    extreme_of::<false>("min_dims", x, Over::new("min_dims", x, dims, keepdim)?)
}

/// The position of the largest element along a dimension, or of the smallest.
#[derive(Clone, Debug)]
struct Arg<const LARGEST: bool> {
    dim: usize,
    keepdim: bool,
}

impl<const LARGEST: bool> Discrete for Arg<LARGEST> {
    const NAME: &'static str = if LARGEST { "argmax" } else { "argmin" };
    fn kernel(&self, x: &Array) -> Result<Array> {
        let y = if LARGEST { reduce::argmax(x, self.dim)? } else { reduce::argmin(x, self.dim)? };
        Ok(if self.keepdim { reshaped(&y, &with_dim(y.shape(), self.dim, 1)) } else { y })
    }
    fn batched(&self) -> Arg<LARGEST> {
        Arg { dim: self.dim + 1, ..self.clone() }
    }
}

fn arg_extreme<const LARGEST: bool>(x: &Tensor, dim: Option<isize>, keepdim: bool) -> Result<Tensor> {
    let op = Arg::<LARGEST>::NAME;
    match dim {
        Some(dim) => {
            let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
            if x.shape()[dim] == 0 {
                bail!(Shape, "{op}: expected at least one element along dim {dim}, got {}", x.ty());
            }
            discrete(Arg::<LARGEST> { dim, keepdim }, x)
        }
        None => {
            if x.numel() == 0 {
                bail!(Shape, "{op}: expected at least one element, got {}", x.ty());
            }
            let place = discrete(Arg::<LARGEST> { dim: 0, keepdim: false }, &x.reshape_to(&[x.numel()])?)?;
            if keepdim { place.reshape_to(&vec![1; x.rank()]) } else { Ok(place) }
        }
    }
}

fn argmax(x: &Tensor, dim: impl Into<Option<isize>>, keepdim: bool) -> Result<Tensor> {
    arg_extreme::<true>(x, dim.into(), keepdim)
}

fn argmin(x: &Tensor, dim: impl Into<Option<isize>>, keepdim: bool) -> Result<Tensor> {
    arg_extreme::<false>(x, dim.into(), keepdim)
}

fn aminmax(x: &Tensor, dim: impl Into<Option<isize>>, keepdim: bool) -> Result<(Tensor, Tensor)> {
    let over = match dim.into() {
        Some(dim) => Over::one(resolve_dim("aminmax", dim, x.rank(), x.ty())?, keepdim),
        None if keepdim => Over::all(x.rank()).keeping(),
        None => Over::all(x.rank()),
    };
    Ok((extreme_of::<false>("aminmax", x, over.clone())?, extreme_of::<true>("aminmax", x, over)?))
}

const SHAPES: &[&[usize]] = &[&[2, 3], &[5], &[]];
const RANGE: (f64, f64) = (-1.0, 1.0);

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || a > b { a } else { b })
}

fn smallest(x: &[f64]) -> f64 {
    -largest(&x.iter().map(|v| -v).collect::<Vec<_>>())
}

/// NaN among the elements.
fn nan_sample(call: fn(&Tensor) -> Result<Tensor>) -> Sample {
    Sample::one("NaN", [Tensor::from([1.0, f64::NAN, 2.0])], move |x| call(&x[0]))
        .reference(|_| vec![Naive { shape: vec![], data: vec![f64::NAN] }])
        .special()
}

fn max_samples() -> Vec<Sample> {
    let mut samples = total_samples(RANGE, SHAPES, Tensor::max, largest);
    samples.push(nan_sample(Tensor::max));
    samples
}

fn max_dims_samples() -> Vec<Sample> {
    dims_samples(RANGE, false, Tensor::max_dims, largest)
}

fn min_samples() -> Vec<Sample> {
    let mut samples = total_samples(RANGE, SHAPES, Tensor::min, smallest);
    samples.push(nan_sample(Tensor::min));
    samples
}

fn min_dims_samples() -> Vec<Sample> {
    dims_samples(RANGE, false, Tensor::min_dims, smallest)
}

fn total_errors(call: fn(&Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    vec![ErrorSample::new(
        "empty",
        ErrorKind::Shape,
        "expected at least one element along dim 1, got f64[2,0]",
        move || call(&x),
    )]
}

fn max_errors() -> Vec<ErrorSample> {
    total_errors(Tensor::max)
}

fn min_errors() -> Vec<ErrorSample> {
    total_errors(Tensor::min)
}

fn max_dims_errors() -> Vec<ErrorSample> {
    [dims_errors(Tensor::max_dims), total_errors(|x| x.max_dims(&[1], true))].concat()
}

fn min_dims_errors() -> Vec<ErrorSample> {
    [dims_errors(Tensor::min_dims), total_errors(|x| x.min_dims(&[1], true))].concat()
}

fn tie_kinks(sign: f64, call: fn(&Tensor) -> Result<Tensor>) -> Vec<Kink> {
    vec![
        Kink::new("two ties", Tensor::from([sign, sign]), [0.5, 0.5], call),
        Kink::new(
            "three ties of four",
            Tensor::from([sign, 0.0, sign, sign]),
            [1.0 / 3.0, 0.0, 1.0 / 3.0, 1.0 / 3.0],
            call,
        ),
    ]
}

fn max_kinks() -> Vec<Kink> {
    tie_kinks(1.0, Tensor::max)
}

fn min_kinks() -> Vec<Kink> {
    tie_kinks(-1.0, Tensor::min)
}

fn max_dims_kinks() -> Vec<Kink> {
    tie_kinks(1.0, |x| x.max_dims(&[0], true))
}

fn min_dims_kinks() -> Vec<Kink> {
    tie_kinks(-1.0, |x| x.min_dims(&[0], true))
}

fn arg_samples(call: fn(&Tensor, Option<isize>, bool) -> Result<Tensor>, better: fn(f64, f64) -> bool) -> Vec<Sample> {
    let first = move |x: &[f64]| -> f64 {
        let place = (1..x.len()).fold(0, |best, k| if better(x[k], x[best]) { k } else { best });
        place as f64
    };
    let cases: &[(&'static [usize], Option<isize>, bool)] = &[
        (&[2, 3, 2], Some(1), false),
        (&[2, 3], Some(-2), true),
        (&[2, 3], None, false),
        (&[2, 3], None, true),
        (&[], None, false),
        (&[0, 2], Some(1), false),
    ];
    let mut samples: Vec<Sample> = cases
        .iter()
        .map(|&(shape, dim, keepdim)| {
            let label = format!("{dim:?} of {shape:?}{}", if keepdim { " keepdim" } else { "" });
            let rank = shape.len();
            let dims: Vec<usize> = match dim {
                Some(d) => vec![d.rem_euclid(rank as isize) as usize],
                None => (0..rank).collect(),
            };
            Sample::one(label, [sample_tensor(shape, -1.0, 1.0, 1)], move |x| call(&x[0], dim, keepdim))
                .reference(move |x| vec![naive_reduce(&x[0], &dims, keepdim, first)])
                .not_differentiable()
        })
        .collect();
    samples.push(
        Sample::one("ties", [Tensor::from([1.0, 3.0, 1.0, 3.0])], move |x| call(&x[0], Some(0), false))
            .reference(move |x| vec![naive_reduce(&x[0], &[0], false, first)])
            .not_differentiable(),
    );
    samples
}

fn argmax_samples() -> Vec<Sample> {
    arg_samples(|x, dim, keepdim| x.argmax(dim, keepdim), |a, b| a > b)
}

fn argmin_samples() -> Vec<Sample> {
    arg_samples(|x, dim, keepdim| x.argmin(dim, keepdim), |a, b| a < b)
}

fn arg_errors(call: fn(&Tensor, Option<isize>, bool) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 0], 0.0, 1.0, 1);
    let (y, z) = (x.clone(), x.clone());
    vec![
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,0] (valid: -2..=1)", move || {
            call(&x, Some(2), false)
        }),
        ErrorSample::new("empty dim", ErrorKind::Shape, "at least one element along dim 1, got f64[2,0]", move || {
            call(&y, Some(-1), false)
        }),
        ErrorSample::new("empty", ErrorKind::Shape, "expected at least one element, got f64[2,0]", move || {
            call(&z, None, false)
        }),
    ]
}

fn argmax_errors() -> Vec<ErrorSample> {
    arg_errors(|x, dim, keepdim| x.argmax(dim, keepdim))
}

fn argmin_errors() -> Vec<ErrorSample> {
    arg_errors(|x, dim, keepdim| x.argmin(dim, keepdim))
}

fn aminmax_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor, dim: Option<isize>, resolved: &'static [usize], keepdim: bool| {
        Sample::new(label, [x], move |x| x[0].aminmax(dim, keepdim).map(|(min, max)| vec![min, max])).reference(
            move |x| {
                vec![naive_reduce(&x[0], resolved, keepdim, smallest), naive_reduce(&x[0], resolved, keepdim, largest)]
            },
        )
    };
    vec![
        case("middle dim", sample_tensor(&[2, 3, 2], -1.0, 1.0, 1), Some(1), &[1], false),
        case("keepdim", sample_tensor(&[2, 3], -1.0, 1.0, 1), Some(-2), &[0], true),
        case("all", sample_tensor(&[2, 3], -1.0, 1.0, 1), None, &[0, 1], false),
        case("all, keepdim", sample_tensor(&[2, 3], -1.0, 1.0, 1), None, &[0, 1], true),
        case("0-d", sample_tensor(&[], -1.0, 1.0, 1), None, &[], false),
        case("NaN", Tensor::from([1.0, f64::NAN]), Some(0), &[0], false).special(),
    ]
}

fn aminmax_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let dim = ErrorSample::new("dim", ErrorKind::Dim, "aminmax: dim 2 is out of range for f64[2,3]", move || {
        Ok(x.aminmax(2, false)?.0)
    });
    [vec![dim], total_errors(|x| Ok(x.aminmax(1, true)?.1)), total_errors(|x| Ok(x.aminmax(None, false)?.0))].concat()
}

fn aminmax_kinks() -> Vec<Kink> {
    [tie_kinks(1.0, |x| Ok(x.aminmax(0, true)?.1)), tie_kinks(-1.0, |x| Ok(x.aminmax(None, false)?.0))].concat()
}
