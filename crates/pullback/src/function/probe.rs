//! Calling single methods of a function, for the checkers.

use super::context::Deriving;
use super::erased::Erased;
use super::opaque::is_not_given;
use super::{Cotangent, Function};
use crate::{Result, Tensor, Tree};

/// The tensors that `setup_context` saves, and the outputs that it marks, if every float is differentiated.
pub(crate) fn saved_values<F: Function>(function: &F, inputs: &F::Inputs) -> Result<(Vec<Tensor>, Vec<usize>)> {
    let (_, ctx, tree) = Erased::saved_call(function, inputs)?;
    let mut tensors = Vec::new();
    tree.visit(&mut |t| tensors.push(t.clone()));
    Ok((tensors, ctx.marks.non_differentiable))
}

/// What is known of the derivative rules of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Whether `backward` and `jvp` are written, rather than derived from each other.
    pub(crate) backward: bool,
    pub(crate) jvp: bool,
    /// Whether it has no rule that can be differentiated, because all are on slices.
    pub(crate) on_slices: bool,
}

/// Finds out which rules a function has by asking for them.
pub(crate) fn rules<F: Function>(function: &F, inputs: &F::Inputs) -> Result<Rules> {
    let (outputs, ctx, saved) = Erased::saved_call(function, inputs)?;
    let zero = |t: &Tensor| {
        let mut zero = Cotangent::zero();
        zero.set_type(&t.ty());
        zero
    };
    // A derived rule that is asked for while it is being derived says that both are missing, and an opaque function that it
    // has none in tensor operations.
    let backward = function.backward(&ctx.deriving(Deriving::Jvp), &saved, outputs.map(&mut |t| zero(t))).err();
    let jvp = function.jvp(&ctx.deriving(Deriving::Backward), &saved, inputs.map(&mut |t| zero(t))).err();
    let lacks = |e: &Option<crate::Error>| e.as_ref().is_some_and(is_not_given);
    let written = |e: &Option<crate::Error>| !e.as_ref().is_some_and(crate::Error::is_missing_rule);
    let on_slices = lacks(&backward) && lacks(&jvp);
    Ok(Rules { backward: written(&backward), jvp: written(&jvp), on_slices })
}
