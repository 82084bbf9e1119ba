//! Loss functions, and the encoding of classes.

use std::fmt;

use smallvec::smallvec;

use super::arith::mul_owned;
use super::discrete::{Discrete, discrete};
use super::reduce::to_real_float;
use super::softmax::softmax_differential;
use super::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind, bind1};
use crate::kernels::classes;
use crate::kernels::half::widened;
use crate::shape::{Brackets, with_dim};
use crate::{DType, ErrorKind, Result, Tensor};

/// What becomes of the losses of the single elements.
///
/// ```
/// use pullback::{Reduction, Tensor};
/// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from([0.0, 0.0]));
/// assert_eq!(x.mse_loss_with(&y, Reduction::Sum)?.item::<f64>()?, 5.0);
/// assert_eq!(x.mse_loss_with(&y, Reduction::None)?.to_vec::<f64>()?, [1.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// They stay as they are.
    None,
    /// Their mean, a 0-d tensor.
    #[default]
    Mean,
    /// Their sum, a 0-d tensor.
    Sum,
}

impl Reduction {
    pub(in crate::ops) fn of(self, losses: &Tensor) -> Result<Tensor> {
        match self {
            Reduction::None => Ok(losses.clone()),
            Reduction::Mean => losses.mean(),
            Reduction::Sum => losses.sum(),
        }
    }
}

ops! { OPS;
    /// One at the position that each element names and zero elsewhere, along a new last dimension of size `classes`.
    ///
    /// # Shapes
    /// `[..]` to `[.., classes]`.
    ///
    /// # Dtypes
    /// Integers; the result has the given dtype.
    ///
    /// # Derivative
    /// None: the input is discrete.
    ///
    /// # Errors
    /// `Index` if an element is negative or not below `classes`; `Dtype` unless the elements are integers.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let y = Tensor::from([2i64, 0]).one_hot(3, DType::I64)?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn one_hot(&self, classes: usize, dtype: DType) -> Result<Tensor> = one_hot {
        samples: one_hot_samples, errors: one_hot_errors,
        python: one_hot(classes as num_classes, dtype = I64)
    };

    /// The mean over all examples of `log(Σ exp(x)) - x[target]`, where the tensor holds logits, unnormalised
    /// logarithms of probabilities: the cross-entropy loss of classification.
    ///
    /// # Shapes
    /// Logits `[.., classes]`, target `[..]`, result `[]`. Without leading dimensions it is one example, which is what
    /// `vmap` of a per-example loss sees. For classes in another dimension see [`movedim`](Tensor::movedim).
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
    fn cross_entropy(&self, target: &Tensor) -> Result<Tensor> = cross_entropy_mean {
        samples: cross_entropy_samples, errors: cross_entropy_errors
    };

    /// [`cross_entropy`](Tensor::cross_entropy) with another reduction than the mean.
    ///
    /// # Shapes
    /// Logits `[.., classes]`, target `[..]`, result `[]`, or `[..]` for [`Reduction::None`].
    ///
    /// # Dtypes
    /// As for `cross_entropy`.
    ///
    /// # Derivative
    /// As for `cross_entropy`.
    ///
    /// # Errors
    /// As for `cross_entropy`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let logits = Tensor::from([[0.0, 0.0], [0.0, 1000.0]]);
    /// let losses = logits.cross_entropy_with(&Tensor::from([0i64, 1]), Reduction::None)?;
    /// assert_eq!(losses.to_vec::<f64>()?, [2f64.ln(), 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn cross_entropy_with(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> = cross_entropy {
        samples: cross_entropy_with_samples, errors: cross_entropy_errors
    };

    /// The mean over all examples of `-x[target]`, where the tensor holds logarithms of probabilities, as
    /// [`log_softmax`](Tensor::log_softmax) gives them.
    ///
    /// [`cross_entropy`](Tensor::cross_entropy) does both in one operation.
    ///
    /// # Shapes
    /// Log-probabilities `[.., classes]`, target `[..]`, result `[]`.
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
    fn nll_loss(&self, target: &Tensor) -> Result<Tensor> = nll_mean { samples: nll_samples, errors: nll_errors };

    /// [`nll_loss`](Tensor::nll_loss) with another reduction than the mean.
    ///
    /// # Shapes
    /// Log-probabilities `[.., classes]`, target `[..]`, result `[]`, or `[..]` for [`Reduction::None`].
    ///
    /// # Dtypes
    /// As for `nll_loss`.
    ///
    /// # Derivative
    /// As for `nll_loss`.
    ///
    /// # Errors
    /// As for `nll_loss`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Reduction, Tensor};
    /// let x = Tensor::from([[-1.0, -2.0], [-3.0, -4.0]]);
    /// let losses = x.nll_loss_with(&Tensor::from([0i64, 1]), Reduction::None)?;
    /// assert_eq!(losses.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn nll_loss_with(&self, target: &Tensor, reduction: Reduction) -> Result<Tensor> = nll {
        samples: nll_with_samples, errors: nll_errors
    };
}

#[derive(Clone, Debug)]
struct OneHot {
    classes: usize,
    dtype: DType,
    /// How many of the first dimensions are lanes.
    lanes: usize,
}

impl Discrete for OneHot {
    const NAME: &'static str = "one_hot";
    fn kernel(&self, x: &Array) -> Result<Array> {
        classes::one_hot(&classes::check(Self::NAME, x, self.classes, self.lanes)?, self.classes, self.dtype)
    }
    fn batched(&self) -> OneHot {
        OneHot { lanes: self.lanes + 1, ..self.clone() }
    }
}

fn one_hot(x: &Tensor, classes: usize, dtype: DType) -> Result<Tensor> {
    if !x.dtype().is_int() {
        bail!(Dtype, "one_hot: expected integers, got {}", x.ty());
    }
    crate::tensor::checked_numel("one_hot", &with_dim(x.shape(), x.rank(), classes))?;
    discrete(OneHot { classes, dtype, lanes: 0 }, x)
}

/// The losses of all examples, from logits `[.., classes]` and classes `[..]`.
#[derive(Debug)]
struct CrossEntropy {
    /// The name of the method, for messages.
    op: &'static str,
    /// How many of the first dimensions are lanes.
    lanes: usize,
}

/// The derivative of [`CrossEntropy`] with respect to the logits: softmax less one at the target.
///
/// It is an operation of its own because it is one pass over the data.
struct SoftmaxLessTarget;

/// Logits and classes with lanes in front.
fn lanes_in_front(info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<[Tensor; 2]> {
    let front = |k: usize| batch::materialize(inputs[k], dims[k], info.batch_size);
    Ok([front(0)?, front(1)?])
}

impl Op for CrossEntropy {
    fn name(&self) -> &str {
        "cross_entropy"
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (x, target) = (inputs[0].concrete(), inputs[1].concrete());
        let target = classes::check(self.op, target, x.shape()[x.rank() - 1], self.lanes)?;
        Ok(smallvec![widened([x], |[x]| classes::cross_entropy(x, &target))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0], inputs[1]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let found = grads[0].map(|g| {
            let weights = bind1(&OpRef::Static(&SoftmaxLessTarget), &[&saved.tensors[0], &saved.tensors[1]])?;
            mul_owned(weights, g.reshape_to(&with_dim(g.shape(), g.rank(), 1))?)
        });
        Ok(smallvec![found?, Cotangent::zero()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let found = tangents[0].map(|t| {
            let weights = bind1(&OpRef::Static(&SoftmaxLessTarget), &[&saved.tensors[0], &saved.tensors[1]])?;
            mul_owned(weights, t.clone())?.sum_dims(&[-1], false)
        });
        Ok(smallvec![found?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let [x, target] = lanes_in_front(info, dims, inputs)?;
        Ok((
            bind(&OpRef::new(CrossEntropy { op: self.op, lanes: self.lanes + 1 }), &[&x, &target])?,
            smallvec![Some(0)],
        ))
    }
}

impl Op for SoftmaxLessTarget {
    fn name(&self) -> &str {
        "cross_entropy_backward"
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let (x, target) = (inputs[0].concrete(), inputs[1].concrete());
        let target = classes::check("cross_entropy", target, x.shape()[x.rank() - 1], 0)?;
        Ok(smallvec![widened([x], |[x]| classes::softmax_less_target(x, &target))?.into()])
    }
    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::tensors([inputs[0]]))
    }
    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![grads[0].map(|g| differential(&saved.tensors[0], g))?, Cotangent::zero()])
    }
    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| differential(&saved.tensors[0], t))?])
    }
    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let [x, target] = lanes_in_front(info, dims, inputs)?;
        Ok((bind(&OpRef::Static(&SoftmaxLessTarget), &[&x, &target])?, smallvec![Some(0)]))
    }
}

/// That of softmax at logits `x`, which is its own transpose.
fn differential(x: &Tensor, d: &Tensor) -> Result<Tensor> {
    softmax_differential(&x.softmax(-1)?, d, x.rank() - 1)
}

/// Fails unless `x` is `[.., classes]` and `target` is `[..]` and holds integers.
fn check_classes(op: &str, x: &Tensor, target: &Tensor) -> Result<()> {
    let Some((_, rows)) = x.shape().split_last() else {
        bail!(Shape, "{op}: expected a last dimension of classes, got {}", x.ty());
    };
    if !target.dtype().is_int() {
        bail!(Dtype, "{op}: expected a target of integers for {}, got {}", x.ty(), target.ty());
    }
    if target.shape() != rows {
        bail!(Shape, "{op}: expected a target of shape {} for {}, got {}", Brackets(rows), x.ty(), target.ty());
    }
    Ok(())
}

fn cross_entropy_mean(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    Reduction::Mean.of(&cross_entropies("cross_entropy", x, target)?)
}

fn cross_entropy(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.of(&cross_entropies("cross_entropy_with", x, target)?)
}

/// The loss of every example.
fn cross_entropies(op: &'static str, x: &Tensor, target: &Tensor) -> Result<Tensor> {
    let x = to_real_float(op, x)?;
    if target.dtype().is_float() && target.shape() == x.shape() && x.rank() > 0 {
        return target.to_dtype(x.dtype())?.mul(x.log_softmax(-1)?)?.sum_dims(&[-1], false)?.neg();
    }
    if target.dtype().is_float() && target.rank() == x.rank() {
        bail!(Shape, "{op}: expected probabilities of the shape of the logits, got logits {} and target {}", x.ty(),
            target.ty(); help = "classes are integers");
    }
    check_classes(op, &x, target)?;
    bind1(&OpRef::new(CrossEntropy { op, lanes: 0 }), &[&x, target])
}

fn nll_mean(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    Reduction::Mean.of(&nlls("nll_loss", x, target)?)
}

fn nll(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduction.of(&nlls("nll_loss_with", x, target)?)
}

/// The loss of every example.
fn nlls(op: &'static str, x: &Tensor, target: &Tensor) -> Result<Tensor> {
    check_classes(op, x, target)?;
    let x = to_real_float(op, x)?;
    let target = discrete(Classes { op, classes: x.shape()[x.rank() - 1], lanes: 0 }, target)?;
    let picked = x.gather(-1, &target.reshape_to(&with_dim(target.shape(), target.rank(), 1))?)?;
    picked.reshape_to(target.shape())?.neg()
}

/// Targets that have been checked, as `i64`.
#[derive(Clone, Debug)]
struct Classes {
    op: &'static str,
    classes: usize,
    lanes: usize,
}

impl Discrete for Classes {
    const NAME: &'static str = "nll_loss";
    fn kernel(&self, x: &Array) -> Result<Array> {
        classes::check(self.op, x, self.classes, self.lanes)
    }
    fn batched(&self) -> Classes {
        Classes { lanes: self.lanes + 1, ..self.clone() }
    }
}

/// The reference of a reduction.
pub(in crate::ops) fn naive_reduction(losses: Naive, reduction: Reduction) -> Vec<Naive> {
    let sum: f64 = losses.data.iter().sum();
    let total = |v: f64| Naive { shape: vec![], data: vec![v] };
    vec![match reduction {
        Reduction::None => losses,
        Reduction::Mean => total(sum / losses.data.len() as f64),
        Reduction::Sum => total(sum),
    }]
}

fn one_hot_samples() -> Vec<Sample> {
    let case = |label: &str, x: Tensor, classes: usize| {
        Sample::one(label, [x], move |x| x[0].one_hot(classes, DType::F64))
            .reference(move |x| {
                let shape = [&x[0].shape[..], &[classes]].concat();
                vec![Naive::from_fn(&shape, |i| {
                    let (k, row) = i.split_last().expect("at least one dimension");
                    f64::from(u8::from(x[0].at(row) == *k as f64))
                })]
            })
            .not_differentiable()
    };
    vec![
        case("vector", Tensor::from([2i64, 0, 1]), 3),
        case("matrix", Tensor::from([[1i32, 0], [3, 2]]), 4),
        case("0-d", Tensor::from(1u8), 2),
        case("empty", Tensor::from(Vec::<i64>::new()), 2),
    ]
}

fn one_hot_errors() -> Vec<ErrorSample> {
    vec![
        ErrorSample::new(
            "range",
            ErrorKind::Index,
            "one_hot: expected targets from 0 to below 3, the number of classes, got 3 at position [1]",
            || Tensor::from([0i64, 3]).one_hot(3, DType::I64),
        ),
        ErrorSample::new("negative", ErrorKind::Index, "the number of classes, got -1", || {
            Tensor::from(-1i64).one_hot(3, DType::I64)
        }),
        ErrorSample::new("dtype", ErrorKind::Dtype, "one_hot: expected integers, got f64[]", || {
            Tensor::from(1.0).one_hot(3, DType::I64)
        }),
    ]
}

/// A loss with a reduction.
type Loss = fn(&Tensor, &Tensor, Reduction) -> Result<Tensor>;

/// Samples of a loss of classes, whose value for one example is that of `of_row` for a row and a class.
fn class_samples(loss: Loss, reductions: &[Reduction], of_row: fn(&[f64], usize) -> f64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for &reduction in reductions {
        let mut case = |label: &str, shape: &[usize], target: Tensor| {
            samples.push(
                Sample::one(format!("{label} {reduction:?}"), [sample_tensor(shape, -2.0, 2.0, 1), target], move |x| {
                    loss(&x[0], &x[1], reduction)
                })
                .reference(move |x| {
                    let n = x[0].shape[x[0].shape.len() - 1];
                    let losses = Naive {
                        shape: x[1].shape.clone(),
                        data: x[0].data.chunks(n).zip(&x[1].data).map(|(row, &t)| of_row(row, t as usize)).collect(),
                    };
                    naive_reduction(losses, reduction)
                }),
            );
        };
        case("batch", &[3, 4], Tensor::from([2i64, 0, 3]));
        case("one example", &[3], Tensor::from(1i64));
        case("two dims", &[2, 2, 3], Tensor::from([[2i64, 0], [1, 1]]));
        if reduction != Reduction::Mean {
            case("empty", &[0, 3], Tensor::from(Vec::<i64>::new()));
        }
    }
    samples
}

fn naive_cross_entropy(row: &[f64], target: usize) -> f64 {
    row.iter().map(|v| v.exp()).sum::<f64>().ln() - row[target]
}

/// Samples with a target of probabilities.
fn probability_samples(reduction: Reduction) -> Vec<Sample> {
    let inputs = [sample_tensor(&[2, 3], -2.0, 2.0, 1), sample_tensor(&[2, 3], 0.0, 0.7, 2)];
    vec![
        Sample::one(format!("probabilities {reduction:?}"), inputs, move |x| x[0].cross_entropy_with(&x[1], reduction))
            .reference(move |x| {
                let losses = x[0]
                    .data
                    .chunks(3)
                    .zip(x[1].data.chunks(3))
                    .map(|(row, p)| p.iter().enumerate().map(|(k, p)| p * naive_cross_entropy(row, k)).sum());
                naive_reduction(Naive { shape: vec![2], data: losses.collect() }, reduction)
            }),
    ]
}

const OTHERS: [Reduction; 2] = [Reduction::None, Reduction::Sum];

fn cross_entropy_samples() -> Vec<Sample> {
    let mut samples = class_samples(|x, t, _| x.cross_entropy(t), &[Reduction::Mean], naive_cross_entropy);
    samples.extend(probability_samples(Reduction::Mean));
    samples
}

fn cross_entropy_with_samples() -> Vec<Sample> {
    let mut samples = class_samples(Tensor::cross_entropy_with, &OTHERS, naive_cross_entropy);
    samples.extend(OTHERS.into_iter().flat_map(probability_samples));
    samples
}

fn nll_samples() -> Vec<Sample> {
    class_samples(|x, t, _| x.nll_loss(t), &[Reduction::Mean], |row, t| -row[t])
}

fn nll_with_samples() -> Vec<Sample> {
    class_samples(Tensor::nll_loss_with, &OTHERS, |row, t| -row[t])
}

fn class_errors(call: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let (y, z) = (x.clone(), x.clone());
    vec![
        ErrorSample::new(
            "range",
            ErrorKind::Index,
            "expected targets from 0 to below 3, the number of classes, got 5 at position [1]",
            move || call(&x, &Tensor::from([0i64, 5])),
        ),
        ErrorSample::new("negative", ErrorKind::Index, "got -100 at position [0]", move || {
            call(&y, &Tensor::from([-100i64, 0]))
        }),
        ErrorSample::new(
            "shape",
            ErrorKind::Shape,
            "expected a target of shape [2] for f64[2,3], got i64[3]",
            move || call(&z, &Tensor::from([0i64, 0, 0])),
        ),
        ErrorSample::new(
            "no classes",
            ErrorKind::Shape,
            "expected a last dimension of classes, got f64[]",
            move || call(&Tensor::from(1.0), &Tensor::from(0i64)),
        ),
    ]
}

fn cross_entropy_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let mut errors = class_errors(Tensor::cross_entropy);
    errors.push(ErrorSample::new(
        "probabilities",
        ErrorKind::Shape,
        "got logits f64[2,3] and target f64[1,3]",
        move || x.cross_entropy(&Tensor::from([[0.0, 1.0, 0.0]])),
    ));
    errors.push(ErrorSample::new(
        "dtype",
        ErrorKind::Dtype,
        "expected a target of integers for f64[2], got f64[]",
        || Tensor::from([1.0, 2.0]).cross_entropy(&Tensor::from(1.0)),
    ));
    errors
}

fn nll_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[2, 3], 0.0, 1.0, 1);
    let mut errors = class_errors(Tensor::nll_loss);
    errors.push(ErrorSample::new(
        "dtype",
        ErrorKind::Dtype,
        "expected a target of integers for f64[2,3], got f64[2]",
        move || x.nll_loss(&Tensor::from([0.0, 1.0])),
    ));
    errors
}
