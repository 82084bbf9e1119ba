//! Operators, with tensors, numbers and NumPy's arrays on either side.

use pullback::{Scalar, Tensor};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::PyTensor;
use crate::convert::{Operand, compute, operand, wrap};
use crate::error::OrRaise;

/// An operation of two tensors, or of a tensor and a number.
#[derive(Clone, Copy)]
struct Binary {
    /// The name of the method, which messages use.
    name: &'static str,
    tensors: fn(&Tensor, &Tensor) -> pullback::Result<Tensor>,
    number: fn(&Tensor, Scalar) -> pullback::Result<Tensor>,
    /// Whether a number becomes a float beside an integer.
    float: bool,
}

/// The operation that a method of the library does.
macro_rules! binary {
    ($method:ident) => {
        binary!($method, float: false)
    };
    ($method:ident, float: $float:literal) => {
        &Binary {
            name: stringify!($method),
            tensors: |a, b| a.$method(b),
            number: |a, b| a.$method(b),
            float: $float,
        }
    };
}

/// `NotImplemented`, by which Python tries the other operand.
fn not_implemented(py: Python<'_>) -> Bound<'_, PyAny> {
    py.NotImplemented().into_bound(py)
}

impl Binary {
    #[inline]
    fn apply<'py>(&self, py: Python<'py>, a: &Tensor, b: &Operand) -> PyResult<Bound<'py, PyAny>> {
        let result = match b {
            Operand::Tensor(b) => compute(py, a.numel().max(b.numel()), || (self.tensors)(a, b)),
            Operand::Number(b) => compute(py, a.numel(), || (self.number)(a, *b)),
        };
        Ok(wrap(py, result.or_raise()?)?.into_any())
    }

    /// `slf op other`.
    #[inline]
    fn call<'py>(&self, slf: &PyTensor, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match operand(other)? {
            Some(b) => self.apply(other.py(), &slf.get(), &b),
            None => Ok(not_implemented(other.py())),
        }
    }

    /// `other op slf`.
    fn reflected<'py>(&self, slf: &PyTensor, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(a) = operand(other)? else { return Ok(not_implemented(other.py())) };
        let b = slf.get();
        let beside = if self.float { b.dtype().to_float() } else { b.dtype() };
        let a = a.into_tensor(self.name, beside)?;
        self.apply(other.py(), &a, &Operand::Tensor(b))
    }
}

/// The operation without a number.
fn matmul<'py>(a: &Tensor, b: &Tensor, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    let work = a.numel().saturating_mul(b.shape().last().copied().unwrap_or(1));
    Ok(wrap(py, compute(py, work, || a.matmul(b)).or_raise()?)?.into_any())
}

/// A pair of results, unless there are none.
fn both<'py>(a: Bound<'py, PyAny>, b: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if a.is(not_implemented(a.py())) { Ok(a) } else { Ok(PyTuple::new(a.py(), [&a, &b])?.into_any()) }
}

/// What `@` takes on its other side.
fn matrix(other: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    Ok(match operand(other)? {
        Some(Operand::Tensor(t)) => Some(t),
        _ => None,
    })
}

#[pymethods]
impl PyTensor {
    fn __add__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(add).call(self, other)
    }

    fn __radd__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(add).reflected(self, other)
    }

    fn __sub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(sub).call(self, other)
    }

    fn __rsub__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(sub).reflected(self, other)
    }

    fn __mul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(mul).call(self, other)
    }

    fn __rmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(mul).reflected(self, other)
    }

    fn __truediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(div, float: true).call(self, other)
    }

    fn __rtruediv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(div, float: true).reflected(self, other)
    }

    fn __floordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(floor_divide).call(self, other)
    }

    fn __rfloordiv__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(floor_divide).reflected(self, other)
    }

    fn __mod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(remainder).call(self, other)
    }

    fn __rmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(remainder).reflected(self, other)
    }

    fn __divmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        both(self.__floordiv__(other)?, self.__mod__(other)?)
    }

    fn __rdivmod__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        both(self.__rfloordiv__(other)?, self.__rmod__(other)?)
    }

    fn __pow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !modulo.is_none() {
            return Ok(not_implemented(other.py()));
        }
        binary!(pow).call(self, other)
    }

    fn __rpow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !modulo.is_none() {
            return Ok(not_implemented(other.py()));
        }
        binary!(pow).reflected(self, other)
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match matrix(other)? {
            Some(b) => matmul(&self.get(), &b, other.py()),
            None => Ok(not_implemented(other.py())),
        }
    }

    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match matrix(other)? {
            Some(a) => matmul(&a, &self.get(), other.py()),
            None => Ok(not_implemented(other.py())),
        }
    }

    fn __and__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_and).call(self, other)
    }

    fn __rand__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_and).reflected(self, other)
    }

    fn __or__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_or).call(self, other)
    }

    fn __ror__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_or).reflected(self, other)
    }

    fn __xor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_xor).call(self, other)
    }

    fn __rxor__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_xor).reflected(self, other)
    }

    fn __lshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_left_shift).call(self, other)
    }

    fn __rlshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_left_shift).reflected(self, other)
    }

    fn __rshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_right_shift).call(self, other)
    }

    fn __rrshift__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        binary!(bitwise_right_shift).reflected(self, other)
    }

    fn __invert__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let x = self.get();
        wrap(py, compute(py, x.numel(), || x.bitwise_not()).or_raise()?)
    }

    fn __neg__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let x = self.get();
        wrap(py, compute(py, x.numel(), || x.neg()).or_raise()?)
    }

    fn __pos__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __abs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTensor>> {
        let x = self.get();
        wrap(py, compute(py, x.numel(), || x.abs()).or_raise()?)
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let op = match op {
            CompareOp::Lt => binary!(lt),
            CompareOp::Le => binary!(le),
            CompareOp::Eq => binary!(eq),
            CompareOp::Ne => binary!(ne),
            CompareOp::Gt => binary!(gt),
            CompareOp::Ge => binary!(ge),
        };
        op.call(self, other)
    }
}
