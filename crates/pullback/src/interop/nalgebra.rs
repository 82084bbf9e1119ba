//! `nalgebra`: matrices and vectors of dynamic and of fixed size.

use nalgebra::{Const, DMatrix, DVector, Dim, Matrix, RawStorage, SMatrix, Scalar};

use super::{columns, vector};
use crate::kernels::copy::from_strided;
use crate::{Element, Error, Result, Tensor, error::bail};

impl<T: Element + Scalar> TryFrom<&Tensor> for DMatrix<T> {
    type Error = Error;

    /// A copy of a tensor with two dimensions.
    ///
    /// # Errors
    /// `Dim` if there are not two; `Dtype` and `ConcreteValueNeeded` as [`Tensor::to_vec`].
    fn try_from(tensor: &Tensor) -> Result<DMatrix<T>> {
        let (rows, columns, elements) = columns("try_into", tensor)?;
        Ok(DMatrix::from_vec(rows, columns, elements))
    }
}

impl<T: Element + Scalar> TryFrom<&Tensor> for DVector<T> {
    type Error = Error;

    /// A copy of a tensor with one dimension.
    ///
    /// # Errors
    /// `Dim` if there is not one; `Dtype` and `ConcreteValueNeeded` as [`Tensor::to_vec`].
    fn try_from(tensor: &Tensor) -> Result<DVector<T>> {
        Ok(DVector::from_vec(vector("try_into", tensor)?))
    }
}

impl<T: Element + Scalar, const R: usize, const C: usize> TryFrom<&Tensor> for SMatrix<T, R, C> {
    type Error = Error;

    /// A copy of a tensor of shape `[R, C]`; or of shape `[R]`, for the vectors that `C == 1` makes.
    ///
    /// # Errors
    /// `Shape` if it is another one; `Dtype` and `ConcreteValueNeeded` as [`Tensor::to_vec`].
    fn try_from(tensor: &Tensor) -> Result<SMatrix<T, R, C>> {
        let is_vector = C == 1 && tensor.shape() == [R];
        if !is_vector && tensor.shape() != [R, C] {
            bail!(Shape, "try_into: expected a tensor of shape [{R},{C}], got {}", tensor.ty());
        }
        let elements = if is_vector { vector("try_into", tensor)? } else { columns("try_into", tensor)?.2 };
        Ok(SMatrix::from_iterator_generic(Const::<R>, Const::<C>, elements))
    }
}

impl<T: Element + Scalar, R: Dim, C: Dim, S: RawStorage<T, R, C>> From<&Matrix<T, R, C, S>> for Tensor {
    /// A copy of a matrix of `nalgebra` or of a part of one. What has one column by its type is a vector, and becomes a tensor
    /// with one dimension.
    fn from(matrix: &Matrix<T, R, C, S>) -> Tensor {
        let (rows, columns) = matrix.shape();
        let (down, across) = matrix.strides();
        let (shape, strides) = ([rows, columns], [down as isize, across as isize]);
        let rank = if C::try_to_usize() == Some(1) { 1 } else { 2 };
        // SAFETY: a matrix can be read at all the places that its shape and strides name.
        unsafe { from_strided(matrix.as_ptr(), &shape[..rank], &strides[..rank]) }.into()
    }
}

impl<T: Element + Scalar, R: Dim, C: Dim, S: RawStorage<T, R, C>> From<Matrix<T, R, C, S>> for Tensor {
    /// A copy of a matrix of `nalgebra` or of a part of one. What has one column by its type is a vector, and becomes a tensor
    /// with one dimension.
    fn from(matrix: Matrix<T, R, C, S>) -> Tensor {
        Tensor::from(&matrix)
    }
}
