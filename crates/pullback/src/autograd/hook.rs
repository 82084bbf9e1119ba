//! Code that runs during a walk.

use std::sync::Arc;

use super::edge_of;
use crate::error::bail;
use crate::handle::{Handle, Weak};
use crate::interp::extras::Run;
use crate::interp::reverse::Node;
use crate::{Result, Tensor};

/// A registered hook. Dropping it changes nothing; [`remove`](Hook::remove) unregisters the hook.
pub struct Hook {
    node: Weak<Node>,
    id: u64,
}

impl Hook {
    /// Unregisters the hook, also during a walk.
    pub fn remove(self) {
        if let Some(node) = self.node.upgrade()
            && let Some(extras) = node.extras()
        {
            extras.remove_hook(self.id);
        }
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Hook({})", self.id)
    }
}

impl Tensor {
    /// Calls `hook` in every walk with the gradient of this value, once it is complete. If the hook returns a tensor, the
    /// walk goes on with that one.
    ///
    /// Hooks of one value run in the order in which they were registered, before anything else uses the gradient. They belong to the
    /// value, not to the handle: after `x.mul_(2.0)` those of the old value stay with it. A hook that captures its own
    /// tensor keeps it alive until the hook is removed.
    ///
    /// # Errors
    /// `NotDifferentiable` if the tensor does not require gradients; `InTransform` if a transform is working on it. In a
    /// walk: `Shape` or `Dtype` if the hook returns another type; whatever the hook reports. Nothing has accumulated then.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, autograd};
    /// let x = autograd::leaf(&Tensor::from([1.0, 2.0]))?;
    /// let y = x.square()?;
    /// let hook = y.register_hook(|g| Ok(Some(g * 10.0)))?;
    /// y.sum()?.backward()?;
    /// assert_eq!(x.grad()?.unwrap().to_vec::<f64>()?, [20.0, 40.0]);
    /// hook.remove();
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn register_hook(
        &self,
        hook: impl Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> Result<Hook> {
        self.add_hook("register_hook", Run::Replace(Arc::new(hook)))
    }

    /// Calls `hook` with what this leaf has accumulated, after every walk that added to it.
    ///
    /// # Errors
    /// `NotDifferentiable` if the tensor is not a leaf that requires gradients; `InTransform` if a transform is working on
    /// it. What the hook reports, the walk reports; everything has accumulated then.
    ///
    /// # Example
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use pullback::{Tensor, autograd};
    /// static CALLS: AtomicUsize = AtomicUsize::new(0);
    /// let x = autograd::leaf(&Tensor::from(3.0))?;
    /// x.register_post_accumulate_grad_hook(|g| {
    ///     assert_eq!(g.item::<f64>()?, 6.0);
    ///     CALLS.fetch_add(1, Ordering::Relaxed);
    ///     Ok(())
    /// })?;
    /// x.mul(&x)?.backward()?;
    /// assert_eq!(CALLS.load(Ordering::Relaxed), 1);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn register_post_accumulate_grad_hook(
        &self,
        hook: impl Fn(&Tensor) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Hook> {
        let place = "register_post_accumulate_grad_hook";
        if !edge_of(place, &|| "the tensor".into(), self)?.node().is_leaf() {
            bail!(NotDifferentiable, "{place}: expected a leaf, got {}, the result of an operation", self.ty(); help = "\
                use `register_hook`");
        }
        self.add_hook(place, Run::Accumulated(Arc::new(hook)))
    }

    fn add_hook(&self, place: &str, run: Run) -> Result<Hook> {
        let edge = edge_of(place, &|| "the tensor".into(), self)?;
        let Some(extras) = edge.node().extras_or_new() else {
            bail!(Internal, "{place}: a value of the ambient level has no place for hooks");
        };
        Ok(Hook { id: extras.add_hook(edge.output(), run), node: Handle::downgrade(edge.node()) })
    }
}
