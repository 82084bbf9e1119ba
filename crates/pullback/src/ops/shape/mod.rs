//! Other shapes for the same elements: reshaping, repeating, reordering and cutting dimensions. Views, not copies,
//! wherever strides can express the result.

pub(super) mod reorder;
pub(super) mod repeat;
pub(super) mod reshape;
pub(super) mod slice;
pub(super) mod split;
mod view;

pub(crate) use reorder::move_dim;
pub(crate) use repeat::{broadcast_to, zeros};
pub(crate) use slice::{resolve_index, slice};
pub(super) use view::{Placed, View, ViewOp};

/// The place of dim `dim` of one lane in a tensor whose lanes lie along `lane`.
pub(super) fn behind(dim: usize, lane: usize) -> usize {
    dim + usize::from(lane <= dim)
}
