//! Leaves, and what a tensor knows of the gradients that flow to it.

use std::fmt::Display;

use super::slot::check_gradient;
use super::{edge_of, refuse_in_transform};
use crate::error::bail;
use crate::interp::level::AMBIENT;
use crate::interp::noted::{self, ambient_parts};
use crate::interp::{Traced, running_method};
use crate::tensor::Repr;
use crate::tree::{Path, try_map};
use crate::{Result, Tensor, Tree};

/// A tree of leaves: the same tensors, marked so that gradients flow to them.
///
/// A tensor that is a leaf already stays the one it is. Each leaf has a gradient of its own, even where two tensors of the
/// tree share their data.
///
/// # Errors
/// `NotDifferentiable` for integer tensors and for results of recorded operations, which [`detach`](Tensor::detach) cuts
/// off; `InTransform` for values that a transform is working on, and inside a method of a
/// [`Function`](crate::Function).
///
/// # Example
/// ```
/// use pullback::{Tensor, Tree, autograd};
/// #[derive(Clone, Tree)]
/// struct Line<T = Tensor> {
///     slope: T,
///     offset: T,
/// }
/// let line = autograd::leaf(&Line { slope: Tensor::from(2.0), offset: Tensor::from(1.0) })?;
/// (&line.slope * 3.0).add(&line.offset)?.backward()?;
/// assert_eq!(line.slope.grad()?.unwrap().item::<f64>()?, 3.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn leaf<T: Tree>(values: &T) -> Result<T> {
    let mut k = 0;
    try_map(values, &mut |t| {
        let place = Path(values, k);
        let what = format_args!("argument{place}");
        k += 1;
        match ambient_parts(t) {
            Some((_, edge)) if !edge.node().is_leaf() => {
                bail!(NotDifferentiable, "leaf: {what} ({}) is the result of a recorded operation", t.ty(); help = "\
                    cut it off with `detach` first")
            }
            _ => marked("leaf", what, t),
        }
    })
}

fn marked(place: &str, what: impl Display, t: &Tensor) -> Result<Tensor> {
    if ambient_parts(t).is_some() {
        return Ok(t.clone());
    }
    refuse_in_transform(place, &what, t)?;
    if let Some(method) = running_method() {
        bail!(InTransform, "{place}: {method} makes a leaf, which no operation inside of it may use"; help = "inside a \
            function, call `grad`, `vjp` or `jvp` on a closure instead");
    }
    if !t.dtype().is_differentiable() {
        bail!(NotDifferentiable, "{place}: expected a floating-point tensor, got {} as {what}", t.ty(); help = "convert \
            it with `to_dtype` first");
    }
    Ok(noted::leaf(t.clone()))
}

/// Forgets the gradients of all leaves of a tree. See [`Tensor::zero_grad`].
///
/// ```
/// use pullback::{Tensor, autograd};
/// let (a, b) = autograd::leaf(&(Tensor::from(2.0), Tensor::from(3.0)))?;
/// a.mul(&b)?.backward()?;
/// autograd::zero_grad(&(a.clone(), b.clone()))?;
/// assert!(a.grad()?.is_none() && b.grad()?.is_none());
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn zero_grad<T: Tree>(leaves: &T) -> Result<()> {
    crate::tree::leaves(leaves).into_iter().try_for_each(Tensor::zero_grad)
}

/// True if the ambient level is differentiating what depends on `t`.
fn depends(t: &Tensor) -> bool {
    let Repr::Tracer(tracer) = t.repr() else { return false };
    match &tracer.value {
        Traced::Reverse { .. } if tracer.level.id == AMBIENT => true,
        Traced::Reverse { primal, .. } | Traced::Linear { primal, .. } => depends(primal),
        Traced::Forward { primal, tangent } => depends(primal) || depends(tangent),
        Traced::Capture { value, .. } | Traced::Batch { value, .. } => depends(value),
    }
}

/// The imperative surface; see [`autograd`](crate::autograd).
impl Tensor {
    /// Makes this tensor a leaf that gradients flow to: [`autograd::leaf`](leaf) that rebinds the handle.
    ///
    /// A tensor that requires gradients already stays as it is.
    ///
    /// # Errors
    /// `NotDifferentiable` for integer tensors; `InTransform` for a value that a transform is working on, and inside a
    /// method of a [`Function`](crate::Function). There, `grad` or `vjp` of a closure gives the gradient.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let mut x = Tensor::from(3.0);
    /// x.requires_grad_()?;
    /// assert!(x.requires_grad() && x.is_leaf());
    /// x.square()?.backward()?;
    /// assert_eq!(x.grad()?.unwrap().item::<f64>()?, 6.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn requires_grad_(&mut self) -> Result<&mut Tensor> {
        *self = marked("requires_grad_", "the tensor", self)?;
        Ok(self)
    }

    /// Cuts this tensor off from everything that it was computed from: [`detach`](Tensor::detach) that rebinds the handle.
    ///
    /// # Errors
    /// `EscapedTracer` for a value of a transform that has ended.
    ///
    /// ```
    /// use pullback::Tensor;
    /// let mut x = Tensor::from(3.0);
    /// x.requires_grad_()?;
    /// x.detach_()?;
    /// assert!(!x.requires_grad());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn detach_(&mut self) -> Result<&mut Tensor> {
        *self = self.detach()?;
        Ok(self)
    }

    /// True if gradients flow through this tensor to a leaf, or if it is one.
    pub fn requires_grad(&self) -> bool {
        depends(self)
    }

    /// True unless this tensor is the result of an operation that was recorded, or a transform is working on it.
    /// Constants are leaves too, as in PyTorch.
    pub fn is_leaf(&self) -> bool {
        match ambient_parts(self) {
            Some((_, edge)) => edge.node().is_leaf(),
            None => self.array().is_some(),
        }
    }

    /// The gradient that has accumulated in this leaf; `None` before the first walk that reaches it, and for a constant.
    ///
    /// It has the type of the leaf.
    ///
    /// # Errors
    /// `NotDifferentiable` for the result of a recorded operation, unless [`retain_grad`](Tensor::retain_grad) was called;
    /// `InTransform` for a value that a transform is working on.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, autograd};
    /// let x = autograd::leaf(&Tensor::from(3.0))?;
    /// let y = x.square()?;
    /// y.backward()?;
    /// y.backward()?; // the graph is still there, as `y` is: gradients accumulate
    /// assert_eq!(x.grad()?.unwrap().item::<f64>()?, 12.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn grad(&self) -> Result<Option<Tensor>> {
        let Some((_, edge)) = ambient_parts(self) else {
            refuse_in_transform("grad", "the tensor", self)?;
            return Ok(None);
        };
        match edge.node().extras().filter(|extras| extras.has_slot(edge.output())) {
            Some(extras) => Ok(extras.gradient(edge.output())),
            None => bail!(NotDifferentiable, "grad: expected a leaf or a value that retains its gradient, got {}, the \
                result of an operation", self.ty(); help = "call `retain_grad` on it before the walk, or ask \
                `autograd::grad`; a leaf stays one if in-place updates are made inside `no_grad`"),
        }
    }

    /// Replaces the gradient that has accumulated, or forgets it.
    ///
    /// # Errors
    /// `NotDifferentiable` if the tensor has no place for one; `Shape` or `Dtype` if the gradient is not of the type of the tensor;
    /// `InTransform` if a transform is working on either.
    ///
    /// ```
    /// use pullback::{Tensor, autograd};
    /// let x = autograd::leaf(&Tensor::from([1.0, 2.0]))?;
    /// x.set_grad(Some(Tensor::from([0.5, 0.5])))?;
    /// x.square()?.sum()?.backward()?;
    /// assert_eq!(x.grad()?.unwrap().to_vec::<f64>()?, [2.5, 4.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn set_grad(&self, grad: Option<Tensor>) -> Result<()> {
        let edge = edge_of("set_grad", &|| "the tensor".into(), self)?;
        let Some(extras) = edge.node().extras().filter(|extras| extras.has_slot(edge.output())) else {
            bail!(NotDifferentiable, "set_grad: expected a leaf or a value that retains its gradient, got {}, the result of \
                an operation", self.ty(); help = "call `retain_grad` on it first");
        };
        if let Some(grad) = &grad {
            check_gradient("set_grad", &self.ty(), grad)?;
        }
        extras.set_gradient(edge.output(), grad);
        Ok(())
    }

    /// Forgets the gradient: [`grad`](Tensor::grad) is `None` again. It does nothing for a constant.
    ///
    /// # Errors
    /// As [`set_grad`](Tensor::set_grad).
    pub fn zero_grad(&self) -> Result<()> {
        match self.array() {
            Some(_) => Ok(()),
            None => self.set_grad(None),
        }
    }

    /// Lets gradients of this result of an operation accumulate in it as in a leaf. It does nothing for leaves, or when
    /// called again.
    ///
    /// # Errors
    /// `NotDifferentiable` if the tensor does not require gradients; `InTransform` if a transform is working on it.
    ///
    /// ```
    /// use pullback::{Tensor, autograd};
    /// let x = autograd::leaf(&Tensor::from(3.0))?;
    /// let y = x.square()?;
    /// y.retain_grad()?;
    /// y.mul(&y)?.backward()?;
    /// assert_eq!(y.grad()?.unwrap().item::<f64>()?, 18.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn retain_grad(&self) -> Result<()> {
        let edge = edge_of("retain_grad", &|| "the tensor".into(), self)?;
        if let Some(extras) = edge.node().extras_or_new() {
            extras.open_slot(edge.output());
        }
        Ok(())
    }

    /// True if gradients of this result of an operation accumulate in it. See [`retain_grad`](Tensor::retain_grad).
    pub fn retains_grad(&self) -> bool {
        ambient_parts(self).is_some_and(|(_, edge)| {
            !edge.node().is_leaf() && edge.node().extras().is_some_and(|extras| extras.has_slot(edge.output()))
        })
    }

    /// Walks back from this scalar and adds its gradients to the leaves that it depends on.
    ///
    /// The graph stays as long as the tensor does, and a second call adds the gradients once more. For results that are no
    /// scalars, gradients of gradients and a choice of leaves see [`Backward`](super::Backward); to free the graph while
    /// walking, [`autograd::backward`](super::backward).
    ///
    /// # Errors
    /// `NotDifferentiable` if the tensor does not require gradients; `NotScalar` if it has not exactly one element;
    /// `InTransform` if a transform is working on it; whatever rules and hooks report. Nothing has accumulated then, except
    /// if the hook of a leaf that waits for that fails.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, autograd};
    /// let w = autograd::leaf(&Tensor::from([1.0, 2.0]))?;
    /// w.mul(&Tensor::from([3.0, 4.0]))?.sum()?.backward()?;
    /// assert_eq!(w.grad()?.unwrap().to_vec::<f64>()?, [3.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn backward(&self) -> Result<()> {
        super::Backward::new().run(self)
    }
}
