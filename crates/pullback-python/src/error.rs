//! Errors in both directions: those of the library become Python exceptions of the fitting class, and exceptions of the
//! user's own code travel through the library unchanged, with their tracebacks.

use std::error::Error;

use pullback::ErrorKind;
use pyo3::create_exception;
use pyo3::exceptions::{
    PyArithmeticError, PyBaseException, PyException, PyFileNotFoundError, PyIndexError, PyNotImplementedError,
    PyOSError, PyPermissionError, PyRuntimeError, PyTypeError, PyValueError,
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
    to_py_as(error, "", "")
}

/// As [`to_py`], from a transform that the library calls `theirs`, as the outermost place, and this package `ours`.
pub fn to_py_as(error: pullback::Error, theirs: &str, ours: &str) -> PyErr {
    let is_theirs = !ours.is_empty() && error.context().next() == Some(theirs);
    let named = |text: String| match text.strip_prefix(theirs) {
        Some(rest) if is_theirs => format!("{ours}{rest}"),
        _ => text,
    };
    let places = named(error.context().collect::<Vec<_>>().join(" > "));
    if let Some(raised) = error.downcast_ref::<PyErr>() {
        return Python::attach(|py| {
            // One of ours, from a call further in, is told where that was.
            let _ = lengthen(raised.value(py), &places, &named(error.context().last().unwrap_or_default().to_owned()));
            raised.clone_ref(py)
        });
    }
    let raised = new(&error, named(error.to_string()));
    Python::attach(|py| {
        let _ = raised.value(py).setattr(PLACES, places);
        let _ = raised.value(py).setattr(KIND, format!("{:?}", error.kind()));
    });
    raised
}

/// Where exceptions of the library keep their kind.
const KIND: &str = "_kind";

/// The kinds to which the library itself has an answer, such as to call a rule for one lane after the other.
const ANSWERED: [ErrorKind; 2] = [ErrorKind::ConcreteValueNeeded, ErrorKind::MissingRule];

/// Where exceptions of the library keep the chain of transforms and functions that their message begins with.
const PLACES: &str = "_places";

/// Puts the chain of an outer call, which ends with `last`, before the message of an exception of the library.
fn lengthen(raised: &Bound<'_, PyBaseException>, outer: &str, last: &str) -> PyResult<()> {
    let Some(inner) = raised.getattr_opt(PLACES)? else { return Ok(()) };
    if outer.is_empty() {
        return Ok(());
    }
    let (inner, text) = (inner.extract::<String>()?, raised.getattr("args")?.get_item(0)?.extract::<String>()?);
    let (places, rest) = match text.strip_prefix(&inner) {
        Some(rest) if !inner.is_empty() => (format!("{outer} > {inner}"), rest.to_string()),
        // A message without a chain may say its place itself. Once is enough.
        _ => {
            let rest = text.strip_prefix(last).filter(|rest| rest.starts_with(": "));
            (outer.to_string(), rest.map_or_else(|| format!(": {text}"), str::to_string))
        }
    };
    raised.setattr("args", (format!("{places}{rest}"),))?;
    raised.setattr(PLACES, places)
}

/// A new exception of the class that fits.
fn new(error: &pullback::Error, text: String) -> PyErr {
    let text = crate::wording::in_python(text);
    match error.kind() {
        ErrorKind::Dtype => PyTypeError::new_err(text),
        ErrorKind::Index | ErrorKind::Dim => PyIndexError::new_err(text),
        ErrorKind::MissingRule => PyNotImplementedError::new_err(text),
        ErrorKind::Io => match error.source().and_then(|e| e.downcast_ref::<std::io::Error>()).map(|e| e.kind()) {
            Some(std::io::ErrorKind::NotFound) => PyFileNotFoundError::new_err(text),
            Some(std::io::ErrorKind::PermissionDenied) => PyPermissionError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        ErrorKind::Anomaly => PyArithmeticError::new_err(text),
        ErrorKind::EscapedTracer => EscapedTracerError::new_err(text),
        ErrorKind::Internal => InternalError::new_err(text),
        ErrorKind::Shape | ErrorKind::Value | ErrorKind::Arity => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// The library's error for an exception that the user's code raised; [`to_py`] gives the exception back.
pub fn from_py(raised: PyErr) -> pullback::Error {
    let kind = Python::attach(|py| {
        let kind: String = raised.value(py).getattr_opt(KIND).ok()??.extract().ok()?;
        ANSWERED.into_iter().find(|known| format!("{known:?}") == kind)
    });
    match kind {
        Some(kind) => pullback::Error::new(kind, raised.to_string()).with_source(raised),
        None => pullback::Error::other(raised),
    }
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
