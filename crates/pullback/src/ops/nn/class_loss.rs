//! Losses over classes: cross entropy and the negative log-likelihood.

use std::fmt;

use smallvec::smallvec;

use super::class_loss_samples as samples;
use super::{CrossEntropy, NllLoss};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind, bind1};
use crate::kernels::classes;
use crate::kernels::half::widened;
use crate::ops::arith::mul_owned;
use crate::ops::discrete::{Discrete, discrete};
use crate::ops::reduce::to_real_float;
use crate::ops::softmax::softmax_differential;
use crate::ops::table::ops;
use crate::shape::{Brackets, Shape, with_dim, without_dim};
use crate::{DType, Reduction, Result, Tensor};

ops! { OPS;
    /// The mean over all examples of `log(Σ exp(x)) - x[target]`, where the tensor holds logits, unnormalised
    /// logarithms of probabilities: the cross-entropy loss of classification.
    ///
    /// # Shapes
    /// Logits `[examples, classes, ..]`, target `[examples, ..]`, result `[]`. Logits `[classes]` with a target `[]` are one example,
    /// which is what `vmap` of a per-example loss sees.
    ///
    /// # Dtypes
    /// Logits of a float dtype (integers become `f32`); the target holds integers, the classes. A target of floats and
    /// of the shape of the logits holds probabilities `p` instead: the loss is `-Σ p log_softmax(x)`.
    ///
    /// # Derivative
    /// With respect to the logits, `softmax(x)` less one at the target, over the number of examples; none with respect
    /// to classes, `-log_softmax(x)` with respect to probabilities.
    ///
    /// # Errors
    /// `Index` if a target is negative or not below the number of classes; `Shape` if the shapes do not fit; `Dtype`
    /// for classes that are not integers.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad};
    /// let (logits, target) = (Tensor::from([0.5, 0.5]), Tensor::from(0i64));
    /// assert_eq!(logits.cross_entropy(&target)?.item::<f64>()?, 2f64.ln());
    /// let g = grad(|x: &Tensor| x.cross_entropy(&target))(&logits)?;
    /// assert_eq!(g.to_vec::<f64>()?, [-0.5, 0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cross_entropy(&self, target: &Tensor) -> Result<Tensor> = cross_entropy {
        samples: samples::cross_entropy, errors: samples::cross_entropy_errors
    };

    /// The cross entropy of logits and classes, `log(Σ exp(x)) - x[target]` for each example, with weights of the classes, targets that are
    /// left out, smoothed targets, and a choice of what becomes of the losses.
    ///
    /// The options are a [`Reduction`](crate::Reduction) or a [`CrossEntropy`](crate::nn::CrossEntropy). In Rust no target is left out unless
    /// `ignore_index` says so; in Python -100 is, as in PyTorch.
    ///
    /// With weights `w`, the loss of an example of class `t` is `-w[t] log_softmax(x)[t]`, and with probabilities `-Σ w p log_softmax(x)`.
    /// Smoothing replaces a target by probabilities first: `s/classes` for each class, and `1 - s` more for the target.
    ///
    /// # Shapes
    /// Logits `[examples, classes, ..]` and target `[examples, ..]`, or `[classes]` and `[]`; result `[]`, or the shape of the target classes
    /// for [`Reduction::None`](crate::Reduction::None).
    ///
    /// # Dtypes
    /// As for `cross_entropy`; weights take the dtype of the logits.
    ///
    /// # Derivative
    /// That of the formula, also with respect to weights. Logits of examples that are left out get 0, whatever they are.
    ///
    /// # Errors
    /// As for `cross_entropy`; `Shape` for weights of another shape than `[classes]`; `Value` for a smoothing outside of [0, 1], and for an
    /// `ignore_index` that could be a class with targets of probabilities.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor, nn::CrossEntropy};
    /// let logits = Tensor::from([[0.0, 0.0], [0.0, 1000.0]]);
    /// let losses = logits.cross_entropy_with(&Tensor::from([0i64, 1]), Reduction::None)?;
    /// assert_eq!(losses.to_vec::<f64>()?, [2f64.ln(), 0.0]);
    /// let options = CrossEntropy::new().weight(&Tensor::from([3.0, 1.0])).label_smoothing(0.5);
    /// let loss = logits.cross_entropy_with(&Tensor::from([0i64, 1]), &options)?;
    /// // (2.5 log 2 + 0.25 3 · 1000) / (3 + 1), where 2.5 is 0.5 · 3 + 0.25 (3 + 1)
    /// assert_eq!(loss.item::<f64>()?, (2.5 * 2f64.ln() + 750.0) / 4.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// PyTorch's `nn.functional.cross_entropy`.
    fn cross_entropy_with(&self, target: &Tensor, options: impl Into<CrossEntropy>) -> Result<Tensor> = cross_entropy_with {
        samples: samples::cross_entropy_with, errors: samples::cross_entropy_with_errors
    };

    /// The mean over all examples of `-x[target]`, where the tensor holds logarithms of probabilities, as
    /// [`log_softmax`](Tensor::log_softmax) gives them.
    ///
    /// [`cross_entropy`](Tensor::cross_entropy) does both in one operation.
    ///
    /// # Shapes
    /// Log-probabilities `[examples, classes, ..]` and target `[examples, ..]`, or `[classes]` and `[]`; result `[]`.
    ///
    /// # Dtypes
    /// Floats (integers become `f32`); the target holds integers.
    ///
    /// # Derivative
    /// Minus one at the target, over the number of examples.
    ///
    /// # Errors
    /// `Index` if a target is negative or not below the number of classes; `Shape` if the shapes do not fit; `Dtype`
    /// unless the target holds integers.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[-1.0, -2.0], [-3.0, -4.0]]);
    /// assert_eq!(x.nll_loss(&Tensor::from([0i64, 1]))?.item::<f64>()?, 2.5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nll_loss(&self, target: &Tensor) -> Result<Tensor> = nll_loss { samples: samples::nll, errors: samples::nll_errors };

    /// The losses `-x[target]` of logarithms of probabilities, with weights of the classes, targets that are left out, and a choice of what
    /// becomes of the losses.
    ///
    /// The options are a [`Reduction`](crate::Reduction) or an [`NllLoss`](crate::nn::NllLoss). In Rust no target is left out unless
    /// `ignore_index` says so; in Python -100 is, as in PyTorch.
    ///
    /// # Shapes
    /// Log-probabilities `[examples, classes, ..]` and target `[examples, ..]`, or `[classes]` and `[]`; result `[]`, or the shape of the
    /// target for [`Reduction::None`](crate::Reduction::None).
    ///
    /// # Dtypes
    /// As for `nll_loss`; weights take the dtype of the tensor.
    ///
    /// # Derivative
    /// Minus the weight of its class at the target of each example that is not left out; also with respect to weights.
    ///
    /// # Errors
    /// As for `nll_loss`; `Shape` for weights of another shape than `[classes]`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([[-1.0, -2.0], [-3.0, -4.0]]);
    /// let losses = x.nll_loss_with(&Tensor::from([0i64, 1]), Reduction::None)?;
    /// assert_eq!(losses.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nll_loss_with(&self, target: &Tensor, options: impl Into<NllLoss>) -> Result<Tensor> = nll_loss_with {
        samples: samples::nll_with, errors: samples::nll_with_errors
    };
}

/// The losses of all examples, from logits `[.., classes]` and classes `[..]`.
#[derive(Debug)]
struct Losses {
    /// The name of the method, for messages.
    op: &'static str,
    /// How many of the first dimensions are lanes.
    lanes: usize,
    /// The target whose loss is 0.
    ignore: Option<i64>,
}

/// The derivative of [`Losses`] with respect to the logits: softmax less one at the target.
///
/// It is an operation of its own because it is one pass over the data.
#[derive(Debug)]
struct SoftmaxLessTarget {
    ignore: Option<i64>,
}

impl SoftmaxLessTarget {
    fn share(ignore: Option<i64>) -> OpRef {
        match ignore {
            None => OpRef::Static(&SoftmaxLessTarget { ignore: None }),
            ignore => OpRef::new(SoftmaxLessTarget { ignore }),
        }
    }

    /// That of softmax, which is its own transpose.
    fn differential(&self, saved: &Saved, d: &Tensor) -> Result<Tensor> {
        let x = &saved.tensors[0];
        let found = softmax_differential(&x.softmax(-1)?, d, x.rank() - 1)?;
        match self.ignore {
            None => Ok(found),
            Some(class) => saved.tensors[1].ne(class)?.unsqueeze(-1)?.where_(&found, 0.0),
        }
    }
}

/// Logits and classes with lanes in front.
fn lanes_in_front(info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<[Tensor; 2]> {
    let front = |k: usize| batch::materialize(inputs[k], dims[k], info.batch_size);
    Ok([front(0)?, front(1)?])
}

impl Op for Losses {
    fn name(&self) -> &str {
        "cross_entropy"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (x, target) = (inputs[0].concrete(), inputs[1].concrete());
        let target = classes::check(self.op, target, x.shape()[x.rank() - 1], self.lanes, self.ignore)?;
        Ok(smallvec![widened([x], |[x]| classes::cross_entropy(x, &target))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], inputs[1]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let found = grads[0].map(|g| {
            let weights = bind1(&SoftmaxLessTarget::share(self.ignore), &[&saved.tensors[0], &saved.tensors[1]])?;
            mul_owned(weights, g.reshape_to(&with_dim(g.shape(), g.rank(), 1))?)
        });
        Ok(smallvec![found?, Cotangent::zero()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let found = tangents[0].map(|t| {
            let weights = bind1(&SoftmaxLessTarget::share(self.ignore), &[&saved.tensors[0], &saved.tensors[1]])?;
            mul_owned(weights, t.clone())?.sum_dims(&[-1], false)
        });
        Ok(smallvec![found?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let [x, target] = lanes_in_front(info, dims, inputs)?;
        Ok((bind(&OpRef::new(Losses { lanes: self.lanes + 1, ..*self }), &[&x, &target])?, smallvec![Some(0)]))
    }
}

impl Op for SoftmaxLessTarget {
    fn name(&self) -> &str {
        "cross_entropy_backward"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (x, target) = (inputs[0].concrete(), inputs[1].concrete());
        let target = classes::check("cross_entropy", target, x.shape()[x.rank() - 1], 0, self.ignore)?;
        Ok(smallvec![widened([x], |[x]| classes::softmax_less_target(x, &target))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(match self.ignore {
            None => Saved::tensors([inputs[0]]),
            Some(_) => Saved::tensors([inputs[0], inputs[1]]),
        })
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![grads[0].map(|g| self.differential(saved, g))?, Cotangent::zero()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| self.differential(saved, t))?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let [x, target] = lanes_in_front(info, dims, inputs)?;
        Ok((bind(&SoftmaxLessTarget::share(self.ignore), &[&x, &target])?, smallvec![Some(0)]))
    }
}

/// The dimension of the classes: as in PyTorch the second, or the only one.
fn class_dim(op: &str, x: &Tensor) -> Result<usize> {
    match x.rank() {
        0 => bail!(Shape, "{op}: expected a dimension of classes, got {}", x.ty()),
        rank => Ok(usize::from(rank > 1)),
    }
}

/// Fails unless `target` has the shape of `x` without the classes along `dim`, and holds integers.
fn check_classes(op: &str, x: &Tensor, dim: usize, target: &Tensor) -> Result<()> {
    if !target.dtype().is_int() {
        bail!(Dtype, "{op}: expected a target of integers for {}, got {}", x.ty(), target.ty());
    }
    let examples = without_dim(x.shape(), dim);
    if target.shape() != &examples[..] {
        bail!(Shape, "{op}: expected a target of shape {} for {}, got {}", Brackets(&examples), x.ty(), target.ty();
            help = "the classes lie along dim {dim} of the first tensor; `movedim` brings them there");
    }
    Ok(())
}

/// The tensor with the classes in the last dimension.
fn classes_last(x: Tensor, dim: usize) -> Result<Tensor> {
    if dim + 1 == x.rank() { Ok(x) } else { x.movedim(&[dim as isize], &[-1]) }
}

/// Weights of the classes in the dtype of `x`, after a check of their shape.
fn check_weight(op: &str, x: &Tensor, dim: usize, weight: Option<&Tensor>) -> Result<Option<Tensor>> {
    let Some(weight) = weight else { return Ok(None) };
    if weight.dtype().is_complex() {
        bail!(Dtype, "{op}: expected weights of real numbers, got {}", weight.ty());
    }
    if weight.shape() != [x.shape()[dim]] {
        bail!(
            Shape,
            "{op}: expected weights [{}], one for each class of {}, got {}",
            x.shape()[dim],
            x.ty(),
            weight.ty()
        );
    }
    Ok(Some(weight.to_dtype(x.dtype())?))
}

/// Targets that have been checked, as `i64`; 0 for those that are left out.
#[derive(Clone, Debug)]
struct Checked {
    op: &'static str,
    classes: usize,
    lanes: usize,
    ignore: Option<i64>,
}

impl Discrete for Checked {
    const NAME: &'static str = "nll_loss";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let mut found = classes::check(self.op, x, self.classes, self.lanes, self.ignore)?;
        if self.ignore.is_some() {
            for class in found.as_mut_slice::<i64>().unwrap_or_default() {
                *class = (*class).max(0);
            }
        }
        Ok(found)
    }
    fn batched(&self) -> Checked {
        Checked { lanes: self.lanes + 1, ..self.clone() }
    }
}

/// The classes of `target`, which holds `i64`; 0 for those that are left out.
fn checked(op: &'static str, classes: usize, target: &Tensor, ignore: Option<i64>) -> Result<Tensor> {
    discrete(Checked { op, classes, lanes: 0, ignore }, target)
}

/// What each example counts: the weight of its class, and 0 if it is left out.
struct Shares {
    /// True for the examples that are not left out, if any may be.
    kept: Option<Tensor>,
    /// The weights, if there are any.
    weights: Option<Tensor>,
}

impl Shares {
    /// `target` holds `i64` and is checked but for its elements.
    fn new(
        op: &'static str,
        classes: usize,
        target: &Tensor,
        weight: Option<&Tensor>,
        ignore: Option<i64>,
    ) -> Result<Shares> {
        let kept = ignore.map(|class| target.ne(class)).transpose()?;
        let weights = match weight {
            None => None,
            Some(w) => {
                let flat = checked(op, classes, target, ignore)?.reshape_to(&[target.numel()])?;
                let own = w.index_select(0, &flat)?.reshape_to(target.shape())?;
                Some(Shares::only(kept.as_ref(), own)?)
            }
        };
        Ok(Shares { kept, weights })
    }

    /// `x`, with 0 for what is left out.
    fn only(kept: Option<&Tensor>, x: Tensor) -> Result<Tensor> {
        kept.map_or(Ok(x.clone()), |kept| kept.where_(&x, 0.0))
    }

    fn weigh(&self, losses: Tensor) -> Result<Tensor> {
        match &self.weights {
            None => Ok(losses),
            Some(w) => mul_owned(losses, w.clone()),
        }
    }

    /// The reduction of losses that have been multiplied by their weights.
    fn reduce(&self, losses: &Tensor, reduction: Reduction) -> Result<Tensor> {
        let counts = match (reduction, &self.weights, &self.kept) {
            (Reduction::Mean, Some(w), _) => w.clone(),
            (Reduction::Mean, None, Some(kept)) => kept.to_dtype(losses.dtype())?,
            _ => return reduction.of(losses),
        };
        // Sums of halves may be larger than any of them.
        let dtype = losses.dtype();
        let wide = if dtype.is_half() { DType::F32 } else { dtype };
        let total = counts.to_dtype(wide)?.sum()?;
        // The mean of nothing is NaN, but it depends on nothing.
        let nothing = total.eq(0)?;
        let mean = losses.to_dtype(wide)?.sum()?.div(nothing.where_(1, total)?)?;
        nothing.where_(f64::NAN, mean)?.to_dtype(dtype)
    }
}

fn cross_entropy(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    let op = "cross_entropy";
    let x = to_real_float(op, x)?;
    let dim = class_dim(op, &x)?;
    if is_probabilities(op, &x, target)? {
        return Reduction::Mean.of(&of_probabilities(&x, dim, &target.to_dtype(x.dtype())?)?);
    }
    check_classes(op, &x, dim, target)?;
    let losses = bind1(&OpRef::new(Losses { op, lanes: 0, ignore: None }), &[&classes_last(x, dim)?, target])?;
    Reduction::Mean.of(&losses)
}

/// Whether the target holds probabilities of the classes of logits `x`.
fn is_probabilities(op: &str, x: &Tensor, target: &Tensor) -> Result<bool> {
    if !target.dtype().is_float() || target.rank() != x.rank() {
        return Ok(false);
    }
    if target.shape() != x.shape() {
        bail!(Shape, "{op}: expected probabilities of the shape of the logits, got logits {} and target {}", x.ty(),
            target.ty(); help = "classes are integers");
    }
    Ok(true)
}

/// The losses for probabilities.
fn of_probabilities(x: &Tensor, dim: usize, p: &Tensor) -> Result<Tensor> {
    let dim = dim as isize;
    p.mul(x.log_softmax(dim)?)?.sum_dims(&[dim], false)?.neg()
}

fn cross_entropy_with(x: &Tensor, target: &Tensor, options: impl Into<CrossEntropy>) -> Result<Tensor> {
    let (op, options) = ("cross_entropy_with", options.into());
    let CrossEntropy { weight, ignore_index: ignore, label_smoothing: smoothing, reduction } = options;
    if !(0.0..=1.0).contains(&smoothing) {
        bail!(Value, "{op}: expected a label smoothing from 0 to 1, got {smoothing}");
    }
    let x = to_real_float(op, x)?;
    let dim = class_dim(op, &x)?;
    let weight = check_weight(op, &x, dim, weight.as_ref())?;
    let classes = x.shape()[dim];
    if is_probabilities(op, &x, target)? {
        if let Some(class) = ignore.filter(|&class| class >= 0) {
            bail!(Value, "{op}: expected target classes to ignore {class} among, got probabilities {}", target.ty();
                help = "set the rows of probabilities to 0");
        }
        let mut p = target.to_dtype(x.dtype())?;
        if smoothing > 0.0 {
            p = p.mul(1.0 - smoothing)?.add(smoothing / classes as f64)?;
        }
        if let Some(w) = weight {
            let mut along = Shape::from_elem(1, x.rank());
            along[dim] = classes;
            p = p.mul(w.reshape_to(&along)?)?;
        }
        return reduction.of(&of_probabilities(&x, dim, &p)?);
    }
    check_classes(op, &x, dim, target)?;
    let target = &target.to_dtype(DType::I64)?;
    let x = classes_last(x, dim)?;
    let own = bind1(&OpRef::new(Losses { op, lanes: 0, ignore }), &[&x, target])?;
    if weight.is_none() && ignore.is_none() && smoothing == 0.0 {
        return reduction.of(&own);
    }
    let shares = Shares::new(op, classes, target, weight.as_ref(), ignore)?;
    let mut losses = shares.weigh(own)?;
    if smoothing > 0.0 {
        let mut all = x.log_softmax(-1)?;
        if let Some(w) = &weight {
            all = mul_owned(all, w.clone())?;
        }
        // Not the sum, which may be larger than any half.
        let all = Shares::only(shares.kept.as_ref(), all.mean_dims(&[-1], false)?)?;
        losses = losses.mul(1.0 - smoothing)?.sub(all.mul(smoothing)?)?;
    }
    shares.reduce(&losses, reduction)
}

fn nll_loss(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    nll("nll_loss", x, target, &NllLoss::new())
}

fn nll_loss_with(x: &Tensor, target: &Tensor, options: impl Into<NllLoss>) -> Result<Tensor> {
    nll("nll_loss_with", x, target, &options.into())
}

fn nll(op: &'static str, x: &Tensor, target: &Tensor, options: &NllLoss) -> Result<Tensor> {
    let x = to_real_float(op, x)?;
    let dim = class_dim(op, &x)?;
    check_classes(op, &x, dim, target)?;
    let weight = check_weight(op, &x, dim, options.weight.as_ref())?;
    let target = target.to_dtype(DType::I64)?;
    let (classes, ignore) = (x.shape()[dim], options.ignore_index);
    let at = checked(op, classes, &target, ignore)?.reshape_to(&with_dim(target.shape(), dim, 1))?;
    let shares = Shares::new(op, classes, &target, weight.as_ref(), ignore)?;
    let losses = x.gather(dim as isize, &at)?.reshape_to(target.shape())?.neg()?;
    let losses = Shares::only(shares.kept.as_ref(), losses)?;
    shares.reduce(&shares.weigh(losses)?, options.reduction)
}
