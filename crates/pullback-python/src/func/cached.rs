//! Functions that are written down once for each kind of arguments, and replayed from then on.

use std::sync::{Arc, Mutex, PoisonError};

use pullback::graph::Cached;
use pullback::{DType, Result, Static, Tensor};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple};

use super::call::tensors;
use super::inside::Inside;
use super::transformed::check_callable;
use crate::autograd::Block;
use crate::error::{OrRaise as _, from_py};
use crate::memory::catch;
use crate::nest::Nest;
use crate::tensor::PyTensor;
use crate::tree::{Build as _, Kind, PyTree, Shaped, Sink, Structure, flatten_into, is_array, is_inexact, short};

/// Tensors and floats, which become tensors: what may differ between two calls of one graph.
#[derive(Default)]
struct Inputs {
    leaves: Vec<Tensor>,
    floats: Vec<usize>,
}

impl Sink for Inputs {
    fn take(&mut self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(tensor) = x.cast::<PyTensor>() {
            self.leaves.push(tensor.get().get());
        } else if let Ok(x) = x.cast::<PyFloat>() {
            self.floats.push(self.leaves.len());
            self.leaves.push(Tensor::from(x.value()));
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

impl Inputs {
    /// The leaves. A float is as wide as the widest tensor beside it, so that it leaves the dtypes of results alone.
    fn finish(mut self) -> PyResult<Vec<Tensor>> {
        let is_wide =
            |(k, t): (usize, &Tensor)| matches!(t.dtype(), DType::F64 | DType::C128) && !self.floats.contains(&k);
        if !self.leaves.iter().enumerate().any(is_wide) {
            for &k in &self.floats {
                self.leaves[k] = self.leaves[k].to_dtype(DType::F32).or_raise()?;
            }
        }
        Ok(self.leaves)
    }
}

/// The positional arguments and, as one more, the dict of the others.
fn arguments(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<PyTree> {
    let mut inputs = Inputs::default();
    let mut children = args.iter().map(|x| flatten_into(&x, &mut inputs)).collect::<PyResult<Vec<_>>>()?;
    let kwargs = kwargs.map_or_else(|| PyDict::new(args.py()), Clone::clone);
    children.push(flatten_into(&kwargs, &mut inputs)?);
    let numbers = (0..children.len()).collect();
    let structure = Structure::node(Kind::Arguments { numbers, single: false }, children);
    Ok(Shaped::new(inputs.finish()?, structure))
}

fn call(py: Python<'_>, function: &Py<PyAny>, x: &PyTree) -> Result<PyTree> {
    let _block = Block::begin();
    let _inside = Inside::enter();
    let _nest = Nest::enter().map_err(from_py)?;
    let run = || {
        let all = x.build(py)?.cast_into::<PyTuple>()?;
        let last = all.len() - 1;
        let kwargs = all.get_item(last)?.cast_into::<PyDict>()?;
        function.bind(py).call(all.get_slice(0, last), Some(&kwargs))
    };
    tensors(&run().map_err(from_py)?)
}

/// The arguments, and what tells those with other static parts apart.
type Keyed = (PyTree, Static<String>);

type Function = Box<dyn Fn(&Keyed) -> Result<PyTree> + Send + Sync>;

/// A function that is captured once for each kind of arguments, which `cached` makes.
#[pyclass(name = "Cached", module = "pullback.func", frozen, weakref)]
pub struct PyCached {
    /// What the closure in `cached` holds, too, and nobody else: graphs do not keep the function. It is `None` for a collector that
    /// comes before the fields are written.
    function: Option<Arc<Py<PyAny>>>,
    cached: Cached<Keyed, PyTree, Function>,
    /// Static parts that are known by their identity, and by their number here. They live on, so that nothing else gets it.
    known: Mutex<Vec<Py<PyAny>>>,
}

impl PyCached {
    /// The structure with its static parts, as a text that differs where they do.
    fn key(&self, py: Python<'_>, structure: &Structure) -> PyResult<String> {
        let mut key = structure.describe();
        let mut parts = Vec::new();
        structure.find_static(&mut |x| {
            parts.push(x.clone_ref(py));
            false
        });
        for part in parts {
            let x = part.bind(py);
            // Such as NumPy's numbers, of which each is a new object.
            if is_array(x) || is_inexact(x) || x.hasattr(intern!(py, "dtype"))? {
                return Err(PyTypeError::new_err(format!(
                    "cached: expected tensors, and what stays as it is, got {} among the arguments; help: make it a tensor with \
                     `pullback.tensor`",
                    short(x)
                )));
            }
            let is_text = x.is_exact_instance_of::<PyString>() || x.is_exact_instance_of::<PyBytes>();
            if is_text || x.is_exact_instance_of::<PyInt>() || x.is_exact_instance_of::<PyBool>() {
                key = format!("{key}, {}", x.repr()?);
                continue;
            }
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let number = known.iter().position(|other| other.is(x)).unwrap_or_else(|| {
                known.push(part.clone_ref(py));
                known.len() - 1
            });
            key = format!("{key}, object {number}");
        }
        Ok(key)
    }
}

#[pymethods]
impl PyCached {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let x = arguments(args, kwargs)?;
        let key = Static(self.key(args.py(), &x.structure)?);
        let x = (x, key);
        catch(|| self.cached.call(&x)).or_raise()?.build(args.py())
    }

    /// How many times the function was captured.
    #[getter]
    fn traces(&self) -> usize {
        self.cached.traces()
    }

    /// Why the function was captured each time, in a line each.
    #[pyo3(signature = ())]
    fn report(&self) -> String {
        // The pair of arguments and key is nothing to see.
        let report = self.cached.report().replace(" (String)", "").replace("argument.0", "argument");
        crate::wording::in_python(report)
    }

    /// Forgets all graphs. The report stays.
    #[pyo3(signature = ())]
    fn clear(&self) {
        self.cached.clear();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        if let Some(function) = &self.function {
            visit.call(&**function)?;
        }
        match self.known.try_lock() {
            Ok(known) => known.iter().try_for_each(|part| visit.call(part)),
            // Nobody can hold it here.
            Err(_) => Ok(()),
        }
    }

    #[getter]
    fn __wrapped__<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.function.as_ref().map(|function| function.bind(py).clone())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let function = self.function.as_ref().map(|function| function.bind(py).repr()).transpose()?;
        Ok(format!("cached({})", function.map_or_else(String::new, |text| text.to_string())))
    }
}

/// The function, which is captured the first time that it is called with arguments of some structure, shapes and dtypes, and replayed
/// from then on.
///
/// Tensors and floats may have other values in each call. What else the arguments hold is fixed in a graph: another int or text, or
/// another object of any other class, is a reason to capture again.
/// A new call of `cached` starts without graphs: keep what it returns outside of the loop. `func` is called once for each kind of
/// arguments, so it may not read the data of tensors, nor change anything that others see.
///
/// Raises
/// ------
/// RuntimeError
///     If `func` reads the data of an argument, or chooses between branches by it.
/// TypeError
///     For arrays of other libraries among the arguments, whose values may change.
///
/// Examples
/// --------
/// >>> import pullback as pb
/// >>> from pullback.func import cached
/// >>> step = cached(lambda w, rate: w - w * rate)
/// >>> w = pb.tensor([1.0, 2.0])
/// >>> for k in range(100):
/// ...     w = step(w, 0.1 / (k + 1))
/// >>> step.traces
/// 1
/// >>> _ = step(pb.tensor([1.0, 2.0, 3.0]), 0.1)
/// >>> print(step.report())
/// trace 1: the first call, with (f32[2], f32[])
/// trace 2: argument[0] is f32[3], not f32[2] as in trace 1
#[pyfunction]
#[pyo3(signature = (func))]
pub fn cached(func: &Bound<'_, PyAny>) -> PyResult<PyCached> {
    check_callable("cached", func)?;
    let function = Arc::new(func.clone().unbind());
    let own = function.clone();
    let run: Function = Box::new(move |(x, _)| Python::attach(|py| call(py, &own, x)));
    Ok(PyCached { function: Some(function), cached: Cached::new(run), known: Mutex::default() })
}
