//! The walk back with everything that the plain one leaves out: leaves, chosen targets, hooks, graphs of the walk itself,
//! and the watch of anomaly mode.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::anomaly::Watch;
use super::extras::Run;
use super::level::{AMBIENT, OpenLevel};
use super::mode::{self, Anomaly, Scope};
use super::noted::constant_of_ambient;
use super::reverse::{Content, Edge, Edges, Node, Pending};
use crate::error::{Context as _, bail};
use crate::function::Cotangent;
use crate::handle::Handle;
use crate::tensor::Repr;
use crate::{Result, Tensor, TensorType};

/// A walk at the ambient level.
pub(crate) struct Walk<'a> {
    pub(crate) roots: Vec<(Edge, Tensor)>,
    /// The values whose gradients are asked for. Nodes that lead to none of them do not run. Without, all leaves.
    pub(crate) targets: Option<&'a [Edge]>,
    pub(crate) create_graph: bool,
}

/// What a walk found.
#[derive(Default)]
pub(crate) struct Found {
    /// The gradient of each target, or of each input of the transform; `None` where nothing arrived.
    pub(crate) results: Vec<Option<Tensor>>,
    /// Gradients on their way to the slots of leaves and of values that retain them.
    pub(crate) slots: Vec<(Edge, Tensor)>,
    create_graph: bool,
}

impl Walk<'_> {
    /// Walks. Nothing has accumulated yet when it fails.
    pub(crate) fn run(self) -> Result<Found> {
        let Walk { mut roots, targets, create_graph } = self;
        let _scope = Scope::ambient(create_graph);
        if !create_graph {
            for (_, grad) in &mut roots {
                *grad = constant_of_ambient(grad.clone());
            }
        }
        let parts = targets.map(|targets| parts_of(&roots, targets));
        walk(roots, targets.map_or(0, <[Edge]>::len), parts, create_graph, mode::anomaly())
    }
}

/// [`super::reverse::backward`] in anomaly mode.
#[cold]
pub(super) fn watched(roots: Vec<(Edge, Tensor)>, inputs: usize, anomaly: Anomaly) -> Result<Vec<Option<Tensor>>> {
    Ok(walk(roots, inputs, None, false, Some(anomaly))?.results)
}

/// What a node is to a walk with targets.
#[derive(Default)]
struct Part {
    /// Whether a target lies below it.
    leads: bool,
    /// The targets among its outputs: which output, and the number of the target.
    targets: SmallVec<[(u32, usize); 1]>,
}

/// The nodes that are targets, or that lead to one.
fn parts_of(roots: &[(Edge, Tensor)], targets: &[Edge]) -> HashMap<*const Node, Part> {
    let mut parts: HashMap<*const Node, Part> = HashMap::new();
    for (k, Edge { node, output }) in targets.iter().enumerate() {
        parts.entry(Handle::as_ptr(node)).or_default().targets.push((*output, k));
    }
    // Nodes depend on nodes with smaller numbers only.
    let oldest = targets.iter().map(|edge| edge.node.sequence).min().unwrap_or(u64::MAX);
    let mut seen: HashSet<*const Node> = HashSet::new();
    let mut found: Vec<&Node> = Vec::new();
    let mut stack: Vec<&Handle<Node>> = roots.iter().map(|(edge, _)| &edge.node).collect();
    while let Some(node) = stack.pop() {
        if node.sequence < oldest || !seen.insert(Handle::as_ptr(node)) {
            continue;
        }
        found.push(node);
        if let Some(call) = node.content.call() {
            stack.extend(call.edges.iter().flatten().map(|edge| &edge.node));
        }
    }
    found.sort_unstable_by_key(|node| node.sequence);
    for node in found {
        let edges = node.content.call().map(|call| &call.edges[..]).unwrap_or_default();
        if edges.iter().flatten().any(|edge| parts.contains_key(&Handle::as_ptr(&edge.node))) {
            parts.entry(std::ptr::from_ref(node)).or_default().leads = true;
        }
    }
    parts
}

fn walk(
    roots: Vec<(Edge, Tensor)>,
    results: usize,
    parts: Option<HashMap<*const Node, Part>>,
    create_graph: bool,
    anomaly: Option<Anomaly>,
) -> Result<Found> {
    let part_of = |node: &Handle<Node>| parts.as_ref().and_then(|parts| parts.get(&Handle::as_ptr(node)));
    let is_wanted = |node: &Handle<Node>| parts.is_none() || part_of(node).is_some();
    let mut found = Found { results: vec![None; results], slots: Vec::new(), create_graph };
    let mut watch = anomaly.map(Watch::new);
    let mut pending = Pending::default();
    for (edge, grad) in roots {
        if is_wanted(&edge.node) {
            pending.add(edge, grad)?;
        }
    }
    while let Some(arrival) = pending.pop() {
        let (node, mut grads) = (arrival.node, arrival.grads);
        let origin = watch.as_mut().and_then(|watch| watch.arrived(&node, &grads));
        if node.extras().is_some() {
            for (k, grad) in grads.iter_mut().enumerate() {
                run_hooks(&node, k as u32, grad, create_graph).context(|| "hook".into())?;
            }
        }
        let refuse = |grad: &Tensor| watch.as_ref().map_or(Ok(()), |watch| watch.check_result(grad, origin.as_ref()));
        if let Some(extras) = node.extras() {
            for (k, grad) in grads.iter().enumerate() {
                // Where targets are given, a leaf is one of them, and the caller decides what becomes of its gradient.
                let is_kept = if node.is_leaf() { parts.is_none() } else { extras.has_slot(k as u32) };
                if let (true, Some(grad)) = (is_kept, grad.as_tensor()) {
                    refuse(grad)?;
                    found.slots.push((Edge { node: node.clone(), output: k as u32 }, grad.clone()));
                }
            }
        }
        let part = part_of(&node);
        for &(output, target) in part.map(|part| &part.targets[..]).unwrap_or_default() {
            if let Some(grad) = grads.get(output as usize).and_then(Cotangent::as_tensor) {
                refuse(grad)?;
                found.results[target] = Some(grad.clone());
            }
        }
        if part.is_some_and(|part| !part.leads) {
            continue;
        }
        let call = match &node.content {
            Content::Leaf(_) => continue,
            Content::Input(index) => {
                let grad = grads.into_iter().next().and_then(Cotangent::into_tensor);
                if let Some(grad) = &grad {
                    refuse(grad)?;
                }
                found.results[*index] = grad;
                continue;
            }
            Content::Call(call) => call,
            Content::Noted(noted) => &noted.call,
        };
        // The rule is asked for what it saved for, though some of it may lead nowhere.
        let made = match &node.content {
            Content::Noted(noted) if create_graph => call.backward_from(&noted.attached(&node)?, grads),
            _ => call.backward_from(&call.saved, grads),
        }?;
        let wanted = |edge: &Option<Edge>| edge.clone().filter(|edge| is_wanted(&edge.node));
        let edges: Edges = call.edges.iter().map(wanted).collect();
        if let Some(watch) = &mut watch {
            watch.made(&node, origin.as_ref(), &edges, &made);
        }
        // If nobody else holds it, what it saved is free from here on.
        drop(node);
        for (edge, grad) in edges.into_iter().zip(made) {
            if let (Some(edge), Some(grad)) = (edge, grad.into_tensor()) {
                pending.add(edge, grad)?;
            }
        }
    }
    Ok(found)
}

/// Runs the hooks of one output, in the order in which they were registered.
fn run_hooks(node: &Handle<Node>, output: u32, grad: &mut Cotangent, create_graph: bool) -> Result<()> {
    let Some(extras) = node.extras() else { return Ok(()) };
    let mut last = 0;
    while let Some((id, run)) = extras.hook_after(last, output) {
        last = id;
        let (Run::Replace(run), Some(given)) = (run, grad.as_tensor()) else { continue };
        let Some(new) = run(given)? else { continue };
        let (want, got): (TensorType, TensorType) = (given.ty(), new.ty());
        if want.dtype != got.dtype {
            bail!(Dtype, "expected a gradient of type {want}, got {got}"; help = "convert it with `to_dtype`");
        }
        if want.shape != got.shape {
            bail!(Shape, "expected a gradient of type {want}, got {got}");
        }
        super::check_alive(&new, "the gradient")?;
        *grad = if create_graph { new } else { constant_of_ambient(new) }.into();
    }
    Ok(())
}

impl Found {
    /// Lets what was found accumulate, and then runs the hooks of leaves that wait for that.
    ///
    /// Checked first: a gradient that a running transform is working on would outlive it.
    pub(crate) fn accumulate(self) -> Result<()> {
        for (_, grad) in &self.slots {
            check_settled(grad)?;
        }
        let mut leaves: Vec<Handle<Node>> = Vec::new();
        let _scope = Scope::ambient(self.create_graph);
        for (Edge { node, output }, grad) in self.slots {
            let Some(extras) = node.extras_or_new() else { continue };
            extras.accumulate(output, grad)?;
            if node.is_leaf() {
                leaves.push(node);
            }
        }
        for node in leaves {
            let Some(extras) = node.extras() else { continue };
            let mut last = 0;
            while let Some((id, run)) = extras.hook_after(last, 0) {
                last = id;
                if let (Run::Accumulated(run), Some(grad)) = (run, extras.gradient(0)) {
                    run(&grad).context(|| "hook".into())?;
                }
            }
        }
        Ok(())
    }
}

/// An error if a transform is working on `grad`, which is about to be kept.
pub(crate) fn check_settled(grad: &Tensor) -> Result<()> {
    match grad.repr() {
        Repr::Tracer(tracer) if tracer.level.id != AMBIENT => {
            let (ty, kind, id) = (grad.ty(), tracer.level.transform(), tracer.level.id);
            bail!(InTransform, "expected a gradient to keep that no transform is working on, got {ty} of a `{kind}` \
                (level {id})"; help = "use `autograd::grad`, which returns them, or `grad` and `vjp` on a function")
        }
        _ => Ok(()),
    }
}

/// Many walks at once: `cotangents` have a leading dimension of `size`, and so have the gradients.
pub(crate) fn batched(
    size: usize,
    cotangents: Vec<Tensor>,
    run: impl FnOnce(Vec<Tensor>) -> Result<Vec<Option<Tensor>>>,
) -> Result<Vec<Option<Tensor>>> {
    let open = OpenLevel::new(super::LevelKind::Batch { size, randomness: crate::Randomness::Error });
    let lanes = cotangents.into_iter().map(|t| super::batch::wrap(open.level(), t, 0)).collect();
    let found = run(lanes)?;
    found.into_iter().map(|g| g.map(|g| super::batch::unwrap_at(open.level(), &g, 0)).transpose()).collect()
}
