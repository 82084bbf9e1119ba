//! Conversions from and to the types of other libraries, each behind a feature of the crate.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "serde")]
mod serde;

#[cfg(any(feature = "faer", feature = "nalgebra"))]
use crate::{Element, Result, Tensor, error::bail, tensor::elements};

/// The sizes of a matrix and its elements in column-major order.
#[cfg(any(feature = "faer", feature = "nalgebra"))]
fn columns<T: Element>(op: &str, tensor: &Tensor) -> Result<(usize, usize, Vec<T>)> {
    tensor.check_element::<T>(op)?;
    let array = tensor.data(op)?;
    let &[rows, columns] = array.shape() else {
        bail!(Dim, "{op}: expected a matrix, which has two dimensions, got {}", tensor.ty());
    };
    Ok((rows, columns, elements(&array.permute(&[1, 0]))))
}

/// The elements of a vector.
#[cfg(any(feature = "faer", feature = "nalgebra"))]
fn vector<T: Element>(op: &str, tensor: &Tensor) -> Result<Vec<T>> {
    tensor.check_element::<T>(op)?;
    let array = tensor.data(op)?;
    if array.rank() != 1 {
        bail!(Dim, "{op}: expected a vector, which has one dimension, got {}", tensor.ty());
    }
    Ok(elements(array))
}
