//! The handle that users hold: a concrete array, or a tracer of one level.

mod create;
mod display;
mod index;
mod inplace;
mod memory;
mod operators;
mod read;

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::DType;
use crate::array::Array;
use crate::handle::{Handle, Weak};
use crate::interp::{Traced, Tracer};
use crate::shape::TensorType;

pub(crate) use create::checked_numel;
pub use index::{Ellipsis, IndexBound, IndexItem, Indices, NewAxis, s};
pub(crate) use index::{IndexItems, Part, position, python_range};
#[cfg(feature = "dynamic")]
pub use inplace::rebind;
pub use memory::Memory;
pub use operators::Operand;
#[cfg(any(feature = "faer", feature = "nalgebra"))]
pub(crate) use read::elements;

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
#[repr(transparent)]
pub struct Tensor {
    /// A handle of an array or of a tracer, which its mark tells apart. One word is passed in a register, where a larger
    /// value goes through memory at every call.
    handle: NonNull<u8>,
}

const _: () = assert!(size_of::<Option<Tensor>>() == 8 && size_of::<Array>() == 8 && size_of::<TracerHandle>() == 8);

/// The mark of the handles of tracers.
const TRACER: usize = 1;

/// A handle of a tracer.
pub(crate) type TracerHandle = Handle<Tracer, TRACER>;

/// A handle of a tracer that does not keep it alive.
pub(crate) type WeakTracer = Weak<Tracer, TRACER>;

/// What a tensor is.
#[derive(Clone, Copy)]
pub(crate) enum Repr<'a> {
    Array(&'a Array),
    Tracer(&'a TracerHandle),
}

/// [`Repr`], to be changed.
pub(crate) enum ReprMut<'a> {
    Array(&'a mut Array),
    Tracer(&'a mut TracerHandle),
}

/// [`Repr`], taken from the tensor.
enum Owned {
    Array(Array),
    Tracer(TracerHandle),
}

impl Tensor {
    #[inline(always)]
    fn is_tracer(&self) -> bool {
        self.handle.addr().get() & TRACER != 0
    }

    #[inline(always)]
    pub(crate) fn repr(&self) -> Repr<'_> {
        let handle = &raw const self.handle;
        // SAFETY: handles of both kinds are no more than the address, and the mark says which this is.
        unsafe {
            match self.is_tracer() {
                true => Repr::Tracer(&*handle.cast::<TracerHandle>()),
                false => Repr::Array(&*handle.cast::<Array>()),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn repr_mut(&mut self) -> ReprMut<'_> {
        let handle = &raw mut self.handle;
        // SAFETY: as in `repr`. A handle that is put in the place of this one has the same mark.
        unsafe {
            match self.is_tracer() {
                true => ReprMut::Tracer(&mut *handle.cast::<TracerHandle>()),
                false => ReprMut::Array(&mut *handle.cast::<Array>()),
            }
        }
    }

    /// # Safety
    /// The tensor must not be used or dropped afterwards.
    #[inline(always)]
    unsafe fn release(&mut self) -> Owned {
        // SAFETY: the address comes from a handle of the kind that the mark says, and the caller's promise.
        unsafe {
            match self.is_tracer() {
                true => Owned::Tracer(Handle::from_raw(self.handle)),
                false => Owned::Array(Array(Handle::from_raw(self.handle))),
            }
        }
    }

    /// The tracer that this tensor is, or the tensor.
    #[inline(always)]
    pub(crate) fn into_tracer(self) -> Result<TracerHandle, Tensor> {
        // SAFETY: the tensor is not used again.
        match unsafe { ManuallyDrop::new(self).release() } {
            Owned::Tracer(tracer) => Ok(tracer),
            Owned::Array(array) => Err(array.into()),
        }
    }
}

// SAFETY: a tensor is one of two handles, and both may be sent to other threads.
unsafe impl Send for Tensor {}
// SAFETY: as above.
unsafe impl Sync for Tensor {}
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Array>();
    is_shared::<TracerHandle>();
};

impl Clone for Tensor {
    #[inline]
    fn clone(&self) -> Tensor {
        match self.repr() {
            Repr::Array(array) => array.clone().into(),
            Repr::Tracer(tracer) => tracer.clone().into(),
        }
    }
}

impl Drop for Tensor {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this is the last use.
        drop(unsafe { self.release() });
    }
}

impl From<Array> for Tensor {
    #[inline(always)]
    fn from(array: Array) -> Tensor {
        Tensor { handle: Handle::into_raw(array.0) }
    }
}

impl From<TracerHandle> for Tensor {
    #[inline(always)]
    fn from(tracer: TracerHandle) -> Tensor {
        Tensor { handle: Handle::into_raw(tracer) }
    }
}

impl From<Tracer> for Tensor {
    fn from(tracer: Tracer) -> Tensor {
        TracerHandle::new(tracer).into()
    }
}

impl Tensor {
    /// The sizes of the dimensions. Inside a transform, without batch dims.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        let mut t = self;
        loop {
            match t.repr() {
                Repr::Array(array) => return array.shape(),
                Repr::Tracer(tracer) => match &tracer.value {
                    Traced::Batch { shape, .. } => return shape,
                    other => t = other.inner(),
                },
            }
        }
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        let mut t = self;
        loop {
            match t.repr() {
                Repr::Array(array) => return array.dtype(),
                Repr::Tracer(tracer) => t = tracer.value.inner(),
            }
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
        if let Repr::Tracer(tracer) = self.repr() {
            crate::interp::check_usable(tracer, op)?;
        }
        Ok(self.clone())
    }

    /// The concrete array, if no transform is working on this tensor.
    pub(crate) fn array(&self) -> Option<&Array> {
        match self.repr() {
            Repr::Array(array) => Some(array),
            Repr::Tracer(_) => None,
        }
    }

    /// True for two handles of one value. For bindings to other languages.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Tensor) -> bool {
        match (self.repr(), other.repr()) {
            (Repr::Array(a), Repr::Array(b)) => a.is_same(b),
            (Repr::Tracer(a), Repr::Tracer(b)) => Handle::ptr_eq(a, b),
            _ => false,
        }
    }

    /// A number that no other concrete value has while that below this tensor is held. For bindings to other languages.
    #[doc(hidden)]
    pub fn concrete_address(&self) -> usize {
        match self.repr() {
            Repr::Array(array) => array.address(),
            Repr::Tracer(tracer) => tracer.value.inner().concrete_address(),
        }
    }

    /// True if any transform, or the imperative surface, differentiates what depends on this tensor. For bindings to other
    /// languages.
    #[doc(hidden)]
    pub fn is_differentiated(&self) -> bool {
        crate::interp::is_differentiated(self)
    }

    /// A number that no other value has while this one is held.
    pub(crate) fn address(&self) -> usize {
        match self.repr() {
            Repr::Array(array) => array.address(),
            Repr::Tracer(tracer) => Handle::as_ptr(tracer) as usize,
        }
    }

    /// The concrete array of a tensor that `Op::forward` was given.
    pub(crate) fn concrete(&self) -> &Array {
        self.array().expect("the bottom of the interpreters gets concrete tensors")
    }
}
