//! What losses are reduced to, and the encoding of classes.

use super::counted::{check_integers, count, whole};
use super::discrete::{Discrete, discrete};
use super::index::masks::of_unknown_size;
use super::table::{ErrorSample, Naive, Sample, ops};
use crate::array::Array;
use crate::kernels::classes;
use crate::shape::with_dim;
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

/// How many classes there are.
///
/// ```
/// use pullback::{Classes, DType, Tensor};
/// let x = Tensor::from([1i64, 0]);
/// assert_eq!(x.one_hot(3, DType::I64)?.shape(), [2, 3]);
/// assert_eq!(x.one_hot(Classes::OfData, DType::I64)?.shape(), [2, 2]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Classes {
    /// This many.
    Exactly(usize),
    /// As many as the largest element needs, which is therefore read: not under `vmap` and `capture`.
    OfData,
}

impl From<usize> for Classes {
    fn from(n: usize) -> Classes {
        Classes::Exactly(n)
    }
}

ops! { OPS;
    /// One at the position that each element names and zero elsewhere, along a new last dimension of size `classes`.
    ///
    /// # Shapes
    /// `[..]` to `[.., classes]`. For [`Classes::OfData`], which is -1 in Python, the largest element is the last class; without
    /// elements there are none.
    ///
    /// # Dtypes
    /// Integers; the result has the given dtype.
    ///
    /// # Derivative
    /// None: the input is discrete.
    ///
    /// # Errors
    /// `Index` if an element is negative or not below `classes`; `Dtype` unless the elements are integers;
    /// `ConcreteValueNeeded` for [`Classes::OfData`] of a tensor that is batched by `vmap` or written down by `capture`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let y = Tensor::from([2i64, 0]).one_hot(3, DType::I64)?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn one_hot(&self, classes: impl Into<Classes>, dtype: DType) -> Result<Tensor> = one_hot {
        samples: one_hot_samples, errors: one_hot_errors,
        python: one_hot(classes as num_classes = -1, dtype = I64)
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
        classes::one_hot(&classes::check(Self::NAME, x, self.classes, self.lanes, None)?, self.classes, self.dtype)
    }
    fn batched(&self) -> OneHot {
        OneHot { lanes: self.lanes + 1, ..self.clone() }
    }
}

fn one_hot(x: &Tensor, classes: impl Into<Classes>, dtype: DType) -> Result<Tensor> {
    check_integers("one_hot", x)?;
    let classes = match classes.into() {
        Classes::Exactly(n) => n,
        Classes::OfData => count(&whole("one_hot", x, "say how many classes there are")?),
    };
    crate::tensor::checked_numel("one_hot", &with_dim(x.shape(), x.rank(), classes))?;
    discrete(OneHot { classes, dtype, lanes: 0 }, x)
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
    let case = |label: &str, x: Tensor, classes: Classes| {
        Sample::one(label, [x], move |x| x[0].one_hot(classes, DType::F64))
            .reference(move |x| {
                let n = match classes {
                    Classes::Exactly(n) => n,
                    Classes::OfData => x[0].data.iter().fold(0, |n, &v| n.max(v as usize + 1)),
                };
                let shape = [&x[0].shape[..], &[n]].concat();
                vec![Naive::from_fn(&shape, |i| {
                    let (k, row) = i.split_last().expect("at least one dimension");
                    f64::from(u8::from(x[0].at(row) == *k as f64))
                })]
            })
            .not_differentiable()
    };
    let of_data = |label: &str, x: Tensor| of_unknown_size(case(label, x, Classes::OfData));
    vec![
        case("vector", Tensor::from([2i64, 0, 1]), 3.into()),
        case("matrix", Tensor::from([[1i32, 0], [3, 2]]), 4.into()),
        case("0-d", Tensor::from(1u8), 2.into()),
        case("empty", Tensor::from(Vec::<i64>::new()), 2.into()),
        of_data("vector, of data", Tensor::from([2, 0, 2])),
        of_data("matrix, of data", Tensor::from([[1i64], [0]])),
        of_data("0-d, of data", Tensor::from(1)),
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
        ErrorSample::new("lanes", ErrorKind::ConcreteValueNeeded, "say how many classes there are", || {
            crate::vmap(|x: &Tensor| x.one_hot(Classes::OfData, DType::I64))(&Tensor::from([1, 2]))
        }),
        ErrorSample::new("negative, of data", ErrorKind::Index, "the number of classes, got -1", || {
            Tensor::from([-1i64, 1]).one_hot(Classes::OfData, DType::I64)
        }),
    ]
}
