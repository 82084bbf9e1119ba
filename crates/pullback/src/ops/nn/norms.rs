//! Normalisation by the mean and the standard deviation of layers, groups, instances and batches.
//!
//! All are one operation, which gives the normalised elements `y` and the scale `r`, the reciprocal of the standard
//! deviation. Its differential is its own transpose: `d` becomes `r·(d - mean(d) - y·mean(d·y))`. That is an operation of its
//! own, one pass over the data, whose rules are written in plain operations and in itself; so every order is right.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind};
use crate::kernels::half::widened;
use crate::kernels::normalize;
use crate::ops::arith::{add_owned, mul_owned};
use crate::ops::family::apply1;
use crate::ops::reduce::to_float;
use crate::ops::table::ops;
use crate::shape::{Brackets, Shape, with_dim};
use crate::{Result, Tensor};

use super::losses::held;
use super::norm_samples as samples;

ops! { OPS;
    /// The elements of each layer less their mean, over their standard deviation: `(x - mean)/sqrt(variance + eps)·weight + bias`. The
    /// variance is that of the elements themselves, divided by their number.
    ///
    /// # Shapes
    /// `[.., ..layer]`, where a layer has the shape `normalized_shape`, as have weight and bias.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// With `y` the elements before the weight, `r` one over the standard deviation, and `d` a tangent, or a cotangent times
    /// the weight: `r·(d - mean(d) - y·mean(d·y))`. At every order.
    ///
    /// # Errors
    /// `Shape` if `normalized_shape` has no dimensions, is not the end of the shape, or not that of weight and bias; `Value` if
    /// `eps` is negative.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 3.0], [2.0, 2.0]]);
    /// assert_eq!(x.layer_norm(&[2], None, None, 3.0)?.to_vec::<f64>()?, [-0.5, 0.5, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Ba, Kiros, Hinton, "Layer normalization", 2016.
    fn layer_norm(&self, normalized_shape: &[usize], weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> = layer_norm {
        samples: samples::layer_norm, errors: samples::layer_norm_errors,
        python: layer_norm(normalized_shape, weight, bias, eps = 1e-5)
    };

    /// The elements of each layer over the root of the mean of their squares: `x/sqrt(mean(x²) + eps)·weight`.
    ///
    /// # Shapes
    /// `[.., ..layer]`, where a layer has the shape `normalized_shape`, as has the weight.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of [`layer_norm`](Tensor::layer_norm) without the mean: `r·(d - y·mean(d·y))`.
    ///
    /// # Errors
    /// As for `layer_norm`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[3.0, 3.0], [0.0, -4.0]]);
    /// assert_eq!(x.rms_norm(&[2], None, 8.0)?.to_vec::<f64>()?, [3.0 / 17f64.sqrt(), 3.0 / 17f64.sqrt(), 0.0, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Zhang, Sennrich, "Root mean square layer normalization", 2019.
    fn rms_norm(&self, normalized_shape: &[usize], weight: Option<&Tensor>, eps: f64) -> Result<Tensor> = rms_norm {
        samples: samples::rms_norm, errors: samples::rms_norm_errors,
        python: rms_norm(normalized_shape, weight, eps = 1.1920928955078125e-7)
    };

    /// The elements of each of `groups` equal groups of channels of each image less their mean, over their standard deviation, times the
    /// weight of their channel, plus its bias.
    ///
    /// # Shapes
    /// `[images, channels, ..]` to the same; weight and bias are `[channels]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of [`layer_norm`](Tensor::layer_norm) for each group.
    ///
    /// # Errors
    /// `Shape` if there is no dimension of channels, if their number is no multiple of `groups`, or if weight or bias has another shape;
    /// `Value` if `groups` is 0 or `eps` is negative.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 3.0, 5.0, 5.0]]);
    /// assert_eq!(x.group_norm(2, None, None, 3.0)?.to_vec::<f64>()?, [-0.5, 0.5, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Wu, He, "Group normalization", 2018.
    fn group_norm(&self, groups: usize, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> = group_norm {
        samples: samples::group_norm, errors: samples::group_norm_errors,
        python: group_norm(groups as num_groups, weight, bias, eps = 1e-5)
    };

    /// The elements of each channel of each image less their mean, over their standard deviation, times the weight of their channel, plus
    /// its bias.
    ///
    /// # Shapes
    /// `[images, channels, ..]` to the same; weight and bias are `[channels]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of [`layer_norm`](Tensor::layer_norm) for each channel.
    ///
    /// # Errors
    /// `Shape` if there is no dimension of channels, or if weight or bias has another shape; `Value` if `eps` is negative.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[[1.0, 3.0], [5.0, 5.0]]]);
    /// assert_eq!(x.instance_norm(None, None, 3.0)?.to_vec::<f64>()?, [-0.5, 0.5, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn instance_norm(&self, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> = instance_norm {
        samples: samples::instance_norm, errors: samples::instance_norm_errors,
        python: instance_norm(weight, bias, eps = 1e-5)
    };

    /// The elements of each channel less a given mean, over the root of a given variance: batch normalisation when a model is used.
    ///
    /// # Shapes
    /// `[examples, channels, ..]` to the same; mean, variance, weight and bias are `[channels]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of `(x - mean)/sqrt(var + eps)·weight + bias` with respect to each of its tensors.
    ///
    /// # Errors
    /// `Shape` if there is no dimension of channels, or if one of the other tensors has another shape; `Value` if `eps` is negative.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let (x, mean, var) = (Tensor::from([[1.0], [4.0]]), Tensor::from([2.0]), Tensor::from([3.0]));
    /// assert_eq!(x.batch_norm(&mean, &var, None, None, 1.0)?.to_vec::<f64>()?, [-0.5, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn batch_norm(&self, mean: &Tensor, var: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> = batch_norm {
        samples: samples::batch_norm, errors: samples::batch_norm_errors,
        python: batch_norm(mean as running_mean, var as running_var, weight, bias, eps = 1e-5)
    };

    /// Batch normalisation while a model is trained: the elements of each channel less their mean over the batch, over their standard
    /// deviation, times the weight of the channel, plus its bias. With it come the new running mean and variance,
    /// `(1 - momentum)·running + momentum·batch`, where the variance of the batch is divided by one less than its number of
    /// elements.
    ///
    /// Nothing is changed in place: a model keeps what it is given back. So it works under every transform, and in an
    /// ensemble each member has statistics of its own.
    ///
    /// # Shapes
    /// `[examples, channels, ..]` to the same; mean, variance, weight and bias are `[channels]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// That of [`layer_norm`](Tensor::layer_norm) for each channel. The running mean and variance do not depend differentiably on
    /// anything.
    ///
    /// # Errors
    /// `Shape` if there is no dimension of channels, if a channel has fewer than 2 elements, or if one of the other tensors has
    /// another shape; `Value` if `eps` is negative.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0], [3.0]]);
    /// let (mean, var) = (Tensor::from([0.0]), Tensor::from([1.0]));
    /// let (y, mean, var) = x.batch_norm_training(&mean, &var, None, None, 0.5, 3.0)?;
    /// assert_eq!(y.to_vec::<f64>()?, [-0.5, 0.5]);
    /// assert_eq!((mean.to_vec::<f64>()?, var.to_vec::<f64>()?), (vec![1.0], vec![1.5]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Ioffe, Szegedy, "Batch normalization", 2015.
    fn batch_norm_training(&self, running_mean: &Tensor, running_var: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, momentum: f64, eps: f64) -> Result<(Tensor, Tensor, Tensor)> = batch_norm_training {
        samples: samples::batch_norm_training, errors: samples::batch_norm_training_errors,
        python: batch_norm_training(running_mean, running_var, weight, bias, momentum = 0.1, eps = 1e-5) -> (output, running_mean, running_var)
    };
}

/// Normalised elements, and the scale of each set of them. The tensor has four dimensions, see the kernel.
#[derive(Clone, Copy, Debug)]
struct Normalize {
    eps: f64,
    center: bool,
}

/// The differential of [`Normalize`] of the first input, where the other two are its results.
#[derive(Clone, Copy, Debug)]
struct Differential {
    center: bool,
}

/// The dims over which statistics are taken.
const OVER: [isize; 2] = [1, 3];

impl Normalize {
    fn apply(self, x: &Tensor) -> Result<[Tensor; 2]> {
        if let Some(x) = x.array() {
            return Ok(widened([x], |[x]| normalize::normalize(x, self.eps, self.center, None))?.map(Tensor::from));
        }
        match <[Tensor; 2]>::try_from(bind(&OpRef::new(self), &[x])?.into_vec()) {
            Ok(both) => Ok(both),
            Err(outs) => bail!(Internal, "normalize: expected two results, got {}", outs.len()),
        }
    }
}

/// The number of elements of each set of `x`.
fn count(x: &Tensor) -> f64 {
    (x.shape()[1] * x.shape()[3]) as f64
}

impl Op for Normalize {
    fn name(&self) -> &str {
        "normalize"
    }
    fn parameters(&self) -> Option<&dyn std::fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let found = widened([inputs[0].concrete()], |[x]| normalize::normalize(x, self.eps, self.center, None))?;
        Ok(found.map(Tensor::from).into_iter().collect())
    }
    fn save(&self, _: &[bool], _: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([&outputs[0], &outputs[1]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let [y, r] = [&saved.tensors[0], &saved.tensors[1]];
        let mut sum = grads[0].map(|g| Differential { center: self.center }.apply(g, y, r))?;
        if let Some(g) = grads[1].as_tensor() {
            // The scale changes by -r²·mean(y·d).
            let weight = g.mul(&r.square()?)?.mul(-1.0 / count(y))?;
            sum.accumulate(y.mul(&weight)?)?;
        }
        Ok(smallvec![sum])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let [y, r] = [&saved.tensors[0], &saved.tensors[1]];
        let of_y = tangents[0].map(|t| Differential { center: self.center }.apply(t, y, r))?;
        let of_r = tangents[0].map(|t| y.mul(t)?.mean_dims(&OVER, true)?.mul(&r.square()?)?.neg())?;
        Ok([of_y, of_r].into_iter().collect())
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let (x, own) = folded(inputs[0], dims[0], info.batch_size)?;
        let outs = self.apply(&x)?;
        let outs: Result<Outs> = outs.iter().map(|t| unfolded(t, info.batch_size, own)).collect();
        Ok((outs?, smallvec![Some(0), Some(0)]))
    }
}

/// Lanes as a part of the first dimension, and the size that it has without them.
fn folded(t: &Tensor, lane: Option<usize>, size: usize) -> Result<(Tensor, usize)> {
    let t = batch::materialize(t, lane, size)?;
    let mut shape = Shape::from_slice(&t.shape()[1..]);
    let own = shape[0];
    shape[0] *= size;
    Ok((t.reshape_to(&shape)?, own))
}

/// Undoes [`folded`].
fn unfolded(t: &Tensor, size: usize, own: usize) -> Result<Tensor> {
    let mut shape = with_dim(t.shape(), 0, size);
    shape[1] = own;
    t.reshape_to(&shape)
}

impl Differential {
    fn apply(self, d: &Tensor, y: &Tensor, r: &Tensor) -> Result<Tensor> {
        apply1(self, &[d, y, r])
    }

    /// The change of the result with `y`, whose change is `e`: `-r·(e·mean(d·y) + y·mean(d·e))`. Its transpose is the same with `e` and
    /// another factor exchanged, so the means are arguments.
    fn of_y(e: &Tensor, mean: &Tensor, other: &Tensor, other_mean: &Tensor, r: &Tensor) -> Result<Tensor> {
        mul_owned(add_owned(e.mul(mean)?, other.mul(other_mean)?)?.mul(r)?, Tensor::full(&[], -1.0, r.dtype())?)
    }
}

fn mean_product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.mul(b)?.mean_dims(&OVER, true)
}

impl Op for Differential {
    fn name(&self) -> &str {
        "normalize_backward"
    }
    fn parameters(&self) -> Option<&dyn std::fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let [d, y, r]: [&Array; 3] = std::array::from_fn(|k| inputs[k].concrete());
        Ok(smallvec![widened([d, y, r], |[d, y, r]| normalize::differential(d, y, r, self.center))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], inputs[1], inputs[2]]))
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let [d, y, r] = [0, 1, 2].map(|k| &saved.tensors[k]);
        let Some(g) = grads[0].as_tensor() else {
            return Ok([0, 1, 2].map(|_| Cotangent::zero()).into_iter().collect());
        };
        let mut found = [Cotangent::zero(), Cotangent::zero(), Cotangent::zero()];
        if needs[0] {
            found[0] = self.apply(g, y, r)?.into();
        }
        if needs[1] {
            found[1] = Differential::of_y(g, &mean_product(d, y)?, d, &mean_product(g, y)?, r)?.into();
        }
        if needs[2] {
            let unscaled = self.apply(d, y, &Tensor::ones(r.shape(), r.dtype())?)?;
            found[2] = g.mul(&unscaled)?.sum_dims(&OVER, true)?.into();
        }
        Ok(found.into_iter().collect())
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let [d, y, r] = [0, 1, 2].map(|k| &saved.tensors[k]);
        let mut sum = tangents[0].map(|t| self.apply(t, y, r))?;
        if let Some(e) = tangents[1].as_tensor() {
            sum.accumulate(Differential::of_y(e, &mean_product(d, y)?, y, &mean_product(d, e)?, r)?)?;
        }
        if let Some(t) = tangents[2].as_tensor() {
            sum.accumulate(self.apply(d, y, &Tensor::ones(r.shape(), r.dtype())?)?.mul(t)?)?;
        }
        Ok(smallvec![sum])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let fold = |k: usize| folded(inputs[k], dims[k], info.batch_size);
        let ((d, own), (y, _), (r, _)) = (fold(0)?, fold(1)?, fold(2)?);
        let out = unfolded(&self.apply(&d, &y, &r)?, info.batch_size, own)?;
        Ok((smallvec![out], smallvec![Some(0)]))
    }
}

pub(super) fn check_eps(op: &str, eps: f64) -> Result<()> {
    if !(eps >= 0.0 && eps.is_finite()) {
        bail!(Value, "{op}: expected an eps that is not negative, got {eps}");
    }
    Ok(())
}

/// Fails unless the tensor has the given shape.
fn check_shape(op: &str, what: &str, t: Option<&Tensor>, shape: &[usize], x: &Tensor) -> Result<()> {
    match t {
        Some(t) if t.shape() != shape => {
            bail!(Shape, "{op}: expected a {what} of shape {} for {}, got {}", Brackets(shape), x.ty(), t.ty())
        }
        _ => Ok(()),
    }
}

/// `y·weight + bias`, each reshaped by `fit`.
fn affine(y: Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, shape: &[usize]) -> Result<Tensor> {
    let mut y = y;
    if let Some(w) = weight {
        let w = w.reshape_to(shape)?;
        y = if w.dtype() == y.dtype() { mul_owned(y, w)? } else { y.mul(&w)? };
    }
    if let Some(b) = bias {
        let b = b.reshape_to(shape)?;
        y = if b.dtype() == y.dtype() { add_owned(y, b)? } else { y.add(&b)? };
    }
    Ok(y)
}

fn layer(
    op: &str,
    x: &Tensor,
    layer: &[usize],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    normalize: Normalize,
) -> Result<Tensor> {
    check_eps(op, normalize.eps)?;
    if layer.is_empty() || !x.shape().ends_with(layer) {
        bail!(
            Shape,
            "{op}: expected a normalized_shape that is the end of the shape of {}, got {}",
            x.ty(),
            Brackets(layer)
        );
    }
    check_shape(op, "weight", weight, layer, x)?;
    check_shape(op, "bias", bias, layer, x)?;
    let x = to_float(x)?;
    let lead: usize = x.shape()[..x.rank() - layer.len()].iter().product();
    let four = [1, 1, lead, layer.iter().product()];
    // Without derivatives the whole is one pass.
    if let (Some(array), Some(w), Some(b)) =
        (x.array(), weight.map(Tensor::array), bias.map_or(Some(None), |b| b.array().map(Some)))
        && let Some(w) = w
        && !x.dtype().is_half()
        && w.dtype() == x.dtype()
        && b.is_none_or(|b| b.dtype() == x.dtype())
        && let Some(view) = crate::kernels::copy::contiguous(array).reshape_view(&four)
    {
        let [y, _] = normalize::normalize(&view, normalize.eps, normalize.center, Some((w, b)))?;
        return Tensor::from(y).reshape_to(x.shape());
    }
    let [y, _] = normalize.apply(&x.reshape_to(&four)?)?;
    affine(y.reshape_to(x.shape())?, weight, bias, layer)
}

fn layer_norm(x: &Tensor, shape: &[usize], weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    layer("layer_norm", x, shape, weight, bias, Normalize { eps, center: true })
}

fn rms_norm(x: &Tensor, shape: &[usize], weight: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    layer("rms_norm", x, shape, weight, None, Normalize { eps, center: false })
}

/// The numbers of images and channels and of elements of a channel, after a check of the shapes; and the shape of a tensor with a number for
/// each channel, which broadcasts.
fn channels(op: &str, x: &Tensor, eps: f64, others: &[(&str, Option<&Tensor>)]) -> Result<([usize; 3], Shape)> {
    check_eps(op, eps)?;
    let &[images, channels, ref rest @ ..] = x.shape() else {
        bail!(Shape, "{op}: expected [images, channels, ..], got {}", x.ty());
    };
    for (what, t) in others {
        check_shape(op, what, *t, &[channels], x)?;
    }
    let mut shape = Shape::from_elem(1, 1 + rest.len());
    shape[0] = channels;
    Ok(([images, channels, rest.iter().product()], shape))
}

fn group(
    op: &str,
    x: &Tensor,
    groups: Option<usize>,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let ([images, channels, size], per_channel) = channels(op, x, eps, &[("weight", weight), ("bias", bias)])?;
    let groups = groups.unwrap_or(channels);
    // Without channels there is nothing in any number of groups.
    let groups = if channels == 0 { groups.min(1) } else { groups };
    if groups == 0 && channels > 0 {
        bail!(Value, "{op}: expected at least one group, got 0");
    }
    if !channels.is_multiple_of(groups.max(1)) {
        bail!(Shape, "{op}: expected a multiple of {groups} channels, got {}", x.ty());
    }
    let x = to_float(x)?;
    let four = [1, 1, images * groups, channels / groups.max(1) * size];
    let [y, _] = Normalize { eps, center: true }.apply(&x.reshape_to(&four)?)?;
    affine(y.reshape_to(x.shape())?, weight, bias, &per_channel)
}

fn group_norm(x: &Tensor, groups: usize, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    group("group_norm", x, Some(groups), weight, bias, eps)
}

fn instance_norm(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    group("instance_norm", x, None, weight, bias, eps)
}

fn batch_norm(
    x: &Tensor,
    mean: &Tensor,
    var: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let others = [("mean", Some(mean)), ("var", Some(var)), ("weight", weight), ("bias", bias)];
    let (_, per_channel) = channels("batch_norm", x, eps, &others)?;
    let scale = to_float(var)?;
    let mut scale = scale.add(held(eps, scale.dtype()))?.rsqrt()?;
    if let Some(w) = weight {
        scale = scale.mul(w)?;
    }
    let centered = to_float(x)?.sub(&mean.reshape_to(&per_channel)?)?;
    affine(centered, Some(&scale), bias, &per_channel)
}

fn batch_norm_training(
    x: &Tensor,
    running_mean: &Tensor,
    running_var: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    momentum: f64,
    eps: f64,
) -> Result<(Tensor, Tensor, Tensor)> {
    let op = "batch_norm_training";
    if !momentum.is_finite() {
        bail!(Value, "{op}: expected a finite momentum, got {momentum}");
    }
    let others = [
        ("running mean", Some(running_mean)),
        ("running variance", Some(running_var)),
        ("weight", weight),
        ("bias", bias),
    ];
    let ([images, channels, size], per_channel) = channels(op, x, eps, &others)?;
    if channels > 0 && images * size < 2 {
        bail!(Shape, "{op}: expected at least 2 elements in each channel, got {}", x.ty());
    }
    let x = to_float(x)?;
    let four = x.reshape_to(&[1, images, channels, size])?;
    let [y, _] = Normalize { eps, center: true }.apply(&four)?;
    let y = affine(y.reshape_to(x.shape())?, weight, bias, &per_channel)?;
    let still = four.detach()?;
    let update = |running: &Tensor, batch: Tensor| {
        running.detach()?.mul(1.0 - momentum)?.add(&batch.reshape_to(&[channels])?.mul(momentum)?)
    };
    let mean = update(running_mean, still.mean_dims(&OVER, true)?)?;
    let var = update(running_var, still.var_dims(&OVER, 1, true)?)?;
    Ok((y, mean, var))
}
