//! What a call of a `Function` knows about itself, besides the tensors it saved.

use std::sync::Arc;

use super::Function;
use crate::tree::Leaf;
use crate::{Result, TensorType, Tree, error::bail};

/// Facts about one call of a [`Function`], and the marks that its `setup_context` makes.
pub struct Context<F: Function> {
    pub(super) facts: Arc<Facts<F>>,
    pub(super) marks: Marks,
    /// Which rule is being derived from the other right now, to notice that both are missing.
    pub(super) deriving: Option<Deriving>,
}

pub(super) struct Facts<F: Function> {
    pub(super) needs: <F::Inputs as Tree>::Mapped<bool>,
    pub(super) inputs: <F::Inputs as Tree>::Mapped<TensorType>,
    pub(super) outputs: <F::Outputs as Tree>::Mapped<TensorType>,
}

/// Marks are by output position, so they hold under every wrapping.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) non_differentiable: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deriving {
    Backward,
    Jvp,
}

impl<F: Function> Context<F> {
    pub(super) fn deriving(&self, rule: Deriving) -> Context<F> {
        Context { facts: self.facts.clone(), marks: self.marks.clone(), deriving: Some(rule) }
    }

    /// Which inputs are being differentiated at this level. Work for the others may be skipped.
    ///
    /// Under forward mode these are the inputs that have a tangent.
    pub fn needs_input_grad(&self) -> &<F::Inputs as Tree>::Mapped<bool> {
        &self.facts.needs
    }

    /// The dtype and shape of every input, without batch dims: what the cotangents of a rule must match.
    pub fn input_types(&self) -> &<F::Inputs as Tree>::Mapped<TensorType> {
        &self.facts.inputs
    }

    /// The dtype and shape of every output, without batch dims: what the tangents of a rule must match.
    pub fn output_types(&self) -> &<F::Outputs as Tree>::Mapped<TensorType> {
        &self.facts.outputs
    }

    /// Marks outputs, by position among the tensors of `Outputs`, as carrying no derivative.
    ///
    /// Their cotangents arrive as zeros and their tangents are ignored. Outputs of integer or bool dtype need no
    /// mark. A second call adds to the first.
    ///
    /// # Errors
    /// `Arity` for a position that does not exist.
    pub fn mark_non_differentiable(&mut self, outputs: &[usize]) -> Result<()> {
        let n = count::<F::Outputs, _>(&self.facts.outputs);
        for &k in outputs {
            if k >= n {
                bail!(Arity, "mark_non_differentiable: output {k} does not exist, the function has {n} outputs");
            }
            if !self.marks.non_differentiable.contains(&k) {
                self.marks.non_differentiable.push(k);
            }
        }
        Ok(())
    }
}

/// The number of leaves of a mapped tree.
pub(super) fn count<T: Tree, L: Leaf>(mapped: &T::Mapped<L>) -> usize {
    let mut n = 0;
    T::visit_mapped(mapped, &mut |_: &L| n += 1);
    n
}

/// The leaves of a mapped tree, in order.
pub(crate) fn collect<T: Tree, L: Leaf>(mapped: &T::Mapped<L>) -> Vec<L> {
    let mut out = Vec::new();
    T::visit_mapped(mapped, &mut |x: &L| out.push(x.clone()));
    out
}
