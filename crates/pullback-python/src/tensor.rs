//! The class `Tensor`.

use std::sync::{Mutex, OnceLock, PoisonError};

use pullback::Tensor;
use pyo3::prelude::*;

use crate::autograd::Bond;

/// An n-dimensional array of numbers, or the stand-in for one inside a transform.
///
/// The handle that it holds is replaced by what rebinds it (`requires_grad_()`, `x[0] = 1`), and its data never change under
/// another handle.
#[pyclass(name = "Tensor", module = "pullback", frozen, weakref)]
pub struct PyTensor {
    /// Held only as long as it takes to copy or replace the handle, never while code of the user runs.
    handle: Mutex<Tensor>,
    /// What ties a gradient to its leaf.
    bond: OnceLock<Box<Bond>>,
}

impl PyTensor {
    pub fn new(tensor: Tensor) -> PyTensor {
        PyTensor { handle: Mutex::new(tensor), bond: OnceLock::new() }
    }

    pub fn bonded(tensor: Tensor, bond: Bond) -> PyTensor {
        PyTensor { handle: Mutex::new(tensor), bond: OnceLock::from(Box::new(bond)) }
    }

    pub fn bond(&self) -> &Bond {
        self.bond.get_or_init(Box::default)
    }

    pub fn bond_if_any(&self) -> Option<&Bond> {
        self.bond.get().map(|bond| &**bond)
    }

    /// The tensor of this moment.
    pub fn get(&self) -> Tensor {
        if let Some(current) = self.bond_if_any().and_then(Bond::current) {
            self.put(current);
        }
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Rebinds the handle.
    pub fn set(&self, tensor: Tensor) {
        if let Some(bond) = self.bond_if_any() {
            bond.update(&tensor);
        }
        self.put(tensor);
    }

    fn put(&self, tensor: Tensor) {
        let old = std::mem::replace(&mut *self.handle.lock().unwrap_or_else(PoisonError::into_inner), tensor);
        // Outside the lock: to drop a tensor may run code of the user.
        drop(old);
    }
}

#[pymethods]
impl PyTensor {
    #[getter]
    fn ndim(&self) -> usize {
        self.get().rank()
    }

    fn __repr__(&self) -> String {
        format!("{}", self.get())
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTensor>()
}
