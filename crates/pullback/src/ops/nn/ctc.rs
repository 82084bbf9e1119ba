//! Connectionist temporal classification.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::ctc_samples as samples;
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind1};
use crate::kernels::cast::cast;
use crate::kernels::classes::position;
use crate::kernels::copy::contiguous;
use crate::kernels::ctc;
use crate::ops::arith::mul_owned;
use crate::ops::family::apply1;
use crate::ops::reduce::to_real_float;
use crate::ops::shape::move_dim;
use crate::ops::table::ops;
use crate::shape::{Brackets, Shape, with_dim};
use crate::{DType, Reduction, Result, Tensor};

/// The options of [`ctc_loss`](Tensor::ctc_loss). A [`Reduction`] alone is one of them.
///
/// ```
/// use pullback::{Reduction, Tensor, nn::CtcLoss};
/// let (x, one) = (Tensor::from([[0.5f64, 0.5]]).log()?, Tensor::from(1i64));
/// // Two labels do not fit into one step.
/// let (targets, two) = (Tensor::from([1i64, 1]), Tensor::from(2i64));
/// assert_eq!(x.ctc_loss(&targets, &one, &two, Reduction::Sum)?.item::<f64>()?, f64::INFINITY);
/// let options = CtcLoss::new().zero_infinity(true);
/// assert_eq!(x.ctc_loss(&targets, &one, &two, &options)?.item::<f64>()?, 0.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CtcLoss {
    blank: usize,
    zero_infinity: bool,
    reduction: Reduction,
}

impl CtcLoss {
    /// Class 0 is the blank, losses may be infinite, the mean.
    pub fn new() -> CtcLoss {
        CtcLoss::default()
    }

    /// The class that stands for no label.
    #[must_use]
    pub fn blank(mut self, class: usize) -> CtcLoss {
        self.blank = class;
        self
    }

    /// Whether losses that are infinite, of labels that do not fit into the steps, are set to 0, and so are their derivatives.
    #[must_use]
    pub fn zero_infinity(mut self, zero_infinity: bool) -> CtcLoss {
        self.zero_infinity = zero_infinity;
        self
    }

    /// What becomes of the losses of the examples. For the mean, each is divided by the number of its labels first, if it has any.
    #[must_use]
    pub fn reduction(mut self, reduction: Reduction) -> CtcLoss {
        self.reduction = reduction;
        self
    }
}

impl From<Reduction> for CtcLoss {
    fn from(reduction: Reduction) -> CtcLoss {
        CtcLoss::new().reduction(reduction)
    }
}

impl From<&CtcLoss> for CtcLoss {
    fn from(options: &CtcLoss) -> CtcLoss {
        options.clone()
    }
}

ops! { OPS;
    /// Minus the logarithm of the probability of sequences of labels, where the tensor holds logarithms of the probabilities of classes at each
    /// time step: connectionist temporal classification.
    ///
    /// The probability of a sequence is the sum over all its alignments with the steps. An alignment gives each step a label, or the blank; a
    /// label that goes on for several steps is one, and so equal labels that follow each other need a blank between them.
    ///
    /// # Shapes
    /// `[steps, examples, classes]`, targets `[examples, longest]` and two lengths `[examples]`: how many steps and how many labels of each
    /// example count. Or `[steps, classes]`, `[longest]`, `[]` and `[]` for one example. The result is `[]`, or has the shape of the lengths for
    /// [`Reduction::None`].
    ///
    /// # Dtypes
    /// Floats (integers become `f32`), computed with in `f64`; targets and lengths are integers.
    ///
    /// # Derivative
    /// Minus the probability, given the labels, that a step has a class. It is that of the formula, also where the tensor is not normalised; PyTorch's
    /// is right only behind a `log_softmax`, with which both agree. That of an infinite loss is NaN. There are derivatives of every order.
    ///
    /// # Errors
    /// `Shape` if shapes do not fit; `Dtype` for targets or lengths that are not integers; `Index` for labels that are not classes or are the blank,
    /// and for lengths beyond the sizes; `Value` for a blank that is no class.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([[0.5, 0.5], [0.25, 0.75]]).log()?;
    /// let (target, steps, labels) = (Tensor::from([1i64]), Tensor::from(2i64), Tensor::from(1i64));
    /// let loss = x.ctc_loss(&target, &steps, &labels, Reduction::Sum)?.item::<f64>()?;
    /// // All alignments but two blanks.
    /// assert!((loss + (1.0 - 0.5 * 0.25f64).ln()).abs() < 1e-12);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    ///
    /// # Source
    /// Graves et al., "Connectionist temporal classification", 2006.
    fn ctc_loss(&self, targets: &Tensor, input_lengths: &Tensor, target_lengths: &Tensor, options: impl Into<CtcLoss>) -> Result<Tensor> = ctc_loss {
        samples: samples::samples, errors: samples::errors,
        python: ctc_loss(self as log_probs, targets, input_lengths, target_lengths, options)
    };
}

/// Of logarithms `[steps, examples, classes]`, targets `[examples, longest]` and lengths `[examples]`, the losses `[examples]`; or their
/// derivative by the logarithms, and the derivatives of that in directions, which are further inputs.
#[derive(Clone)]
struct Ctc {
    /// How many directions there are, if it is not the losses that are computed.
    directions: Option<usize>,
    blank: usize,
    zero_infinity: bool,
    /// The dimensions of the examples, of which the first are lanes, for messages.
    batch: Shape,
    lanes: usize,
}

impl fmt::Debug for Ctc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Ctc");
        f.field("directions", &self.directions)
            .field("blank", &self.blank)
            .field("zero_infinity", &self.zero_infinity)
            .finish()
    }
}

const OP: &str = "ctc_loss";

impl Ctc {
    /// Where example `k` lies.
    fn place(&self, k: usize) -> String {
        position(&self.batch, k, self.lanes)
    }

    /// Lengths, which must not be larger than `most`.
    fn lengths(&self, what: &str, x: &Array, most: usize) -> Result<Array> {
        let x = contiguous(&cast(x, DType::I64));
        let all = x.as_slice::<i64>().unwrap_or_default();
        match all.iter().position(|&n| n < 0 || n as u64 > most as u64) {
            None => Ok(x),
            Some(k) => bail!(Index, "{OP}: expected {what} from 0 to {most}, got {}{}", all[k], self.place(k)),
        }
    }

    fn check(&self, targets: &[i64], labels: &[i64], longest: usize, classes: usize) -> Result<()> {
        for (example, &count) in labels.iter().enumerate() {
            for (k, &label) in targets[example * longest..][..count as usize].iter().enumerate() {
                if label as u64 >= classes as u64 || label as u64 == self.blank as u64 {
                    let (blank, place) = (self.blank, self.place(example));
                    bail!(
                        Index,
                        "{OP}: expected labels from 0 to below {classes}, the number of classes, without {blank}, the \
                        blank, got {label} as label {k}{place}"
                    );
                }
            }
        }
        Ok(())
    }

    /// The next derivative in direction `d`; or for the number of a direction, this derivative with that replaced.
    fn along(&self, saved: &Saved, d: &Tensor, place: Option<usize>) -> Result<Tensor> {
        let mut inputs: SmallVec<[&Tensor; 6]> = saved.tensors.iter().collect();
        match place {
            Some(k) => inputs[k] = d,
            None => inputs.push(d),
        }
        bind1(&OpRef::new(Ctc { directions: Some(inputs.len() - 4), ..self.clone() }), &inputs)
    }

    /// The derivative of the losses.
    fn slopes(&self, saved: &Saved) -> Result<Tensor> {
        let inputs: SmallVec<[&Tensor; 6]> = saved.tensors.iter().collect();
        bind1(&OpRef::new(Ctc { directions: Some(0), ..self.clone() }), &inputs)
    }
}

impl Op for Ctc {
    fn name(&self) -> &str {
        OP
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let x = inputs[0].concrete();
        let dtype = x.dtype();
        let wide = |x: &Array| contiguous(&cast(x, DType::F64));
        let (time, examples, classes, longest) = (x.shape()[0], x.shape()[1], x.shape()[2], inputs[1].shape()[1]);
        let steps = self.lengths("input_lengths", inputs[2].concrete(), time)?;
        let labels = self.lengths("target_lengths", inputs[3].concrete(), longest)?;
        let targets = contiguous(&cast(inputs[1].concrete(), DType::I64));
        let ints = |x: &Array| x.as_slice::<i64>().unwrap_or_default().to_vec();
        let (steps, labels, targets) = (ints(&steps), ints(&labels), ints(&targets));
        self.check(&targets, &labels, longest, classes)?;
        let x = wide(x);
        let all = ctc::Ctc {
            x: x.as_slice().unwrap_or_default(),
            targets: &targets,
            steps: &steps,
            labels: &labels,
            time,
            examples,
            classes,
            longest,
            blank: self.blank,
        };
        let found = match self.directions {
            None => {
                let mut losses = all.losses();
                if self.zero_infinity {
                    for loss in losses.as_mut_slice::<f64>().unwrap_or_default() {
                        *loss = if *loss == f64::INFINITY { 0.0 } else { *loss };
                    }
                }
                losses
            }
            Some(_) => {
                let directions: SmallVec<[Array; 2]> = inputs[4..].iter().map(|d| wide(d.concrete())).collect();
                let directions: SmallVec<[&[f64]; 2]> =
                    directions.iter().map(|d| d.as_slice().unwrap_or_default()).collect();
                all.derivatives(&directions, self.zero_infinity)
            }
        };
        Ok(smallvec![cast(&found, dtype).into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let mut saved = Saved::default();
        saved.tensors.extend(inputs.iter().map(|t| (*t).clone()));
        Ok(saved)
    }
    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let mut out: Cotangents = needs.iter().map(|_| Cotangent::zero()).collect();
        let Some(g) = grads[0].as_tensor() else { return Ok(out) };
        if self.directions.is_none() {
            out[0] = mul_owned(self.slopes(saved)?, g.reshape_to(&[1, g.numel(), 1])?)?.into();
            return Ok(out);
        }
        // Derivatives are symmetric.
        if needs[0] {
            out[0] = self.along(saved, g, None)?.into();
        }
        for k in (4..needs.len()).filter(|&k| needs[k]) {
            out[k] = self.along(saved, g, Some(k))?.into();
        }
        Ok(out)
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        if self.directions.is_none() {
            let of = |t: &Tensor| mul_owned(self.slopes(saved)?, t.clone())?.sum_dims(&[0, 2], false);
            return Ok(smallvec![tangents[0].map(of)?]);
        }
        let mut sum = tangents[0].map(|t| self.along(saved, t, None))?;
        for (k, t) in tangents.iter().enumerate().skip(4) {
            if let Some(t) = t.as_tensor() {
                sum.accumulate(self.along(saved, t, Some(k))?)?;
            }
        }
        Ok(smallvec![sum])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let lanes = info.batch_size;
        // Lanes are examples, which lie along dim 1 of what has steps.
        let along = |k: usize| usize::from(k == 0 || k >= 4);
        let mut joined: SmallVec<[Tensor; 6]> = SmallVec::new();
        for (k, (t, &dim)) in inputs.iter().zip(dims).enumerate() {
            let t = move_dim(&batch::materialize(t, dim, lanes)?, 0, along(k))?;
            let mut shape = Shape::from_slice(t.shape());
            shape.remove(along(k));
            shape[along(k)] *= lanes;
            joined.push(t.reshape_to(&shape)?);
        }
        let op = Ctc { batch: with_dim(&self.batch, 0, lanes), lanes: self.lanes + 1, ..self.clone() };
        let out = bind1(&OpRef::new(op), &joined.iter().collect::<SmallVec<[&Tensor; 6]>>())?;
        let dim = usize::from(self.directions.is_some());
        let mut shape = with_dim(out.shape(), dim, lanes);
        shape[dim + 1] = self.batch.iter().product();
        Ok((smallvec![out.reshape_to(&shape)?], smallvec![Some(dim)]))
    }
}

fn ctc_loss(
    x: &Tensor,
    targets: &Tensor,
    input_lengths: &Tensor,
    target_lengths: &Tensor,
    options: impl Into<CtcLoss>,
) -> Result<Tensor> {
    let CtcLoss { blank, zero_infinity, reduction } = options.into();
    let x = to_real_float(OP, x)?;
    let batch = match x.shape() {
        [_, _] => Shape::new(),
        [_, examples, _] => Shape::from_slice(&[*examples]),
        _ => bail!(Shape, "{OP}: expected [steps, examples, classes] or [steps, classes], got {}", x.ty()),
    };
    let classes = x.shape()[x.rank() - 1];
    for (what, t) in [("targets", targets), ("input_lengths", input_lengths), ("target_lengths", target_lengths)] {
        if !t.dtype().is_int() {
            bail!(Dtype, "{OP}: expected {what} of integers, got {}", t.ty());
        }
        let lead = if what == "targets" { &t.shape()[..t.rank().saturating_sub(1)] } else { t.shape() };
        if lead != &batch[..] || (what == "targets" && t.rank() == 0) {
            let own = if what == "targets" { "[.., longest]" } else { "[..]" };
            bail!(Shape, "{OP}: expected {what} {own} with the examples {} of {}, got {}", Brackets(&batch), x.ty(), t.ty();
                help = "labels of several examples in a row need to be cut and padded");
        }
    }
    if blank >= classes {
        bail!(Value, "{OP}: expected a blank below {classes}, the number of classes of {}, got {blank}", x.ty());
    }
    let (mut x, mut targets) = (x, targets.to_dtype(DType::I64)?);
    let (mut steps, mut labels) = (input_lengths.to_dtype(DType::I64)?, target_lengths.to_dtype(DType::I64)?);
    if batch.is_empty() {
        (x, targets) = (x.unsqueeze(1)?, targets.unsqueeze(0)?);
        (steps, labels) = (steps.unsqueeze(0)?, labels.unsqueeze(0)?);
    }
    let op = Ctc { directions: None, blank, zero_infinity, batch: batch.clone(), lanes: 0 };
    let losses = apply1(op, &[&x, &targets, &steps, &labels])?.reshape_to(&batch)?;
    match reduction {
        Reduction::Mean => {
            let counts = labels.to_dtype(x.dtype())?.clamp(Some(1.0), None)?.reshape_to(&batch)?;
            losses.div(counts)?.mean()
        }
        _ => reduction.of(&losses),
    }
}
