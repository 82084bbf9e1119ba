//! Elements as Python's numbers and lists, and as text.

use pullback::{Complex32, Complex64, DType, Element, Tensor, bf16, f16};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyIterator, PyList, PyString};

use super::PyTensor;
use crate::convert::{Operand, compute, operand, with_element, wrap};
use crate::error::OrRaise;

/// An element as an object of Python.
trait ToPython: Element {
    fn to_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

macro_rules! to_python {
    ($($t:ty: $x:ident, $py:ident => $object:expr;)*) => { $(
        impl ToPython for $t {
            fn to_python(self, $py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
                let $x = self;
                Ok($object)
            }
        }
    )* };
}
to_python! {
    bool: x, py => PyBool::new(py, x).to_owned().into_any();
    u8: x, py => x.into_pyobject(py)?.into_any();
    i32: x, py => x.into_pyobject(py)?.into_any();
    i64: x, py => x.into_pyobject(py)?.into_any();
    f16: x, py => PyFloat::new(py, x.to_f64()).into_any();
    bf16: x, py => PyFloat::new(py, x.to_f64()).into_any();
    f32: x, py => PyFloat::new(py, x.into()).into_any();
    f64: x, py => PyFloat::new(py, x).into_any();
    Complex32: x, py => PyComplex::from_doubles(py, x.re.into(), x.im.into()).into_any();
    Complex64: x, py => PyComplex::from_doubles(py, x.re, x.im).into_any();
}

/// The only element of a tensor.
pub fn item<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    with_element!(tensor.dtype(), T => tensor.item::<T>().or_raise()?.to_python(py))
}

/// Lists in lists of the elements of this shape, which `next` gives in order.
fn lists<'py>(
    py: Python<'py>,
    shape: &[usize],
    next: &mut dyn FnMut() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some((&size, rest)) = shape.split_first() else { return next() };
    let items: Vec<Bound<'py, PyAny>> = (0..size).map(|_| lists(py, rest, next)).collect::<PyResult<_>>()?;
    Ok(PyList::new(py, items)?.into_any())
}

/// The only element, for what a number of Python is asked; `what` says what for.
fn only<'py>(py: Python<'py>, tensor: &Tensor, what: &str) -> PyResult<Bound<'py, PyAny>> {
    if tensor.numel() != 1 {
        return Err(PyValueError::new_err(format!("{what}: expected a tensor with one element, got {}", tensor.ty())));
    }
    item(py, tensor)
}

#[pymethods]
impl PyTensor {
    /// The only element as a number of Python.
    ///
    /// Inside `grad` and `jvp` this is the value, and a number that is computed from it has no derivative.
    ///
    /// Raises ValueError unless there is exactly one element, RuntimeError for a value that is batched by `vmap`.
    ///
    /// >>> pullback.tensor([2.5]).item()
    /// 2.5
    #[pyo3(signature = ())]
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        item(py, &self.get())
    }

    /// The elements as numbers in nested lists; of a 0-d tensor, the number.
    ///
    /// >>> pullback.tensor([[1, 2], [3, 4]]).tolist()
    /// [[1, 2], [3, 4]]
    #[pyo3(signature = ())]
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.get();
        with_element!(tensor.dtype(), T => {
            let mut elements = tensor.to_vec::<T>().or_raise()?.into_iter();
            lists(py, tensor.shape(), &mut || match elements.next() {
                Some(x) => x.to_python(py),
                None => Err(PyValueError::new_err("tolist: the shape has more elements than there are")),
            })
        })
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFloat>> {
        let number = only(py, &self.get(), "float")?;
        if number.cast::<PyComplex>().is_ok() {
            return Err(PyTypeError::new_err(
                "float: expected a real number, got a complex one; help: take its `real` part",
            ));
        }
        Ok(PyFloat::new(py, number.extract()?))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let number = only(py, &self.get(), "int")?;
        if number.cast::<PyComplex>().is_ok() {
            return Err(PyTypeError::new_err(
                "int: expected a real number, got a complex one; help: take its `real` part",
            ));
        }
        py.get_type::<PyInt>().call1((number,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyComplex>().call1((only(py, &self.get(), "complex")?,))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let tensor = self.get();
        if tensor.numel() != 1 {
            return Err(PyValueError::new_err(format!(
                "bool: expected a tensor with one element, got {}; help: use `.any()` or `.all()`",
                tensor.ty()
            )));
        }
        item(py, &tensor)?.is_truthy()
    }

    /// The value of a tensor with one integer, as a position in a list.
    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.get();
        if tensor.numel() != 1 || !(tensor.dtype().is_int() || tensor.dtype() == DType::Bool) {
            return Err(PyTypeError::new_err(format!(
                "index: expected a tensor with one integer, got {}",
                tensor.ty()
            )));
        }
        py.get_type::<PyInt>().call1((item(py, &tensor)?,))
    }

    /// The parts along the first dimension.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let tensor = self.get();
        if tensor.rank() == 0 {
            return Err(PyTypeError::new_err("iter: expected a dim, got a 0-d tensor"));
        }
        let parts = tensor.unbind(0).or_raise()?;
        let parts: Vec<Bound<'py, PyTensor>> = parts.into_iter().map(|t| wrap(py, t)).collect::<PyResult<_>>()?;
        PyList::new(py, parts)?.try_iter()
    }

    /// Whether an element is equal to a number.
    fn __contains__(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (py, tensor) = (value.py(), self.get());
        let Some(value) = operand(value)? else {
            return Err(PyTypeError::new_err(format!("in: expected a number or a tensor, got {}", value.get_type())));
        };
        let any = || {
            let equal = match &value {
                Operand::Tensor(value) => tensor.eq(value)?,
                Operand::Number(value) => tensor.eq(*value)?,
            };
            equal.any()?.item::<bool>()
        };
        compute(py, tensor.numel(), any).or_raise()
    }

    fn __repr__(&self) -> String {
        self.get().to_python_string()
    }

    /// The text of the tensor, or of its only element in a format.
    fn __format__<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.get();
        if format.is_empty() {
            return Ok(PyString::new(py, &tensor.to_python_string()).into_any());
        }
        if tensor.numel() != 1 {
            return Err(PyTypeError::new_err(format!(
                "format: expected a tensor with one element for the format '{format}', got {}",
                tensor.ty()
            )));
        }
        item(py, &tensor)?.call_method1("__format__", (format,))
    }
}
