//! `faer`: matrices and columns, and views of tensors as matrices.

use faer::{Col, ColRef, Mat, MatRef};

use super::{columns, vector};
use crate::kernels::copy::from_strided;
use crate::{Element, Error, Result, Tensor, error::bail};

/// # faer
/// With the feature `faer`. Matrices, columns and views of them become tensors by `Tensor::from`, and tensors become matrices
/// and columns by `try_into`.
impl Tensor {
    /// A matrix as a view of the crate `faer`, without a copy, whatever the strides.
    ///
    /// Inside `grad`, `jvp` and their relatives this gives the value and leaves the derivative alone.
    ///
    /// # Errors
    /// `Dim` if there are not two dimensions; `Dtype` if `T` is not the element type; `ConcreteValueNeeded` as
    /// [`to_vec`](Tensor::to_vec).
    ///
    /// # Example
    /// ```
    /// use faer::{Mat, mat};
    /// use pullback::Tensor;
    ///
    /// let t = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// let product = t.as_faer::<f64>()? * t.t()?.as_faer::<f64>()?;
    /// assert_eq!(Tensor::from(&product).to_vec::<f64>()?, t.matmul(&t.t()?)?.to_vec::<f64>()?);
    /// let copy: Mat<f64> = (&t).try_into()?;
    /// assert_eq!(copy[(2, 1)], 6.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn as_faer<T: Element>(&self) -> Result<MatRef<'_, T>> {
        self.check_element::<T>("as_faer")?;
        let array = self.data("as_faer")?;
        let (&[rows, columns], &[down, across]) = (array.shape(), array.strides()) else {
            bail!(Dim, "as_faer: expected a matrix, which has two dimensions, got {}", self.ty());
        };
        // SAFETY: the strides lead to the elements of the array, and nobody writes to them as long as it is held.
        Ok(unsafe { MatRef::from_raw_parts(array.as_ptr::<T>(), rows, columns, down, across) })
    }
}

impl<T: Element> TryFrom<&Tensor> for Mat<T> {
    type Error = Error;

    /// A copy of a tensor with two dimensions.
    ///
    /// # Errors
    /// `Dim` if there are not two; `Dtype` and `ConcreteValueNeeded` as [`Tensor::to_vec`].
    fn try_from(tensor: &Tensor) -> Result<Mat<T>> {
        let (rows, columns, elements) = columns::<T>("try_into", tensor)?;
        Ok(Mat::from_fn(rows, columns, |i, j| elements[j * rows + i]))
    }
}

impl<T: Element> TryFrom<&Tensor> for Col<T> {
    type Error = Error;

    /// A copy of a tensor with one dimension.
    ///
    /// # Errors
    /// `Dim` if there is not one; `Dtype` and `ConcreteValueNeeded` as [`Tensor::to_vec`].
    fn try_from(tensor: &Tensor) -> Result<Col<T>> {
        let elements = vector::<T>("try_into", tensor)?;
        Ok(Col::from_fn(elements.len(), |i| elements[i]))
    }
}

impl<T: Element> From<MatRef<'_, T>> for Tensor {
    /// A copy of a matrix of `faer`, whatever its layout.
    fn from(matrix: MatRef<'_, T>) -> Tensor {
        let (shape, strides) = ([matrix.nrows(), matrix.ncols()], [matrix.row_stride(), matrix.col_stride()]);
        // SAFETY: a matrix can be read at all the places that its shape and strides name.
        unsafe { from_strided(matrix.as_ptr(), &shape, &strides) }.into()
    }
}

impl<T: Element> From<ColRef<'_, T>> for Tensor {
    /// A copy of a column of `faer`, as a tensor with one dimension.
    fn from(column: ColRef<'_, T>) -> Tensor {
        // SAFETY: a column can be read at all the places that its length and stride name.
        unsafe { from_strided(column.as_ptr(), &[column.nrows()], &[column.row_stride()]) }.into()
    }
}

/// Owned matrices and columns are copied from their views.
macro_rules! owned {
    ($($owned:ident, $what:literal;)*) => { $(
        impl<T: Element> From<&$owned<T>> for Tensor {
            #[doc = concat!("A copy of a ", $what, " of `faer`.")]
            fn from(x: &$owned<T>) -> Tensor {
                Tensor::from(x.as_ref())
            }
        }

        impl<T: Element> From<$owned<T>> for Tensor {
            #[doc = concat!("A copy of a ", $what, " of `faer`.")]
            fn from(x: $owned<T>) -> Tensor {
                Tensor::from(x.as_ref())
            }
        }
    )* };
}
owned! {
    Mat, "matrix";
    Col, "column, as a tensor with one dimension,";
}
