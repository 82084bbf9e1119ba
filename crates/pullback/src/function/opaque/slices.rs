//! What code that knows nothing of tensors is handed: contiguous elements with a shape and a dtype.

use std::cell::Cell;
use std::fmt;

use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::cast::full;
use crate::{DType, Result, Scalar, Tensor, TensorType, error::bail};

/// The elements of a tensor for reading, in row-major order without gaps.
#[derive(Clone, Copy)]
pub struct ArrayRef<'a>(&'a Array);

impl<'a> ArrayRef<'a> {
    pub(super) fn new(array: &'a Array) -> ArrayRef<'a> {
        ArrayRef(array)
    }

    /// The sizes of the dimensions.
    pub fn shape(&self) -> &'a [usize] {
        self.0.shape()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.dtype()
    }

    /// The dtype and shape.
    pub fn ty(&self) -> TensorType {
        self.0.ty()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.0.numel()
    }

    /// The elements.
    ///
    /// # Errors
    /// `Dtype` if `T` is not the element type.
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T]> {
        let ty = self.ty();
        if ty.dtype != T::DTYPE {
            bail!(Dtype, "expected elements of {ty}, asked for {}", T::DTYPE; help = "use `as_slice::<{}>`, or convert the \
                input with `to_dtype`", ty.dtype);
        }
        match self.0.as_slice() {
            Some(slice) => Ok(slice),
            None => bail!(Internal, "the elements handed to external code are not contiguous"),
        }
    }
}

impl fmt::Debug for ArrayRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayRef({})", self.ty())
    }
}

/// The elements of a tensor for writing, in row-major order without gaps; all zero to begin with.
///
/// Opening it with [`as_mut_slice`](ArrayMut::as_mut_slice) counts as writing: a result that was never opened is an error.
pub struct ArrayMut<'a> {
    array: &'a mut Array,
    opened: &'a Cell<bool>,
}

impl ArrayMut<'_> {
    /// The sizes of the dimensions.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.array.dtype()
    }

    /// The dtype and shape.
    pub fn ty(&self) -> TensorType {
        self.array.ty()
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.array.numel()
    }

    /// The elements.
    ///
    /// # Errors
    /// `Dtype` if `T` is not the element type.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        let ty = self.ty();
        if ty.dtype != T::DTYPE {
            bail!(Dtype, "expected elements of {ty}, asked for {}", T::DTYPE; help = "use `as_mut_slice::<{}>`; the dtype of \
                an output is what `output_types` states, and that of a (co)tangent is the one of its value", ty.dtype);
        }
        self.opened.set(true);
        match self.array.as_mut_slice() {
            Some(slice) => Ok(slice),
            None => bail!(Internal, "the elements handed to external code for writing are shared"),
        }
    }
}

impl fmt::Debug for ArrayMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayMut({})", self.ty())
    }
}

/// Results that external code is to write.
pub(super) struct Results(Vec<(Option<Array>, Cell<bool>)>);

impl Results {
    /// Zeros of these types; `None` for a result that is not wanted.
    pub(super) fn new(types: impl IntoIterator<Item = Option<TensorType>>) -> Result<Results> {
        let allocate = |ty: TensorType| {
            crate::tensor::checked_numel("output_types", &ty.shape)?;
            Ok(full(&ty.shape, Scalar::Int(0), ty.dtype))
        };
        let all = types.into_iter().map(|ty| Ok((ty.map(allocate).transpose()?, Cell::new(false))));
        Ok(Results(all.collect::<Result<_>>()?))
    }

    pub(super) fn views(&mut self) -> Vec<Option<ArrayMut<'_>>> {
        self.0.iter_mut().map(|(array, opened)| array.as_mut().map(|array| ArrayMut { array, opened })).collect()
    }

    /// The results that were wanted; an error if one was not written.
    pub(super) fn finish(self, what: &str) -> Result<Vec<Tensor>> {
        let mut tensors = Vec::new();
        for (k, (array, opened)) in self.0.into_iter().enumerate() {
            let Some(array) = array else { continue };
            if !opened.get() && array.numel() > 0 {
                bail!(Rule, "expected {what} {k} ({}) to be written, got nothing", array.ty(); help = "write it through \
                    `as_mut_slice`; what is opened and left alone is zero");
            }
            tensors.push(array.into());
        }
        Ok(tensors)
    }
}
