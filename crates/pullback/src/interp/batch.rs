//! The batch interpreter: every value carries the number of the dimension that its lanes lie along.

use std::sync::Arc;

use smallvec::SmallVec;

use super::level::Below;
use super::{Level, LevelKind, Traced, Tracer};
use crate::function::{OpRef, Outs, VmapInfo};
use crate::ops::structural::{broadcast_to, move_dim};
use crate::shape::{with_dim, without_dim};
use crate::tensor::Repr;
use crate::{Result, Tensor, error::bail};

/// A value of `level` whose lanes lie along dimension `dim` of `value`.
pub(crate) fn wrap(level: &Arc<Level>, value: Tensor, dim: usize) -> Tensor {
    let shape = without_dim(value.shape(), dim);
    Tracer { level: level.clone(), value: Traced::Batch { value, dim: dim as u32, shape } }.into()
}

/// The value of the level below, and where its lanes lie, if it depends on the lane.
pub(crate) fn unwrap(level: &Level, t: &Tensor) -> (Tensor, Option<usize>) {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
            Traced::Batch { value, dim, .. } => (value.clone(), Some(*dim as usize)),
            _ => unreachable!("a batch level holds batch tracers"),
        },
        _ => (t.clone(), None),
    }
}

/// [`unwrap`] with the lanes along dimension `dim`; a value that does not depend on the lane is repeated.
pub(crate) fn unwrap_at(level: &Level, t: &Tensor, dim: usize) -> Result<Tensor> {
    let LevelKind::Batch { size, .. } = level.kind else { unreachable!("a batch level") };
    let (value, from) = unwrap(level, t);
    match from {
        Some(from) => move_dim(&value, from, dim),
        None => move_dim(&materialize(&value, None, size)?, 0, dim),
    }
}

/// `t`, which does not depend on the lanes of `level`, repeated for each of them.
pub(super) fn lift(level: &Arc<Level>, t: &Tensor) -> Result<Tensor> {
    let LevelKind::Batch { size, .. } = level.kind else { unreachable!("a batch level") };
    Ok(wrap(level, materialize(t, None, size)?, 0))
}

/// Runs the batching rule of `op` on the values below `level`.
#[inline(never)]
pub(super) fn process(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Outs> {
    let LevelKind::Batch { size, randomness } = level.kind else { unreachable!("a batch level") };
    let mut values: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut dims: SmallVec<[Option<usize>; 4]> = SmallVec::new();
    for t in inputs {
        match t.repr() {
            Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
                Traced::Batch { value, dim, .. } => {
                    values.push(value);
                    dims.push(Some(*dim as usize));
                }
                _ => unreachable!("a batch level holds batch tracers"),
            },
            _ => {
                values.push(t);
                dims.push(None);
            }
        }
    }
    let _below = Below::level(level.id);
    let (outs, out_dims) = op.vmap(&VmapInfo::new(size, randomness, level.part), &dims, &values)?;
    if outs.len() != out_dims.len() {
        let (name, n, m) = (op.name(), outs.len(), out_dims.len());
        bail!(Internal, "{name}: vmap returned {n} outputs and {m} batch dims");
    }
    Ok(outs
        .into_iter()
        .zip(out_dims)
        .map(|(out, dim)| match dim {
            Some(dim) => {
                debug_assert_eq!(out.shape().get(dim), Some(&size), "{}: the batch size of an output", op.name());
                wrap(level, out, dim)
            }
            None => out,
        })
        .collect())
}

/// The inputs of a batching rule with their lanes in front, unbatched ones as they are.
pub(crate) fn to_front(dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<SmallVec<[Tensor; 4]>> {
    inputs
        .iter()
        .zip(dims)
        .map(|(t, dim)| match dim {
            Some(d) => move_dim(t, *d, 0),
            None => Ok((*t).clone()),
        })
        .collect()
}

/// The inputs of a batching rule with their lanes in front and their other dimensions padded with ones to the
/// highest logical rank, so that they broadcast against each other as the lanes do.
pub(crate) fn align(dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<SmallVec<[Tensor; 4]>> {
    let logical = |t: &Tensor, dim: &Option<usize>| t.rank() - usize::from(dim.is_some());
    let rank = inputs.iter().zip(dims).map(|(t, d)| logical(t, d)).max().unwrap_or(0);
    inputs
        .iter()
        .zip(dims)
        .map(|(t, dim)| match dim {
            Some(d) => {
                let front = move_dim(t, *d, 0)?;
                let pad = rank - logical(t, dim);
                if pad == 0 {
                    return Ok(front);
                }
                let mut shape = crate::Shape::from_slice(&front.shape()[..1]);
                shape.extend(std::iter::repeat_n(1, pad));
                shape.extend_from_slice(&front.shape()[1..]);
                front.reshape_to(&shape)
            }
            None => Ok((*t).clone()),
        })
        .collect()
}

/// `t` with lanes in front: moved there, or repeated `size` times if there are none.
pub(crate) fn materialize(t: &Tensor, dim: Option<usize>, size: usize) -> Result<Tensor> {
    match dim {
        Some(d) => move_dim(t, d, 0),
        None => broadcast_to(&t.unsqueeze(0)?, &with_dim(t.shape(), 0, size)),
    }
}
