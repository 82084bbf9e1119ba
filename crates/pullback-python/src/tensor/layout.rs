//! What PyTorch's tensors say of how they lie in memory, and shapes taken from other tensors.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::PyTensor;
use crate::convert::wrap;
use crate::error::OrRaise;

/// How many elements lie between neighbours along each dim, if they lie one after the other.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        strides[k - 1] = strides[k] * shape[k].max(1);
    }
    strides
}

/// What `stride` returns.
#[derive(IntoPyObject)]
enum Stride<'py> {
    All(Bound<'py, PyTuple>),
    One(usize),
}

#[pymethods]
impl PyTensor {
    /// True: where elements lie in memory is not visible, so every tensor is as if they lay one after the other.
    ///
    /// >>> pullback.zeros(2, 3).T.is_contiguous()
    /// True
    #[pyo3(signature = ())]
    fn is_contiguous(&self) -> bool {
        true
    }

    /// How many elements lie between neighbours along each dim, or along one, as in a contiguous tensor of the shape; see
    /// `is_contiguous`. Arrays that share the memory of a tensor have strides of their own.
    ///
    /// Raises IndexError if there is no such dim.
    ///
    /// >>> x = pullback.zeros(2, 3)
    /// >>> x.stride(), x.stride(-1)
    /// ((3, 1), 1)
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<isize>) -> PyResult<Stride<'py>> {
        let tensor = self.get();
        let strides = strides(tensor.shape());
        let Some(dim) = dim else { return PyTuple::new(py, strides).map(Stride::All) };
        let place = if dim < 0 { dim + strides.len() as isize } else { dim };
        match usize::try_from(place).ok().and_then(|place| strides.get(place)) {
            Some(&stride) => Ok(Stride::One(stride)),
            None => Err(PyIndexError::new_err(format!("stride: dim {dim} is out of range for {}", tensor.ty()))),
        }
    }

    /// The elements in the shape of another tensor; see `reshape`.
    ///
    /// Raises ValueError if the numbers of elements differ.
    ///
    /// >>> pullback.arange(6).view_as(pullback.zeros(2, 3)).shape
    /// (2, 3)
    #[pyo3(signature = (other))]
    fn view_as<'py>(&self, other: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
        let shape = other.get().get().shape().iter().map(|&n| n as isize).collect::<Vec<_>>();
        wrap(other.py(), self.get().reshape(&shape).map_err(|e| e.in_context("view_as")).or_raise()?)
    }

    /// The elements in the shape of another tensor; see `reshape`.
    ///
    /// Raises ValueError if the numbers of elements differ.
    #[pyo3(signature = (other))]
    fn reshape_as<'py>(&self, other: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
        let shape = other.get().get().shape().iter().map(|&n| n as isize).collect::<Vec<_>>();
        wrap(other.py(), self.get().reshape(&shape).map_err(|e| e.in_context("reshape_as")).or_raise()?)
    }

    /// The tensor repeated along dims of size 1 to the shape of another one, without a copy; see `expand`.
    ///
    /// Raises ValueError if the shape does not broadcast to that one.
    ///
    /// >>> pullback.tensor([[1.0], [2.0]]).expand_as(pullback.zeros(2, 3)).shape
    /// (2, 3)
    #[pyo3(signature = (other))]
    fn expand_as<'py>(&self, other: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
        let expanded = self.get().expand(other.get().get().shape());
        wrap(other.py(), expanded.map_err(|e| e.in_context("expand_as")).or_raise()?)
    }
}
