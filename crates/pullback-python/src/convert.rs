//! Values in both directions.

use pullback::Tensor;
use pyo3::prelude::*;

use crate::tensor::PyTensor;

/// A new Python object for a tensor.
pub fn wrap(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    Bound::new(py, PyTensor::new(tensor))
}
