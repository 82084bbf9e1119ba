//! `x.data`: the value of a tensor, to read and to replace without a derivative.

use pullback::autograd::no_grad;
use pullback::dynamic::rebind;
use pullback::{Error, ErrorKind, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::Bond;
use crate::error::OrRaise as _;
use crate::tensor::PyTensor;

/// Gives `owner` another value, without a record of it: a leaf stays the leaf that it is.
///
/// What a backward will read cannot be changed that way: values never change, so the graph keeps those it was made of.
pub fn assign(owner: &PyTensor, value: Tensor) -> pullback::Result<()> {
    let mut handle = owner.get();
    if !handle.is_leaf() {
        let message =
            format!("data: expected a leaf or a constant, got {}, which is computed from others", handle.ty());
        return Err(
            Error::new(ErrorKind::InTransform, message).with_help("change a `detach()` of it, and go on with that")
        );
    }
    if !handle.requires_grad() {
        owner.set(value);
        return Ok(());
    }
    if handle.dtype() != value.dtype() {
        let message = format!("data: expected a value of type {} for this leaf, got {}", handle.ty(), value.ty());
        return Err(Error::new(ErrorKind::Dtype, message)
            .with_help("make a new leaf of it: `x = value.detach().requires_grad_()`"));
    }
    no_grad(|| rebind(&mut handle, "data", value))?;
    owner.set(handle);
    Ok(())
}

#[pymethods]
impl PyTensor {
    /// The value of this tensor, cut off from the graph; what is done to it in place, or assigned, becomes the value of this tensor
    /// without a record. `with no_grad():` and `detach()` say the same more clearly.
    ///
    /// >>> w = pullback.tensor([1.0, 2.0], requires_grad=True)
    /// >>> w.data.sub_(0.5)
    /// tensor([0.5000, 1.5000])
    /// >>> w.requires_grad, w.tolist()
    /// (True, [0.5, 1.5])
    ///
    /// A graph that was recorded before keeps the values that it was made of. A leaf takes values of its own type only.
    ///
    /// Raises RuntimeError when the value of a tensor is set that is the result of a recorded operation, or that a transform is
    /// working on; ValueError, TypeError for a leaf if the value is not of its type.
    #[getter]
    fn data(slf: &Bound<'_, Self>) -> PyResult<PyTensor> {
        let value = slf.get().get().detach().or_raise()?;
        Ok(slf.get().alias(value, Bond::to_value_of(slf)))
    }

    #[setter]
    fn set_data(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(value) = value.cast::<PyTensor>() else {
            let kind = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!("data: expected a tensor, got {kind}")));
        };
        let value = value.get().get().detach().or_raise()?;
        self.check_not_captured().or_raise()?;
        assign(self, value).or_raise()
    }
}
