//! A solver as a function: how it is handed lanes, and what it gives for none.

use std::sync::Arc;

use super::Body;
use crate::function::{Batching, Dims, VmapInfo, collect};
use crate::{Context, Function, Result, Tree};

/// A solver, on values without derivatives. It has no derivative rule, because nobody differentiates it.
pub(super) struct Solver<A, B> {
    pub(super) name: Arc<str>,
    pub(super) body: Body<A, B>,
    /// A value of the type of the result, without solving anything, if that can be had.
    pub(super) typical: Option<Body<A, B>>,
    pub(super) batching: Batching,
}

impl<A, B> Clone for Solver<A, B> {
    fn clone(&self) -> Self {
        let Solver { name, body, typical, batching } = self;
        Solver { name: name.clone(), body: body.clone(), typical: typical.clone(), batching: *batching }
    }
}

impl<A: Tree, B: Tree> Function for Solver<A, B> {
    type Inputs = A;
    type Outputs = B;
    type Saved = ();

    fn name(&self) -> &str {
        &self.name
    }

    fn forward(&self, inputs: &A) -> Result<B> {
        (self.body)(inputs)
    }

    fn setup_context(&self, _: &mut Context<Self>, _: &A, _: &B) -> Result<()> {
        Ok(())
    }

    fn vmap(&self, info: &VmapInfo, in_dims: Dims<A>, inputs: &A) -> Result<(B, Dims<B>)> {
        let dims = collect::<A, Option<usize>>(&in_dims);
        let outputs = match &self.typical {
            // There is no lane to solve, and one of zeros need not have a solution.
            Some(typical) if info.batch_size == 0 => {
                Batching::Loop.lanes_first(info, &dims, inputs, |lane| typical(lane))?
            }
            _ => self.batching.lanes_first(info, &dims, inputs, |lanes| self.apply(lanes))?,
        };
        let out_dims = outputs.map(&mut |_| Some(0));
        Ok((outputs, out_dims))
    }
}
