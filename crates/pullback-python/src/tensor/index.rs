//! What may stand in the brackets of `x[...]`.

use pullback::{IndexItem, Tensor};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyFloat, PyInt, PyList, PySlice, PyTuple};

use super::{PyTensor, data, numpy};
use crate::convert::Operand;
use crate::convert::{compute, expect_operand, wrap};
use crate::error::OrRaise;

/// The items of an index.
fn items(index: &Bound<'_, PyAny>) -> PyResult<Vec<IndexItem>> {
    match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter().map(|part| item(&part)).collect(),
        Err(_) => Ok(vec![item(index)?]),
    }
}

fn item(part: &Bound<'_, PyAny>) -> PyResult<IndexItem> {
    if let Ok(at) = part.cast::<PyInt>() {
        // A bool is a mask without dimensions, which adds one.
        if part.cast::<PyBool>().is_ok() {
            return Err(no_mask(format!("the bool {part}")));
        }
        return Ok(IndexItem::At(position(at)?));
    }
    if let Ok(slice) = part.cast::<PySlice>() {
        return range(slice);
    }
    if let Ok(index) = part.cast_exact::<PyTensor>() {
        return tensor_item(index.get().get());
    }
    if part.is_none() {
        return Ok(IndexItem::NewAxis);
    }
    if part.is(&*PyEllipsis::get(part.py())) {
        return Ok(IndexItem::Ellipsis);
    }
    if let Some(index) = numpy::copy_of(part, None)? {
        return tensor_item(index);
    }
    if part.cast::<PyList>().is_ok() {
        let index = data::tensor_of("indexing", part, None)?;
        // An empty list is one of no positions.
        return tensor_item(if index.numel() == 0 { index.to_dtype(pullback::DType::I64).or_raise()? } else { index });
    }
    if let Ok(at) = part.extract::<isize>() {
        return Ok(IndexItem::At(at));
    }
    let (kind, help) = match part.cast::<PyFloat>() {
        Ok(x) => (format!("the float {x}"), "; help: convert it with `int`"),
        Err(_) => (part.get_type().to_string(), ""),
    };
    Err(PyIndexError::new_err(format!(
        "indexing: expected an integer, a slice, `...`, `None`, a list or a tensor, got {kind}{help}"
    )))
}

fn no_mask(got: impl std::fmt::Display) -> PyErr {
    PyIndexError::new_err(format!(
        "indexing: expected an integer, a slice, `...`, `None`, a list or a tensor with dims, got {got}; help: write `None` for a \
         new dim"
    ))
}

fn position(at: &Bound<'_, PyInt>) -> PyResult<isize> {
    at.extract().map_err(|_| PyIndexError::new_err(format!("indexing: {at} is out of range for every tensor")))
}

/// A tensor as an item. Small integers, which PyTorch's masks once were, are converted.
fn tensor_item(index: Tensor) -> PyResult<IndexItem> {
    use pullback::DType;
    if index.dtype() == DType::Bool && index.rank() == 0 {
        return Err(no_mask(index.ty()));
    }
    match index.dtype() {
        DType::I64 | DType::I32 | DType::Bool => Ok(IndexItem::Tensor(index)),
        _ => Err(PyIndexError::new_err(format!(
            "indexing: expected a tensor of int64, int32 or bool, got {}; help: convert it with `.long()` or `.bool()`",
            index.ty()
        ))),
    }
}

/// `start:stop:step`, whose bounds may lie anywhere.
fn range(slice: &Bound<'_, PySlice>) -> PyResult<IndexItem> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the object is a slice, and the places are there.
    let status = unsafe { ffi::PySlice_Unpack(slice.as_ptr(), &mut start, &mut stop, &mut step) };
    if status < 0 {
        return Err(PyErr::fetch(slice.py()));
    }
    Ok(IndexItem::Range { start: Some(start), end: Some(stop), step })
}

#[pymethods]
impl PyTensor {
    /// The part at an index: integers, slices (steps may be negative), `None`, `...`, lists, tensors of integers or bools, NumPy's
    /// arrays, and tuples of these.
    ///
    /// With several tensors the positions are taken together, as in NumPy. The derivative is that of the elements that were
    /// taken, added up where one is taken repeatedly. Inside a transform masks are an error if their number of true elements would
    /// depend on it; `where` keeps the shape.
    ///
    /// Raises IndexError for a position that is out of range, for too many items, and for what is not an index.
    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
        let (py, tensor) = (index.py(), self.get());
        if let Ok(at) = index.cast_exact::<PyInt>() {
            return wrap(py, tensor.i(position(at)?).or_raise()?);
        }
        let items = items(index)?;
        wrap(py, compute(py, tensor.numel(), move || tensor.i(items)).or_raise()?)
    }

    /// Replaces the part at an index: this object gets another value. Views of it and other objects keep theirs.
    fn __setitem__(&self, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, items) = (index.py(), items(index)?);
        let value = match data::is_nested(value) {
            true => Operand::Tensor(data::tensor_of("indexing", value, None)?),
            false => expect_operand("assignment", "value", value)?,
        };
        let work = self.get().numel();
        let set = move |t: &mut Tensor| {
            match value {
                Operand::Tensor(value) => t.set_(items, value)?,
                Operand::Number(value) => t.set_(items, value)?,
            };
            Ok(())
        };
        compute(py, work, || self.update(set)).or_raise()
    }

    fn __delitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = index;
        Err(PyTypeError::new_err("elements of a tensor cannot be deleted; help: take those that shall stay"))
    }
}
