//! The graph that a walk goes back through, for those who want to look at it.

use std::fmt;

use crate::Tensor;
use crate::handle::Handle;
use crate::interp::noted::ambient_parts;
use crate::interp::reverse::Node;

/// A recorded operation, or a leaf, in the graph that [`backward`](Tensor::backward) walks. It keeps the graph behind it alive.
///
/// ```
/// use pullback::{Tensor, autograd};
/// let x = autograd::leaf(&Tensor::from(3.0))?;
/// let y = x.sin()?.mul(2.0)?;
/// let node = y.grad_fn().unwrap();
/// assert_eq!(node.name(), "mul");
/// let inputs = node.inputs();
/// assert_eq!(inputs[0].as_ref().unwrap().name(), "sin");
/// assert!(inputs[1].is_none() && x.grad_fn().is_none());
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone)]
pub struct GradFn {
    node: Handle<Node>,
    output: u32,
}

impl GradFn {
    /// The name of the operation; `"leaf"` for a leaf.
    pub fn name(&self) -> &str {
        self.node.call().map_or("leaf", |(op, _)| op.name())
    }

    /// True for a leaf, into which gradients accumulate.
    pub fn is_leaf(&self) -> bool {
        self.node.is_leaf()
    }

    /// Which of the results of the operation it stands for.
    pub fn output(&self) -> usize {
        self.output as usize
    }

    /// Where each input of the operation came from; `None` for those that need no gradient.
    pub fn inputs(&self) -> Vec<Option<GradFn>> {
        let edges = self.node.call().map_or(&[][..], |(_, edges)| edges);
        let of = |edge: &crate::interp::reverse::Edge| GradFn { node: edge.node().clone(), output: edge.output() };
        edges.iter().map(|edge| edge.as_ref().map(of)).collect()
    }

    /// A number that no other operation of the process has as long as this one is kept.
    pub fn id(&self) -> u64 {
        self.node.sequence()
    }

    /// True if both are one operation of the graph.
    pub fn is_same(&self, other: &GradFn) -> bool {
        Handle::ptr_eq(&self.node, &other.node)
    }
}

impl fmt::Debug for GradFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GradFn({})", self.name())
    }
}

impl Tensor {
    /// The recorded operation whose result this tensor is; `None` for leaves, constants, and values of transforms.
    pub fn grad_fn(&self) -> Option<GradFn> {
        let (_, edge) = ambient_parts(self)?;
        (!edge.node().is_leaf()).then(|| GradFn { node: edge.node().clone(), output: edge.output() })
    }
}
