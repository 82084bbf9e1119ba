//! The handle that users hold: a concrete array, or a tracer of one level.

mod create;
mod display;
mod index;
mod inplace;
mod operators;
mod read;

use std::sync::Arc;

use crate::DType;
use crate::array::Array;
use crate::interp::{Traced, Tracer};
use crate::shape::TensorType;

pub(crate) use create::checked_numel;
pub use index::{Ellipsis, IndexBound, IndexItem, Indices, NewAxis, s};
pub(crate) use index::{IndexItems, Part, position, python_range};
pub use operators::Operand;

/// An n-dimensional array of numbers, or the stand-in for one inside a transform.
///
/// A tensor is a cheap handle: cloning shares the data, and the data never changes under a handle. Methods whose name
/// ends in `_` rebind the handle to a new value, and reuse the memory when nobody else holds it.
///
/// A 0-d tensor has no dimension to name: where PyTorch takes -1 or 0 for one, as in `softmax(-1)`, that is an error here.
///
/// Named methods return a [`Result`](crate::Result). Operators (`&a * &b + 1.0`) panic instead, with the same
/// message; see [`Operand`] for what they accept.
///
/// ```
/// use pullback::Tensor;
/// let a = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// let b = a.matmul(&a)? + 1.0;
/// assert_eq!(b.to_vec::<f32>()?, [8.0, 11.0, 16.0, 23.0]);
/// assert_eq!(b.ty().to_string(), "f32[2,2]");
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor(pub(crate) Repr);

#[derive(Clone)]
pub(crate) enum Repr {
    Array(Array),
    Tracer(Arc<Tracer>),
}

impl From<Array> for Tensor {
    #[inline]
    fn from(array: Array) -> Tensor {
        Tensor(Repr::Array(array))
    }
}

impl Tensor {
    /// The sizes of the dimensions. Inside a transform, without batch dims.
    pub fn shape(&self) -> &[usize] {
        match &self.0 {
            Repr::Array(array) => array.shape(),
            Repr::Tracer(tracer) => match &tracer.value {
                Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
                    primal.shape()
                }
                Traced::Capture { value, .. } => value.shape(),
                Traced::Batch { shape, .. } => shape,
            },
        }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        match &self.0 {
            Repr::Array(array) => array.dtype(),
            Repr::Tracer(tracer) => match &tracer.value {
                Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
                    primal.dtype()
                }
                Traced::Capture { value, .. } | Traced::Batch { value, .. } => value.dtype(),
            },
        }
    }

    /// Dtype and shape together, as messages write them: `f32[2,3]`.
    pub fn ty(&self) -> TensorType {
        TensorType::new(self.dtype(), self.shape())
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        crate::shape::numel(self.shape())
    }

    /// The tensor itself, as the result of an operation that has nothing to do here. It is refused where `op` would
    /// refuse it if there was something to do.
    pub(crate) fn unchanged(&self, op: &str) -> crate::Result<Tensor> {
        if let Repr::Tracer(tracer) = &self.0 {
            crate::interp::check_usable(tracer, op)?;
        }
        Ok(self.clone())
    }

    /// The concrete array, if no transform is working on this tensor.
    pub(crate) fn array(&self) -> Option<&Array> {
        match &self.0 {
            Repr::Array(array) => Some(array),
            Repr::Tracer(_) => None,
        }
    }

    /// True for two handles of one value.
    pub(crate) fn is_same(&self, other: &Tensor) -> bool {
        match (&self.0, &other.0) {
            (Repr::Array(a), Repr::Array(b)) => a.is_same(b),
            (Repr::Tracer(a), Repr::Tracer(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// A number that no other value has while this one is held.
    pub(crate) fn address(&self) -> usize {
        match &self.0 {
            Repr::Array(array) => array.address(),
            Repr::Tracer(tracer) => Arc::as_ptr(tracer) as usize,
        }
    }

    /// The concrete array of a tensor that `Op::forward` was given.
    pub(crate) fn concrete(&self) -> &Array {
        self.array().expect("the bottom of the interpreters gets concrete tensors")
    }
}
