//! Threads and memory.

use pyo3::prelude::*;

use crate::convert::count;

/// How many threads kernels use.
#[pyfunction]
#[pyo3(signature = ())]
fn num_threads() -> usize {
    pullback::num_threads()
}

/// Sets how many threads kernels use.
///
/// Raises ValueError for less than 1.
#[pyfunction]
#[pyo3(signature = (threads))]
fn set_num_threads(threads: &Bound<'_, PyAny>) -> PyResult<()> {
    pullback::set_num_threads(count("set_num_threads", "threads", 1, threads)?);
    Ok(())
}

/// Returns memory that waits for reuse to the system.
///
/// Memory of tensors is kept for the next one of its size, because fresh pages cost more than the arithmetic on them.
#[pyfunction]
#[pyo3(signature = ())]
fn clear_cache() {
    pullback::clear_cache();
}

/// Bytes that tensors hold at present, on all threads; short ones, and memory of other libraries, are not counted.
///
/// >>> before = pullback.live_bytes()
/// >>> x = pullback.zeros(1000)
/// >>> pullback.live_bytes() - before >= 4000
/// True
#[pyfunction]
#[pyo3(signature = ())]
fn live_bytes() -> usize {
    pullback::live_bytes()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(clear_cache, module)?)?;
    module.add_function(wrap_pyfunction!(live_bytes, module)?)
}
