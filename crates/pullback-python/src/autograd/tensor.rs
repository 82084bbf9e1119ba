//! What tensors have of the imperative surface.

use pullback::Tensor;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use super::hook::RemovableHandle;
use super::{bond, hook, walk};
use crate::error::OrRaise as _;
use crate::tensor::PyTensor;

fn require(tensor: &PyTensor, requires_grad: bool) -> PyResult<()> {
    let mut handle = tensor.get();
    if requires_grad {
        let leaf = tensor.bond_if_any().filter(|_| !handle.requires_grad()).and_then(|bond| bond.thaw(&handle));
        match leaf {
            Some(leaf) => handle = leaf,
            None => {
                handle.requires_grad_().or_raise()?;
            }
        }
    } else {
        if !handle.is_leaf() {
            return Err(PyRuntimeError::new_err(format!(
                "requires_grad_: expected a leaf, got {}, the result of an operation; help: cut it off with `detach`",
                handle.ty()
            )));
        }
        if !handle.requires_grad() {
            return Ok(());
        }
        let leaf = handle.clone();
        handle.detach_().or_raise()?;
        tensor.bond().freeze(leaf);
    }
    tensor.set(handle);
    Ok(())
}

/// The leaf whose gradient is that of `tensor`, also while it is a constant.
fn leaf_of(tensor: &PyTensor) -> Tensor {
    let handle = tensor.get();
    let frozen = tensor.bond_if_any().filter(|_| !handle.requires_grad()).and_then(|bond| bond.frozen());
    frozen.unwrap_or(handle)
}

#[pymethods]
impl PyTensor {
    /// True if gradients flow through this tensor to a leaf, or if it is one. Settable for leaves.
    ///
    /// Raises:
    ///     RuntimeError: when set, for integer tensors, results of operations, and values that a transform is working on.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.get().requires_grad()
    }

    #[setter]
    fn set_requires_grad(&self, requires_grad: bool) -> PyResult<()> {
        require(self, requires_grad)
    }

    /// Makes this tensor a leaf that gradients flow to, or, with False, a constant again. Returns the tensor.
    ///
    /// A leaf that is frozen like that keeps its gradient, and is the same leaf when it is one again: graphs that were recorded
    /// before still reach it.
    ///
    /// >>> import pullback as pb
    /// >>> x = pb.tensor(3.0).requires_grad_()
    /// >>> (x * x).backward()
    /// >>> x.grad.item()
    /// 6.0
    ///
    /// Raises:
    ///     RuntimeError: for integer tensors, results of operations, and values that a transform is working on: inside a
    ///         transform, `grad` or `vjp` of a function gives the gradient.
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_(slf: Bound<'_, Self>, requires_grad: bool) -> PyResult<Bound<'_, Self>> {
        require(slf.get(), requires_grad)?;
        Ok(slf)
    }

    /// True unless this tensor is the result of an operation that was recorded, or a transform is working on it.
    #[getter]
    fn is_leaf(&self) -> bool {
        self.get().is_leaf()
    }

    /// The gradient that has accumulated in this leaf, or None.
    ///
    /// It shows what accumulates later, too, and an in-place operation on it changes the gradient of this tensor, until
    /// the gradient is set, to None or another tensor: the object then keeps its last value.
    ///
    /// >>> import pullback as pb
    /// >>> x = pb.tensor(3.0, requires_grad=True)
    /// >>> (x * x).backward()
    /// >>> g = x.grad
    /// >>> (x * x).backward()
    /// >>> g.item()
    /// 12.0
    /// >>> x.grad = None
    ///
    /// Raises:
    ///     RuntimeError: for the result of an operation, unless `retain_grad()` was called, and for a value that a
    ///         transform is working on. When set: TypeError, ValueError if the gradient is not of the type of the tensor.
    #[getter]
    fn grad<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTensor>>> {
        let handle = leaf_of(self);
        match handle.grad().or_raise()? {
            Some(gradient) => bond::gradient(py, self, &handle, gradient).map(Some),
            None => Ok(None),
        }
    }

    #[setter]
    fn set_grad(&self, py: Python<'_>, grad: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let grad = match grad.filter(|grad| !grad.is_none()) {
            None => None,
            Some(grad) => match grad.cast::<PyTensor>() {
                Ok(grad) => Some(grad.get().get()),
                Err(_) => {
                    let kind = grad.get_type().name()?;
                    return Err(PyTypeError::new_err(format!("grad: expected a tensor or None, got {kind}")));
                }
            },
        };
        let handle = leaf_of(self);
        if grad.is_none() && handle.grad_slot().is_none() {
            return handle.zero_grad().or_raise();
        }
        bond::part(py, self)?;
        handle.set_grad(grad).or_raise()
    }

    #[deleter]
    fn delete_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.set_grad(py, None)
    }

    /// Forgets the gradient: `grad` is None again. It does nothing for a constant.
    fn zero_grad(&self, py: Python<'_>) -> PyResult<()> {
        self.set_grad(py, None)
    }

    /// Walks back from this tensor and adds its gradients to the leaves that it depends on.
    ///
    /// The graph lives as long as this tensor, so a second call adds the gradients once more. After an error nothing
    /// has accumulated, except if a post-accumulate hook raised it.
    ///
    /// Args:
    ///     gradient: the gradient of this tensor, of its type; needed unless it is a scalar.
    ///     retain_graph: accepted for PyTorch's sake.
    ///     create_graph: record the walk, so that the gradients can be differentiated again.
    ///     inputs: accumulate in these tensors only.
    ///
    /// >>> import pullback as pb
    /// >>> w = pb.tensor([1.0, 2.0], requires_grad=True)
    /// >>> (w * pb.tensor([3.0, 4.0])).sum().backward()
    /// >>> w.grad.tolist()
    /// [3.0, 4.0]
    ///
    /// Raises:
    ///     RuntimeError: no gradient is required, or the tensor is not a scalar and `gradient` is missing, or a transform
    ///         is working on it.
    ///     ValueError, TypeError: `gradient` is not of the type of the tensor.
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        &self,
        py: Python<'_>,
        gradient: Option<&Bound<'_, PyAny>>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = retain_graph;
        walk::accumulate(py, &[self.get()], walk::seed(gradient)?, create_graph, inputs)
    }

    /// Lets gradients of this result of an operation accumulate in `grad`, as in a leaf. It does nothing for leaves.
    ///
    /// >>> import pullback as pb
    /// >>> x = pb.tensor(3.0, requires_grad=True)
    /// >>> y = x * x
    /// >>> y.retain_grad()
    /// >>> (y * y).backward()
    /// >>> y.grad.item()
    /// 18.0
    ///
    /// Raises:
    ///     RuntimeError: if the tensor does not require gradients, or a transform is working on it.
    fn retain_grad(&self) -> PyResult<()> {
        self.get().retain_grad().or_raise()
    }

    /// True if gradients of this result of an operation accumulate in it. See `retain_grad()`.
    #[getter]
    fn retains_grad(&self) -> bool {
        self.get().retains_grad()
    }

    /// Cuts this tensor off from everything that it was computed from. Returns the tensor.
    fn detach_(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let mut handle = slf.get().get();
        handle.detach_().or_raise()?;
        slf.get().set(handle);
        Ok(slf)
    }

    /// Calls `hook(grad)` in every backward with the complete gradient of this tensor. What it returns, unless it is
    /// None, takes the place of the gradient.
    ///
    /// Hooks of one tensor run in the order in which they were registered. They stay with the value that they were registered on:
    /// after an in-place operation, the new value has none. A hook that captures its own tensor keeps it alive until it
    /// is removed. An exception that it raises comes out of the backward as it is, and nothing has accumulated.
    ///
    /// Returns a handle with `remove()`, which is a context manager, too.
    ///
    /// >>> import pullback as pb
    /// >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    /// >>> handle = x.register_hook(lambda grad: grad * 10)
    /// >>> (x * x).sum().backward()
    /// >>> x.grad.tolist()
    /// [20.0, 40.0]
    /// >>> handle.remove()
    ///
    /// Raises:
    ///     RuntimeError: if the tensor does not require gradients, or a transform is working on it. In a backward:
    ///         ValueError, TypeError if the hook returns something of another type.
    fn register_hook(&self, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        hook::replacing(&self.get(), hook)
    }

    /// Calls `hook(tensor)` after every backward that added to the gradient of this leaf.
    ///
    /// A hook that captures the tensor keeps it alive until it is removed.
    ///
    /// >>> import pullback as pb
    /// >>> x = pb.tensor(3.0, requires_grad=True)
    /// >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad.item()))
    /// >>> (x * x).backward()
    /// 6.0
    /// >>> handle.remove()
    ///
    /// Raises:
    ///     RuntimeError: if the tensor is not a leaf that requires gradients. In a backward: TypeError if the hook
    ///         returns something; everything has accumulated then.
    fn register_post_accumulate_grad_hook(slf: &Bound<'_, Self>, hook: &Bound<'_, PyAny>) -> PyResult<RemovableHandle> {
        hook::accumulated(slf, hook)
    }
}
