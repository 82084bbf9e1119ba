//! The generated batching rule: an operation whose methods are those of another one, run under a batch level.

use smallvec::SmallVec;

use super::op::{Batched, Cotangents, Op, OpRef, Outs, Saved, State, Tangents};
use super::{Cotangent, Tangent, VmapInfo};
use crate::interp::level::OpenLevel;
use crate::interp::{batch, bind};
use crate::ops::structural::{move_dim, sum_dim};
use crate::{Result, Tensor};

/// `inner` for all lanes. Batched inputs carry their lanes at `dims`, every output at dimension 0.
#[derive(Clone)]
struct Vmapped {
    inner: OpRef,
    info: VmapInfo,
    dims: SmallVec<[Option<usize>; 4]>,
}

/// What [`Vmapped`] saves: each tensor of `inner` remembers its own batch dim.
struct SavedLanes {
    dims: SmallVec<[Option<usize>; 4]>,
    state: State,
}

/// Applies `inner` to values whose lanes lie at `dims`; every output has its lanes in front.
pub(super) fn bind_vmapped(inner: OpRef, info: &VmapInfo, dims: &[Option<usize>], values: &[&Tensor]) -> Result<Outs> {
    bind(&OpRef::new(Vmapped { inner, info: *info, dims: SmallVec::from_slice(dims) }), values)
}

/// The generated rule as the batching rule of `op`.
pub(crate) fn generated(op: OpRef, info: &VmapInfo, dims: &[Option<usize>], values: &[&Tensor]) -> Result<Batched> {
    let outs = bind_vmapped(op, info, dims, values)?;
    let n = outs.len();
    Ok((outs, SmallVec::from_elem(Some(0), n)))
}

impl Vmapped {
    fn open(&self) -> OpenLevel {
        OpenLevel::lanes(self.info.batch_size, self.info.randomness, self.info.part)
    }

    fn wrap(open: &OpenLevel, value: &Tensor, dim: Option<usize>) -> Tensor {
        match dim {
            Some(dim) => batch::wrap(open.level(), value.clone(), dim),
            None => value.clone(),
        }
    }

    fn wrap_inputs(&self, open: &OpenLevel, values: &[&Tensor]) -> SmallVec<[Tensor; 4]> {
        values.iter().zip(&self.dims).map(|(v, d)| Self::wrap(open, v, *d)).collect()
    }

    /// What `inner` saved, under a batch level again.
    fn wrap_saved(&self, open: &OpenLevel, saved: &Saved) -> Saved {
        let lanes: &SavedLanes = saved.get_state();
        Saved {
            tensors: saved.tensors.iter().zip(&lanes.dims).map(|(t, d)| Self::wrap(open, t, *d)).collect(),
            state: lanes.state.clone(),
            non_differentiable: saved.non_differentiable.clone(),
        }
    }
}

impl Op for Vmapped {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn is_differentiable(&self) -> bool {
        self.inner.is_differentiable()
    }

    fn couples_cotangents(&self) -> bool {
        self.inner.couples_cotangents()
    }

    fn saves_by_value(&self) -> bool {
        self.inner.saves_by_value()
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let open = self.open();
        let wrapped = self.wrap_inputs(&open, inputs);
        let outs = self.inner.forward(&wrapped.iter().collect::<SmallVec<[&Tensor; 4]>>())?;
        outs.iter().map(|o| batch::unwrap_at(open.level(), o, 0)).collect()
    }

    fn save(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let open = self.open();
        let wrapped = self.wrap_inputs(&open, inputs);
        let outs: Outs = outputs.iter().map(|o| Self::wrap(&open, o, Some(0))).collect();
        let saved = self.inner.save(needs, &wrapped.iter().collect::<SmallVec<[&Tensor; 4]>>(), &outs)?;
        let (mut tensors, mut dims) = (SmallVec::new(), SmallVec::new());
        for t in &saved.tensors {
            let (value, dim) = batch::unwrap(open.level(), t);
            tensors.push(value);
            dims.push(dim);
        }
        let lanes = SavedLanes { dims, state: saved.state };
        Ok(Saved { tensors, non_differentiable: saved.non_differentiable, ..Saved::default() }.with_state(lanes))
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let open = self.open();
        let inner = self.wrap_saved(&open, saved);
        let grads: SmallVec<[Cotangent; 4]> = grads
            .iter()
            .map(|g| g.as_tensor().map_or_else(Cotangent::zero, |t| Self::wrap(&open, t, Some(0)).into()))
            .collect();
        let found = self.inner.backward(&inner, needs, &grads)?;
        found
            .into_iter()
            .zip(&self.dims)
            .map(|(grad, input_dim)| {
                grad.map(|t| {
                    let lanes = batch::unwrap_at(open.level(), t, 0)?;
                    match input_dim {
                        Some(d) => move_dim(&lanes, 0, *d),
                        // The input served every lane, so it receives from every lane.
                        None => sum_dim(&lanes, 0),
                    }
                })
            })
            .collect()
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let open = self.open();
        let inner = self.wrap_saved(&open, saved);
        let tangents: SmallVec<[Tangent; 4]> = tangents
            .iter()
            .zip(&self.dims)
            .map(|(t, d)| t.as_tensor().map_or_else(Tangent::zero, |t| Self::wrap(&open, t, *d).into()))
            .collect();
        let found = self.inner.jvp(&inner, &tangents)?;
        found.iter().map(|t| t.map(|t| batch::unwrap_at(open.level(), t, 0))).collect()
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        generated(OpRef::new(self.clone()), info, dims, inputs)
    }
}
