//! Making tensors from Rust values.

use super::Tensor;
use crate::array::Array;
use crate::dtype::{Element, Scalar};
use crate::kernels::cast;
use crate::shape::{Shape, numel};
use crate::{DType, Result, error::bail};

impl Tensor {
    /// A tensor of `shape` with the elements of `data` in row-major order.
    ///
    /// # Errors
    /// `Shape` if the number of elements is not that of the shape.
    ///
    /// ```
    /// use pullback::Tensor;
    /// let t = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(t.shape(), [2, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn from_slice<T: Element>(data: &[T], shape: &[usize]) -> Result<Tensor> {
        if checked_numel("from_slice", shape)? != data.len() {
            let shape = crate::shape::Brackets(shape);
            bail!(Shape, "from_slice: expected {} elements for shape {shape}, got {}", numel(shape.0), data.len());
        }
        Ok(Array::from_slice(Shape::from_slice(shape), data).into())
    }

    /// Zeros (`false` for bool).
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    pub fn zeros(shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 0, dtype)
    }

    /// Ones (`true` for bool).
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    pub fn ones(shape: &[usize], dtype: DType) -> Result<Tensor> {
        Tensor::full(shape, 1, dtype)
    }

    /// Every element equal to `value`.
    ///
    /// # Errors
    /// `Shape` if the size overflows.
    ///
    /// ```
    /// use pullback::{DType, Tensor};
    /// assert_eq!(Tensor::full(&[2], 7, DType::I32)?.to_vec::<i32>()?, [7, 7]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn full(shape: &[usize], value: impl Into<Scalar>, dtype: DType) -> Result<Tensor> {
        checked_numel("full", shape)?;
        Ok(cast::full(shape, value.into(), dtype).into())
    }
}

/// The number of elements, or an error if it cannot be addressed.
pub(crate) fn checked_numel(op: &str, shape: &[usize]) -> Result<usize> {
    let n = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    match n {
        Some(n) if n <= isize::MAX as usize / 8 => Ok(n),
        _ => bail!(Shape, "{op}: a tensor of shape {} is too large", crate::shape::Brackets(shape)),
    }
}

impl<T: Element> From<T> for Tensor {
    /// A 0-d tensor.
    fn from(value: T) -> Tensor {
        Array::full(Shape::new(), value).into()
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    /// A 1-d tensor.
    fn from(data: Vec<T>) -> Tensor {
        Array::from_slice(Shape::from_slice(&[data.len()]), &data).into()
    }
}

impl<T: Element> From<&[T]> for Tensor {
    /// A 1-d tensor.
    fn from(data: &[T]) -> Tensor {
        Array::from_slice(Shape::from_slice(&[data.len()]), data).into()
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    /// A 1-d tensor.
    fn from(data: [T; N]) -> Tensor {
        Tensor::from(data.as_slice())
    }
}

impl<T: Element, const M: usize, const N: usize> From<[[T; N]; M]> for Tensor {
    /// A 2-d tensor, row by row.
    fn from(data: [[T; N]; M]) -> Tensor {
        Array::from_slice(Shape::from_slice(&[M, N]), data.as_flattened()).into()
    }
}

impl<T: Element, const L: usize, const M: usize, const N: usize> From<[[[T; N]; M]; L]> for Tensor {
    /// A 3-d tensor.
    fn from(data: [[[T; N]; M]; L]) -> Tensor {
        Array::from_slice(Shape::from_slice(&[L, M, N]), data.as_flattened().as_flattened()).into()
    }
}
