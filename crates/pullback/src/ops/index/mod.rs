//! Reading and writing at places that index tensors give: whole slices along a dimension, single elements, or tensors in
//! the brackets of an index.

pub(super) mod advanced;
pub(super) mod advanced_samples;
mod check;
pub(super) mod elements;
pub(super) mod flat;
pub(super) mod masks;
pub(super) mod reduce;
pub(super) mod slices;

use smallvec::{SmallVec, smallvec};

pub(super) use check::check_number;

use super::shape::{broadcast_to, move_dim};
use crate::function::op::{Batched, Op};
use crate::function::{OpRef, VmapInfo};
use crate::interp::bind;
use crate::shape::with_dim;
use crate::{Result, Tensor};

/// `t` with its lanes in dimension `to`, which is put in with size `size` if there are none.
pub(super) fn lanes_at(t: &Tensor, lane: Option<usize>, to: usize, size: usize) -> Result<Tensor> {
    match lane {
        Some(lane) => move_dim(t, lane, to),
        None => broadcast_to(&t.reshape_to(&with_dim(t.shape(), to, 1))?, &with_dim(t.shape(), to, size)),
    }
}

/// Calls `op` with the lanes of every input in dimension `to`, where those of the result will be.
pub(super) fn vmap_at(
    op: impl Op,
    to: usize,
    info: &VmapInfo,
    dims: &[Option<usize>],
    inputs: &[&Tensor],
) -> Result<Batched> {
    let moved: SmallVec<[Tensor; 3]> =
        inputs.iter().zip(dims).map(|(t, d)| lanes_at(t, *d, to, info.batch_size)).collect::<Result<_>>()?;
    let outs = bind(&OpRef::new(op), &moved.iter().collect::<SmallVec<[&Tensor; 3]>>())?;
    Ok((outs, smallvec![Some(to)]))
}

/// What the samples of both kinds need.
mod naive {
    use crate::Tensor;

    pub(super) fn index(places: &[i64], shape: &[usize]) -> Tensor {
        Tensor::from_slice(places, shape).expect("the number of places is that of the shape")
    }

    pub(super) fn mask(data: &[bool], shape: &[usize]) -> Tensor {
        Tensor::from_slice(data, shape).expect("the number of places is that of the shape")
    }

    /// The place that an index names along a dim of size `n`.
    pub(super) fn resolve(i: f64, n: usize) -> usize {
        if i < 0.0 { (i + n as f64) as usize } else { i as usize }
    }

    pub(super) fn with(at: &[usize], dim: usize, place: usize) -> Vec<usize> {
        let mut at = at.to_vec();
        at[dim] = place;
        at
    }

    pub(super) fn flat(shape: &[usize], at: &[usize]) -> usize {
        at.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n + i)
    }
}
