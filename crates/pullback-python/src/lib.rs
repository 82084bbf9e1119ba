//! The native half of the Python package: classes and functions over the `pullback` crate. What they mean is decided there;
//! here values and errors are carried across.

use pyo3::prelude::*;

mod convert;
mod dtype;
mod error;
mod func;
mod ops;
mod tensor;
mod tree;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    dtype::register(module)?;
    tensor::register(module)?;
    tree::register_module(module)?;
    func::register(module)?;
    ops::register(module)
}
