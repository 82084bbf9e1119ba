//! Hooks that are Python callables.

use std::sync::{Mutex, PoisonError};

use pullback::Tensor;
use pullback::autograd::Hook;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use super::bond::Bond;
use crate::convert::wrap;
use crate::error::{OrRaise as _, from_py};
use crate::tensor::PyTensor;

/// A registered hook. `remove()` unregisters it, and so does the end of a `with` block; that it is forgotten does not.
///
/// >>> import pullback as pb
/// >>> x = pb.tensor(3.0, requires_grad=True)
/// >>> with x.register_hook(lambda g: g * 10):
/// ...     (x * x).backward()
/// >>> x.grad.item()
/// 60.0
#[pyclass(module = "pullback.autograd", frozen)]
pub struct RemovableHandle {
    hook: Mutex<Option<Hook>>,
}

#[pymethods]
impl RemovableHandle {
    /// Unregisters the hook, also during a backward. It does nothing when called again.
    fn remove(&self) {
        let hook = self.hook.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Outside the lock: what the hook captured may run code of its own when it goes.
        if let Some(hook) = hook {
            hook.remove();
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: &Bound<'_, PyAny>) {
        self.remove();
    }
}

impl From<Hook> for RemovableHandle {
    fn from(hook: Hook) -> RemovableHandle {
        RemovableHandle { hook: Mutex::new(Some(hook)) }
    }
}

fn callable(place: &str, hook: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if hook.is_callable() {
        return Ok(hook.clone().unbind());
    }
    let kind = hook.get_type().name()?;
    Err(PyTypeError::new_err(format!("{place}: expected a callable, got {kind}")))
}

/// Registers a hook that sees the gradient and may replace it.
pub fn replacing(tensor: &Tensor, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
    let hook = callable("register_hook", hook)?;
    let run = move |grad: &Tensor| Python::attach(|py| replaced(py, &hook, grad)).map_err(from_py);
    Ok(tensor.register_hook(run).or_raise()?.into())
}

fn replaced(py: Python<'_>, hook: &Py<PyAny>, grad: &Tensor) -> PyResult<Option<Tensor>> {
    let out = hook.bind(py).call1((wrap(py, grad.clone())?,))?;
    if out.is_none() {
        return Ok(None);
    }
    match out.cast::<PyTensor>() {
        Ok(new) => Ok(Some(new.get().get())),
        Err(_) => {
            let kind = out.get_type().name()?;
            Err(PyTypeError::new_err(format!(
                "register_hook: expected the hook to return a tensor or None, got {kind}"
            )))
        }
    }
}

/// Registers a hook that is called with `owner` when its gradient has accumulated, or with a new object for the leaf if that is
/// gone: the leaf has the hook, so a hook that held the object would keep both alive.
pub fn accumulated(owner: &Bound<'_, PyTensor>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
    let place = "register_post_accumulate_grad_hook";
    let hook = callable(place, hook)?;
    let leaf = owner.get().get();
    let object = PyWeakrefReference::new(owner)?.unbind();
    let (slot, remains) = (leaf.grad_slot(), owner.get().bond().remains());
    let run = move |_: &Tensor| {
        let call = |py: Python<'_>| {
            let object = match object.bind(py).upgrade_as::<PyTensor>()? {
                Some(object) => object,
                None => match slot.as_ref().and_then(|slot| remains.leaf(slot)) {
                    Some(leaf) => Bound::new(py, PyTensor::bonded(leaf, Bond::instead(remains.clone())))?,
                    // The object had become another tensor before it went: nobody has this leaf.
                    None => return Ok(()),
                },
            };
            let out = hook.bind(py).call1((object,))?;
            if out.is_none() {
                return Ok(());
            }
            let kind = out.get_type().name()?;
            Err(PyTypeError::new_err(format!("{place}: expected the hook to return None, got {kind}")))
        };
        Python::attach(call).map_err(from_py)
    };
    Ok(leaf.register_post_accumulate_grad_hook(run).or_raise()?.into())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RemovableHandle>()
}
