//! `pullback.testing.check_function`.

use pullback::testing::{self, Report};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::PyFunction;
use super::call::Call;
use super::class::Facts;
use crate::error::OrRaise as _;
use crate::tree::class_name;

/// What `check_function` found. It is true if every property holds, and its text lists them.
#[pyclass(name = "FunctionReport", module = "pullback.testing", frozen)]
pub struct PyReport(Report);

#[pymethods]
impl PyReport {
    /// The names of the properties that do not hold.
    #[getter]
    fn failures(&self) -> Vec<&'static str> {
        self.0.failures().collect()
    }

    /// What was found where this property should hold; None if it does.
    fn finding(&self, name: &str) -> Option<&str> {
        self.0.finding(name)
    }

    /// The method that the finding about this property is about.
    fn rule(&self, name: &str) -> Option<&'static str> {
        self.0.rule(name)
    }

    fn __bool__(&self) -> bool {
        self.0.is_ok()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// The class of functions that is meant: itself, or that whose `apply` it is.
fn class_of<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyType>> {
    let py = function.py();
    let own = function.getattr_opt(intern!(py, "__self__"))?;
    for found in [Some(function.clone()), own].into_iter().flatten() {
        if let Ok(class) = found.cast::<PyType>()
            && class.is_subclass_of::<PyFunction>()?
        {
            return Ok(class.clone());
        }
    }
    Err(PyTypeError::new_err(format!(
        "check_function: expected a class that inherits from `autograd.Function`, got {}; help: `gradcheck` checks any function",
        class_name(function)
    )))
}

/// Checks everything that must hold for a Function at these arguments: derivatives against differences, forward against reverse
/// mode, the second order in all nests of both, the batching rule against a loop, alone and together with derivatives, that
/// `setup_context` is pure, and the same in single precision.
///
/// `function` is the class, or its `apply`. Arguments of dtype float64 are differentiated, the others are held fixed. Choose a point away from kinks. Mistakes are not
/// exceptions but lines of the report, which name the method.
///
/// >>> import pullback as pb
/// >>> from pullback.testing import check_function
/// >>> class Square(pb.autograd.Function):
/// ...     generate_vmap_rule = True
/// ...     @staticmethod
/// ...     def forward(x):
/// ...         return x * x
/// ...     @staticmethod
/// ...     def setup_context(ctx, inputs, output):
/// ...         ctx.save_for_backward(*inputs)
/// ...     @staticmethod
/// ...     def backward(ctx, grad):
/// ...         (x,) = ctx.saved_tensors
/// ...         return grad * x * 3  # should be 2
/// >>> report = check_function(Square, pb.tensor([1.0, 2.0], dtype=pb.float64))
/// >>> bool(report), "jvp_matches_differences" in report.failures
/// (False, True)
#[pyfunction]
#[pyo3(signature = (function, *args, **kwargs))]
fn check_function(
    function: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyReport> {
    let function = &class_of(function)?;
    let facts = Facts::of(function)?;
    let args = facts.bind(args, kwargs)?;
    let (call, tensors) = Call::new(function, facts, &args)?;
    Ok(PyReport(testing::check_function(&call, &tensors).or_raise()?))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyReport>()?;
    module.add_function(wrap_pyfunction!(check_function, module)?)
}
