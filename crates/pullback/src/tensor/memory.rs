//! The memory of elements, as it is shared with other libraries.

use std::fmt;
use std::mem::MaybeUninit;

use super::{Repr, Tensor, checked_numel};
use crate::array::Array;
use crate::dtype::any_dtype;
use crate::error::bail;
use crate::interp::{check_data_access, is_constant};
use crate::kernels::copy;
use crate::shape::{Shape, Strides};
use crate::{DType, Result};

/// Where the elements of a tensor lie, for code that reads them without a copy.
///
/// It keeps the elements as they are: methods that rebind the tensor leave them alone from now on, and dropping the tensor does
/// not free them.
///
/// ```
/// use pullback::Tensor;
/// let x = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
/// let memory = x.t()?.memory()?;
/// assert_eq!((memory.shape(), memory.strides()), (&[2, 2][..], &[1, 2][..]));
/// // SAFETY: the second element of the first row exists.
/// assert_eq!(unsafe { *memory.as_ptr().cast::<f32>().offset(memory.strides()[1]) }, 3.0);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone)]
pub struct Memory(Array);

impl Memory {
    /// The address of the first element; dangling if there are no elements. Nothing may be written there.
    pub fn as_ptr(&self) -> *const u8 {
        any_dtype!(self.0.dtype(), T => self.0.as_ptr::<T>().cast())
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// How many elements neighbours along each dimension are apart; may be negative, and 0 where they are one.
    pub fn strides(&self) -> &[isize] {
        self.0.strides()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// True if the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.0.is_contiguous()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} at {:p})", self.0.ty(), self.as_ptr())
    }
}

impl Tensor {
    /// Where the elements lie, for code that reads them without a copy.
    ///
    /// # Errors
    /// `ConcreteValueNeeded` for a value that a transform is working on, and one that requires gradients: what is computed
    /// from its elements elsewhere would be a constant.
    ///
    /// See [`Memory`] for an example.
    pub fn memory(&self) -> Result<Memory> {
        self.memory_for("memory")
    }

    /// [`memory`](Tensor::memory) for an operation that messages name.
    #[doc(hidden)]
    pub fn memory_for(&self, op: &str) -> Result<Memory> {
        let mut t = self;
        loop {
            let tracer = match t.repr() {
                Repr::Array(array) => return Ok(Memory(array.clone())),
                Repr::Tracer(tracer) => tracer,
            };
            check_data_access(tracer, op)?;
            match tracer.primal() {
                Some(primal) if is_constant(tracer) => t = primal,
                _ => {
                    bail!(ConcreteValueNeeded, "{op}: expected a value that nothing differentiates, got {} of `{}`: what \
                    other code computes from it would have no derivative", self.ty(), tracer.level.transform();
                    help = "call `detach` first if it shall be a constant, or compute in the `forward` of a `Function`")
                }
            }
        }
    }

    /// True if no other handle, view or [`Memory`] holds the elements, so that methods whose name ends in `_` reuse their memory.
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::zeros(&[100], DType::F32)?;
    /// assert!(x.owns_memory());
    /// let row = x.i(0)?;
    /// assert!(!x.owns_memory());
    /// # drop(row);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn owns_memory(&self) -> bool {
        self.array().is_some_and(Array::is_writable)
    }

    /// A tensor over memory of another library, with strides in elements, which is never written to. `owner` is dropped with the
    /// last tensor that uses the memory, on any thread.
    ///
    /// # Safety
    /// Every index of the shape must lead from `start` to an initialised element of the dtype (0 or 1 for `bool`), and nobody may
    /// write to these until `owner` is dropped.
    ///
    /// # Errors
    /// `Shape` if the size overflows or there is not one stride for each dimension; `Value` if the elements are not aligned.
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// let column: Box<[f64]> = Box::new([1.0, 2.0, 3.0, 4.0]);
    /// let start = column.as_ptr().cast();
    /// // SAFETY: every second of four elements, which only the owner has, and nobody writes to.
    /// let x = unsafe { Tensor::from_memory(start, &[2], &[2], DType::F64, Box::new(column)) }?;
    /// assert_eq!(x.add(1)?.to_vec::<f64>()?, [2.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub unsafe fn from_memory(
        start: *const u8,
        shape: &[usize],
        strides: &[isize],
        dtype: DType,
        owner: Box<dyn Send + Sync>,
    ) -> Result<Tensor> {
        let count = checked_numel("from_memory", shape)?;
        if shape.len() != strides.len() {
            bail!(Shape, "from_memory: expected a stride for each of {} dims, got {}", shape.len(), strides.len());
        }
        let align = any_dtype!(dtype, T => align_of::<T>());
        if count == 0 {
            return Tensor::zeros(shape, dtype);
        }
        if !start.addr().is_multiple_of(align) {
            bail!(Value, "from_memory: expected elements at a multiple of {align} bytes, got the address {start:p}");
        }
        // SAFETY: the caller's promise; strides are in elements, so that all are aligned if the first one is.
        let array =
            unsafe { Array::foreign(start, Shape::from_slice(shape), Strides::from_slice(strides), dtype, owner) };
        Ok(array.into())
    }

    /// A tensor with a copy of elements that lie in the memory of another library, with strides in elements.
    ///
    /// # Safety
    /// Every index of the shape must lead from `start` to an initialised element of the dtype. For `bool` any byte will do; those
    /// other than 0 are true.
    ///
    /// # Errors
    /// As [`from_memory`](Tensor::from_memory).
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// let row = [1i32, 2, 3, 4];
    /// // SAFETY: the first element of each pair, from the second pair on.
    /// let x = unsafe { Tensor::copy_from_memory(row[2..].as_ptr().cast(), &[2], &[-2], DType::I32) }?;
    /// assert_eq!(x.to_vec::<i32>()?, [3, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub unsafe fn copy_from_memory(
        start: *const u8,
        shape: &[usize],
        strides: &[isize],
        dtype: DType,
    ) -> Result<Tensor> {
        if dtype == DType::Bool {
            // SAFETY: the caller's promise.
            return unsafe { Tensor::copy_from_memory(start, shape, strides, DType::U8) }?.to_dtype(dtype);
        }
        // SAFETY: the caller's promise; the tensor that borrows the memory does not outlive this call.
        let borrowed = unsafe { Tensor::from_memory(start, shape, strides, dtype, Box::new(())) }?;
        let array = borrowed.concrete();
        Ok(any_dtype!(dtype, T => match array.as_slice::<T>() {
            Some(slice) => Array::from_slice(shape, slice),
            // SAFETY: every element is written.
            None => unsafe { Array::build(shape, |out: &mut [MaybeUninit<T>]| copy::copy_into(array, out)) },
        })
        .into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn foreign_memory_is_not_written_to_and_is_given_back() -> Result<()> {
        let owner: Arc<[f32]> = Arc::new([1.0; 100]);
        let start = owner.as_ptr().cast();
        // SAFETY: the elements are those of the owner.
        let mut x = unsafe { Tensor::from_memory(start, &[100], &[1], DType::F32, Box::new(Arc::clone(&owner))) }?;
        let row = x.i(2..4)?;
        x += 1.0;
        assert_eq!(x.add(&x)?.i(3)?.item::<f32>()?, 4.0);
        drop(x);
        assert_eq!((row.to_vec::<f32>()?, owner[0], Arc::strong_count(&owner)), (vec![1.0; 2], 1.0, 2));
        drop(row);
        assert_eq!(Arc::strong_count(&owner), 1);
        Ok(())
    }

    #[test]
    fn exported_memory_stays_what_it_was() -> Result<()> {
        let mut x = Tensor::full(&[100], 2.0, DType::F64)?;
        let memory = x.memory()?;
        x += 1.0;
        drop(x);
        // SAFETY: there are 100 elements.
        assert_eq!(unsafe { *memory.as_ptr().cast::<f64>() }, 2.0);
        Ok(())
    }

    #[test]
    fn the_memory_of_a_differentiated_value_is_not_given_away() {
        let f = |x: &Tensor| {
            let e = x.memory().unwrap_err();
            assert_eq!(e.kind(), crate::ErrorKind::ConcreteValueNeeded);
            assert!(e.message().contains("of `grad`"), "{e}");
            assert_eq!(x.detach()?.memory()?.shape(), [0usize; 0]);
            x.sin()
        };
        crate::grad(f)(&Tensor::from(1.0)).unwrap();
    }
}
