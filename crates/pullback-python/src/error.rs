//! Errors in both directions: those of the library become Python exceptions of the fitting class, and exceptions of the
//! user's own code travel through the library unchanged, with their tracebacks.

use pullback::ErrorKind;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyArithmeticError, PyException, PyIndexError, PyNotImplementedError, PyOSError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;

create_exception!(
    pullback,
    EscapedTracerError,
    PyRuntimeError,
    "A value was used after the transform that made it had ended."
);
create_exception!(pullback, InternalError, PyException, "A broken promise inside pullback. Please report it.");

/// The exception for an error of the library. An exception that the user's code raised comes back as it was.
pub fn to_py(error: pullback::Error) -> PyErr {
    if let Some(raised) = error.downcast_ref::<PyErr>() {
        return Python::attach(|py| raised.clone_ref(py));
    }
    let text = crate::wording::in_python(error.to_string());
    match error.kind() {
        ErrorKind::Dtype => PyTypeError::new_err(text),
        ErrorKind::Index | ErrorKind::Dim => PyIndexError::new_err(text),
        ErrorKind::MissingRule => PyNotImplementedError::new_err(text),
        ErrorKind::Io => PyOSError::new_err(text),
        ErrorKind::Anomaly => PyArithmeticError::new_err(text),
        ErrorKind::EscapedTracer => EscapedTracerError::new_err(text),
        ErrorKind::Internal => InternalError::new_err(text),
        ErrorKind::Shape | ErrorKind::Value | ErrorKind::Arity => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// The library's error for an exception that the user's code raised; [`to_py`] gives the exception back.
pub fn from_py(raised: PyErr) -> pullback::Error {
    pullback::Error::other(raised)
}

/// `?` from the library's results to Python's.
pub trait OrRaise<T> {
    /// The value, or the exception for the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for pullback::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(to_py)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("EscapedTracerError", py.get_type::<EscapedTracerError>())?;
    module.add("InternalError", py.get_type::<InternalError>())
}
