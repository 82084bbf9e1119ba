//! What `forward` or a batching rule returned: one value or a tuple, of tensors and other things.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::tensor::PyTensor;
use crate::tree::{Sink, Structure, flatten_into};

/// Tensors as the objects that they are, because marks name objects.
#[derive(Default)]
pub struct Objects<'py>(pub Vec<Bound<'py, PyTensor>>);

/// The lifetime of a sink is that of its objects.
struct Unbound(Vec<Py<PyTensor>>);

impl Sink for Unbound {
    fn take(&mut self, x: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(tensor) = x.cast::<PyTensor>() else { return Ok(false) };
        self.0.push(tensor.clone().unbind());
        Ok(true)
    }
}

/// The shape of a result.
pub struct Outputs {
    /// True for one value that is no tuple.
    single: bool,
    pub slots: Vec<Structure>,
    /// The number of tensors.
    pub leaves: usize,
}

impl Outputs {
    /// The structure of a result, and its tensors.
    pub fn of<'py>(value: &Bound<'py, PyAny>) -> PyResult<(Outputs, Objects<'py>)> {
        let py = value.py();
        let mut leaves = Unbound(Vec::new());
        let (single, slots) = match value.cast::<PyTuple>() {
            Ok(tuple) => {
                (false, tuple.iter().map(|slot| flatten_into(&slot, &mut leaves)).collect::<PyResult<Vec<_>>>()?)
            }
            Err(_) => (true, vec![flatten_into(value, &mut leaves)?]),
        };
        let objects = leaves.0.into_iter().map(|t| t.into_bound(py)).collect::<Vec<_>>();
        Ok((Outputs { single, slots, leaves: objects.len() }, Objects(objects)))
    }

    /// The value again, with other tensors.
    pub fn build<'py>(
        &self,
        py: Python<'py>,
        objects: &mut dyn Iterator<Item = Bound<'py, PyTensor>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut slots = build_all(py, &self.slots, &mut objects.map(Bound::into_any))?;
        match (self.single, slots.pop()) {
            (true, Some(only)) => Ok(only),
            (_, last) => {
                slots.extend(last);
                Ok(PyTuple::new(py, slots)?.into_any())
            }
        }
    }

    /// The structure of one value that is no tuple.
    pub fn single(&self) -> Option<&Structure> {
        self.slots.first().filter(|_| self.single)
    }

    pub fn describe(&self) -> String {
        let parts: Vec<String> = self.slots.iter().map(Structure::describe).collect();
        match (self.single, parts.as_slice()) {
            (true, _) => parts.concat(),
            (false, [one]) => format!("({one},)"),
            (false, parts) => format!("({})", parts.join(", ")),
        }
    }

    /// How messages name the place of tensor number `leaf`.
    pub fn name(&self, leaf: usize) -> String {
        let mut before = 0;
        for (k, slot) in self.slots.iter().enumerate() {
            let n = slot.leaves();
            if leaf < before + n {
                return format!("output {k}{}", path(slot, leaf - before));
            }
            before += n;
        }
        format!("output {leaf}")
    }
}

/// The path of leaf number `leaf` in a structure.
pub fn path(structure: &Structure, leaf: usize) -> String {
    let (mut k, mut found) = (0, String::new());
    structure.paths(&mut String::new(), &mut |path| {
        if k == leaf {
            found.clone_from(path);
        }
        k += 1;
    });
    found
}

/// A value with something else in the places of tensors, and None in those of everything else.
pub fn build_hollow<'py>(
    py: Python<'py>,
    structure: &Structure,
    next: &mut dyn FnMut() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    match structure {
        Structure::Leaf => next(),
        Structure::Node(node) if node.leaves > 0 => {
            let children =
                node.children.iter().map(|child| build_hollow(py, child, next)).collect::<PyResult<Vec<_>>>()?;
            node.kind.build(py, children)
        }
        _ => Ok(py.None().into_bound(py)),
    }
}

/// The values of some structures, one after the other.
pub fn build_all<'py>(
    py: Python<'py>,
    structures: &[Structure],
    leaves: &mut dyn Iterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut next = || leaves.next().ok_or_else(|| PyTypeError::new_err("expected a value for every leaf"));
    structures.iter().map(|structure| structure.build(py, &mut next)).collect()
}
