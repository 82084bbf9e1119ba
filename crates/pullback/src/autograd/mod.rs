//! The imperative surface: mark tensors, compute, and walk back from a result.
//!
//! The transforms of this crate differentiate *functions*. This module differentiates *values*, as PyTorch's tensors do:
//! mark leaves with [`leaf`] (or [`requires_grad_`](Tensor::requires_grad_)), compute with them, call
//! [`backward`](Tensor::backward) on the result, and read the gradients with [`grad`](Tensor::grad):
//!
//! ```
//! use pullback::{Tensor, autograd};
//! let x = autograd::leaf(&Tensor::from([1.0, 2.0]))?;
//! x.mul(&x)?.sum()?.backward()?;
//! assert_eq!(x.grad()?.unwrap().to_vec::<f64>()?, [2.0, 4.0]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! Both surfaces share one machine. A leaf is a value of the *ambient level*, a reverse level of the whole process that
//! is older than every other and never ends. So they mix by the rules of nesting: inside a transform a leaf is a constant,
//! and what the transform returns can be walked back from to the leaf. Functions that users define work here as everywhere.
//!
//! # What differs from PyTorch
//!
//! - **Nothing is freed behind your back.** A graph lives as long as somebody holds its result, so a second `backward`
//!   simply works, and there is no `retain_graph`. [`backward`] by value frees the graph while it walks.
//! - **Values never change**, so there are no version counters. In-place methods rebind the handle: inside [`no_grad`] a
//!   leaf stays the same leaf with a new value; elsewhere the handle becomes the result of a recorded operation.
//! - **All or nothing.** Gradients accumulate when the walk has succeeded. After an error or a panic in a rule or a hook
//!   nothing has accumulated.
//! - **[`no_grad`] means the same in both modes**: what runs inside is constant for every derivative that was being taken
//!   when it was entered, by reverse or by forward mode. Transforms called inside work as always.
//! - **Inside a transform**, these methods refuse values that the transform is working on, and name what to use instead
//!   (`ErrorKind::InTransform`).

mod anomaly;
mod backward;
pub mod forward_ad;
mod grad;
mod hook;
mod mode;
mod node;
mod slot;
mod tensor;

use std::fmt::Display;

use crate::error::bail;
use crate::interp::level::AMBIENT;
use crate::interp::noted::ambient_parts;
use crate::interp::reverse::Edge;
use crate::tensor::Repr;
use crate::{Result, Tensor, Tree};

pub use anomaly::{Anomaly, DetectAnomaly, detect_anomaly};
pub use backward::{Backward, backward};
pub use grad::{Grad, grad};
pub use hook::Hook;
pub use mode::{GradMode, enable_grad, no_grad};
pub use node::GradFn;
pub use slot::GradSlot;
pub use tensor::{leaf, zero_grad};

/// An error that names the functional way if a transform is working on `t`. `what` names `t`.
fn refuse_in_transform(place: &str, what: impl Display, t: &Tensor) -> Result<()> {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id != AMBIENT => {
            crate::interp::check_alive(t, &format!("{place}: {what}"))?;
            let (kind, id, ty) = (tracer.level.transform(), tracer.level.id, t.ty());
            bail!(InTransform, "{place}: {what} ({ty}) is a value that a `{kind}` (level {id}) is working on"; help = "\
                inside a transform, call `grad`, `value_and_grad` or `vjp` on a function instead")
        }
        _ => Ok(()),
    }
}

/// Where gradients of `t` go; an error if it does not require any. `what` names `t`.
fn edge_of<'a>(place: &str, what: &dyn Fn() -> String, t: &'a Tensor) -> Result<&'a Edge> {
    if let Some((_, edge)) = ambient_parts(t) {
        return Ok(edge);
    }
    let what = what();
    refuse_in_transform(place, &what, t)?;
    let help = if crate::interp::watch::is_active() {
        "inside of a `checkpoint` no value has a derivative of this kind: call `grad` or `vjp` on a function instead, \
         or do this outside of it"
    } else {
        "mark the leaves that it is computed from with `autograd::leaf`, and compute it outside `no_grad`"
    };
    bail!(NotDifferentiable, "{place}: expected values that require gradients, got {what} ({}), which does not", t.ty();
        help = "{help}")
}

/// The edges and cotangents that a walk begins with.
fn roots(place: &str, outputs: &[&Tensor], cotangents: Option<&[Tensor]>, lanes: bool) -> Result<Vec<(Edge, Tensor)>> {
    if outputs.is_empty() {
        bail!(Arity, "{place}: expected at least one output, got none");
    }
    if let Some(given) = cotangents
        && given.len() != outputs.len()
    {
        let (n, m) = (outputs.len(), given.len());
        bail!(Arity, "{place}: expected {n} cotangents, one for each output, got {m}");
    }
    let mut roots = Vec::with_capacity(outputs.len());
    for (k, output) in outputs.iter().enumerate() {
        let edge = edge_of(place, &|| format!("output {k}"), output)?.clone();
        let ty = output.ty();
        let Some(given) = cotangents.map(|given| &given[k]) else {
            if output.numel() != 1 {
                bail!(NotScalar, "{place}: expected scalar outputs, got {ty} as output {k}"; help = "sum it, or give \
                    cotangents with `Backward` or `Grad`");
            }
            roots.push((edge, Tensor::ones(&ty.shape, ty.dtype)?));
            continue;
        };
        crate::interp::check_alive(given, &format!("{place}: cotangent {k}"))?;
        let got = given.ty();
        let shape = if lanes { got.shape.get(1..).unwrap_or_default() } else { &got.shape[..] };
        let of = if lanes { ", with a leading dimension for the batch" } else { "" };
        if shape != &ty.shape[..] || lanes && got.shape.is_empty() {
            bail!(Shape, "{place}: expected a cotangent {k} of the type of output {k}, {ty}{of}, got {got}");
        }
        if got.dtype != ty.dtype {
            bail!(Dtype, "{place}: expected a cotangent {k} of the type of output {k}, {ty}{of}, got {got}"; help = "\
                convert it with `to_dtype`");
        }
        roots.push((edge, given.clone()));
    }
    Ok(roots)
}

/// The edges of values whose gradients are asked for.
fn targets<I: Tree>(place: &str, inputs: &I) -> Result<Vec<Edge>> {
    let tensors = crate::tree::leaves(inputs);
    if tensors.is_empty() {
        bail!(Arity, "{place}: expected at least one input, got none");
    }
    let name = |k| format!("input{}", crate::tree::path_of(inputs, k));
    tensors.iter().enumerate().map(|(k, t)| edge_of(place, &|| name(k), t).cloned()).collect()
}
