//! The long way of recording: nodes of the ambient level, which can be attached to it again for derivatives of
//! derivatives and carry hooks, and nodes that remember for anomaly mode where they come from.

use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::anomaly::Trace;
use super::extras::Extras;
use super::level::{AMBIENT, ambient};
use super::reverse::{Call, Content, Edge, Edges, Node, with_needs, wrap};
use super::{Level, Traced, batch, bind, mode};
use crate::function::op::types;
use crate::function::{OpRef, Outs, Saved};
use crate::handle::Handle;
use crate::tensor::{Repr, ReprMut};
use crate::{Result, Tensor, error::bail};

/// A recorded operation and what is known of it besides.
pub(crate) struct Noted {
    pub(super) call: Call,
    /// How to save again, at the ambient level.
    source: Option<Source>,
    extras: OnceLock<Box<Extras>>,
    /// Kept in anomaly mode.
    pub(super) trace: Option<Box<Trace>>,
}

/// Where the saved tensors come from: all primals are concrete, because no level is older than the ambient one.
enum Source {
    /// Each is an input or an output, or does not depend on any.
    Places(SmallVec<[Place; 2]>),
    /// Something else is among them, or a rule of a user decides: what `save` was given.
    Call { inputs: Vec<Tensor>, outputs: Vec<Tensor>, non_differentiable: Box<[usize]> },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Constant,
    Input(usize),
    Output(usize),
}

impl Node {
    pub(crate) fn extras(&self) -> Option<&Extras> {
        match &self.content {
            Content::Leaf(extras) => Some(extras),
            Content::Noted(noted) => noted.extras.get().map(|extras| &**extras),
            _ => None,
        }
    }

    pub(crate) fn extras_or_new(&self) -> Option<&Extras> {
        match &self.content {
            Content::Leaf(extras) => Some(extras),
            Content::Noted(noted) => Some(noted.extras.get_or_init(Box::default)),
            _ => None,
        }
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.content, Content::Leaf(_))
    }
}

/// A new leaf of the ambient level.
pub(crate) fn leaf(primal: Tensor) -> Tensor {
    let extras = Box::new(Extras::default());
    extras.open_slot(0);
    let node = Handle::new(Node { sequence: ambient().next_sequence(), content: Content::Leaf(extras) });
    wrap(ambient(), primal, Edge { node, output: 0 })
}

/// A handle of a leaf that is there, with this value.
pub(crate) fn leaf_again(primal: Tensor, node: Handle<Node>) -> Tensor {
    wrap(ambient(), primal, Edge { node, output: 0 })
}

/// The value and the edge of a tensor that is of the ambient level itself, not of a transform above it.
pub(crate) fn ambient_parts(t: &Tensor) -> Option<(&Tensor, &Edge)> {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id == AMBIENT => match &tracer.value {
            Traced::Reverse { primal, edge } => Some((primal, edge)),
            _ => unreachable!("the ambient level is a reverse level"),
        },
        _ => None,
    }
}

/// Calls `f` with the value of a leaf that nothing records now, to change it. The leaf stays the leaf it is. False, and
/// nothing done, for any other tensor.
pub(crate) fn update_leaf(t: &mut Tensor, f: &mut dyn FnMut(&mut Tensor) -> Result<()>) -> Result<bool> {
    if mode::records(AMBIENT) || !ambient_parts(t).is_some_and(|(_, edge)| edge.node.is_leaf()) {
        return Ok(false);
    }
    let ReprMut::Tracer(tracer) = t.repr_mut() else { return Ok(false) };
    if let Some(tracer) = Handle::get_mut(tracer)
        && let Traced::Reverse { primal, .. } = &mut tracer.value
    {
        f(primal)?;
        return Ok(true);
    }
    if let Traced::Reverse { primal, edge } = &tracer.value {
        let mut value = primal.clone();
        f(&mut value)?;
        *t = wrap(ambient(), value, edge.clone());
    }
    Ok(true)
}

/// `t` as a constant of the levels that `gone` selects, wherever they occur in it. Batch and capture levels stay.
pub(crate) fn constant_of(t: &Tensor, gone: &dyn Fn(u64) -> bool) -> Tensor {
    let Repr::Tracer(tracer) = t.repr() else { return t.clone() };
    let level = &tracer.level;
    match &tracer.value {
        Traced::Reverse { primal, edge } => {
            let inner = constant_of(primal, gone);
            match gone(level.id) {
                true => inner,
                false if inner.is_same(primal) => t.clone(),
                false => wrap(level, inner, edge.clone()),
            }
        }
        Traced::Forward { primal, tangent } => {
            let inner = constant_of(primal, gone);
            if gone(level.id) {
                return inner;
            }
            let along = constant_of(tangent, gone);
            match inner.is_same(primal) && along.is_same(tangent) {
                true => t.clone(),
                false => super::forward::wrap(level, inner, along),
            }
        }
        Traced::Linear { primal, variable } => {
            let inner = constant_of(primal, gone);
            match gone(level.id) {
                true => inner,
                false if inner.is_same(primal) => t.clone(),
                false => super::linear::wrap(level, inner, *variable),
            }
        }
        // What is written down stays a variable; `no_grad` is written down as well.
        Traced::Capture { value, variable } => {
            let inner = constant_of(value, gone);
            if inner.is_same(value) { t.clone() } else { super::capture::wrap(level, inner, *variable) }
        }
        Traced::Batch { value, dim, .. } => {
            let inner = constant_of(value, gone);
            if inner.is_same(value) { t.clone() } else { batch::wrap(level, inner, *dim as usize) }
        }
    }
}

/// `t` as a constant of the ambient level.
pub(super) fn constant_of_ambient(t: Tensor) -> Tensor {
    match t.repr() {
        Repr::Array(_) => t,
        Repr::Tracer(_) => constant_of(&t, &|id| id == AMBIENT),
    }
}

/// [`super::reverse::process`] where something besides the rules of transforms is to be heeded.
#[inline(never)]
pub(super) fn process(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Outs> {
    let constants: SmallVec<[Tensor; 4]>;
    let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut edges = Edges::new();
    for t in inputs {
        match t.repr() {
            Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
                Traced::Reverse { primal, edge } => {
                    primals.push(primal);
                    edges.push(Some(edge.clone()));
                }
                _ => unreachable!("a reverse level holds reverse tracers"),
            },
            _ => {
                primals.push(t);
                edges.push(None);
            }
        }
    }
    if !mode::records(level.id) {
        return bind(op, &primals);
    }
    // What this level saves is read when it is walked, perhaps where older levels record again.
    if mode::is_narrowed() {
        constants = primals.iter().map(|t| constant_of(t, &|id| id < level.id && !mode::records(id))).collect();
        primals = constants.iter().collect();
    }
    let mut outs = bind(op, &primals)?;
    if !op.is_differentiable() {
        return Ok(outs);
    }
    let saved = with_needs(&edges, |needs| op.save(needs, &primals, &outs))?;
    let differentiable: SmallVec<[bool; 4]> = outs
        .iter()
        .enumerate()
        .map(|(k, o)| o.dtype().is_differentiable() && !saved.non_differentiable.contains(&k))
        .collect();
    if !differentiable.contains(&true) {
        return Ok(outs);
    }
    let trace = mode::anomaly().map(|_| Box::new(Trace::new(op, &primals, &edges, &outs)));
    let source = (level.id == AMBIENT).then(|| Source::of(op, &saved, &edges, &primals, &outs));
    let output_types = (outs.len() > 1).then(|| Box::new(types(&outs)));
    let call = Call { op: op.clone(), saved, edges, output_types };
    let content = Content::Noted(Box::new(Noted { call, source, extras: OnceLock::new(), trace }));
    let node = Handle::new(Node { sequence: level.next_sequence(), content });
    for (k, out) in outs.iter_mut().enumerate() {
        if differentiable[k] {
            *out = wrap(level, out.clone(), Edge { node: node.clone(), output: k as u32 });
        }
    }
    Ok(outs)
}

impl Source {
    fn of(op: &OpRef, saved: &Saved, edges: &Edges, inputs: &[&Tensor], outputs: &[Tensor]) -> Source {
        let place = |t: &Tensor| -> Option<Place> {
            if !t.dtype().is_differentiable() {
                return Some(Place::Constant);
            }
            // One array may be several inputs, of which some are constants: then nobody knows which was saved.
            let same = |(k, input): (usize, &&Tensor)| input.is_same(t).then_some(k);
            let mut found = inputs.iter().enumerate().filter_map(same);
            let output = outputs.iter().position(|output| output.is_same(t));
            match (found.next(), output) {
                (Some(first), None) => {
                    let way = |k: usize| edges[k].as_ref().map(|e| (Handle::as_ptr(&e.node), e.output));
                    found.all(|k| way(k) == way(first)).then_some(Place::Input(first))
                }
                (None, Some(k)) => Some(Place::Output(k)),
                _ => None,
            }
        };
        let places = match op.saves_by_value() {
            true => None,
            false => saved.tensors.iter().map(place).collect::<Option<_>>(),
        };
        places.map_or_else(
            || Source::Call {
                inputs: inputs.iter().map(|&t| t.clone()).collect(),
                outputs: outputs.to_vec(),
                non_differentiable: saved.non_differentiable.clone(),
            },
            Source::Places,
        )
    }
}

impl Noted {
    /// What was saved, as values of the ambient level, so that the rule's work is recorded. `node` holds `self`.
    pub(super) fn attached(&self, node: &Handle<Node>) -> Result<Saved> {
        let Call { op, saved, edges, .. } = &self.call;
        let input = |k: usize, t: &Tensor| match &edges[k] {
            Some(edge) => wrap(ambient(), t.clone(), edge.clone()),
            None => t.clone(),
        };
        let output = |k: usize, t: &Tensor| wrap(ambient(), t.clone(), Edge { node: node.clone(), output: k as u32 });
        match &self.source {
            Some(Source::Places(places)) => {
                let mut saved = saved.clone();
                for (t, place) in saved.tensors.iter_mut().zip(places) {
                    *t = match *place {
                        Place::Constant => continue,
                        Place::Input(k) => input(k, t),
                        Place::Output(k) if saved.non_differentiable.contains(&k) => continue,
                        Place::Output(k) => output(k, t),
                    };
                }
                Ok(saved)
            }
            Some(Source::Call { inputs, outputs, non_differentiable }) => {
                let inputs: Vec<Tensor> = inputs.iter().enumerate().map(|(k, t)| input(k, t)).collect();
                let outputs: Vec<Tensor> = outputs
                    .iter()
                    .enumerate()
                    .map(|(k, t)| match t.dtype().is_differentiable() && !non_differentiable.contains(&k) {
                        true => output(k, t),
                        false => t.clone(),
                    })
                    .collect();
                let inputs: SmallVec<[&Tensor; 4]> = inputs.iter().collect();
                with_needs(edges, |needs| op.save(needs, &inputs, &outputs))
            }
            None => bail!(Internal, "{}: a node of a transform cannot be attached to the ambient level", op.name()),
        }
    }
}

impl Node {
    pub(super) fn trace(&self) -> Option<&Trace> {
        match &self.content {
            Content::Noted(noted) => noted.trace.as_deref(),
            _ => None,
        }
    }
}
