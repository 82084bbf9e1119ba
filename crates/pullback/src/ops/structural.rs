//! The few operations that the interpreters and the differential types need themselves: adding, moving, repeating
//! and summing dimensions.

use crate::{Result, Tensor};

pub(crate) use super::arith::add_owned;
pub(crate) use super::shape::{broadcast_to, move_dim};

/// The sum over one dimension, without it.
pub(crate) fn sum_dim(t: &Tensor, dim: usize) -> Result<Tensor> {
    t.sum_dims(&[dim as isize], false)
}
