//! Classes of users that are containers.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};

use super::class_name;
use crate::tensor::PyTensor;

/// How to take an instance of a class apart and to put it together.
pub struct Registered {
    pub class: Py<PyType>,
    pub flatten: Py<PyAny>,
    pub unflatten: Py<PyAny>,
}

/// By the address of the class, which the entry keeps alive.
static CLASSES: RwLock<Option<HashMap<usize, Arc<Registered>>>> = RwLock::new(None);

pub fn find(class: &Bound<'_, PyType>) -> Option<Arc<Registered>> {
    let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
    classes.as_ref()?.get(&(class.as_ptr() as usize)).cloned()
}

/// Makes the instances of a class containers.
///
/// `flatten(x)` returns a pair of the children, any iterable of trees, and a context, which holds the rest and is compared with
/// `==`. `unflatten(children, context)` makes an instance of a list of children; transforms call it with stand-ins for tensors,
/// so it should not look at them. Returns the class.
///
/// Instances of subclasses are not covered. A class that is a container already can be registered only if it is a named tuple or
/// a dataclass.
///
/// Raises
/// ------
/// ValueError
///     If the class is registered already, or is a container of Python's own.
///
/// Examples
/// --------
/// >>> import pullback
/// >>> class Pair:
/// ...     def __init__(self, a, b):
/// ...         self.a, self.b = a, b
/// >>> _ = pullback.tree.register(Pair, lambda p: ((p.a, p.b), None), lambda children, _: Pair(*children))
/// >>> pullback.tree.map(lambda x: 2 * x, Pair(1, 2)).b
/// 4
#[pyfunction]
#[pyo3(signature = (cls, flatten, unflatten))]
pub fn register<'py>(
    cls: Bound<'py, PyType>,
    flatten: Py<PyAny>,
    unflatten: Py<PyAny>,
) -> PyResult<Bound<'py, PyType>> {
    let py = cls.py();
    let known = [py.get_type::<PyTuple>(), py.get_type::<PyList>(), py.get_type::<PyDict>(), py.get_type::<PyTensor>()];
    let name = cls.name()?;
    if known.iter().any(|k| k.is(&cls)) || cls.is(py.None().bind(py).get_type()) {
        return Err(PyValueError::new_err(format!("register: expected a class of your own, got `{name}`")));
    }
    for (what, f) in [("flatten", &flatten), ("unflatten", &unflatten)] {
        if !f.bind(py).is_callable() {
            let got = class_name(f.bind(py));
            return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "register: expected a function for `{what}`, got {got}"
            )));
        }
    }
    let entry = Registered { class: cls.clone().unbind(), flatten, unflatten };
    let mut classes = CLASSES.write().unwrap_or_else(PoisonError::into_inner);
    let classes = classes.get_or_insert_default();
    if classes.contains_key(&(cls.as_ptr() as usize)) {
        return Err(PyValueError::new_err(format!("register: `{name}` is registered already")));
    }
    classes.insert(cls.as_ptr() as usize, Arc::new(entry));
    Ok(cls)
}
