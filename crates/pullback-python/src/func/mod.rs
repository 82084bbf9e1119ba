//! The module `pullback.func`: the transforms, for Python functions of Python values.

use pyo3::prelude::*;

mod cached;
mod call;
mod control;
mod curvature;
mod grad;
mod graph;
mod implicit;
pub mod inside;
mod jacobian;
mod state;
mod transformed;
mod vjp;
mod vmap;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let func = PyModule::new(module.py(), "pullback.func")?;
    func.add_class::<graph::PyGraph>()?;
    func.add_class::<cached::PyCached>()?;
    func.add_class::<transformed::Transformed>()?;
    func.add_class::<vjp::VjpFunction>()?;
    func.add_class::<vjp::JvpFunction>()?;
    func.add_function(wrap_pyfunction!(grad::grad, &func)?)?;
    func.add_function(wrap_pyfunction!(grad::grad_and_value, &func)?)?;
    func.add_function(wrap_pyfunction!(grad::value_and_grad, &func)?)?;
    func.add_function(wrap_pyfunction!(vjp::vjp, &func)?)?;
    func.add_function(wrap_pyfunction!(vjp::jvp, &func)?)?;
    func.add_function(wrap_pyfunction!(vjp::linearize, &func)?)?;
    func.add_function(wrap_pyfunction!(vmap::vmap, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::jacrev, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::jacfwd, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::jacobian, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::value_and_jacobian, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::hessian, &func)?)?;
    func.add_function(wrap_pyfunction!(curvature::hvp, &func)?)?;
    func.add_function(wrap_pyfunction!(curvature::vhp, &func)?)?;
    func.add_function(wrap_pyfunction!(curvature::laplacian, &func)?)?;
    func.add_function(wrap_pyfunction!(curvature::hessian_diagonal, &func)?)?;
    func.add_function(wrap_pyfunction!(graph::capture, &func)?)?;
    func.add_function(wrap_pyfunction!(graph::checkpoint, &func)?)?;
    func.add_function(wrap_pyfunction!(cached::cached, &func)?)?;
    func.add_function(wrap_pyfunction!(control::cond, &func)?)?;
    func.add_function(wrap_pyfunction!(control::while_loop, &func)?)?;
    func.add_function(wrap_pyfunction!(control::fori, &func)?)?;
    func.add_function(wrap_pyfunction!(control::scan, &func)?)?;
    func.add_function(wrap_pyfunction!(control::map, &func)?)?;
    func.add_function(wrap_pyfunction!(control::stop_gradient, &func)?)?;
    func.add_function(wrap_pyfunction!(state::functional_call, &func)?)?;
    func.add_function(wrap_pyfunction!(state::named_tensors, &func)?)?;
    func.add_function(wrap_pyfunction!(state::stack_module_state, &func)?)?;
    implicit::register(&func)?;
    module.add("func", func)
}
