//! The native half of the Python package: classes and functions over the `pullback` crate. What they mean is decided there;
//! here values and errors are carried across.

use pyo3::prelude::*;

mod autograd;
mod convert;
mod dtype;
mod error;
mod func;
mod function;
mod info;
mod init;
mod io;
mod memory;
mod nest;
mod ops;
mod random;
mod system;
mod tensor;
mod tree;
mod wording;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// Whatever is shared is guarded by locks of its own.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // For tests of speed, which say nothing of a debug build.
    module.add("_is_optimized", !cfg!(debug_assertions))?;
    memory::register();
    error::register(module)?;
    function::register(module)?;
    dtype::register(module)?;
    autograd::register(module)?;
    tensor::register(module)?;
    tree::register_module(module)?;
    func::register(module)?;
    ops::register(module)?;
    random::register(module)?;
    info::register(module)?;
    init::register(module)?;
    io::register(module)?;
    system::register(module)
}
