//! What the methods of a function are given besides tensors.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pullback::{DType, Randomness, Tensor};
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::convert::wrap;
use crate::dtype::{DTypeArg, python_name};
use crate::tensor::PyTensor;
use crate::tree::{class_name, flatten};

/// Tensors that are to be saved, as they were given, with None in the places of None.
pub type ToSave = Vec<Option<Py<PyTensor>>>;

/// What `save_for_backward`, `save_for_forward` and the marks left.
#[derive(Default)]
pub struct Notes {
    pub backward: Option<ToSave>,
    pub forward: Option<ToSave>,
    pub non_differentiable: Vec<Py<PyTensor>>,
    pub dirty: Vec<Py<PyTensor>>,
    pub zeros_stay_none: bool,
    pub grad_dtypes: Option<GradDTypes>,
}

/// For each returned value, the dtype that its gradient is converted to for `backward`.
pub type GradDTypes = Arc<[Option<DType>]>;

/// What a rule finds saved: its own set, and whether only the other one exists.
pub struct Saved {
    pub tensors: Vec<Option<Tensor>>,
    pub only_for_other: bool,
}

/// Which method has the context.
enum Stage {
    /// Nothing is noted any more once the notes were taken.
    Saving(Mutex<Option<Notes>>),
    Rule {
        method: &'static str,
        saved: Saved,
    },
}

/// What a call of a Function keeps for its rules.
///
/// Attributes of any name hold what is not a tensor: shapes, numbers, strings. Tensors are saved with `save_for_backward` and
/// `save_for_forward`, so that they are differentiated and batched.
#[pyclass(name = "FunctionCtx", module = "pullback.autograd.function", frozen, weakref)]
pub struct FunctionCtx {
    function: Arc<str>,
    needs: Arc<[bool]>,
    stage: Stage,
    attributes: OnceLock<Py<PyDict>>,
}

fn lock(notes: &Mutex<Option<Notes>>) -> MutexGuard<'_, Option<Notes>> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FunctionCtx {
    /// The context of `forward` or `setup_context`.
    pub fn saving(function: Arc<str>, needs: Arc<[bool]>) -> FunctionCtx {
        FunctionCtx {
            function,
            needs,
            stage: Stage::Saving(Mutex::new(Some(Notes::default()))),
            attributes: OnceLock::new(),
        }
    }

    /// The context of a rule.
    pub fn of_rule(
        function: Arc<str>,
        needs: Arc<[bool]>,
        (method, saved): (&'static str, Saved),
        attributes: Option<Py<PyDict>>,
    ) -> FunctionCtx {
        let shared = OnceLock::new();
        if let Some(attributes) = attributes {
            let _ = shared.set(attributes);
        }
        FunctionCtx { function, needs, stage: Stage::Rule { method, saved }, attributes: shared }
    }

    /// What was noted, which is taken, and the attributes.
    pub fn take(&self, py: Python<'_>) -> (Notes, Option<Py<PyDict>>) {
        let notes = match &self.stage {
            Stage::Saving(notes) => lock(notes).take().unwrap_or_default(),
            Stage::Rule { .. } => Notes::default(),
        };
        (notes, self.attributes.get().map(|attributes| attributes.clone_ref(py)))
    }

    /// Changes the notes. What `change` returns is dropped outside of the lock.
    fn note<R>(&self, what: &str, change: impl FnOnce(&mut Notes) -> R) -> PyResult<()> {
        let method = match &self.stage {
            Stage::Saving(notes) => {
                let changed = lock(notes).as_mut().map(change);
                if changed.is_some() {
                    return Ok(());
                }
                String::new()
            }
            Stage::Rule { method, .. } => format!("`{method}` of "),
        };
        Err(PyRuntimeError::new_err(format!(
            "{method}function `{}`: `ctx.{what}` has no effect any more; help: call it in `setup_context`, or in a `forward` that \
             takes `ctx`",
            self.function
        )))
    }

    /// The tensors among the arguments of a method, where `None` is let through if `or_none` says so.
    fn tensors(&self, what: &str, values: &Bound<'_, PyTuple>, or_none: bool) -> PyResult<ToSave> {
        let one = |(k, value): (usize, Bound<'_, PyAny>)| match value.cast::<PyTensor>() {
            Ok(tensor) => Ok(Some(tensor.clone().unbind())),
            Err(_) if or_none && value.is_none() => Ok(None),
            Err(_) => {
                let (or, got) = (if or_none { " or None" } else { "" }, class_name(&value));
                let help = match or_none {
                    true => "; help: what is not a tensor is kept as an attribute, as in `ctx.shape = x.shape`",
                    false => "",
                };
                let function = &self.function;
                Err(PyTypeError::new_err(format!(
                    "function `{function}`: expected a tensor{or} as argument {k} of `ctx.{what}`, got {got}{help}"
                )))
            }
        };
        values.iter().enumerate().map(one).collect()
    }
}

#[pymethods]
impl FunctionCtx {
    /// Keeps tensors for `backward`, where `saved_tensors` gives them. None may be among them.
    #[pyo3(signature = (*tensors))]
    fn save_for_backward(&self, tensors: &Bound<'_, PyTuple>) -> PyResult<()> {
        let tensors = self.tensors("save_for_backward", tensors, true)?;
        self.note("save_for_backward", |notes| notes.backward.replace(tensors))
    }

    /// Keeps tensors for `jvp`, where `saved_tensors` gives them. None may be among them.
    #[pyo3(signature = (*tensors))]
    fn save_for_forward(&self, tensors: &Bound<'_, PyTuple>) -> PyResult<()> {
        let tensors = self.tensors("save_for_forward", tensors, true)?;
        self.note("save_for_forward", |notes| notes.forward.replace(tensors))
    }

    /// The tensors that were saved for this rule, as a tuple.
    #[getter]
    fn saved_tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let function = &self.function;
        let Stage::Rule { method, saved } = &self.stage else {
            return Err(PyRuntimeError::new_err(format!(
                "function `{function}`: `ctx.saved_tensors` is for `backward` and `jvp`, and nothing is saved yet"
            )));
        };
        if saved.only_for_other {
            let (own, other) = match *method {
                "jvp" => ("save_for_forward", "save_for_backward"),
                _ => ("save_for_backward", "save_for_forward"),
            };
            return Err(PyRuntimeError::new_err(format!(
                "`{method}` of function `{function}`: nothing was saved for it, only with `ctx.{other}`; help: call \
                 `ctx.{own}` as well"
            )));
        }
        let value = |t: &Option<Tensor>| match t {
            Some(t) => Ok(wrap(py, t.clone())?.into_any()),
            None => Ok(py.None().into_bound(py)),
        };
        PyTuple::new(py, saved.tensors.iter().map(value).collect::<PyResult<Vec<_>>>()?)
    }

    /// For each argument, True if it is being differentiated. Work for the others may be skipped.
    #[getter]
    fn needs_input_grad<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.needs.iter())
    }

    /// Says that outputs carry no derivative. Those of integer or bool dtype need no mark.
    #[pyo3(signature = (*outputs))]
    fn mark_non_differentiable(&self, outputs: &Bound<'_, PyTuple>) -> PyResult<()> {
        let marked = self.tensors("mark_non_differentiable", outputs, false)?;
        self.note("mark_non_differentiable", |notes| notes.non_differentiable.extend(marked.into_iter().flatten()))
    }

    /// Says that `forward` changed arguments in place, which it then must return.
    #[pyo3(signature = (*inputs))]
    fn mark_dirty(&self, inputs: &Bound<'_, PyTuple>) -> PyResult<()> {
        let marked = self.tensors("mark_dirty", inputs, false)?;
        self.note("mark_dirty", |notes| notes.dirty.extend(marked.into_iter().flatten()))
    }

    /// False to have None in the place of gradients and tangents that are zero; by default they are tensors of zeros.
    fn set_materialize_grads(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(value) = value.extract::<bool>() else {
            let (function, got) = (&self.function, class_name(value));
            return Err(PyTypeError::new_err(format!(
                "function `{function}`: expected True or False in `ctx.set_materialize_grads`, got {got}"
            )));
        };
        self.note("set_materialize_grads", |notes| notes.zeros_stay_none = !value)
    }

    /// The dtypes in which `backward` gets the gradients of the returned values, one for each; None for that of the value. It is called
    /// at most once.
    #[pyo3(signature = (*dtypes))]
    fn set_output_grad_dtype(&self, dtypes: &Bound<'_, PyTuple>) -> PyResult<()> {
        let function = &self.function;
        let what = "set_output_grad_dtype";
        let one = |dtype: Bound<'_, PyAny>| match dtype.extract::<Option<DTypeArg>>()? {
            Some(DTypeArg(dtype)) if !dtype.is_differentiable() => Err(PyTypeError::new_err(format!(
                "function `{function}`: expected floating dtypes in `ctx.{what}`, got {}",
                python_name(dtype)
            ))),
            dtype => Ok(dtype.map(|dtype| dtype.0)),
        };
        let dtypes: GradDTypes = dtypes.iter().map(one).collect::<PyResult<Vec<_>>>()?.into();
        let mut is_second = false;
        self.note(what, |notes| {
            is_second = notes.grad_dtypes.is_some();
            notes.grad_dtypes.replace(dtypes)
        })?;
        match is_second {
            true => Err(PyRuntimeError::new_err(format!(
                "function `{function}`: expected one call of `ctx.{what}`, got two"
            ))),
            false => Ok(()),
        }
    }

    /// The attributes are all through which a context can reach itself. They are a dict, which the collector knows how to clear.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.attributes.get())
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.attributes.get().map(|attributes| attributes.bind(py).get_item(name)).transpose()?;
        found.flatten().ok_or_else(|| {
            let (function, name) = (&self.function, name.to_string_lossy());
            PyAttributeError::new_err(format!("the context of function `{function}` has no attribute `{name}`"))
        })
    }

    fn __setattr__(slf: &Bound<'_, Self>, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, ctx) = (slf.py(), slf.get());
        let function = &ctx.function;
        if py.get_type::<FunctionCtx>().getattr_opt(name)?.is_some() {
            return Err(PyAttributeError::new_err(format!(
                "function `{function}`: `ctx.{name}` is part of the context and cannot be set; help: choose another name"
            )));
        }
        if value.is_instance_of::<PyTensor>() || !flatten(value)?.leaves.is_empty() {
            let holds = if value.is_instance_of::<PyTensor>() { "a tensor" } else { "a container with tensors" };
            return Err(PyTypeError::new_err(format!(
                "function `{function}`: expected no tensor in the attribute `ctx.{name}`, where derivatives and lanes would be \
                 lost, got {holds}; help: save it with `ctx.save_for_backward` (for `backward`) or `ctx.save_for_forward` (for \
                 `jvp`), and return it from `forward` if it is neither an input nor an output"
            )));
        }
        ctx.attributes.get_or_init(|| PyDict::new(py).unbind()).bind(py).set_item(name, value)
    }

    fn __delattr__(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.__getattr__(py, name)?;
        match self.attributes.get() {
            Some(attributes) => attributes.bind(py).del_item(name),
            None => Ok(()),
        }
    }

    fn __dir__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let names = py.get_type::<PyAny>().call_method1("__dir__", (slf,))?;
        if let Some(attributes) = slf.get().attributes.get() {
            names.call_method1("extend", (attributes.bind(py),))?;
        }
        Ok(names)
    }
}

/// What a batching rule is told about the `vmap` that it serves.
#[pyclass(name = "VmapInfo", module = "pullback.autograd.function", frozen)]
pub struct PyVmapInfo {
    /// The number of lanes.
    #[pyo3(get)]
    batch_size: usize,
    /// How random numbers are to be drawn: "error", "different" for each lane, or "same" for all. The rule honours it itself;
    /// under "error", drawing is an error inside of it.
    #[pyo3(get)]
    randomness: &'static str,
}

impl PyVmapInfo {
    pub fn new(info: &pullback::VmapInfo) -> PyVmapInfo {
        let randomness = match info.randomness {
            Randomness::Error => "error",
            Randomness::Different => "different",
            Randomness::Same => "same",
        };
        PyVmapInfo { batch_size: info.batch_size, randomness }
    }
}

#[pymethods]
impl PyVmapInfo {
    fn __repr__(&self) -> String {
        format!("VmapInfo(batch_size={}, randomness='{}')", self.batch_size, self.randomness)
    }
}
