//! Memory that cannot be had, as `MemoryError`.
//!
//! Kernels have no way to say that; they unwind, and this is where it ends.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pullback::dynamic::on_no_memory;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::error::from_py;

/// What is thrown: the number of bytes.
struct NoMemory(usize);

/// Has the library throw what [`catch`] knows.
pub fn register() {
    // A module that is loaded again finds it done.
    let _ = on_no_memory(|bytes| resume_unwind(Box::new(NoMemory(bytes))));
}

/// The exception for what was thrown, if it was for want of memory.
pub fn exception(thrown: &(dyn Any + Send)) -> Option<PyErr> {
    let text = match thrown.downcast_ref::<NoMemory>()?.0 {
        usize::MAX => "expected a tensor that memory can hold, got one whose size overflows".to_owned(),
        bytes => format!("expected {bytes} bytes of memory for a tensor, which the system does not have"),
    };
    Some(PyMemoryError::new_err(text))
}

/// An exception for want of memory, with the name of the function that asked for it. Others stay as they are.
pub fn named(py: Python<'_>, function: &str, raised: PyErr) -> PyErr {
    if raised.is_instance_of::<PyMemoryError>(py) {
        return PyMemoryError::new_err(format!("{function}: {}", raised.value(py)));
    }
    raised
}

/// Results that can be an exception.
pub trait Fallible {
    fn failed(raised: PyErr) -> Self;
}

impl<T> Fallible for PyResult<T> {
    fn failed(raised: PyErr) -> Self {
        Err(raised)
    }
}

impl<T> Fallible for pullback::Result<T> {
    fn failed(raised: PyErr) -> Self {
        Err(from_py(raised))
    }
}

/// Calls `f`, with `MemoryError` where memory is missing. Other panics go on.
#[inline]
pub fn catch<R: Fallible>(f: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => result,
        Err(thrown) => failed(thrown),
    }
}

#[cold]
fn failed<R: Fallible>(thrown: Box<dyn Any + Send>) -> R {
    match exception(&*thrown) {
        Some(raised) => R::failed(raised),
        None => resume_unwind(thrown),
    }
}
