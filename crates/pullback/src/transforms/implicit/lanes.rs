//! A solver as a function: how it is handed lanes, and what it gives for none.

use std::sync::Arc;

use super::Body;
use crate::function::{Batching, Dims, VmapInfo, collect};
use crate::shape::{with_dim, without_dim};
use crate::tree::try_map;
use crate::{Context, Function, Result, Tensor, Tree};

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
        let Some(typical) = self.typical.as_ref().filter(|_| info.batch_size == 0) else {
            return self.batching.run(self, info, in_dims, inputs);
        };
        // There is no lane to solve, and one of zeros need not have a solution.
        let mut dims = collect::<A, Option<usize>>(&in_dims).into_iter();
        let lane = try_map(inputs, &mut |t| match dims.next().flatten() {
            Some(dim) => Tensor::zeros(&without_dim(t.shape(), dim), t.dtype()),
            None => Ok(t.clone()),
        })?;
        let none = try_map(&typical(&lane)?, &mut |t| Tensor::zeros(&with_dim(t.shape(), 0, 0), t.dtype()))?;
        let out_dims = none.map(&mut |_| Some(0));
        Ok((none, out_dims))
    }
}
