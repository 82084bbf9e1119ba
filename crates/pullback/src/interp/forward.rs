//! The forward interpreter: every value carries its tangent along.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Level, Traced, Tracer, bind, mode};
use crate::function::{OpRef, Outs, Tangent};
use crate::tensor::Repr;
use crate::{Result, Tensor, error::bail};

/// A value of `level` with its tangent.
pub(crate) fn wrap(level: &Arc<Level>, primal: Tensor, tangent: Tensor) -> Tensor {
    Tracer { level: level.clone(), value: Traced::Forward { primal, tangent } }.into()
}

/// The value of the level below and its tangent, if it has one.
pub(crate) fn unwrap(level: &Level, t: &Tensor) -> (Tensor, Option<Tensor>) {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
            Traced::Forward { primal, tangent } => (primal.clone(), Some(tangent.clone())),
            _ => unreachable!("a forward level holds forward tracers"),
        },
        _ => (t.clone(), None),
    }
}

/// Runs `op` on the values below `level`, and its forward rule on their tangents.
#[inline(never)]
pub(super) fn process(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Outs> {
    let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut tangents: SmallVec<[Tangent; 4]> = SmallVec::new();
    for t in inputs {
        match t.repr() {
            Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
                Traced::Forward { primal, tangent } => {
                    primals.push(primal);
                    tangents.push(Tangent::from(tangent.clone()));
                }
                _ => unreachable!("a forward level holds forward tracers"),
            },
            _ => {
                primals.push(t);
                tangents.push(Tangent::zero());
            }
        }
    }
    let outs = bind(op, &primals)?;
    if !op.is_differentiable() || (level.id < mode::gate() && !mode::records(level.id)) {
        return Ok(outs);
    }
    let needs: SmallVec<[bool; 4]> = tangents.iter().map(|t| !t.is_zero()).collect();
    let saved = op.save(&needs, &primals, &outs)?;
    let found = op.jvp(&saved, &tangents)?;
    if found.len() != outs.len() {
        let (name, expected, got) = (op.name(), outs.len(), found.len());
        bail!(Internal, "{name}: jvp returned {got} tangents for {expected} outputs");
    }
    Ok(outs
        .into_iter()
        .zip(found)
        .enumerate()
        .map(|(k, (primal, tangent))| match tangent.into_tensor() {
            Some(tangent) if primal.dtype().is_differentiable() && !saved.non_differentiable.contains(&k) => {
                wrap(level, primal, tangent)
            }
            _ => primal,
        })
        .collect())
}
