//! Losses of pairs of numbers: each element of a tensor against that of a target.

use super::arith::mul_owned;
use super::family::{UnaryOp, UnaryWith, unary_with};
use super::loss::{Reduction, naive_reduction};
use super::nn::BinaryCrossEntropyWithLogits;
use super::reduce::to_real_float;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::error::bail;
use crate::function::OpRef;
use crate::kernels::map;
use crate::kernels::math::Float;
use crate::shape::broadcasts_to;
use crate::{ErrorKind, Result, Tensor};

ops! { OPS;
    /// The mean of the squared differences from `target`.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `2 (x - target) / n`, and its negative with respect to the target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ: a loss that broadcasts is more often a mistake than meant.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.mse_loss(&Tensor::from([0.0, 0.0]))?.item::<f64>()?, 2.5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn mse_loss(&self, target: &Tensor) -> Result<Tensor> = mse_mean { samples: mse_samples, errors: mse_errors };

    /// [`mse_loss`](Tensor::mse_loss) with another reduction than the mean.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `2 (x - target)` per element, and its negative with respect to the target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.mse_loss_with(&Tensor::from([0.0, 0.0]), Reduction::Sum)?.item::<f64>()?, 5.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn mse_loss_with(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> = mse {
        samples: mse_with_samples, errors: mse_errors
    };

    /// The absolute differences from `target`.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// The sign of the difference, 0 where there is none.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 4.5]));
    /// assert_eq!(x.l1_loss(&y, Reduction::Sum)?.item::<f64>()?, 2.5);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn l1_loss(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> = l1_loss { samples: l1_samples, errors: pair_errors };

    /// Half the square of the difference from `target` where that is at most `delta` in size, else
    /// `delta·(|x - target| - delta/2)`.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// The difference, clamped to `delta`; its negative with respect to the target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ; `Value` unless `delta` is a positive number.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 4.5]));
    /// assert_eq!(x.huber_loss(&y, 2.0, Reduction::Sum)?.item::<f64>()?, 3.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn huber_loss(&self, target: &Tensor, delta: f64, reduction: Reduction) -> Result<Tensor> = huber_loss {
        samples: huber_samples, errors: huber_errors,
        python: huber_loss(target, reduction, delta = 1.0)
    };

    /// [`huber_loss`](Tensor::huber_loss) divided by its parameter: half the square of the difference over `beta` where that is at
    /// most `beta` in size, else `|x - target| - beta/2`. For `beta` 0 it is [`l1_loss`](Tensor::l1_loss).
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// The difference over `beta`, clamped to 1; its negative with respect to the target.
    ///
    /// # Errors
    /// `Shape` if the shapes differ; `Value` if `beta` is negative or no number.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 4.5]));
    /// assert_eq!(x.smooth_l1_loss(&y, 1.0, Reduction::Sum)?.item::<f64>()?, 2.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn smooth_l1_loss(&self, target: &Tensor, beta: f64, reduction: Reduction) -> Result<Tensor> = smooth_l1_loss {
        samples: smooth_l1_samples, errors: smooth_l1_errors,
        python: smooth_l1_loss(target, reduction, beta = 1.0)
    };

    /// The cross entropy of the probabilities `target` and `sigmoid` of this tensor, `-t·log(p) - (1 - t)·log(1 - p)`, computed
    /// without overflow.
    ///
    /// The options are a [`Reduction`] or a [`BinaryCrossEntropyWithLogits`](crate::nn::BinaryCrossEntropyWithLogits), which has weights of the losses, `w`, and of their positive
    /// part, `u`: `w(-u·t·log(p) - (1 - t)·log(1 - p))`.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`]. Weights broadcast to it.
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `sigmoid(x) - target`; `-x` with respect to the target; with weights, those of the formula.
    ///
    /// # Errors
    /// `Shape` if the shapes differ, or that of weights does not broadcast to them.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([1000.0, -1000.0]);
    /// let losses = x.binary_cross_entropy_with_logits(&Tensor::from([1.0, 1.0]), Reduction::None)?;
    /// assert_eq!(losses.to_vec::<f64>()?, [0.0, 1000.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn binary_cross_entropy_with_logits(&self, target: &Tensor, options: impl Into<BinaryCrossEntropyWithLogits>) -> Result<Tensor> = binary_cross_entropy_with_logits { samples: logits_samples, errors: logits_errors };

    /// The divergence `t·(log(t) - x)` of logarithms of probabilities from the probabilities `t`, which are `target`, or its
    /// exponential with `log_target`. It is 0 where `t` is 0.
    ///
    /// # Shapes
    /// Both tensors have one shape; the result is `[]`, or has that shape for [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats, promoted; integers become `f32`.
    ///
    /// # Derivative
    /// `-t`; with respect to the target `log(t) + 1 - x`, or `t·(log(t) + 1 - x)` with `log_target`.
    ///
    /// # Errors
    /// `Shape` if the shapes differ.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([0.5, 0.5]).log()?;
    /// let y = x.kl_div(&Tensor::from([1.0, 0.0]), false, Reduction::Sum)?;
    /// assert_eq!(y.item::<f64>()?, 2f64.ln());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn kl_div(&self, target: &Tensor, log_target: bool, reduction: Reduction) -> Result<Tensor> = kl_div {
        samples: kl_samples, errors: pair_errors,
        python: kl_div(target, reduction, log_target = false)
    };
}

/// Both tensors as floats.
fn pair(op: &str, x: &Tensor, target: &Tensor) -> Result<(Tensor, Tensor)> {
    if x.shape() != target.shape() {
        bail!(Shape, "{op}: expected a target of the shape of {}, got {}", x.ty(), target.ty(); help = "expand one of \
            them first if broadcasting is meant");
    }
    Ok((to_real_float(op, x)?, to_real_float(op, target)?))
}

fn difference(op: &str, x: &Tensor, target: &Tensor) -> Result<Tensor> {
    let (x, target) = pair(op, x, target)?;
    x.sub(target)
}

fn mse_mean(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    Reduction::Mean.of(&difference("mse_loss", x, target)?.square()?)
}

fn mse(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.of(&difference("mse_loss_with", x, target)?.square()?)
}

fn l1_loss(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.of(&difference("l1_loss", x, target)?.abs()?)
}

/// Half the square of a difference up to `delta`, then on along the tangent. With `c`, the difference clamped to `delta`, it is
/// `c·(d - c/2)`, and its derivative `c`, which is finite where it is not.
#[derive(Clone, Copy, Debug)]
struct Huber {
    delta: f64,
}

impl UnaryWith for Huber {
    const NAME: &'static str = "huber";
    fn share(&self) -> OpRef {
        OpRef::new(UnaryOp(*self))
    }
    fn kernel(&self, x: &Array) -> Result<Array> {
        dispatch!(x.dtype(), Self::NAME, float, T => {
            let delta = T::from_f64(self.delta);
            Ok(map::map::<T, T>(x, #[inline(always)] move |d| {
                let c = if d < -delta { -delta } else { d };
                let c = if c > delta { delta } else { c };
                c * (d - c * T::HALF)
            }))
        })
    }
    fn derivative(&self, t: &Tensor, d: &Tensor, _: &Tensor) -> Result<Tensor> {
        mul_owned(d.clamp(Some(-self.delta), Some(self.delta))?, t.clone())
    }
}

fn huber(d: &Tensor, delta: f64) -> Result<Tensor> {
    unary_with(&Huber { delta }, d)
}

fn huber_loss(x: &Tensor, target: &Tensor, delta: f64, reduction: Reduction) -> Result<Tensor> {
    if !(delta > 0.0 && delta.is_finite()) {
        bail!(Value, "huber_loss: expected a positive delta, got {delta}");
    }
    reduction.of(&huber(&difference("huber_loss", x, target)?, delta)?)
}

fn smooth_l1_loss(x: &Tensor, target: &Tensor, beta: f64, reduction: Reduction) -> Result<Tensor> {
    if !(beta >= 0.0 && beta.is_finite()) {
        bail!(Value, "smooth_l1_loss: expected a beta that is not negative, got {beta}");
    }
    let d = difference("smooth_l1_loss", x, target)?;
    reduction.of(&if beta == 0.0 { d.abs()? } else { huber(&d, beta)?.div(beta)? })
}

/// Weights of losses in the dtype of `x`, after a check that they broadcast to its shape.
pub(super) fn loss_weight(op: &str, what: &str, x: &Tensor, weight: Option<&Tensor>) -> Result<Option<Tensor>> {
    let Some(weight) = weight else { return Ok(None) };
    if !broadcasts_to(weight.shape(), x.shape()) {
        bail!(Shape, "{op}: expected {what} that broadcast to {}, got {}", x.ty(), weight.ty());
    }
    Ok(Some(to_real_float(op, weight)?.to_dtype(x.dtype())?))
}

fn binary_cross_entropy_with_logits(
    x: &Tensor,
    target: &Tensor,
    options: impl Into<BinaryCrossEntropyWithLogits>,
) -> Result<Tensor> {
    let op = "binary_cross_entropy_with_logits";
    let BinaryCrossEntropyWithLogits { weight, pos_weight, reduction } = options.into();
    let (x, t) = pair(op, x, target)?;
    let weight = loss_weight(op, "weights", &x, weight.as_ref())?;
    // (1 + (u - 1)·t)·softplus(-x) + (1 - t)·x.
    let mut part = x.neg()?.softplus()?;
    if let Some(u) = loss_weight(op, "weights of positive targets", &x, pos_weight.as_ref())? {
        part = part.mul(u.sub(1.0)?.mul(&t)?.add(1.0)?)?;
    }
    let losses = part.add(t.neg()?.add(1.0)?.mul(&x)?)?;
    reduction.of(&weight.map_or(Ok(losses.clone()), |w| w.mul(&losses))?)
}

fn kl_div(x: &Tensor, target: &Tensor, log_target: bool, reduction: Reduction) -> Result<Tensor> {
    let (x, t) = pair("kl_div", x, target)?;
    reduction.of(&if log_target {
        // What has no probability adds nothing, whatever the logarithms.
        let gone = t.eq(f64::NEG_INFINITY)?;
        let t = gone.where_(0, t)?;
        gone.where_(0, t.exp()?.mul(t.sub(x)?)?)?
    } else {
        let gone = t.eq(0)?.logical_and(x.isinf()?)?;
        t.xlogy(&t)?.sub(t.mul(gone.where_(0, x)?)?)?
    })
}

type Loss = fn(&Tensor, &Tensor, Reduction) -> Result<Tensor>;

/// Samples of a loss whose elements, with targets in `targets`, are `reference(x, t)`.
fn samples(loss: Loss, reductions: &[Reduction], targets: (f64, f64), reference: fn(f64, f64) -> f64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for &reduction in reductions {
        for shape in [&[2usize, 3][..], &[4], &[], &[0]] {
            if reduction == Reduction::Mean && shape == [0] {
                continue;
            }
            let inputs = [sample_tensor(shape, -1.0, 1.0, 1), sample_tensor(shape, targets.0, targets.1, 2)];
            samples.push(
                Sample::one(format!("{shape:?} {reduction:?}"), inputs, move |x| loss(&x[0], &x[1], reduction))
                    .reference(move |x| {
                        let data = x[0].data.iter().zip(&x[1].data).map(|(a, b)| reference(*a, *b)).collect();
                        naive_reduction(Naive { shape: x[0].shape.clone(), data }, reduction)
                    }),
            );
        }
    }
    samples
}

const ALL: [Reduction; 3] = [Reduction::None, Reduction::Mean, Reduction::Sum];
const AROUND: (f64, f64) = (-1.0, 1.0);

fn mse_samples() -> Vec<Sample> {
    samples(|x, t, _| x.mse_loss(t), &[Reduction::Mean], AROUND, |x, t| (x - t).powi(2))
}

fn mse_with_samples() -> Vec<Sample> {
    samples(Tensor::mse_loss_with, &[Reduction::None, Reduction::Sum], AROUND, |x, t| (x - t).powi(2))
}

fn l1_samples() -> Vec<Sample> {
    samples(Tensor::l1_loss, &ALL, AROUND, |x, t| (x - t).abs())
}

fn huber_samples() -> Vec<Sample> {
    let reference = |x: f64, t: f64| match (x - t).abs() {
        d if d <= 0.75 => d * d / 2.0,
        d => 0.75 * (d - 0.375),
    };
    samples(|x, t, r| x.huber_loss(t, 0.75, r), &ALL, AROUND, reference)
}

fn smooth_l1_samples() -> Vec<Sample> {
    let reference = |x: f64, t: f64| match (x - t).abs() {
        d if d <= 0.25 => d * d / 0.5,
        d => d - 0.125,
    };
    let mut all = samples(|x, t, r| x.smooth_l1_loss(t, 0.25, r), &ALL, AROUND, reference);
    all.extend(samples(
        |x, t, _| x.smooth_l1_loss(t, 0.0, Reduction::Mean),
        &[Reduction::Mean],
        AROUND,
        |x, t| (x - t).abs(),
    ));
    let n = all.len();
    for sample in &mut all[n - 3..] {
        sample.label += ", beta 0";
    }
    all
}

fn logits_samples() -> Vec<Sample> {
    let reference = |x: f64, t: f64| {
        let p = 1.0 / (1.0 + (-x).exp());
        -t * p.ln() - (1.0 - t) * (1.0 - p).ln()
    };
    let mut all = samples(|x, t, r| x.binary_cross_entropy_with_logits(t, r), &ALL, (0.1, 0.9), reference);
    for reduction in ALL {
        let inputs = [
            sample_tensor(&[2, 3], -1.0, 1.0, 1),
            sample_tensor(&[2, 3], 0.1, 0.9, 2),
            sample_tensor(&[3], 0.5, 2.0, 3),
            sample_tensor(&[2, 1], 0.5, 2.0, 4),
        ];
        all.push(
            Sample::one(format!("weights {reduction:?}"), inputs, move |x| {
                let options = BinaryCrossEntropyWithLogits::new().weight(&x[2]).pos_weight(&x[3]).reduction(reduction);
                x[0].binary_cross_entropy_with_logits(&x[1], &options)
            })
            .reference(move |x| {
                let losses = Naive::from_fn(&x[0].shape, |i| {
                    let (p, t) = (1.0 / (1.0 + (-x[0].at(i)).exp()), x[1].at(i));
                    let (w, u) = (x[2].at_broadcast(i), x[3].at_broadcast(i));
                    w * (-u * t * p.ln() - (1.0 - t) * (1.0 - p).ln())
                });
                naive_reduction(losses, reduction)
            }),
        );
    }
    all
}

fn kl_samples() -> Vec<Sample> {
    let of_probabilities = samples(|x, t, r| x.kl_div(t, false, r), &ALL, (0.1, 0.9), |x, t| t * (t.ln() - x));
    let of_logarithms = samples(|x, t, r| x.kl_div(t, true, r), &ALL, (-2.0, -0.1), |x, t| t.exp() * (t - x));
    let named = of_logarithms.into_iter().map(|mut sample| {
        sample.label += ", logarithms";
        sample
    });
    of_probabilities.into_iter().chain(named).collect()
}

fn shape_error(call: impl Fn(&Tensor, &Tensor) -> Result<Tensor> + Send + Sync + 'static) -> ErrorSample {
    let x = sample_tensor(&[2, 1], 0.0, 1.0, 1);
    let message = "expected a target of the shape of f64[2,1], got f64[2]";
    ErrorSample::new("shape", ErrorKind::Shape, message, move || call(&x, &Tensor::from([0.0, 1.0])))
}

fn mse_errors() -> Vec<ErrorSample> {
    vec![shape_error(Tensor::mse_loss)]
}

fn pair_errors() -> Vec<ErrorSample> {
    let sum = Reduction::Sum;
    vec![shape_error(move |x, t| x.l1_loss(t, sum)), shape_error(move |x, t| x.kl_div(t, true, sum))]
}

fn logits_errors() -> Vec<ErrorSample> {
    let weights = |message, set: fn(&Tensor) -> BinaryCrossEntropyWithLogits| {
        let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
        let weight = Tensor::from([1.0, 2.0]);
        ErrorSample::new("weights", ErrorKind::Shape, message, move || {
            x.binary_cross_entropy_with_logits(&x, set(&weight))
        })
    };
    vec![
        shape_error(|x, t| x.binary_cross_entropy_with_logits(t, Reduction::Sum)),
        weights("expected weights that broadcast to f64[2,3], got f64[2]", |w| {
            BinaryCrossEntropyWithLogits::new().weight(w)
        }),
        weights("expected weights of positive targets that broadcast to f64[2,3], got f64[2]", |w| {
            BinaryCrossEntropyWithLogits::new().pos_weight(w)
        }),
    ]
}

fn huber_errors() -> Vec<ErrorSample> {
    let bad = |delta: f64, message| {
        let x = sample_tensor(&[2], 0.0, 1.0, 1);
        ErrorSample::new("delta", ErrorKind::Value, message, move || x.huber_loss(&x, delta, Reduction::Sum))
    };
    vec![
        shape_error(|x, t| x.huber_loss(t, 1.0, Reduction::Sum)),
        bad(0.0, "huber_loss: expected a positive delta, got 0"),
        bad(f64::NAN, "got NaN"),
    ]
}

fn smooth_l1_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2], 0.0, 1.0, 1);
    vec![
        shape_error(|x, t| x.smooth_l1_loss(t, 1.0, Reduction::Sum)),
        ErrorSample::new("beta", ErrorKind::Value, "expected a beta that is not negative, got -1", move || {
            x.smooth_l1_loss(&x, -1.0, Reduction::Sum)
        }),
    ]
}
