//! Walks that accumulate.

use super::{roots, targets};
use crate::error::Context as _;
use crate::handle::Handle;
use crate::interp::reverse::Edge;
use crate::interp::walk::{Found, Walk};
use crate::tree::leaves;
use crate::{Result, Tensor, Tree};

/// Walks back from scalars and adds the gradients of their sum to the leaves that they depend on.
///
/// It takes the results by value: what only they hold is freed as the walk passes it. To keep the graph, call
/// [`Tensor::backward`] or pass a clone.
///
/// # Errors
/// As [`Tensor::backward`], with the number of the output.
///
/// # Example
/// ```
/// use pullback::{Tensor, autograd};
/// let x = autograd::leaf(&Tensor::from(2.0))?;
/// autograd::backward((x.square()?, x.mul(3.0)?))?;
/// assert_eq!(x.grad()?.unwrap().item::<f64>()?, 7.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn backward<O: Tree>(outputs: O) -> Result<()> {
    let roots = roots("backward", &leaves(&outputs), None, false)?;
    drop(outputs);
    let walk = Walk { roots, targets: None, create_graph: false };
    walk.run().and_then(Found::accumulate).context(|| "backward".into())
}

/// Options for [`Tensor::backward`].
///
/// ```
/// use pullback::{Tensor, autograd::{self, Backward}};
/// let x = autograd::leaf(&Tensor::from([1.0, 2.0]))?;
/// Backward::new().cotangents(&Tensor::from([1.0, 10.0])).run(&x.square()?)?;
/// assert_eq!(x.grad()?.unwrap().to_vec::<f64>()?, [2.0, 40.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Backward {
    cotangents: Option<Vec<Tensor>>,
    create_graph: bool,
}

impl Backward {
    /// No options: outputs are scalars, and gradients are constants.
    pub fn new() -> Backward {
        Backward::default()
    }

    /// The cotangents of the outputs, one of the same type for each.
    pub fn cotangents<C: Tree>(mut self, cotangents: &C) -> Backward {
        self.cotangents = Some(leaves(cotangents).into_iter().cloned().collect());
        self
    }

    /// Records the walk, so that the gradients can be differentiated again.
    ///
    /// Such a gradient holds the graph that leads to its leaf, and the leaf holds the gradient: forget it with
    /// [`zero_grad`](Tensor::zero_grad), or use [`autograd::grad`](super::grad), which returns gradients.
    pub fn create_graph(mut self) -> Backward {
        self.create_graph = true;
        self
    }

    /// Walks back from `outputs` to all leaves. See [`Tensor::backward`].
    ///
    /// # Errors
    /// As [`Tensor::backward`]; `Arity`, `Shape` or `Dtype` if the cotangents are not like the outputs.
    pub fn run<O: Tree>(&self, outputs: &O) -> Result<()> {
        self.walk(outputs, None).and_then(Found::accumulate).context(|| "backward".into())
    }

    /// Walks back from `outputs` to `inputs` only, leaves or results of operations, in which the gradients accumulate.
    /// What leads to none of them does not run. A result that is named retains its gradient from then on.
    ///
    /// # Errors
    /// As [`run`](Backward::run); `Arity` without any input, `NotDifferentiable` for one that does not require gradients.
    ///
    /// ```
    /// use pullback::{Tensor, autograd::{self, Backward}};
    /// let (a, b) = autograd::leaf(&(Tensor::from(2.0), Tensor::from(3.0)))?;
    /// Backward::new().run_to(&a.mul(&b)?, &a)?;
    /// assert_eq!(a.grad()?.unwrap().item::<f64>()?, 3.0);
    /// assert!(b.grad()?.is_none());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    pub fn run_to<O: Tree, I: Tree>(&self, outputs: &O, inputs: &I) -> Result<()> {
        let mut targets = targets("backward", inputs)?;
        // Naming an input twice does not double what it gets.
        let mut seen = std::collections::HashSet::new();
        targets.retain(|edge| seen.insert((Handle::as_ptr(edge.node()), edge.output())));
        let mut found = self.walk(outputs, Some(&targets)).context(|| "backward".into())?;
        let results = std::mem::take(&mut found.results);
        let kept = |edge: &Edge, slots: &[(Edge, Tensor)]| {
            slots.iter().any(|(e, _)| Handle::ptr_eq(e.node(), edge.node()) && e.output() == edge.output())
        };
        for (edge, grad) in targets.into_iter().zip(results) {
            if let Some(grad) = grad
                && !kept(&edge, &found.slots)
            {
                found.slots.push((edge, grad));
            }
        }
        found.accumulate().context(|| "backward".into())
    }

    fn walk<O: Tree>(&self, outputs: &O, targets: Option<&[Edge]>) -> Result<Found> {
        let roots = roots("backward", &leaves(outputs), self.cotangents.as_deref(), false)?;
        Walk { roots, targets, create_graph: self.create_graph }.run()
    }
}
