//! The options of losses.

use crate::{Reduction, Tensor};

/// The options of [`cross_entropy_with`](crate::Tensor::cross_entropy_with). A [`Reduction`] alone is one of them.
///
/// ```
/// use pullback::{Reduction, Tensor, nn::CrossEntropy};
/// let x = Tensor::from([[0.0, 0.0], [1.0, 2.0]]);
/// let known = CrossEntropy::new().ignore_index(-1);
/// assert_eq!(x.cross_entropy_with(&Tensor::from([0i64, -1]), &known)?.item::<f64>()?, 2f64.ln());
/// assert_eq!(x.cross_entropy_with(&Tensor::from([0i64, 1]), Reduction::None)?.shape(), [2]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CrossEntropy {
    pub(in crate::ops) weight: Option<Tensor>,
    pub(in crate::ops) ignore_index: Option<i64>,
    pub(in crate::ops) label_smoothing: f64,
    pub(in crate::ops) reduction: Reduction,
}

impl CrossEntropy {
    /// All classes alike, no target left out, no smoothing, the mean.
    pub fn new() -> CrossEntropy {
        CrossEntropy::default()
    }

    /// What the loss of each class is multiplied by: a tensor `[classes]`. A mean of losses with target classes is then the weighted one,
    /// over the sum of the weights of the targets.
    #[must_use]
    pub fn weight(mut self, weight: &Tensor) -> CrossEntropy {
        self.weight = Some(weight.clone());
        self
    }

    /// A target that is left out: its loss and derivative are 0, and it does not count in the mean. It need not be a class. A mean from which
    /// every target is left out is NaN.
    #[must_use]
    pub fn ignore_index(mut self, class: i64) -> CrossEntropy {
        self.ignore_index = Some(class);
        self
    }

    /// How much of each target is taken off and shared equally among all classes, from 0 to 1.
    #[must_use]
    pub fn label_smoothing(mut self, part: f64) -> CrossEntropy {
        self.label_smoothing = part;
        self
    }

    /// What becomes of the losses of the examples.
    #[must_use]
    pub fn reduction(mut self, reduction: Reduction) -> CrossEntropy {
        self.reduction = reduction;
        self
    }
}

/// The options of [`nll_loss_with`](crate::Tensor::nll_loss_with). A [`Reduction`] alone is one of them.
///
/// ```
/// use pullback::{Tensor, nn::NllLoss};
/// let x = Tensor::from([[-1.0, -2.0], [-3.0, -5.0]]);
/// let options = NllLoss::new().weight(&Tensor::from([1.0, 3.0]));
/// assert_eq!(x.nll_loss_with(&Tensor::from([0i64, 1]), &options)?.item::<f64>()?, (1.0 + 3.0 * 5.0) / (1.0 + 3.0));
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NllLoss {
    pub(in crate::ops) weight: Option<Tensor>,
    pub(in crate::ops) ignore_index: Option<i64>,
    pub(in crate::ops) reduction: Reduction,
}

impl NllLoss {
    /// All classes alike, no target left out, the mean.
    pub fn new() -> NllLoss {
        NllLoss::default()
    }

    /// What the loss of each class is multiplied by: a tensor `[classes]`. A mean is then the weighted one, over the sum of the weights of the
    /// targets.
    #[must_use]
    pub fn weight(mut self, weight: &Tensor) -> NllLoss {
        self.weight = Some(weight.clone());
        self
    }

    /// A target that is left out; see [`CrossEntropy::ignore_index`].
    #[must_use]
    pub fn ignore_index(mut self, class: i64) -> NllLoss {
        self.ignore_index = Some(class);
        self
    }

    /// What becomes of the losses of the examples.
    #[must_use]
    pub fn reduction(mut self, reduction: Reduction) -> NllLoss {
        self.reduction = reduction;
        self
    }
}

/// The options of [`binary_cross_entropy`](crate::Tensor::binary_cross_entropy). A [`Reduction`] alone is one of them.
///
/// ```
/// use pullback::{Tensor, nn::BinaryCrossEntropy};
/// let (x, y) = (Tensor::from([0.5, 0.5]), Tensor::from([1.0, 0.0]));
/// let options = BinaryCrossEntropy::new().weight(&Tensor::from([3.0, 1.0]));
/// assert_eq!(x.binary_cross_entropy(&y, &options)?.item::<f64>()?, 2.0 * 2f64.ln());
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BinaryCrossEntropy {
    pub(in crate::ops) weight: Option<Tensor>,
    pub(in crate::ops) reduction: Reduction,
}

impl BinaryCrossEntropy {
    /// All losses alike, the mean.
    pub fn new() -> BinaryCrossEntropy {
        BinaryCrossEntropy::default()
    }

    /// What each loss is multiplied by: a tensor that broadcasts to the shape of the losses. A mean is over their number all the same.
    #[must_use]
    pub fn weight(mut self, weight: &Tensor) -> BinaryCrossEntropy {
        self.weight = Some(weight.clone());
        self
    }

    /// What becomes of the losses of the elements.
    #[must_use]
    pub fn reduction(mut self, reduction: Reduction) -> BinaryCrossEntropy {
        self.reduction = reduction;
        self
    }
}

/// The options of [`binary_cross_entropy_with_logits`](crate::Tensor::binary_cross_entropy_with_logits). A [`Reduction`] alone is one
/// of them.
///
/// ```
/// use pullback::{Reduction, Tensor, nn::BinaryCrossEntropyWithLogits};
/// let (x, y) = (Tensor::from([0.0, 0.0]), Tensor::from([1.0, 0.0]));
/// let rare = BinaryCrossEntropyWithLogits::new().pos_weight(&Tensor::from(3.0)).reduction(Reduction::None);
/// let losses = x.binary_cross_entropy_with_logits(&y, &rare)?;
/// assert_eq!(losses.to_vec::<f64>()?, [3.0 * 2f64.ln(), 2f64.ln()]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BinaryCrossEntropyWithLogits {
    pub(in crate::ops) weight: Option<Tensor>,
    pub(in crate::ops) pos_weight: Option<Tensor>,
    pub(in crate::ops) reduction: Reduction,
}

impl BinaryCrossEntropyWithLogits {
    /// All losses alike, the mean.
    pub fn new() -> BinaryCrossEntropyWithLogits {
        BinaryCrossEntropyWithLogits::default()
    }

    /// What each loss is multiplied by: a tensor that broadcasts to the shape of the losses. A mean is over their number all the same.
    #[must_use]
    pub fn weight(mut self, weight: &Tensor) -> BinaryCrossEntropyWithLogits {
        self.weight = Some(weight.clone());
        self
    }

    /// What the part `-t·log(p)` of each loss is multiplied by: more than 1 where few targets are 1. The tensor broadcasts to the shape of the
    /// losses.
    #[must_use]
    pub fn pos_weight(mut self, weight: &Tensor) -> BinaryCrossEntropyWithLogits {
        self.pos_weight = Some(weight.clone());
        self
    }

    /// What becomes of the losses of the elements.
    #[must_use]
    pub fn reduction(mut self, reduction: Reduction) -> BinaryCrossEntropyWithLogits {
        self.reduction = reduction;
        self
    }
}

/// Writes that a reduction, or a reference, stands for the options.
macro_rules! from_reduction {
    ($($t:ident),*) => { $(
        impl From<Reduction> for $t {
            fn from(reduction: Reduction) -> $t {
                $t::new().reduction(reduction)
            }
        }

        impl From<&$t> for $t {
            fn from(options: &$t) -> $t {
                options.clone()
            }
        }
    )* };
}
from_reduction!(CrossEntropy, NllLoss, BinaryCrossEntropy, BinaryCrossEntropyWithLogits);
