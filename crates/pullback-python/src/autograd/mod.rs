//! The imperative surface: `pullback.autograd` and what tensors have of it.

use pullback::Tensor;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::tensor::PyTensor;

mod anomaly;
mod bond;
mod check;
pub mod data;
mod dual;
mod hook;
mod mode;
mod node;
mod tensor;
mod walk;

pub use bond::Bond;
pub use mode::Block;

/// The tensors of an argument that is one tensor or a sequence of them.
fn tensors(place: &str, name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    let entries = entries(place, name, given)?;
    let tensor = |(k, entry): (usize, Option<Tensor>)| {
        entry.ok_or_else(|| PyTypeError::new_err(format!("{place}: expected a tensor as `{name}[{k}]`, got None")))
    };
    entries.into_iter().enumerate().map(tensor).collect()
}

/// The same, where `None` may stand in the place of a tensor.
fn entries(place: &str, name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Tensor>>> {
    if let Ok(one) = given.cast::<PyTensor>() {
        return Ok(vec![Some(one.get().get())]);
    }
    if !given.is_instance_of::<PyTuple>() && !given.is_instance_of::<PyList>() {
        let kind = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{place}: expected a tensor or a sequence of tensors as `{name}`, got {kind}"
        )));
    }
    let entry = |(k, entry): (usize, PyResult<Bound<'_, PyAny>>)| {
        let entry = entry?;
        if entry.is_none() {
            return Ok(None);
        }
        match entry.cast::<PyTensor>() {
            Ok(tensor) => Ok(Some(tensor.get().get())),
            Err(_) => {
                let kind = entry.get_type().name()?;
                Err(PyTypeError::new_err(format!("{place}: expected a tensor as `{name}[{k}]`, got {kind}")))
            }
        }
    };
    given.try_iter()?.enumerate().map(entry).collect()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Named as users reach it, so that functions say so of themselves.
    let own = PyModule::new(module.py(), "pullback.autograd")?;
    walk::register(&own)?;
    mode::register(&own)?;
    hook::register(&own)?;
    dual::register(&own)?;
    check::register(&own)?;
    node::register(&own)?;
    anomaly::name_callers();
    module.add("autograd", own)
}
