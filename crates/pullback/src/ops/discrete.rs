//! The family of functions of one tensor that are constant wherever they are smooth: no derivative reaches through.

use std::fmt;

use smallvec::smallvec;

use super::family::vmap_front;
use crate::array::Array;
use crate::function::op::{Batched, Op, no_derivative};
use crate::function::{OpRef, Outs, VmapInfo};
use crate::interp::bind1;
use crate::kernels::half::widened;
use crate::{Result, Tensor};

/// A function of one tensor without a derivative.
pub(super) trait Discrete: Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;

    /// Computes the result.
    fn kernel(&self, x: &Array) -> Result<Array>;

    /// The same function for lanes along dimension 0 of input and result.
    fn batched(&self) -> Self;
}

/// A [`Discrete`] as an operation.
struct DiscreteOp<K>(K);

/// Applies a [`Discrete`].
pub(super) fn discrete<K: Discrete>(op: K, x: &Tensor) -> Result<Tensor> {
    match x.array() {
        Some(array) => Ok(widened([array], |[x]| op.kernel(x))?.into()),
        None => bind1(&OpRef::new(DiscreteOp(op)), &[x]),
    }
}

impl<K: Discrete> Op for DiscreteOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(&self.0)
    }

    no_derivative!();

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![widened([inputs[0].concrete()], |[x]| self.0.kernel(x))?.into()])
    }

    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        vmap_front(&OpRef::new(DiscreteOp(self.0.batched())), dims, inputs)
    }
}
