//! Calling single methods of a function, for the checkers.

use super::context::Deriving;
use super::erased::Erased;
use super::{Cotangent, Function};
use crate::{Result, Tensor, Tree};

/// The tensors that `setup_context` saves, and the outputs that it marks, if every float is differentiated.
pub(crate) fn saved_values<F: Function>(function: &F, inputs: &F::Inputs) -> Result<(Vec<Tensor>, Vec<usize>)> {
    let (_, ctx, tree) = Erased::saved_call(function, inputs)?;
    let mut tensors = Vec::new();
    tree.visit(&mut |t| tensors.push(t.clone()));
    Ok((tensors, ctx.marks.non_differentiable))
}

/// Whether `backward` and `jvp` are written, rather than derived from each other.
pub(crate) fn written_rules<F: Function>(function: &F, inputs: &F::Inputs) -> Result<(bool, bool)> {
    let (outputs, ctx, saved) = Erased::saved_call(function, inputs)?;
    let zero = |t: &Tensor| {
        let mut zero = Cotangent::zero();
        zero.set_type(&t.ty());
        zero
    };
    // A derived rule that is asked for while it is being derived says that both are missing.
    let backward = function.backward(&ctx.deriving(Deriving::Jvp), &saved, outputs.map(&mut |t| zero(t)));
    let jvp = function.jvp(&ctx.deriving(Deriving::Backward), &saved, inputs.map(&mut |t| zero(t)));
    let written = |missing: Option<crate::Error>| !missing.is_some_and(|e| e.is_missing_rule());
    Ok((written(backward.err()), written(jvp.err())))
}
