//! Pickling, and the module `copy`.

use pullback::{DType, Tensor, autograd};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::PyTensor;
use crate::dtype::{DTypeArg, PyDType, dtype_object};
use crate::error::OrRaise;

/// A tensor with a copy of elements that lie one after the other.
pub fn from_bytes(bytes: &[u8], shape: &[usize], dtype: DType) -> PyResult<Tensor> {
    // Dims of size 0 do not make up for others: strides are products of those.
    let span =
        shape.iter().try_fold(dtype.size(), |n, &d| n.checked_mul(d.max(1))).filter(|&n| n <= isize::MAX as usize);
    let count = span.map(|n| if shape.contains(&0) { 0 } else { n });
    if count != Some(bytes.len()) {
        return Err(PyValueError::new_err(format!(
            "tensor: expected the bytes of {dtype}{shape:?}, got {} bytes",
            bytes.len()
        )));
    }
    let mut strides = vec![1isize; shape.len()];
    for k in (1..shape.len()).rev() {
        strides[k - 1] = strides[k] * shape[k].max(1) as isize;
    }
    // Elements must be aligned, as bytes need not be.
    let words: Vec<u128>;
    let start = if bytes.as_ptr().cast::<u128>().is_aligned() {
        bytes.as_ptr()
    } else {
        words = bytes
            .chunks(size_of::<u128>())
            .map(|chunk| {
                let mut word = [0; size_of::<u128>()];
                word[..chunk.len()].copy_from_slice(chunk);
                u128::from_ne_bytes(word)
            })
            .collect();
        words.as_ptr().cast()
    };
    // SAFETY: there are as many bytes as the shape needs, and all bytes are elements.
    unsafe { Tensor::copy_from_memory(start, shape, &strides, dtype) }.or_raise()
}

/// The elements of a tensor one after the other.
pub fn to_bytes<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyBytes>> {
    let mut memory = tensor.memory_for("pickle").or_raise()?;
    if !memory.is_contiguous() {
        // SAFETY: the memory is that of a tensor.
        let packed =
            unsafe { Tensor::copy_from_memory(memory.as_ptr(), memory.shape(), memory.strides(), memory.dtype()) };
        memory = packed.and_then(|t| t.memory()).or_raise()?;
    }
    let count = memory.shape().iter().product::<usize>() * memory.dtype().size();
    if count == 0 {
        return Ok(PyBytes::new(py, &[]));
    }
    // SAFETY: so many bytes of elements without gaps begin there.
    Ok(PyBytes::new(py, unsafe { std::slice::from_raw_parts(memory.as_ptr(), count) }))
}

/// The value of a leaf or a constant, and whether it is a leaf that gradients flow to.
fn plain(function: &str, tensor: &Tensor) -> PyResult<(Tensor, bool)> {
    if !tensor.requires_grad() {
        return Ok((tensor.clone(), false));
    }
    if !tensor.is_leaf() {
        return Err(PyValueError::new_err(format!(
            "{function}: expected a leaf or a constant, got {}, the result of a recorded operation, whose graph is not copied; \
             help: call `detach` first",
            tensor.ty()
        )));
    }
    Ok((tensor.detach().or_raise()?, true))
}

/// The leaf with a value.
fn leaf(value: &Tensor, requires_grad: bool) -> PyResult<Tensor> {
    if requires_grad { autograd::leaf(value).or_raise() } else { Ok(value.clone()) }
}

/// What a pickled tensor is made with again.
#[pyfunction]
#[pyo3(signature = (dtype, shape, data, requires_grad))]
fn _rebuild_tensor(dtype: DTypeArg, shape: Vec<usize>, data: &[u8], requires_grad: bool) -> PyResult<PyTensor> {
    let value = from_bytes(data, &shape, dtype.0)?;
    Ok(PyTensor::new(leaf(&value, requires_grad)?))
}

type Parts<'py> = (Bound<'py, PyDType>, Bound<'py, PyTuple>, Bound<'py, PyBytes>, bool);

#[pymethods]
impl PyTensor {
    /// Pickles the elements, the dtype, and whether a leaf requires gradients.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, tensor) = (slf.py(), slf.get().get());
        let (value, requires_grad) = plain("pickle", &tensor)?;
        let rebuild = py.import("pullback._core")?.getattr("_rebuild_tensor")?;
        let shape = PyTuple::new(py, value.shape())?;
        Ok((rebuild, (dtype_object(py, value.dtype())?, shape, to_bytes(py, &value)?, requires_grad)))
    }

    fn __copy__(&self) -> PyTensor {
        PyTensor::new(self.get())
    }

    /// A leaf of its own, with the gradient of the other. Elements never change, so they are shared.
    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let _ = memo;
        let tensor = self.get();
        let (value, requires_grad) = plain("deepcopy", &tensor)?;
        let copy = leaf(&value, requires_grad)?;
        if requires_grad && let Some(grad) = tensor.grad().or_raise()? {
            copy.set_grad(Some(grad)).or_raise()?;
        }
        Ok(PyTensor::new(copy))
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_rebuild_tensor, module)?)
}
