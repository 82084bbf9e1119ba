//! Methods whose name ends in `_`, and `+=` and its relatives: they give the object another value.

use pullback::dynamic::rebind;
use pullback::{Ellipsis, Scalar, Tensor};
use pyo3::prelude::*;

use super::PyTensor;
use crate::convert::{Operand, compute, expect_operand, operand};
use crate::error::OrRaise;

type Change = fn(&mut Tensor, &Operand) -> pullback::Result<()>;

/// The change that a method of the library makes.
macro_rules! change {
    ($method:ident) => {
        |t, value| {
            match value {
                Operand::Tensor(value) => t.$method(value)?,
                Operand::Number(value) => t.$method(*value)?,
            };
            Ok(())
        }
    };
}

/// The change to the result of an operation.
macro_rules! result {
    ($operation:ident) => {
        |t, value| {
            let result = match value {
                Operand::Tensor(value) => t.$operation(value)?,
                Operand::Number(value) => t.$operation(*value)?,
            };
            rebind(t, concat!(stringify!($operation), "_"), result)
        }
    };
}

fn update(slf: &Bound<'_, PyTensor>, value: &Operand, change: Change) -> PyResult<()> {
    let tensor = slf.get();
    let work = tensor.get().numel();
    compute(slf.py(), work, || tensor.update(|t| change(t, value))).or_raise()
}

fn method<'py>(
    name: &str,
    slf: Bound<'py, PyTensor>,
    other: &Bound<'py, PyAny>,
    change: Change,
) -> PyResult<Bound<'py, PyTensor>> {
    update(&slf, &expect_operand(name, "other", other)?, change)?;
    Ok(slf)
}

/// `slf op= other`; Python says what is wrong with an operand that is no number.
fn operator(slf: &Bound<'_, PyTensor>, other: &Bound<'_, PyAny>, symbol: &str, change: Change) -> PyResult<()> {
    match operand(other)? {
        Some(value) => update(slf, &value, change),
        None => Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "unsupported operand type(s) for {symbol}: 'Tensor' and '{}'",
            other.get_type().name()?
        ))),
    }
}

/// `other * alpha`.
fn scaled(name: &str, other: &Bound<'_, PyAny>, alpha: Option<&Bound<'_, PyAny>>) -> PyResult<Operand> {
    let other = expect_operand(name, "other", other)?;
    let Some(alpha) = alpha else { return Ok(other) };
    let alpha = expect_operand(name, "alpha", alpha)?;
    let other = match other {
        Operand::Tensor(t) => t,
        Operand::Number(x) => return scaled_number(x, alpha),
    };
    Ok(Operand::Tensor(match alpha {
        Operand::Tensor(alpha) => other.mul(alpha).or_raise()?,
        Operand::Number(alpha) => other.mul(alpha).or_raise()?,
    }))
}

fn scaled_number(x: Scalar, alpha: Operand) -> PyResult<Operand> {
    match (x, alpha) {
        (Scalar::Int(x), Operand::Number(Scalar::Int(alpha))) => {
            Ok(Operand::Number(Scalar::Int(x.wrapping_mul(alpha))))
        }
        (x, Operand::Number(alpha)) => Ok(Operand::Number(Scalar::Float(x.to_f64() * alpha.to_f64()))),
        (x, Operand::Tensor(alpha)) => alpha.mul(x).or_raise().map(Operand::Tensor),
    }
}

#[pymethods]
impl PyTensor {
    /// Adds `alpha * other`: this object gets another value, which views and copies of it do not see.
    ///
    /// Raises ValueError if `other` does not broadcast to the shape of the tensor, TypeError if the result has a dtype of another
    /// kind; the tensor is then unchanged.
    ///
    /// >>> x = pullback.tensor([1.0, 2.0])
    /// >>> x.add_(1).mul_(10)
    /// tensor([20.0000, 30.0000])
    #[pyo3(signature = (other, *, alpha=None))]
    fn add_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        update(&slf, &scaled("add_", other, alpha)?, change!(add_))?;
        Ok(slf)
    }

    /// Subtracts `alpha * other`; see `add_`.
    #[pyo3(signature = (other, *, alpha=None))]
    fn sub_<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        alpha: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        update(&slf, &scaled("sub_", other, alpha)?, change!(sub_))?;
        Ok(slf)
    }

    /// Multiplies by `other`; see `add_`.
    #[pyo3(signature = (other))]
    fn mul_<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        method("mul_", slf, other, change!(mul_))
    }

    /// Divides by `other`; see `add_`.
    #[pyo3(signature = (other))]
    fn div_<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        method("div_", slf, other, change!(div_))
    }

    /// Sets every element to a number; see `add_`.
    #[pyo3(signature = (value))]
    fn fill_<'py>(slf: Bound<'py, Self>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let value = expect_operand("fill_", "value", value)?;
        update(&slf, &value, fill)?;
        Ok(slf)
    }

    /// Sets every element to zero; see `add_`.
    #[pyo3(signature = ())]
    fn zero_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        update(&slf, &Operand::Number(Scalar::Bool(false)), fill)?;
        Ok(slf)
    }

    /// Sets the elements to those of another tensor, which is broadcast and converted; see `add_`.
    #[pyo3(signature = (other, non_blocking=false))]
    fn copy_<'py>(slf: Bound<'py, Self>, other: &Bound<'py, PyAny>, non_blocking: bool) -> PyResult<Bound<'py, Self>> {
        // Accepted for programs that copy between devices too.
        let _ = non_blocking;
        let dtype = slf.get().get().dtype();
        let value = match expect_operand("copy_", "other", other)? {
            Operand::Tensor(t) => Operand::Tensor(t.to_dtype(dtype).or_raise()?),
            number => number,
        };
        update(&slf, &value, fill)?;
        Ok(slf)
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "+=", change!(add_))
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "-=", change!(sub_))
    }

    fn __imul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "*=", change!(mul_))
    }

    fn __itruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "/=", change!(div_))
    }

    fn __ifloordiv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "//=", result!(floor_divide))
    }

    fn __imod__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "%=", result!(remainder))
    }

    fn __ipow__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<()> {
        // Python passes None here.
        let _ = modulo;
        operator(slf, other, "**=", result!(pow))
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "&=", result!(bitwise_and))
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "|=", result!(bitwise_or))
    }

    fn __ixor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "^=", result!(bitwise_xor))
    }

    fn __ilshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, "<<=", result!(bitwise_left_shift))
    }

    fn __irshift__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        operator(slf, other, ">>=", result!(bitwise_right_shift))
    }
}

impl PyTensor {
    /// Sets the elements to those of a tensor of the same type.
    pub fn refill(&self, value: Tensor) -> pullback::Result<()> {
        self.update(|t| fill(t, &Operand::Tensor(value)))
    }
}

fn fill(t: &mut Tensor, value: &Operand) -> pullback::Result<()> {
    match value {
        Operand::Tensor(value) => t.set_(Ellipsis, value)?,
        Operand::Number(value) => t.set_(Ellipsis, *value)?,
    };
    Ok(())
}
