//! Concrete data: a typed, strided view of an inline or shared buffer. Knows nothing of levels or derivatives.

mod buffer;
mod view;

use std::mem::{MaybeUninit, size_of};
use std::sync::Arc;

pub(crate) use buffer::Buffer;

use crate::DType;
use crate::dtype::Element;
use crate::shape::{Shape, Strides, TensorType, contiguous_strides, numel};

/// Bytes that fit into the array's own allocation: a scalar or a short vector costs one allocation, not two.
const INLINE_BYTES: usize = 64;

/// A dtype, a shape, strides in elements, and where the elements are.
///
/// Elements are only ever written while the storage has a single owner.
#[derive(Clone)]
pub(crate) struct Array {
    shape: Shape,
    strides: Strides,
    /// Index of the first element in the storage, in elements.
    offset: usize,
    dtype: DType,
    storage: Storage,
}

#[derive(Clone)]
enum Storage {
    Inline(Inline),
    Shared(Arc<Buffer>),
}

#[derive(Clone, Copy)]
#[repr(align(16))]
struct Inline([MaybeUninit<u8>; INLINE_BYTES]);

impl Array {
    /// A contiguous array whose elements `fill` writes, all of them.
    ///
    /// # Safety
    /// `fill` must initialise every element of the slice that it is given.
    pub(crate) unsafe fn build<T: Element>(shape: Shape, fill: impl FnOnce(&mut [MaybeUninit<T>])) -> Array {
        let n = numel(&shape);
        let strides = contiguous_strides(&shape);
        let bytes = n * size_of::<T>();
        let storage = if bytes <= INLINE_BYTES {
            let mut inline = Inline([MaybeUninit::uninit(); INLINE_BYTES]);
            // SAFETY: the block is aligned to 16 and has room for `n` elements.
            fill(unsafe { std::slice::from_raw_parts_mut(inline.0.as_mut_ptr().cast(), n) });
            Storage::Inline(inline)
        } else {
            let mut buffer = Buffer::uninit(bytes);
            // SAFETY: the buffer is fresh, 64-byte aligned and has room for `n` elements.
            fill(unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), n) });
            Storage::Shared(Arc::new(buffer))
        };
        Array { shape, strides, offset: 0, dtype: T::DTYPE, storage }
    }

    /// A contiguous array with every element equal to `value`.
    pub(crate) fn full<T: Element>(shape: Shape, value: T) -> Array {
        // SAFETY: every element is written.
        unsafe {
            Array::build(shape, |out| {
                out.fill(MaybeUninit::new(value));
            })
        }
    }

    /// A contiguous array with a copy of `data`, which must have as many elements as `shape`.
    pub(crate) fn from_slice<T: Element>(shape: Shape, data: &[T]) -> Array {
        assert_eq!(numel(&shape), data.len());
        // SAFETY: the lengths agree, so every element is written.
        unsafe {
            Array::build(shape, |out: &mut [MaybeUninit<T>]| {
                std::ptr::copy_nonoverlapping(data.as_ptr(), out.as_mut_ptr().cast(), data.len());
            })
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn numel(&self) -> usize {
        numel(&self.shape)
    }

    pub(crate) fn ty(&self) -> TensorType {
        TensorType { dtype: self.dtype, shape: self.shape.clone() }
    }

    /// True if the elements lie in row-major order without gaps.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut step = 1isize;
        for (&n, &s) in self.shape.iter().zip(&self.strides).rev() {
            if n == 0 {
                return true;
            }
            if n != 1 {
                if s != step {
                    return false;
                }
                step *= n as isize;
            }
        }
        true
    }

    /// The address of the first element. Panics if `T` is not the element type.
    pub(crate) fn as_ptr<T: Element>(&self) -> *const T {
        assert_eq!(self.dtype, T::DTYPE);
        let base = match &self.storage {
            Storage::Inline(inline) => inline.0.as_ptr().cast::<u8>(),
            Storage::Shared(buffer) => buffer.as_ptr(),
        };
        // SAFETY: the offset stays inside the storage for every view with at least one element; `wrapping_add`
        // keeps it defined for empty ones.
        base.cast::<T>().wrapping_add(self.offset)
    }

    /// The elements in row-major order, if they lie so.
    pub(crate) fn as_slice<T: Element>(&self) -> Option<&[T]> {
        // SAFETY: a contiguous view covers `numel` initialised elements from its first one.
        self.is_contiguous().then(|| unsafe { std::slice::from_raw_parts(self.as_ptr::<T>(), self.numel()) })
    }

    /// The elements for writing, if they are contiguous and nobody else holds them.
    pub(crate) fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        assert_eq!(self.dtype, T::DTYPE);
        if !self.is_contiguous() {
            return None;
        }
        let (n, offset) = (self.numel(), self.offset);
        let base = match &mut self.storage {
            Storage::Inline(inline) => inline.0.as_mut_ptr().cast::<u8>(),
            Storage::Shared(buffer) => Arc::get_mut(buffer)?.as_mut_ptr(),
        };
        // SAFETY: as in `as_slice`; the storage has no other owner.
        Some(unsafe { std::slice::from_raw_parts_mut(base.cast::<T>().wrapping_add(offset), n) })
    }

    /// The only element of an array with one element.
    pub(crate) fn first<T: Element>(&self) -> T {
        assert!(self.numel() > 0);
        // SAFETY: there is at least one element.
        unsafe { *self.as_ptr::<T>() }
    }
}
