//! The callables that transforms return.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::call::Call;
use crate::memory::catch;

/// What a transform does with a call.
pub trait Transform: Send + Sync {
    fn call<'py>(&self, call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>>;
}

// A function that a transform made of another one. It has the name, the documentation and the signature of that. The class has
// no documentation of its own, which would stand before that.
#[pyclass(module = "pullback.func", frozen, dict, weakref)]
pub struct Transformed {
    /// The collector may come between the allocation of an object and the writing of its fields, because a dict is made then. It
    /// finds zeros, which are `None` here. There is a function as soon as anybody has the object.
    function: Option<Py<PyAny>>,
    name: &'static str,
    transform: Box<dyn Transform>,
}

impl Transformed {
    pub fn new(
        name: &'static str,
        function: &Bound<'_, PyAny>,
        transform: impl Transform + 'static,
    ) -> PyResult<Transformed> {
        check_callable(name, function)?;
        Ok(Transformed { function: Some(function.clone().unbind()), name, transform: Box::new(transform) })
    }

    fn function<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let function = self.function.as_ref().map(|function| function.bind(py));
        function.ok_or_else(|| crate::error::InternalError::new_err("a transformed function without its function"))
    }
}

/// `cls[item]`, as annotations write it.
pub fn generic<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    cls.py().import("types")?.getattr("GenericAlias")?.call1((cls, item))
}

pub fn check_callable(name: &str, function: &Bound<'_, PyAny>) -> PyResult<()> {
    if function.is_callable() {
        return Ok(());
    }
    let got = crate::tree::class_name(function);
    Err(pyo3::exceptions::PyTypeError::new_err(format!("{name}: expected a function, got {got}")))
}

#[pymethods]
impl Transformed {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function(args.py())?;
        catch(|| self.transform.call(&Call { function, args, kwargs }))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.function.as_ref().map_or(Ok(()), |function| visit.call(function))
    }

    /// A transformed function in a class is a method.
    fn __get__<'py>(
        this: Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        _owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if instance.is_none() {
            return Ok(this.into_any());
        }
        this.py().import("types")?.getattr("MethodType")?.call1((this, instance))
    }

    #[getter]
    fn __wrapped__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.function(py).cloned()
    }

    #[getter]
    fn __doc__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.function(py)?.getattr("__doc__")
    }

    /// The names of the function, and what else it has.
    fn __getattr__<'py>(&self, name: Bound<'py, pyo3::types::PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.function(name.py())?.getattr(name)
    }

    #[classmethod]
    fn __class_getitem__<'py>(cls: &Bound<'py, PyType>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        generic(cls, item)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}({})", self.name, self.function(py)?.repr()?))
    }
}
