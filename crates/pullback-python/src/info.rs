//! Facts about tensors and dtypes: functions, and the limits of numbers.

use pullback::{DType, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::convert::{Operand, Sizes, operand, wrap};
use crate::dtype::{DTypeArg, PyDType, dtype_object, python_name};
use crate::error::OrRaise;
use crate::tensor::PyTensor;

/// The limits of a floating dtype, `float32` unless one is given; those of a complex one are those of its parts.
///
/// Raises TypeError for another dtype.
///
/// >>> pullback.finfo(pullback.float32).eps
/// 1.1920928955078125e-07
/// >>> pullback.finfo(pullback.float64).max == 1.7976931348623157e308
/// True
#[pyclass(name = "finfo", module = "pullback", frozen)]
pub struct FloatInfo {
    dtype: DType,
    digits: i32,
    least: i32,
}

#[pymethods]
impl FloatInfo {
    #[new]
    #[pyo3(signature = (dtype=None, /))]
    fn new(dtype: Option<DTypeArg>) -> PyResult<FloatInfo> {
        let dtype = dtype.map_or(DType::F32, |d| d.0.to_real());
        let (digits, least) = match dtype {
            DType::F16 => (11, -14),
            DType::BF16 => (8, -126),
            DType::F32 => (24, -126),
            DType::F64 => (53, -1022),
            other => {
                let name = python_name(other);
                return Err(PyTypeError::new_err(format!(
                    "finfo: expected a floating dtype, got {name}; help: `iinfo` has the limits of integers"
                )));
            }
        };
        Ok(FloatInfo { dtype, digits, least })
    }

    /// The dtype's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        python_name(self.dtype)
    }

    /// Bits of a number.
    #[getter]
    fn bits(&self) -> usize {
        8 * self.dtype.size()
    }

    /// The distance from 1 to the next larger number.
    #[getter]
    fn eps(&self) -> f64 {
        2f64.powi(1 - self.digits)
    }

    /// The largest number.
    #[getter]
    fn max(&self) -> f64 {
        (2.0 - self.eps()) * 2f64.powi(1 - self.least)
    }

    /// The smallest number, which is the negative of the largest.
    #[getter]
    fn min(&self) -> f64 {
        -self.max()
    }

    /// The smallest positive number of full precision.
    #[getter]
    fn tiny(&self) -> f64 {
        2f64.powi(self.least)
    }

    /// The smallest positive number of full precision.
    #[getter]
    fn smallest_normal(&self) -> f64 {
        self.tiny()
    }

    /// A power of ten that is about the precision of decimals.
    #[getter]
    fn resolution(&self) -> f64 {
        let decimals = (f64::from(self.digits - 1) * 2f64.log10()).floor();
        // As the literal is read, which a power may not be.
        format!("1e-{decimals}").parse().unwrap_or(0.0)
    }

    fn __repr__(&self) -> String {
        let (eps, max, tiny) = (self.eps(), self.max(), self.tiny());
        format!("finfo(eps={eps:e}, max={max:e}, min={:e}, tiny={tiny:e}, dtype={})", -max, self.dtype())
    }
}

/// The limits of an integer dtype.
///
/// Raises TypeError for another dtype.
///
/// >>> pullback.iinfo(pullback.int32).max
/// 2147483647
#[pyclass(name = "iinfo", module = "pullback", frozen)]
pub struct IntInfo {
    dtype: DType,
    min: i64,
    max: i64,
}

#[pymethods]
impl IntInfo {
    #[new]
    #[pyo3(signature = (dtype, /))]
    fn new(dtype: DTypeArg) -> PyResult<IntInfo> {
        let (min, max) = match dtype.0 {
            DType::U8 => (0, i64::from(u8::MAX)),
            DType::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            DType::I64 => (i64::MIN, i64::MAX),
            other => {
                let name = python_name(other);
                return Err(PyTypeError::new_err(format!(
                    "iinfo: expected an integer dtype, got {name}; help: `finfo` has the limits of floats"
                )));
            }
        };
        Ok(IntInfo { dtype: dtype.0, min, max })
    }

    /// The dtype's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        python_name(self.dtype)
    }

    /// Bits of a number.
    #[getter]
    fn bits(&self) -> usize {
        8 * self.dtype.size()
    }

    /// The largest number.
    #[getter]
    fn max(&self) -> i64 {
        self.max
    }

    /// The smallest number.
    #[getter]
    fn min(&self) -> i64 {
        self.min
    }

    fn __repr__(&self) -> String {
        format!("iinfo(min={}, max={}, dtype={})", self.min, self.max, self.dtype())
    }
}

/// Whether an object is a tensor.
///
/// >>> pullback.is_tensor(pullback.tensor(1.0)), pullback.is_tensor(1.0)
/// (True, False)
#[pyfunction]
#[pyo3(signature = (obj, /))]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<PyTensor>()
}

/// Whether the elements of a tensor are floats; see `dtype.is_floating_point`.
///
/// >>> pullback.is_floating_point(pullback.tensor([1, 2]))
/// False
#[pyfunction]
#[pyo3(signature = (input))]
fn is_floating_point(input: &Bound<'_, PyTensor>) -> bool {
    input.get().get().dtype().is_float()
}

/// Whether the elements of a tensor are complex.
///
/// >>> pullback.is_complex(pullback.tensor(1j))
/// True
#[pyfunction]
#[pyo3(signature = (input))]
fn is_complex(input: &Bound<'_, PyTensor>) -> bool {
    input.get().get().dtype().is_complex()
}

/// The number of elements of a tensor.
///
/// >>> pullback.numel(pullback.zeros(2, 3))
/// 6
#[pyfunction]
#[pyo3(signature = (input))]
fn numel(input: &Bound<'_, PyTensor>) -> usize {
    input.get().get().numel()
}

/// Another object with the value of a tensor. As elements never change, nothing is copied; the derivative passes through.
///
/// >>> pullback.clone(pullback.tensor([1.0]))
/// tensor([1.])
#[pyfunction]
#[pyo3(signature = (input))]
fn clone<'py>(input: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    wrap(input.py(), input.get().get())
}

/// The dtype of a sum of tensors of two dtypes.
///
/// >>> pullback.promote_types(pullback.int64, pullback.float16)
/// pullback.float16
#[pyfunction]
#[pyo3(signature = (type1, type2))]
fn promote_types<'py>(py: Python<'py>, type1: DTypeArg, type2: DTypeArg) -> PyResult<Bound<'py, PyDType>> {
    dtype_object(py, type1.0.promote(type2.0))
}

/// The dtype of a sum of tensors and numbers.
///
/// >>> pullback.result_type(pullback.tensor([1, 2]), 0.5)
/// pullback.float32
#[pyfunction]
#[pyo3(signature = (*tensors))]
fn result_type<'py>(py: Python<'py>, tensors: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyDType>> {
    let mut found: Option<Tensor> = None;
    for object in tensors.iter() {
        let Some(operand) = operand(&object)? else {
            let kind = object.get_type();
            return Err(PyTypeError::new_err(format!("result_type: expected tensors and numbers, got {kind}")));
        };
        // One element of each tells the dtype, and a dim that it is no number.
        let one = match operand {
            Operand::Tensor(t) => Tensor::ones(if t.rank() == 0 { &[] } else { &[1] }, t.dtype()).or_raise()?,
            number => number.into_tensor("result_type", DType::Bool)?,
        };
        found = Some(match found {
            None => one,
            Some(found) => found.add(&one).or_raise()?,
        });
    }
    match found {
        Some(found) => dtype_object(py, found.dtype()),
        None => Err(PyTypeError::new_err("result_type: expected at least one tensor or number")),
    }
}

/// The shape of a sum of tensors of these shapes, each of which may be a number for a vector.
///
/// Raises ValueError if they do not broadcast.
///
/// >>> pullback.broadcast_shapes((2, 1), (3,))
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (*shapes))]
fn broadcast_shapes<'py>(py: Python<'py>, shapes: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let mut all: Vec<usize> = Vec::new();
    for shape in shapes.iter() {
        let Sizes(sizes) = shape.extract()?;
        if sizes.len() > all.len() {
            all.splice(..0, std::iter::repeat_n(1, sizes.len() - all.len()));
        }
        let lead = all.len() - sizes.len();
        for (k, (own, &size)) in all[lead..].iter_mut().zip(&sizes).enumerate() {
            match (*own, size) {
                (1, size) => *own = size,
                (own, size) if size == 1 || size == own => {}
                (own, size) => {
                    return Err(PyValueError::new_err(format!(
                        "broadcast_shapes: shapes must broadcast, got sizes {own} and {size} in dim {}",
                        lead + k
                    )));
                }
            }
        }
    }
    PyTuple::new(py, all)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FloatInfo>()?;
    module.add_class::<IntInfo>()?;
    module.add_function(wrap_pyfunction!(is_tensor, module)?)?;
    module.add_function(wrap_pyfunction!(is_floating_point, module)?)?;
    module.add_function(wrap_pyfunction!(is_complex, module)?)?;
    module.add_function(wrap_pyfunction!(numel, module)?)?;
    module.add_function(wrap_pyfunction!(clone, module)?)?;
    module.add_function(wrap_pyfunction!(broadcast_shapes, module)?)?;
    module.add_function(wrap_pyfunction!(promote_types, module)?)?;
    module.add_function(wrap_pyfunction!(result_type, module)?)
}
