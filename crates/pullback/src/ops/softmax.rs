//! Softmax, its logarithm, and the logarithm of a sum of exponentials.

use std::fmt;

use smallvec::smallvec;

use super::family::{Binary, Operands, Reads, binary, vmap_front};
use super::reduce::{dims_errors, dims_samples, sum_kept, to_float};
use super::reduction::{Over, Reduce, reduction, reshaped};
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind, bind1};
use crate::kernels::half::widened;
use crate::kernels::{map, softmax as kernel, softmax_diff};
use crate::shape::{Dims, Shape, resolve_dim};
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// `exp(x) / Σ exp(x)` along `dim`: positive numbers that add up to 1.
    ///
    /// The largest element is subtracted first, so that nothing overflows. Elements of `-∞` get 0; if `∞` or NaN is
    /// among them, or all are `-∞`, the result is NaN.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// `y (d - Σ d y)` for the result `y`, in both modes.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 1.0], [1000.0, f64::NEG_INFINITY]]);
    /// assert_eq!(x.softmax(-1)?.to_vec::<f64>()?, [0.5, 0.5, 1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn softmax(&self, dim: isize) -> Result<Tensor> = softmax {
        samples: softmax_samples, errors: softmax_errors,
        python: softmax(dim, dtype), python: special::softmax(dim, dtype)
    };

    /// `x - log(Σ exp(x))` along `dim`, the logarithm of [`softmax`](Tensor::softmax) without its rounding.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// Tangents: `d - Σ exp(y) d` for the result `y`. Cotangents: `d - exp(y) Σ d`.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let y = Tensor::from([1000.0, 0.0]).log_softmax(0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [0.0, -1000.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn log_softmax(&self, dim: isize) -> Result<Tensor> = log_softmax {
        samples: log_softmax_samples, errors: log_softmax_errors,
        python: log_softmax(dim, dtype), python: special::log_softmax(dim, dtype)
    };

    /// `log(Σ exp(x))` over `dims`, all of them if the list is empty.
    ///
    /// The largest element is subtracted first, so that nothing overflows. It is `-∞` for no elements and for
    /// elements of `-∞` alone.
    ///
    /// # Shapes
    /// The dimensions are removed, or kept with size 1 if `keepdim`.
    ///
    /// # Dtypes
    /// Floats; integers and bools become `f32`.
    ///
    /// # Derivative
    /// [`softmax`](Tensor::softmax), and where the result is infinite its limit: the largest elements, `∞` or all of them `-∞`, share
    /// equally, and others have 0.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1000.0, 1000.0]);
    /// assert_eq!(x.logsumexp(&[0], false)?.item::<f64>()?, 1000.0 + 2f64.ln());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn logsumexp(&self, dims: &[isize], keepdim: bool) -> Result<Tensor> = logsumexp {
        samples: logsumexp_samples, errors: logsumexp_errors,
        python: logsumexp(dims, keepdim), python: special::logsumexp(dims, keepdim)
    };
}

/// Softmax along a dimension, or its logarithm.
#[derive(Debug)]
struct Softmax<const LOG: bool> {
    dim: usize,
}

/// The differential of [`Softmax`] at a result `y` and in a direction `d`, or its transpose.
///
/// It is an operation of its own because it is one pass over the data, and four if it is put together from others.
#[derive(Debug)]
struct SoftmaxDiff<const LOG: bool> {
    dim: usize,
    /// Of the logarithm only; the other is its own transpose.
    transposed: bool,
}

impl<const LOG: bool> Softmax<LOG> {
    const NAME: &'static str = if LOG { "log_softmax" } else { "softmax" };

    fn compute(&self, x: &Array) -> Result<Array> {
        let kernel = if LOG { kernel::log_softmax } else { kernel::softmax };
        widened([x], |[x]| kernel(x, self.dim))
    }

    fn apply(self, x: &Tensor) -> Result<Tensor> {
        match x.array() {
            Some(array) => Ok(self.compute(array)?.into()),
            None => bind1(&OpRef::new(self), &[x]),
        }
    }
}

impl<const LOG: bool> SoftmaxDiff<LOG> {
    fn compute(&self, y: &Array, d: &Array) -> Result<Array> {
        let kernel = match (LOG, self.transposed) {
            (false, _) => softmax_diff::softmax,
            (true, false) => softmax_diff::log_softmax,
            (true, true) => softmax_diff::log_softmax_transposed,
        };
        widened([y, d], |[y, d]| kernel(y, d, self.dim))
    }

    fn apply(self, y: &Tensor, d: &Tensor) -> Result<Tensor> {
        match (y.array(), d.array()) {
            (Some(y), Some(d)) => Ok(self.compute(y, d)?.into()),
            _ => bind1(&OpRef::new(self), &[y, d]),
        }
    }

    /// The tangent for a tangent `u` of `y`.
    fn along_y(&self, y: &Tensor, d: &Tensor, u: &Tensor) -> Result<Tensor> {
        let sum = |t: &Tensor| sum_kept(t, self.dim);
        match (LOG, self.transposed) {
            (false, _) => u.mul(d.sub(sum(&d.mul(y)?)?)?)?.sub(y.mul(sum(&d.mul(u)?)?)?),
            (true, false) => super::shape::broadcast_to(&sum(&y.exp()?.mul(u)?.mul(d)?)?.neg()?, d.shape()),
            (true, true) => y.exp()?.mul(u)?.mul(sum(d)?.neg()?),
        }
    }

    /// The cotangent of `y` for a cotangent `h` of the result.
    fn back_to_y(&self, y: &Tensor, d: &Tensor, h: &Tensor) -> Result<Tensor> {
        let sum = |t: &Tensor| sum_kept(t, self.dim);
        match (LOG, self.transposed) {
            (false, _) => h.mul(d.sub(sum(&d.mul(y)?)?)?)?.sub(d.mul(sum(&h.mul(y)?)?)?),
            (true, false) => y.exp()?.mul(d)?.mul(sum(h)?.neg()?),
            (true, true) => self.along_y(y, d, h),
        }
    }
}

/// The differential of softmax at result `y` in direction `d`, which is its own transpose.
pub(super) fn softmax_differential(y: &Tensor, d: &Tensor, dim: usize) -> Result<Tensor> {
    SoftmaxDiff::<false> { dim, transposed: false }.apply(y, d)
}

impl<const LOG: bool> Op for Softmax<LOG> {
    fn name(&self) -> &str {
        Self::NAME
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.compute(inputs[0].concrete())?.into()])
    }
    fn save(&self, _: &[bool], _: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([&outputs[0]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let diff = SoftmaxDiff::<LOG> { dim: self.dim, transposed: true };
        Ok(smallvec![grads[0].map(|g| diff.apply(&saved.tensors[0], g))?])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let diff = SoftmaxDiff::<LOG> { dim: self.dim, transposed: false };
        Ok(smallvec![tangents[0].map(|t| diff.apply(&saved.tensors[0], t))?])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_front(&OpRef::new(Softmax::<LOG> { dim: self.dim + 1 }), dims, inputs)
    }
}

impl<const LOG: bool> Op for SoftmaxDiff<LOG> {
    fn name(&self) -> &str {
        if LOG { "log_softmax_backward" } else { "softmax_backward" }
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.compute(inputs[0].concrete(), inputs[1].concrete())?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], inputs[1]]))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let (y, d) = (&saved.tensors[0], &saved.tensors[1]);
        let of_y = if needs[0] { grads[0].map(|h| self.back_to_y(y, d, h))? } else { Cotangent::zero() };
        let of_d = if needs[1] {
            grads[0].map(|h| SoftmaxDiff::<LOG> { dim: self.dim, transposed: !self.transposed }.apply(y, h))?
        } else {
            Cotangent::zero()
        };
        Ok(smallvec![of_y, of_d])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let (y, d) = (&saved.tensors[0], &saved.tensors[1]);
        let along_y = tangents[0].map(|u| self.along_y(y, d, u))?;
        let along_d = tangents[1].map(|t| SoftmaxDiff::<LOG> { ..*self }.apply(y, t))?;
        Ok(smallvec![along_y.plus(along_d)?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let y = batch::materialize(inputs[0], dims[0], info.batch_size)?;
        let d = batch::materialize(inputs[1], dims[1], info.batch_size)?;
        let op = SoftmaxDiff::<LOG> { dim: self.dim + 1, transposed: self.transposed };
        Ok((bind(&OpRef::new(op), &[&y, &d])?, smallvec![Some(0)]))
    }
}

fn softmax(x: &Tensor, dim: isize) -> Result<Tensor> {
    Softmax::<false> { dim: resolve_dim("softmax", dim, x.rank(), x.ty())? }.apply(&to_float(x)?)
}

fn log_softmax(x: &Tensor, dim: isize) -> Result<Tensor> {
    Softmax::<true> { dim: resolve_dim("log_softmax", dim, x.rank(), x.ty())? }.apply(&to_float(x)?)
}

#[derive(Clone, Debug)]
struct LogSumExp;

impl Reduce for LogSumExp {
    const NAME: &'static str = "logsumexp";
    const READS_OUTPUT: bool = true;
    fn kernel(&self, x: &Array, over: &Over) -> Result<Array> {
        match over.dims[..] {
            [dim] => kernel::logsumexp(x, dim),
            _ => {
                // Several dims become one at the end.
                let kept = (0..x.rank()).filter(|d| !over.dims.contains(d));
                let order: Dims = kept.clone().chain(over.dims.iter().copied()).collect();
                let mut shape: Shape = kept.map(|d| x.shape()[d]).collect();
                shape.push(over.count(x.shape()));
                kernel::logsumexp(&reshaped(&x.permute(&order), &shape), shape.len() - 1)
            }
        }
    }
    fn weights(&self, x: &Tensor, y: &Tensor, over: &Over) -> Result<Tensor> {
        match over.dims[..] {
            [dim] => Softmax::<false> { dim }.apply(&binary::<Settled>(x, y)?),
            _ if y.array().is_some_and(all_finite) => x.sub(y)?.exp(),
            _ => {
                let x = binary::<Settled>(x, y)?;
                x.sub(reduction(LogSumExp, over.keeping(), &x)?)?.exp()
            }
        }
    }
}

/// Elements with the same softmax as those on the left, or with its limit where their logarithm of the sum of exponentials, on the right,
/// is infinite: the largest elements share equally.
struct Settled;

/// Whether all elements are known to be finite.
fn all_finite(y: &Array) -> bool {
    match y.dtype() {
        DType::F32 => y.as_slice::<f32>().is_some_and(|y| y.iter().all(|y| y.is_finite())),
        DType::F64 => y.as_slice::<f64>().is_some_and(|y| y.iter().all(|y| y.is_finite())),
        _ => false,
    }
}

impl Binary for Settled {
    const NAME: &'static str = "logsumexp_settled";
    const VARIES_RIGHT: bool = false;
    fn kernel(x: &Array, y: &Array, shape: &[usize]) -> Result<Array> {
        if x.shape() == shape && all_finite(y) {
            return Ok(x.clone());
        }
        dispatch!(x.dtype(), Self::NAME, float, T => Ok(map::zip::<T, T, T>(x, y, shape, #[inline(always)] |x, y| {
            match (x == T::INFINITY, y == T::INFINITY) {
                (true, true) => 0.0,
                (false, true) => T::NEG_INFINITY,
                _ if y == T::NEG_INFINITY => 0.0,
                _ => x,
            }
        })))
    }
    fn reads(_: (bool, bool)) -> Reads {
        Reads { lhs: false, rhs: true, output: false }
    }
    fn left(d: &Tensor, values: Operands<'_>) -> Result<Tensor> {
        values.rhs().isinf()?.where_(0.0, d)
    }
}

fn logsumexp(x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Tensor> {
    reduction(LogSumExp, Over::new("logsumexp", x, dims, keepdim)?, &to_float(x)?)
}

/// The naive logarithm of the sum of exponentials of the elements that share all but index `dim` with `i`.
fn naive_logsumexp(x: &Naive, dim: usize, i: &[usize]) -> f64 {
    let mut other = i.to_vec();
    let sum: f64 = (0..x.shape[dim])
        .map(|k| {
            other[dim] = k;
            x.at(&other).exp()
        })
        .sum();
    sum.ln()
}

fn row_samples(call: fn(&Tensor, isize) -> Result<Tensor>, of_log: fn(f64) -> f64) -> Vec<Sample> {
    let cases: &[(&'static [usize], isize, usize)] = &[
        (&[4], 0, 0),
        (&[2, 3], -1, 1),
        (&[3, 2], 0, 0),
        (&[2, 3, 2], 1, 1),
        (&[2, 1], 1, 1),
        (&[0, 2], 1, 1),
        (&[2, 0], 1, 1),
    ];
    cases
        .iter()
        .map(|&(shape, dim, resolved)| {
            Sample::one(format!("dim {dim} of {shape:?}"), [sample_tensor(shape, -2.0, 2.0, 1)], move |x| {
                call(&x[0], dim)
            })
            .reference(move |x| {
                vec![Naive::from_fn(&x[0].shape, |i| of_log(x[0].at(i) - naive_logsumexp(&x[0], resolved, i)))]
            })
        })
        .collect()
}

/// Rows that hold infinities.
const INFINITE: [[f64; 3]; 2] = [[f64::NEG_INFINITY, 0.0, 0.0], [f64::NEG_INFINITY; 3]];

fn softmax_samples() -> Vec<Sample> {
    let mut samples = row_samples(|x, dim| x.softmax(dim), f64::exp);
    samples.push(
        Sample::one("large", [Tensor::from([1000.0, 1000.0, -1000.0])], |x| x[0].softmax(0))
            .reference(|_| vec![Naive { shape: vec![3], data: vec![0.5, 0.5, 0.0] }]),
    );
    samples.push(
        Sample::one("infinite", [Tensor::from(INFINITE)], |x| x[0].softmax(1))
            .reference(|_| vec![Naive { shape: vec![2, 3], data: vec![0.0, 0.5, 0.5, f64::NAN, f64::NAN, f64::NAN] }])
            .special(),
    );
    samples
}

fn log_softmax_samples() -> Vec<Sample> {
    let mut samples = row_samples(|x, dim| x.log_softmax(dim), |v| v);
    samples.push(Sample::one("large", [Tensor::from([1000.0, 1000.0, -1000.0])], |x| x[0].log_softmax(0)).reference(
        |_| {
            let half = 0.5f64.ln();
            vec![Naive { shape: vec![3], data: vec![half, half, half - 2000.0] }]
        },
    ));
    samples
}

fn logsumexp_samples() -> Vec<Sample> {
    let mut samples =
        dims_samples((-2.0, 2.0), false, Tensor::logsumexp, |x| x.iter().map(|v| v.exp()).sum::<f64>().ln());
    samples.push(
        Sample::one("large", [Tensor::from([1000.0, 1000.0])], |x| x[0].logsumexp(&[0], false))
            .reference(|_| vec![Naive { shape: vec![], data: vec![1000.0 + 2f64.ln()] }]),
    );
    samples.push(
        Sample::one("infinite", [Tensor::from(INFINITE)], |x| x[0].logsumexp(&[1], false))
            .reference(|_| vec![Naive { shape: vec![2], data: vec![2f64.ln(), f64::NEG_INFINITY] }])
            .special(),
    );
    samples
}

fn row_errors(call: fn(&Tensor, isize) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new("dim", ErrorKind::Dim, "dim 2 is out of range for f64[2,3] (valid: -2..=1)", move || {
            call(&x, 2)
        }),
        ErrorSample::new(
            "0-d",
            ErrorKind::Dim,
            "dim 0 is out of range for f64[], which has no dimensions",
            move || call(&Tensor::from(1.0), 0),
        ),
    ]
}

fn softmax_errors() -> Vec<ErrorSample> {
    row_errors(Tensor::softmax)
}

fn log_softmax_errors() -> Vec<ErrorSample> {
    row_errors(Tensor::log_softmax)
}

fn logsumexp_errors() -> Vec<ErrorSample> {
    dims_errors(Tensor::logsumexp)
}
