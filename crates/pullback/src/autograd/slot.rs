//! Places in which gradients accumulate, for bindings whose gradients are objects that live on.

use crate::error::{Context as _, bail};
use crate::handle::{Handle, Weak};
use crate::interp::check_alive;
use crate::interp::noted::{self, ambient_parts};
use crate::interp::reverse::Node;
use crate::interp::walk::check_settled;
use crate::{Result, Tensor, TensorType};

/// The place in which the gradients of a leaf, or of a value that retains its gradient, accumulate.
///
/// It keeps neither the value nor its graph alive. It belongs to the leaf and not to a handle: updates of the leaf inside
/// [`no_grad`](super::no_grad) leave it as it is.
///
/// ```
/// use pullback::{Tensor, autograd};
/// let x = autograd::leaf(&Tensor::from(3.0))?;
/// let slot = x.grad_slot().unwrap();
/// x.square()?.backward()?;
/// slot.replace(&slot.gradient().unwrap().neg()?)?;
/// assert_eq!(x.grad()?.unwrap().item::<f64>()?, -6.0);
/// drop(x);
/// assert!(slot.gradient().is_none());
/// # Ok::<(), pullback::Error>(())
/// ```
pub struct GradSlot {
    node: Weak<Node>,
    output: u32,
}

impl GradSlot {
    /// What has accumulated; `None` before the first walk, and when the leaf is gone.
    pub fn gradient(&self) -> Option<Tensor> {
        let node = self.node.upgrade()?;
        node.extras().and_then(|extras| extras.gradient(self.output))
    }

    /// Puts another gradient of the same type in the place of what has accumulated. It does nothing if there is none.
    ///
    /// # Errors
    /// As [`Tensor::set_grad`].
    pub fn replace(&self, grad: &Tensor) -> Result<()> {
        let Some(node) = self.node.upgrade() else { return Ok(()) };
        let Some(extras) = node.extras() else { return Ok(()) };
        let Some(old) = extras.gradient(self.output) else { return Ok(()) };
        check_gradient("set_grad", &old.ty(), grad)?;
        extras.set_gradient(self.output, Some(grad.clone()));
        Ok(())
    }

    /// The leaf that the gradients accumulate in, for a hook that kept nothing of it alive, with a value that its handles had;
    /// `None` when the leaf is gone, and for what is no leaf.
    pub fn leaf(&self, value: &Tensor) -> Option<Tensor> {
        let node = self.node.upgrade().filter(|node| node.is_leaf())?;
        ambient_parts(value).is_none().then(|| noted::leaf_again(value.clone(), node))
    }

    /// True if two slots are one place.
    pub fn is_same(&self, other: &GradSlot) -> bool {
        match (self.node.upgrade(), other.node.upgrade()) {
            (Some(a), Some(b)) => Handle::ptr_eq(&a, &b) && self.output == other.output,
            _ => false,
        }
    }
}

impl std::fmt::Debug for GradSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GradSlot({:?})", self.gradient().map(|grad| grad.ty().to_string()))
    }
}

impl Tensor {
    /// The place in which gradients of this leaf, or of this value that retains them, accumulate; `None` if it has none.
    pub fn grad_slot(&self) -> Option<GradSlot> {
        let (_, edge) = ambient_parts(self)?;
        let extras = edge.node().extras().filter(|extras| extras.has_slot(edge.output()));
        extras.map(|_| GradSlot { node: Handle::downgrade(edge.node()), output: edge.output() })
    }
}

/// An error unless `grad` can be kept as a gradient of a value of type `want`.
pub(super) fn check_gradient(place: &str, want: &TensorType, grad: &Tensor) -> Result<()> {
    check_alive(grad, &format!("{place}: the gradient"))?;
    check_settled(grad).context(|| place.into())?;
    let got = grad.ty();
    if want.shape != got.shape {
        bail!(Shape, "{place}: expected a gradient of type {want}, got {got}");
    }
    if want.dtype != got.dtype {
        bail!(Dtype, "{place}: expected a gradient of type {want}, got {got}"; help = "convert it with `to_dtype`");
    }
    Ok(())
}
