//! Gradients as Python sees them: `x.grad` is one object as long as somebody holds it, shows what has accumulated since,
//! and an in-place operation on it changes the gradient of `x`.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pullback::Tensor;
use pullback::autograd::GradSlot;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;

use crate::convert::wrap;
use crate::tensor::PyTensor;

/// What few tensors have besides their handle. No lock is held while code of the user runs.
#[derive(Default)]
pub struct Bond {
    /// Where this tensor is the gradient.
    slot: Mutex<Option<GradSlot>>,
    /// The object whose value this tensor is.
    of: Mutex<Option<Arc<Py<PyTensor>>>>,
    /// The object that is the gradient of this tensor, if one was made.
    grad: Mutex<Option<Py<PyWeakrefReference>>>,
    /// Where hooks of this leaf find what is left of it once its object is gone.
    remains: OnceLock<Arc<Remains>>,
    /// The leaf that this tensor was, while it is a constant.
    frozen: Mutex<Option<Tensor>>,
}

/// Where a leaf had its gradients and the value that it had last, once its object is gone.
#[derive(Default)]
pub struct Remains(Mutex<Option<(GradSlot, Tensor)>>);

impl Remains {
    /// The leaf of `slot`, if it was that when its object went.
    pub fn leaf(&self, slot: &GradSlot) -> Option<Tensor> {
        let remains = lock(&self.0);
        let (of, value) = remains.as_ref()?;
        of.is_same(slot).then(|| of.leaf(value)).flatten()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bond {
    fn to(slot: GradSlot) -> Bond {
        Bond { slot: Mutex::new(Some(slot)), ..Bond::default() }
    }

    /// That of the `data` of a tensor.
    pub fn to_value_of(owner: &Bound<'_, PyTensor>) -> Bond {
        Bond { of: Mutex::new(Some(Arc::new(owner.clone().unbind()))), ..Bond::default() }
    }

    /// The object whose value this tensor is.
    pub fn owner(&self) -> Option<Arc<Py<PyTensor>>> {
        lock(&self.of).clone()
    }

    /// That of another object for a leaf that had one.
    pub fn instead(remains: Arc<Remains>) -> Bond {
        Bond { remains: OnceLock::from(remains), ..Bond::default() }
    }

    /// What has accumulated where this tensor is the gradient, and the value of the tensor whose value it is. Once that was forgotten,
    /// the tensor is one of its own.
    pub fn current(&self) -> Option<Tensor> {
        if let Some(owner) = self.owner() {
            return owner.get().get().detach().ok();
        }
        let mut slot = lock(&self.slot);
        let gradient = slot.as_ref()?.gradient();
        if gradient.is_none() {
            *slot = None;
        }
        gradient
    }

    /// Keeps the leaf that this tensor was, with its gradient and its place in graphs.
    pub fn freeze(&self, leaf: Tensor) {
        // What was there is dropped outside of the lock.
        let _old = lock(&self.frozen).replace(leaf);
    }

    /// The leaf that this tensor was before it became a constant.
    pub fn frozen(&self) -> Option<Tensor> {
        lock(&self.frozen).clone()
    }

    /// The leaf that this tensor was, with the value that it has now.
    pub fn thaw(&self, value: &Tensor) -> Option<Tensor> {
        let leaf = lock(&self.frozen).take()?;
        if leaf.ty() != value.ty() {
            return None;
        }
        leaf.grad_slot()?.leaf(value)
    }

    /// What is left of this tensor once its object is gone.
    pub fn remains(&self) -> Arc<Remains> {
        self.remains.get_or_init(Arc::default).clone()
    }

    /// Keeps what hooks need of `tensor`, whose object goes.
    pub fn leave(&self, tensor: &Tensor) {
        if let Some(remains) = self.remains.get()
            && let Some(slot) = tensor.grad_slot()
            && let Ok(value) = tensor.detach()
        {
            // What was there is dropped outside of the lock.
            let _old = lock(&remains.0).replace((slot, value));
        }
    }

    /// Takes `tensor` as the gradient, where this tensor is one. What was the value of another tensor is one of its own.
    pub fn update(&self, tensor: &Tensor) {
        // What was there is dropped outside of the lock.
        let _owner = lock(&self.of).take();
        let mut slot = lock(&self.slot);
        // What cannot be a gradient any more, as one of another dtype, is a tensor of its own.
        if slot.as_ref().is_some_and(|slot| slot.replace(tensor).is_err()) {
            *slot = None;
        }
    }
}

/// The object for the gradient of `owner`, whose handle is `leaf`.
pub fn gradient<'py>(
    py: Python<'py>,
    owner: &PyTensor,
    leaf: &Tensor,
    gradient: Tensor,
) -> PyResult<Bound<'py, PyTensor>> {
    let Some(slot) = leaf.grad_slot() else { return wrap(py, gradient) };
    let bond = owner.bond();
    let known = lock(&bond.grad).as_ref().map(|known| known.clone_ref(py));
    if let Some(known) = known
        && let Some(known) = known.bind(py).upgrade_as::<PyTensor>()?
        && let Some(of) = known.get().bond_if_any()
        && lock(&of.slot).as_ref().is_some_and(|of| of.is_same(&slot))
    {
        return Ok(known);
    }
    let object = Bound::new(py, PyTensor::bonded(gradient, Bond::to(slot)))?;
    let weak = PyWeakrefReference::new(&object)?.unbind();
    *lock(&bond.grad) = Some(weak);
    Ok(object)
}

/// Parts the object that was the gradient of `owner` from it: it keeps the value that it has now.
pub fn part(py: Python<'_>, owner: &PyTensor) -> PyResult<()> {
    let Some(bond) = owner.bond_if_any() else { return Ok(()) };
    let Some(known) = lock(&bond.grad).take() else { return Ok(()) };
    let Some(known) = known.bind(py).upgrade_as::<PyTensor>()? else { return Ok(()) };
    // Brings its own handle up to date.
    known.get().get();
    if let Some(of) = known.get().bond_if_any() {
        *lock(&of.slot) = None;
    }
    Ok(())
}
