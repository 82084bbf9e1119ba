//! Levels of dual numbers.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicI64, Ordering};

use pullback::Tensor;
use pullback::autograd::forward_ad::{DualLevel, dual_level};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::convert::wrap;
use crate::error::OrRaise as _;
use crate::tensor::PyTensor;

thread_local! {
    /// The open levels of this thread, oldest first. A thread that ends does not end them: nothing can reach them then.
    static OPEN: RefCell<Vec<(i64, ManuallyDrop<DualLevel>)>> = const { RefCell::new(Vec::new()) };
}

/// Opens a level of dual numbers on this thread and returns its number. `exit_dual_level` ends it.
///
/// `dual_level` is the context manager for both.
#[pyfunction]
fn enter_dual_level() -> i64 {
    static NUMBERS: AtomicI64 = AtomicI64::new(0);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    OPEN.with_borrow_mut(|open| open.push((number, ManuallyDrop::new(dual_level()))));
    number
}

/// Ends the innermost level of dual numbers of this thread.
///
/// Raises:
///     RuntimeError: if `level` is another one, or if none is open.
#[pyfunction]
#[pyo3(signature = (*, level=None))]
fn exit_dual_level(level: Option<i64>) -> PyResult<()> {
    let last = OPEN.with_borrow_mut(|open| match open.last() {
        Some((number, _)) if level.is_none_or(|level| level == *number) => open.pop().ok_or(None),
        Some((number, _)) => Err(Some(*number)),
        None => Err(None),
    });
    match last {
        // Here, where the list is not borrowed.
        Ok((_, level)) => {
            drop(ManuallyDrop::into_inner(level));
            Ok(())
        }
        Err(Some(number)) => Err(PyRuntimeError::new_err(format!(
            "exit_dual_level: expected the innermost level, {number}, got {}",
            level.unwrap_or(-1)
        ))),
        Err(None) => {
            Err(PyRuntimeError::new_err("exit_dual_level: expected a level that is open on this thread, got none"))
        }
    }
}

/// Calls `f` with a level of this thread, the innermost one unless `level` says which.
fn at<R>(place: &str, level: Option<i64>, f: impl FnOnce(&DualLevel) -> pullback::Result<R>) -> PyResult<R> {
    OPEN.with_borrow(|open| {
        let found = match level {
            None => open.last(),
            Some(level) => open.iter().find(|(number, _)| *number == level),
        };
        match found {
            Some((_, level)) => f(level).or_raise(),
            None => Err(PyRuntimeError::new_err(format!(
                "{place}: expected a dual level that is open on this thread, got {}; help: open one with \
                 `with dual_level():`, or use `jvp` on a function",
                level.map_or_else(|| "none".into(), |level| format!("level {level}"))
            ))),
        }
    })
}

/// The value `tensor` with the tangent `tangent`, at the innermost level or at `level`.
///
/// >>> import pullback as pb
/// >>> import pullback.autograd.forward_ad as fwAD
/// >>> with fwAD.dual_level():
/// ...     x = fwAD.make_dual(pb.tensor([1.0, 2.0]), pb.tensor([1.0, 0.0]))
/// ...     y = fwAD.unpack_dual((x * x).sum())
/// >>> y.primal.item(), y.tangent.item()
/// (5.0, 2.0)
///
/// Raises:
///     RuntimeError: no level is open, the tensor is an integer tensor, or a dual of this level already.
///     ValueError, TypeError: the tangent is not of the type of the tensor.
#[pyfunction]
#[pyo3(signature = (tensor, tangent, *, level=None))]
fn make_dual<'py>(
    py: Python<'py>,
    tensor: &Bound<'py, PyTensor>,
    tangent: &Bound<'py, PyTensor>,
    level: Option<i64>,
) -> PyResult<Bound<'py, PyTensor>> {
    let (primal, tangent) = (tensor.get().get(), tangent.get().get());
    wrap(py, at("make_dual", level, |level| level.make_dual(&primal, &tangent))?)
}

/// The value without the level, and its tangent or None.
#[pyfunction]
#[pyo3(signature = (tensor, *, level=None))]
fn unpacked<'py>(
    py: Python<'py>,
    tensor: &Bound<'py, PyTensor>,
    level: Option<i64>,
) -> PyResult<(Bound<'py, PyTensor>, Option<Bound<'py, PyTensor>>)> {
    let tensor = tensor.get().get();
    let unpacked = at("unpack_dual", level, |level| level.unpack_dual(&tensor));
    let (primal, tangent): (Tensor, Option<Tensor>) = unpacked?;
    Ok((wrap(py, primal)?, tangent.map(|tangent| wrap(py, tangent)).transpose()?))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let own = PyModule::new(module.py(), "pullback.autograd.forward_ad")?;
    own.add_function(wrap_pyfunction!(enter_dual_level, &own)?)?;
    own.add_function(wrap_pyfunction!(exit_dual_level, &own)?)?;
    own.add_function(wrap_pyfunction!(make_dual, &own)?)?;
    own.add_function(wrap_pyfunction!(unpacked, &own)?)?;
    module.add("forward_ad", own)
}
