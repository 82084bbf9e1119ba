//! The reverse interpreter: records a node per operation, and walks the nodes backwards.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use smallvec::SmallVec;

use super::extras::Extras;
use super::noted::{self, Noted};
use super::{Level, LevelKind, Traced, Tracer, bind, bind1, frame, mode, walk};
use crate::function::op::Cotangents;
use crate::function::op::types;
use crate::function::{Cotangent, OpRef, Outs, Saved};
use crate::handle::Handle;
use crate::tensor::{Repr, TracerHandle};
use crate::{Error, ErrorKind, Result, Tensor, TensorType};

/// Where each input of a node came from; `None` for constants of the level.
pub(super) type Edges = SmallVec<[Option<Edge>; 2]>;

/// One output of a node.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(super) node: Handle<Node>,
    pub(super) output: u32,
}

impl Edge {
    pub(crate) fn node(&self) -> &Handle<Node> {
        &self.node
    }

    pub(crate) fn output(&self) -> u32 {
        self.output
    }
}

/// A recorded operation, or an input of the transform.
pub(crate) struct Node {
    /// Larger than that of every node it depends on.
    pub(super) sequence: u64,
    pub(super) content: Content,
}

impl Node {
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The operation that is recorded here, and where its inputs came from.
    pub(crate) fn call(&self) -> Option<(&OpRef, &[Option<Edge>])> {
        self.content.call().map(|call| (&call.op, &call.edges[..]))
    }
}

pub(super) enum Content {
    Input(usize),
    Call(Call),
    /// A call at the ambient level, or one recorded in anomaly mode.
    Noted(Box<Noted>),
    /// A leaf of the ambient level.
    Leaf(Box<Extras>),
}

impl Content {
    pub(super) fn call(&self) -> Option<&Call> {
        match self {
            Content::Call(call) => Some(call),
            Content::Noted(noted) => Some(&noted.call),
            _ => None,
        }
    }
}

pub(super) struct Call {
    pub(super) op: OpRef,
    pub(super) saved: Saved,
    pub(super) edges: Edges,
    /// The types of the outputs, where there are several and one may receive no cotangent.
    /// Behind two pointers because it is rare and nodes are many.
    pub(super) output_types: Option<Box<Box<[TensorType]>>>,
}

impl Call {
    /// The cotangents of the inputs, from `saved`, which are the values of this call or others of the same types.
    #[inline]
    pub(super) fn backward_from(&self, saved: &Saved, mut grads: SmallVec<[Cotangent; 1]>) -> Result<Cotangents> {
        if let Some(types) = &self.output_types {
            grads.resize(types.len(), Cotangent::zero());
            for (grad, ty) in grads.iter_mut().zip(types.iter()) {
                grad.set_type(ty);
            }
        }
        // One variable, which is the place of the result: a second one would be copied to it.
        let mut found = with_needs(&self.edges, |needs| self.op.backward(saved, needs, &grads));
        if let Ok(cotangents) = &found
            && cotangents.len() != self.edges.len()
        {
            found = Err(self.wrong_number(cotangents.len()));
        }
        found
    }

    #[cold]
    fn wrong_number(&self, got: usize) -> Error {
        let (name, expected) = (self.op.name(), self.edges.len());
        Error::new(ErrorKind::Internal, format!("{name}: backward returned {got} cotangents for {expected} inputs"))
    }
}

/// Takes all edges, and adds the nodes that nobody else holds to `unheld`.
fn release(edges: &mut Edges, unheld: &mut SmallVec<[Handle<Node>; 8]>) {
    for edge in edges.iter_mut() {
        let Some(Edge { node, .. }) = edge.take() else { continue };
        if Handle::is_sole(&node) {
            unheld.push(node);
        } else if let Some(node) = Handle::into_inner(node) {
            // Another thread let go of it just now, or a hook has a weak handle.
            unheld.push(Handle::new(node));
        }
    }
    edges.clear();
}

/// Drops a graph without recursion, whatever its depth.
impl Drop for Call {
    fn drop(&mut self) {
        if self.edges.is_empty() {
            return;
        }
        // Nodes that only this list holds.
        let mut stack: SmallVec<[Handle<Node>; 8]> = SmallVec::new();
        release(&mut self.edges, &mut stack);
        while let Some(mut node) = stack.pop() {
            match Handle::get_mut(&mut node).map(|node| &mut node.content) {
                Some(Content::Call(call)) => release(&mut call.edges, &mut stack),
                Some(Content::Noted(noted)) => release(&mut noted.call.edges, &mut stack),
                _ => {}
            }
        }
    }
}

/// Wraps `primal` as input number `index` of the transform that opened `level`.
pub(crate) fn input(level: &Arc<Level>, index: usize, primal: Tensor) -> Tensor {
    let node = Handle::new(Node { sequence: level.next_sequence(), content: Content::Input(index) });
    wrap(level, primal, Edge { node, output: 0 })
}

pub(super) fn wrap(level: &Arc<Level>, primal: Tensor, edge: Edge) -> Tensor {
    // SAFETY: every field is initialised.
    let tracer: TracerHandle = unsafe {
        Handle::in_place(|place: *mut Tracer| {
            (&raw mut (*place).level).write(level.clone());
            (&raw mut (*place).value).write(Traced::Reverse { primal, edge });
        })
    };
    tracer.into()
}

/// The value of the level below, and where its gradient goes, if it depends on an input of `level`.
pub(crate) fn unwrap(level: &Level, t: Tensor) -> (Tensor, Option<Edge>) {
    let tracer = match t.into_tracer() {
        Ok(tracer) if tracer.level.id == level.id => tracer,
        Ok(tracer) => return (tracer.into(), None),
        Err(t) => return (t, None),
    };
    match Handle::try_unwrap(tracer) {
        Ok(Tracer { value: Traced::Reverse { primal, edge }, .. }) => (primal, Some(edge)),
        Ok(_) => unreachable!("a reverse level holds reverse tracers"),
        Err(shared) => match &shared.value {
            Traced::Reverse { primal, edge } => (primal.clone(), Some(edge.clone())),
            _ => unreachable!("a reverse level holds reverse tracers"),
        },
    }
}

/// Calls `f` with which inputs are being differentiated.
#[inline(always)]
pub(super) fn with_needs<R>(edges: &[Option<Edge>], f: impl FnOnce(&[bool]) -> R) -> R {
    let mut few = [false; 8];
    let many: Vec<bool>;
    let needs: &[bool] = match few.get_mut(..edges.len()) {
        Some(needs) => {
            for (need, edge) in needs.iter_mut().zip(edges) {
                *need = edge.is_some();
            }
            needs
        }
        None => {
            many = edges.iter().map(Option::is_some).collect();
            &many
        }
    };
    // Called in one place, so that the result stays where `f` writes it.
    f(needs)
}

/// A new node for a call, without edges, which has saved nothing yet.
#[inline(always)]
fn new_call(level: &Level, op: &OpRef, output_types: Option<Box<Box<[TensorType]>>>) -> Handle<Node> {
    // SAFETY: every field is initialised.
    unsafe {
        Handle::in_place(|place: *mut Node| {
            (&raw mut (*place).sequence).write(level.next_sequence());
            (&raw mut (*place).content).write(Content::Call(Call {
                op: op.clone(),
                saved: Saved::default(),
                edges: Edges::new(),
                output_types,
            }));
        })
    }
}

/// Runs `op` on the values below `level` and records it if an input is being differentiated.
// Inlined in `bind`, which calls itself through it, it would make every frame of that larger.
#[inline(never)]
pub(super) fn process(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Outs> {
    if level.id < mode::gate() {
        return noted::process(op, level, inputs);
    }
    let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
    for t in inputs {
        primals.push(reached(level, t).map_or(*t, |(primal, _)| primal));
    }
    // The results stay where they are: moving what was written just now would have to wait for it.
    let mut results = bind(op, &primals);
    let Ok(outs) = &mut results else { return results };
    if !op.is_differentiable() {
        return results;
    }
    let node = record(op, level, inputs, &primals, outs)?;
    for (k, out) in outs.iter_mut().enumerate() {
        let marked = node.content.call().is_some_and(|call| call.saved.non_differentiable.contains(&k));
        if out.dtype().is_differentiable() && !marked {
            *out = wrap(level, out.clone(), Edge { node: node.clone(), output: k as u32 });
        }
    }
    results
}

/// True if nothing but recording is to be done for an operation whose newest input is of this level.
#[inline(always)]
pub(super) fn only_records(level: &Level) -> bool {
    level.kind == LevelKind::Reverse && level.id >= mode::gate() && !frame::is_running()
}

/// [`process`] for an operation with one output, where nothing but recording is to be done.
pub(super) fn process1(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Tensor> {
    let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
    for t in inputs {
        primals.push(reached(level, t).map_or(*t, |(primal, _)| primal));
    }
    let out = bind1(op, &primals)?;
    if !op.is_differentiable() {
        return Ok(out);
    }
    let node = record(op, level, inputs, &primals, std::slice::from_ref(&out))?;
    let marked = node.content.call().is_none_or(|call| !call.saved.non_differentiable.is_empty());
    Ok(if marked || !out.dtype().is_differentiable() { out } else { wrap(level, out, Edge { node, output: 0 }) })
}

/// Records a call. The node is there before what it holds, which is written where it stays.
#[inline(always)]
fn record(op: &OpRef, level: &Level, inputs: &[&Tensor], primals: &[&Tensor], outs: &[Tensor]) -> Result<Handle<Node>> {
    let output_types = (outs.len() != 1).then(|| Box::new(types(outs)));
    let mut node = new_call(level, op, output_types);
    let Some(Node { content: Content::Call(call), .. }) = Handle::get_mut(&mut node) else {
        unreachable!("nobody else has the node, which is a call")
    };
    for t in inputs {
        call.edges.push(reached(level, t).map(|(_, edge)| edge.clone()));
    }
    let saved = &mut call.saved;
    with_needs(&call.edges, |needs| op.save_to(needs, primals, outs, saved))?;
    Ok(node)
}

/// The value below `level` and where its gradient goes, for a value of `level`.
#[inline(always)]
fn reached<'a>(level: &Level, t: &'a Tensor) -> Option<(&'a Tensor, &'a Edge)> {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
            Traced::Reverse { primal, edge } => Some((primal, edge)),
            _ => unreachable!("a reverse level holds reverse tracers"),
        },
        _ => None,
    }
}

/// A value of a reverse level that nobody else holds, taken apart, so that the result of an operation can take its place.
pub(crate) struct Own<'a> {
    level: &'a Level,
    pub(crate) primal: &'a mut Tensor,
    edge: &'a mut Edge,
}

impl<'a> Own<'a> {
    /// The parts of a value; `None` unless nobody else holds it and an operation on it would only be recorded.
    #[inline]
    pub(crate) fn of(tracer: &'a mut TracerHandle) -> Option<Own<'a>> {
        let Tracer { level, value: Traced::Reverse { primal, edge } } = Handle::get_mut(tracer)? else { return None };
        (only_records(level) && level.is_alive()).then_some(Own { level, primal, edge })
    }

    /// Another operand as a value below this level, and where its gradient goes; `None` if this level is not the one that
    /// interprets an operation on both.
    #[inline]
    pub(crate) fn beside<'t>(&self, other: &'t Tensor) -> Option<(&'t Tensor, Option<&'t Edge>)> {
        match other.repr() {
            Repr::Tracer(tracer) if tracer.level.id >= self.level.id || !tracer.level.is_alive() => {
                reached(self.level, other).map(|(primal, edge)| (primal, Some(edge)))
            }
            _ => Some((other, None)),
        }
    }

    /// Records that the value, whose primal has been replaced, is now the result of `op` of what it was and of another
    /// operand. What is returned is empty.
    #[inline]
    pub(crate) fn record(self, op: &OpRef, other: Option<&Edge>, left: bool) -> &'a mut Saved {
        let node = new_call(self.level, op, None);
        let before = std::mem::replace(self.edge, Edge { node, output: 0 });
        let Some(Node { content: Content::Call(call), .. }) = Handle::get_mut(&mut self.edge.node) else {
            unreachable!("nobody else has the node, which is a call")
        };
        let (own, other) = (Some(before), other.cloned());
        call.edges.extend(if left { [own, other] } else { [other, own] });
        &mut call.saved
    }
}

/// A node to be walked, with the cotangents of its outputs that have arrived.
pub(super) struct Arrival {
    pub(super) node: Handle<Node>,
    pub(super) grads: SmallVec<[Cotangent; 1]>,
}

/// What is still to be walked. The newest nodes are in a short list in rising order, which is all that most graphs ever
/// need; what does not fit is in a map by node number, and older than all of the list.
#[derive(Default)]
pub(super) struct Pending {
    near: SmallVec<[Arrival; Pending::NEAR + 1]>,
    far: BTreeMap<u64, Arrival>,
}

impl Pending {
    const NEAR: usize = 16;

    pub(super) fn add(&mut self, edge: Edge, grad: Tensor) -> Result<()> {
        let Edge { node, output } = edge;
        let sequence = node.sequence;
        let place = self.near.iter().rposition(|a| a.node.sequence <= sequence);
        if let Some(k) = place
            && self.near[k].node.sequence == sequence
        {
            return self.near[k].receive(output, grad);
        }
        if place.is_none() && !self.far.is_empty() {
            return match self.far.entry(sequence) {
                Entry::Vacant(slot) => slot.insert(Arrival::new(node)).receive(output, grad),
                Entry::Occupied(mut slot) => slot.get_mut().receive(output, grad),
            };
        }
        let k = place.map_or(0, |k| k + 1);
        self.make_room(k, node);
        self.near[k].receive(output, grad)?;
        if self.near.len() > Pending::NEAR {
            let oldest = self.near.remove(0);
            self.far.insert(oldest.node.sequence, oldest);
        }
        Ok(())
    }

    /// Inserts a node at position `k` of the list. It is written where it stays: moving what was just written piece by
    /// piece would have to wait for it.
    #[inline(always)]
    fn make_room(&mut self, k: usize, node: Handle<Node>) {
        let len = self.near.len();
        assert!(k <= len);
        self.near.reserve(1);
        // SAFETY: there is room for one more, the others keep their order, and every field is written.
        unsafe {
            let place = self.near.as_mut_ptr().add(k);
            std::ptr::copy(place, place.add(1), len - k);
            (&raw mut (*place).node).write(node);
            (&raw mut (*place).grads).write(SmallVec::new());
            self.near.set_len(len + 1);
        }
    }

    /// The newest node.
    pub(super) fn pop(&mut self) -> Option<Arrival> {
        self.near.pop().or_else(|| self.far.pop_last().map(|(_, arrival)| arrival))
    }
}

impl Arrival {
    fn new(node: Handle<Node>) -> Arrival {
        Arrival { node, grads: SmallVec::new() }
    }

    fn receive(&mut self, output: u32, grad: Tensor) -> Result<()> {
        let k = output as usize;
        while self.grads.len() < k {
            self.grads.push(Cotangent::zero());
        }
        match self.grads.get_mut(k) {
            Some(sum) => sum.accumulate(grad),
            None => {
                self.grads.push(grad.into());
                Ok(())
            }
        }
    }
}

/// The gradients of `inputs` many inputs, given the cotangents of some outputs; `None` where nothing arrived.
///
/// The walk goes by falling node number, so every cotangent is complete when its node is reached, and holds only the
/// frontier. Nodes that nobody else holds are freed as the walk passes them.
pub(crate) fn backward(roots: Vec<(Edge, Tensor)>, inputs: usize) -> Result<Vec<Option<Tensor>>> {
    if let Some(anomaly) = mode::anomaly() {
        return walk::watched(roots, inputs, anomaly);
    }
    let mut results = vec![None; inputs];
    let mut pending = Pending::default();
    for (edge, grad) in roots {
        pending.add(edge, grad)?;
    }
    while let Some(Arrival { mut node, grads }) = pending.pop() {
        let call = match &node.content {
            Content::Call(call) => call,
            Content::Noted(noted) => &noted.call,
            Content::Input(index) => {
                results[*index] = grads.into_iter().next().and_then(Cotangent::into_tensor);
                continue;
            }
            Content::Leaf(_) => unreachable!("the ambient level has a walk of its own"),
        };
        // Called in one place, so that the results stay where the rule writes them.
        let mut found = call.backward_from(&call.saved, grads);
        let mut edges = match Handle::get_mut(&mut node) {
            Some(Node { content: Content::Call(call), .. }) => std::mem::take(&mut call.edges),
            _ => node.content.call().map(|call| call.edges.clone()).unwrap_or_default(),
        };
        drop(node);
        let grads = match &mut found {
            Ok(grads) => grads,
            Err(_) => return found.map(|_| results),
        };
        for (edge, grad) in edges.iter_mut().zip(grads) {
            if let (Some(edge), Some(grad)) = (edge.take(), std::mem::take(grad).into_tensor()) {
                pending.add(edge, grad)?;
            }
        }
    }
    Ok(results)
}
