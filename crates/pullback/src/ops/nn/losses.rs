//! Losses and distances that are made of other operations.

use super::norms::check_eps;
use super::{BinaryCrossEntropy, loss_samples as samples, resample};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::bail;
use crate::kernels::classes::position;
use crate::kernels::copy::contiguous;
use crate::kernels::resample::Taps;
use crate::ops::discrete::{Discrete, discrete};
use crate::ops::distance::{check_power, difference};
use crate::ops::family::broadcast_shape;
use crate::ops::reduce::to_float;
use crate::ops::regression::loss_weight;
use crate::ops::table::ops;
use crate::shape::resolve_dim;
use crate::{DType, Reduction, Result, Tensor};

ops! { OPS;
    /// The cross entropy of probabilities and the probabilities `target`: `-t·log(x) - (1 - t)·log(1 - x)`, where logarithms are at least
    /// -100. For logits see [`binary_cross_entropy_with_logits`](Tensor::binary_cross_entropy_with_logits), which loses no digits.
    ///
    /// The options are a [`Reduction`] or a [`BinaryCrossEntropy`](crate::nn::BinaryCrossEntropy), which has weights.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`]. Weights broadcast to it.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `(1 - t)/(1 - x) - t/x`, where a logarithm that was cut off counts as constant; the difference of the logarithms with respect to the
    /// target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ, or that of the weights does not broadcast to them; `Value` for elements outside of [0, 1].
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([0.5, 0.0]), Tensor::from([1.0, 1.0]));
    /// assert_eq!(x.binary_cross_entropy(&y, Reduction::None)?.to_vec::<f64>()?, [2f64.ln(), 100.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn binary_cross_entropy(&self, target: &Tensor, options: impl Into<BinaryCrossEntropy>) -> Result<Tensor> = binary_cross_entropy { samples: samples::bce, errors: samples::bce_errors };

    /// The negative logarithm of the probability that the Poisson distribution with the mean `exp(x)` (if `log_input`), or `x`, gives to
    /// the counts `target`, less a term that does not depend on `x`: `exp(x) - t·x`, or `x - t·log(x + 1e-8)`.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([0.0]), Tensor::from([2.0]));
    /// assert_eq!(x.poisson_nll_loss(&y, true, Reduction::Sum)?.item::<f64>()?, 1.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn poisson_nll_loss(&self, target: &Tensor, log_input: bool, reduction: Reduction) -> Result<Tensor> = poisson_nll_loss {
        samples: samples::poisson, errors: samples::poisson_errors,
        python: poisson_nll_loss(target, log_input = true, reduction)
    };

    /// The negative logarithm of the density that the normal distribution with mean `x` and variance `var` has at `target`, less a
    /// constant: `(log(v) + (x - t)²/v)/2` where `v` is the variance, at least `eps`.
    ///
    /// # Shapes
    /// All three tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula; a variance that was replaced by `eps` counts as constant.
    ///
    /// # Errors
    /// `Shape` if the shapes differ; `Value` unless `eps` is positive.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y, v) = (Tensor::from([1.0]), Tensor::from([3.0]), Tensor::from([1.0]));
    /// assert_eq!(x.gaussian_nll_loss(&y, &v, 1e-6, Reduction::Sum)?.item::<f64>()?, 2.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn gaussian_nll_loss(&self, target: &Tensor, var: &Tensor, eps: f64, reduction: Reduction) -> Result<Tensor> = gaussian_nll_loss {
        samples: samples::gaussian, errors: samples::gaussian_errors,
        python: gaussian_nll_loss(target, var, eps = 1e-6, reduction)
    };

    /// `log(1 + exp(-t·x))`, for targets of 1 and -1, without overflow.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `-t·sigmoid(-t·x)`.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([1000.0, -1000.0]), Tensor::from([1.0, 1.0]));
    /// assert_eq!(x.soft_margin_loss(&y, Reduction::None)?.to_vec::<f64>()?, [0.0, 1000.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn soft_margin_loss(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> = soft_margin_loss { samples: samples::soft, errors: samples::soft_errors };

    /// Distances where the target is 1, and how far they lie below `margin` where it is -1: `x`, or `max(0, margin - x)`.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// 1 where the target is 1; -1 where it is -1 and `x` below the margin, else 0. None in the target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([0.5, 0.25, 3.0]), Tensor::from([1.0, -1.0, -1.0]));
    /// assert_eq!(x.hinge_embedding_loss(&y, 1.0, Reduction::None)?.to_vec::<f64>()?, [0.5, 0.75, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn hinge_embedding_loss(&self, target: &Tensor, margin: f64, reduction: Reduction) -> Result<Tensor> = hinge_embedding_loss {
        samples: samples::hinge, errors: samples::hinge_errors,
        python: hinge_embedding_loss(target, margin = 1.0, reduction)
    };

    /// `max(0, -t·(x - other) + margin)`: how far `x` is from being larger (for a target of 1) or smaller (for -1) than `other` by the margin.
    ///
    /// # Shapes
    /// All three tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `-t` where the loss is positive, else 0; `t` for the other.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y, t) = (Tensor::from([1.0, 1.0]), Tensor::from([3.0, 3.0]), Tensor::from([1.0, -1.0]));
    /// assert_eq!(x.margin_ranking_loss(&y, &t, 0.5, Reduction::None)?.to_vec::<f64>()?, [2.5, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn margin_ranking_loss(&self, other: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Result<Tensor> = margin_ranking_loss {
        samples: samples::ranking, errors: samples::ranking_errors,
        python: margin_ranking_loss(self as input1, other as input2, target, margin = 0.0, reduction)
    };

    /// `1 - cos` of the angle between the rows of two tensors where the target is 1, and `max(0, cos - margin)` where it is -1.
    ///
    /// # Shapes
    /// `[.., n]` twice and a target `[..]`; the result is `[]`, or has the shape of the target for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula, with [`cosine_similarity`](Tensor::cosine_similarity). None in the target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([[1.0, 0.0], [1.0, 0.0]]), Tensor::from([[0.0, 2.0], [3.0, 0.0]]));
    /// let t = Tensor::from([1.0, -1.0]);
    /// assert_eq!(x.cosine_embedding_loss(&y, &t, 0.25, Reduction::None)?.to_vec::<f64>()?, [1.0, 0.75]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cosine_embedding_loss(&self, other: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Result<Tensor> = cosine_embedding_loss {
        samples: samples::cosine_loss, errors: samples::cosine_loss_errors,
        python: cosine_embedding_loss(self as input1, other as input2, target, margin = 0.0, reduction)
    };

    /// `max(0, |x - positive| - |x - negative| + margin)`: how far the distance to `negative` is from being larger than that to `positive` by
    /// the margin. Distances are those of [`pairwise_distance`](Tensor::pairwise_distance).
    ///
    /// # Shapes
    /// `[.., n]` three times; the result is `[]`, or `[..]` for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the distances where the loss is positive, else 0.
    ///
    /// # Errors
    /// `Shape` if the shapes differ; `Value` if `p` is no number.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y, z) = (Tensor::from([[0.0, 0.0]]), Tensor::from([[3.0, 4.0]]), Tensor::from([[0.0, 1.0]]));
    /// let loss = x.triplet_margin_loss(&y, &z, 1.0, 2.0, Reduction::Sum)?.item::<f64>()?;
    /// assert!((loss - 5.0).abs() < 1e-5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn triplet_margin_loss(&self, positive: &Tensor, negative: &Tensor, margin: f64, p: f64, reduction: Reduction) -> Result<Tensor> = triplet_margin_loss {
        samples: samples::triplet, errors: samples::triplet_errors,
        python: triplet_margin_loss(self as anchor, positive, negative, margin = 1.0, p = 2.0, reduction)
    };

    /// `Σ max(0, margin - x[target] + x[k])/classes` over all classes `k` but the target, for scores `x`.
    ///
    /// # Shapes
    /// Scores `[.., classes]`, targets `[..]` of integers; the result is `[]`, or `[..]` for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Index` if a target is negative or not below the number of classes; `Shape` if the shapes do not fit; `Dtype` for targets that
    /// are not integers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([[1.0, 3.0, 1.5]]);
    /// let loss = x.multi_margin_loss(&Tensor::from([2i64]), 1.0, Reduction::Sum)?;
    /// assert_eq!(loss.item::<f64>()?, 1.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn multi_margin_loss(&self, target: &Tensor, margin: f64, reduction: Reduction) -> Result<Tensor> = multi_margin_loss {
        samples: samples::multi, errors: samples::multi_errors,
        python: multi_margin_loss(target, margin = 1.0, reduction)
    };

    /// The cosine of the angle between two tensors along `dim`: `Σ x·y / (max(|x|, eps)·max(|y|, eps))`.
    ///
    /// # Shapes
    /// Two shapes that broadcast; the result lacks `dim`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula; a length that was replaced by `eps` counts as constant.
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast; `Dim` if `dim` is out of range of what they broadcast to.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([3.0, 4.0]), Tensor::from([0.0, 2.0]));
    /// assert_eq!(x.cosine_similarity(&y, 0, 1e-8)?.item::<f64>()?, 0.8);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cosine_similarity(&self, other: &Tensor, dim: isize, eps: f64) -> Result<Tensor> = cosine_similarity {
        samples: samples::cosine, errors: samples::cosine_errors,
        python: cosine_similarity(self as x1, other as x2, dim = 1, eps = 1e-8)
    };

    /// The distances of the rows of two tensors: the `p`-norm of `x - y + eps` along the last dimension, where `eps` keeps the derivative
    /// finite.
    ///
    /// # Shapes
    /// `[.., n]` twice, broadcast, to `[..]`, or `[.., 1]` with `keepdim`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the [norm](Tensor::norm_dims).
    ///
    /// # Errors
    /// `Shape` if the shapes do not broadcast or have no dimension; `Value` if `p` is no number.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([[3.0, 4.0]]), Tensor::from([[0.0, 0.0]]));
    /// assert_eq!(x.pairwise_distance(&y, 2.0, 0.0, false)?.to_vec::<f64>()?, [5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn pairwise_distance(&self, other: &Tensor, p: f64, eps: f64, keepdim: bool) -> Result<Tensor> = pairwise_distance {
        samples: samples::distance, errors: samples::distance_errors,
        python: pairwise_distance(self as x1, other as x2, p = 2.0, eps = 1e-6, keepdim)
    };

    /// The distances of all pairs of rows of two tensors: the `p`-norms of their differences.
    ///
    /// # Shapes
    /// `[.., m, n]` and `[.., r, n]`, with leading dimensions that broadcast, to `[.., m, r]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the [norm](Tensor::norm_dims), which is 0 for equal rows.
    ///
    /// # Errors
    /// `Shape` if the shapes do not fit; `Value` if `p` is no number.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([[0.0, 0.0], [3.0, 0.0]]), Tensor::from([[3.0, 4.0]]));
    /// assert_eq!(x.cdist(&y, 2.0)?.to_vec::<f64>()?, [5.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cdist(&self, other: &Tensor, p: f64) -> Result<Tensor> = cdist {
        samples: samples::cdist, errors: samples::cdist_errors,
        python: cdist(self as x1, other as x2, p = 2.0)
    };

    /// The tensor over its `p`-norms along `dim`, or over `eps` where they are smaller.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula; a norm that was replaced by `eps` counts as constant.
    ///
    /// # Errors
    /// `Dim` if `dim` is out of range; `Value` if `p` is no number.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// assert_eq!(Tensor::from([3.0, 4.0]).normalize(2.0, 0, 1e-12)?.to_vec::<f64>()?, [0.6, 0.8]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn normalize(&self, p: f64, dim: isize, eps: f64) -> Result<Tensor> = normalize {
        samples: samples::normalize, errors: samples::normalize_errors,
        python: normalize(p = 2.0, dim = 1, eps = 1e-12)
    };

    /// Each element over `(k + alpha·mean(x²))^beta`, where the mean is over `size` neighbouring channels, zeros beyond the ends.
    ///
    /// # Shapes
    /// `[images, channels, ..]` to the same.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of the formula.
    ///
    /// # Errors
    /// `Shape` if there is no dimension of channels; `Value` if `size` is 0.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[[1.0], [2.0]]]);
    /// assert_eq!(x.local_response_norm(1, 1.0, 1.0, 3.0)?.to_vec::<f64>()?, [0.25, 2.0 / 7.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn local_response_norm(&self, size: usize, alpha: f64, beta: f64, k: f64) -> Result<Tensor> = local_response_norm {
        samples: samples::response, errors: samples::response_errors,
        python: local_response_norm(size, alpha = 1e-4, beta = 0.75, k = 1.0)
    };
}

/// The tensors as floats, after a check that they have one shape.
fn same<const N: usize>(op: &str, x: &Tensor, others: [(&str, &Tensor); N]) -> Result<(Tensor, [Tensor; N])> {
    for (what, t) in others {
        if t.shape() != x.shape() {
            bail!(Shape, "{op}: expected a {what} of the shape of {}, got {}", x.ty(), t.ty(); help = "expand one of them \
                first if broadcasting is meant");
        }
    }
    let x = to_float(x)?;
    let mut converted = others.map(|(_, t)| t.clone());
    for t in &mut converted {
        // Whole numbers, like targets of 1 and -1, take the dtype of the tensor and do not change it.
        *t = if t.dtype().is_float() { t.clone() } else { t.to_dtype(x.dtype())? };
    }
    Ok((x, converted))
}

/// The check that elements are probabilities.
#[derive(Clone, Debug)]
struct Probabilities {
    /// How many of the first dimensions are lanes.
    lanes: usize,
}

impl Discrete for Probabilities {
    const NAME: &'static str = "binary_cross_entropy";
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), Self::NAME, float, T => {
            let x = contiguous(x);
            let outside = |v: &T| *v < 0.0 || *v > 1.0;
            if let Some(k) = x.as_slice::<T>().unwrap_or_default().iter().position(outside) {
                let (value, at) = (x.as_slice::<T>().unwrap_or_default()[k], position(x.shape(), k, self.lanes));
                bail!(Value, "{}: expected probabilities from 0 to 1, got {value}{at}", Self::NAME; help = "logits need \
                    `binary_cross_entropy_with_logits`");
            }
            Ok(x)
        })
    }
    fn batched(&self) -> Probabilities {
        Probabilities { lanes: self.lanes + 1 }
    }
}

fn binary_cross_entropy(x: &Tensor, target: &Tensor, options: impl Into<BinaryCrossEntropy>) -> Result<Tensor> {
    let (op, BinaryCrossEntropy { weight, reduction }) = ("binary_cross_entropy", options.into());
    let (x, [t]) = same(op, x, [("target", target)])?;
    let weight = loss_weight(op, "weights", &x, weight.as_ref())?;
    discrete(Probabilities { lanes: 0 }, &x)?;
    let log = |p: &Tensor| {
        // A logarithm that is cut off must not send its infinite slope back.
        let tiny = p.le((-100f64).exp())?; // which is 0 in halves
        tiny.where_(-100.0, &tiny.where_(1.0, p)?.log()?)
    };
    let (log_x, log_rest) = (log(&x)?, log(&x.neg()?.add(1.0)?)?);
    let losses = t.mul(&log_x)?.add(&t.neg()?.add(1.0)?.mul(&log_rest)?)?.neg()?;
    reduction.of(&weight.map_or(Ok(losses.clone()), |w| w.mul(&losses))?)
}

fn poisson_nll_loss(x: &Tensor, target: &Tensor, log_input: bool, reduction: Reduction) -> Result<Tensor> {
    let (x, [t]) = same("poisson_nll_loss", x, [("target", target)])?;
    // Beside an infinite rate its logarithm counts nothing, nor does that of 0 where nothing was counted.
    let far = x.eq(f64::INFINITY)?;
    reduction.of(&match log_input {
        true => {
            let far = far.logical_or(&x.eq(f64::NEG_INFINITY)?.logical_and(&t.eq(0)?)?)?;
            x.exp()?.sub(&t.mul(&far.where_(0, &x)?)?)?
        }
        false => x.sub(&t.mul(&far.where_(0, &x)?.add(held(1e-8, x.dtype()))?.log()?)?)?,
    })
}

fn gaussian_nll_loss(x: &Tensor, target: &Tensor, var: &Tensor, eps: f64, reduction: Reduction) -> Result<Tensor> {
    let op = "gaussian_nll_loss";
    if eps.is_nan() || eps <= 0.0 {
        bail!(Value, "{op}: expected a positive eps, got {eps}");
    }
    let (x, [t, v]) = same(op, x, [("target", target), ("var", var)])?;
    let v = v.clamp(Some(eps), None)?;
    reduction.of(&v.log()?.add(&x.sub(&t)?.square()?.div(&v)?)?.mul(0.5)?)
}

fn soft_margin_loss(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    let (x, [t]) = same("soft_margin_loss", x, [("target", target)])?;
    reduction.of(&t.mul(&x)?.neg()?.softplus()?)
}

fn hinge_embedding_loss(x: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Result<Tensor> {
    let (x, [t]) = same("hinge_embedding_loss", x, [("target", target)])?;
    reduction.of(&t.gt(0.0)?.where_(&x, &x.neg()?.add(margin)?.relu()?)?)
}

fn margin_ranking_loss(
    x: &Tensor,
    other: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    let (x, [y, t]) = same("margin_ranking_loss", x, [("second tensor", other), ("target", target)])?;
    reduction.of(&y.sub(&x)?.mul(&t)?.add(margin)?.relu()?)
}

fn cosine_embedding_loss(
    x: &Tensor,
    other: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    let op = "cosine_embedding_loss";
    let (x, [y]) = same(op, x, [("second tensor", other)])?;
    if x.rank() == 0 || target.shape() != &x.shape()[..x.rank() - 1] {
        bail!(Shape, "{op}: expected rows [.., n] and a target [..], got {} and {}", x.ty(), target.ty());
    }
    let cos = x.cosine_similarity(&y, -1, 1e-8)?;
    let apart = cos.sub(margin)?.relu()?;
    reduction.of(&target.gt(0)?.where_(&cos.neg()?.add(1.0)?, &apart)?)
}

fn triplet_margin_loss(
    x: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    margin: f64,
    p: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    check_power("triplet_margin_loss", p)?;
    let (x, [near, far]) = same("triplet_margin_loss", x, [("positive", positive), ("negative", negative)])?;
    let to = |t: &Tensor| x.pairwise_distance(t, p, 1e-6, false);
    reduction.of(&to(&near)?.sub(&to(&far)?)?.add(margin)?.relu()?)
}

fn multi_margin_loss(x: &Tensor, target: &Tensor, margin: f64, reduction: Reduction) -> Result<Tensor> {
    let op = "multi_margin_loss";
    let Some((&classes, rows)) = x.shape().split_last() else {
        bail!(Shape, "{op}: expected a last dimension of classes, got {}", x.ty());
    };
    if !target.dtype().is_int() {
        bail!(Dtype, "{op}: expected targets of integers for {}, got {}", x.ty(), target.ty());
    }
    if target.shape() != rows {
        bail!(
            Shape,
            "{op}: expected targets of shape {} for {}, got {}",
            crate::shape::Brackets(rows),
            x.ty(),
            target.ty()
        );
    }
    let x = to_float(x)?;
    let own = target.one_hot(classes, DType::Bool)?;
    let right = own.where_(&x, 0.0)?.sum_dims(&[-1], true)?;
    let each = x.sub(&right)?.add(margin)?.relu()?;
    reduction.of(&own.where_(0.0, &each)?.sum_dims(&[-1], false)?.div(classes as f64)?)
}

fn cosine_similarity(x: &Tensor, other: &Tensor, dim: isize, eps: f64) -> Result<Tensor> {
    let op = "cosine_similarity";
    check_eps(op, eps)?;
    let shape = broadcast_shape(op, x, other)?;
    let k = resolve_dim(op, dim, shape.len(), crate::TensorType::new(x.dtype(), &shape))?;
    let whole = |t: &Tensor| crate::ops::shape::broadcast_to(&to_float(t)?, &shape);
    let (x, y) = (whole(x)?, whole(other)?);
    let dims = [k as isize];
    // Of vectors of length 1, whose products are in range.
    let unit = |t: &Tensor| t.div(&t.norm_dims(2.0, &dims, true)?.clamp(Some(held(eps, t.dtype())), None)?);
    unit(&x)?.mul(&unit(&y)?)?.sum_dims(&dims, false)
}

fn pairwise_distance(x: &Tensor, other: &Tensor, p: f64, eps: f64, keepdim: bool) -> Result<Tensor> {
    let op = "pairwise_distance";
    check_power(op, p)?;
    if broadcast_shape(op, x, other)?.is_empty() {
        bail!(Shape, "{op}: expected at least one dimension, got {} and {}", x.ty(), other.ty());
    }
    to_float(x)?.sub(&to_float(other)?)?.add(eps)?.norm_dims(p, &[-1], keepdim)
}

/// A positive `eps` as a number that is positive in `dtype` too: that of halves ends far above what is usual for floats.
pub(super) fn held(eps: f64, dtype: DType) -> f64 {
    if dtype == DType::F16 && eps > 0.0 { eps.max(2f64.powi(-24)) } else { eps }
}

fn cdist(x: &Tensor, other: &Tensor, p: f64) -> Result<Tensor> {
    let op = "cdist";
    check_power(op, p)?;
    if x.rank() < 2 || other.rank() < 2 || x.shape()[x.rank() - 1] != other.shape()[other.rank() - 1] {
        bail!(Shape, "{op}: expected rows [.., m, n] and [.., r, n] of one size, got {} and {}", x.ty(), other.ty());
    }
    let (x, y) = (x.unsqueeze(-2)?, other.unsqueeze(-3)?);
    difference(op, &x, &y)?.norm_dims(p, &[-1], false)
}

fn normalize(x: &Tensor, p: f64, dim: isize, eps: f64) -> Result<Tensor> {
    check_power("normalize", p)?;
    check_eps("normalize", eps)?;
    let k = resolve_dim("normalize", dim, x.rank(), x.ty())?;
    let x = to_float(x)?;
    x.div(&x.norm_dims(p, &[k as isize], true)?.clamp(Some(held(eps, x.dtype())), None)?)
}

fn local_response_norm(x: &Tensor, size: usize, alpha: f64, beta: f64, k: f64) -> Result<Tensor> {
    let op = "local_response_norm";
    if size == 0 {
        bail!(Value, "{op}: expected a size of at least 1, got 0");
    }
    if x.rank() < 2 {
        bail!(Shape, "{op}: expected [images, channels, ..], got {}", x.ty());
    }
    let (x, channels) = (to_float(x)?, x.shape()[1]);
    let window = |c: usize| c.saturating_sub(size / 2)..(c + size.div_ceil(2)).min(channels);
    let taps = Taps::new(channels, (0..channels).map(|c| window(c).map(|k| (k, 1.0))));
    let sum = resample::apply(&x.square()?, 1, taps)?;
    x.div(&sum.mul(alpha / size as f64)?.add(k)?.powf(beta)?)
}
