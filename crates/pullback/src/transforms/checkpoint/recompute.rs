//! A function on slices as an operation that keeps its inputs only, and whose rules run the function again.
//!
//! What the function captures is found while it first runs, which must be before there is an operation: on values
//! without derivatives, above all interpreters. The operation gets what was found as further inputs. It also gets the
//! results of that run, as inputs without a derivative, and its value at every level is those.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::error::{Context as _, bail};
use crate::function::op::{Batched, Cotangents, Op, Tangents, types};
use crate::function::vmapped::generated;
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::handle::Handle;
use crate::interp::level::{Only, OpenLevel, active_batches, next_id};
use crate::interp::watch::{Outside, Watch, made_here, resolve};
use crate::interp::{
    Level, LevelKind, Traced, Tracer, batch, bind, capture, check_alive, check_usable, forward, is_recorded, reverse,
};
use crate::random::Key;
use crate::tensor::{Repr, WeakTracer};
use crate::{Result, Tensor, TensorType};

/// A function on slices of tensors.
pub(super) type Body = Arc<dyn Fn(&[Tensor]) -> Result<Vec<Tensor>> + Send + Sync>;

/// One call, as an operation. Its inputs are the arguments, what the function captured, and the results.
#[derive(Clone)]
struct Recompute(Arc<Call>);

struct Call {
    body: Body,
    arguments: usize,
    captured: Vec<WeakTracer>,
    outputs: Box<[TensorType]>,
    keys: Vec<Key>,
    /// The batch levels that the first run could draw random numbers at.
    levels: Vec<Arc<Level>>,
}

/// Calls `body` such that reverse mode keeps `inputs`, and what it captures, only.
pub(super) fn call(body: Body, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut all: Vec<Tensor> = inputs.iter().map(|t| resolve(t, "checkpoint")).collect::<Result<_>>()?;
    let plain: Vec<Tensor> = all.iter().map(|t| without_derivatives(t, "an argument")).collect::<Result<_>>()?;
    plain.iter().for_each(made_here);
    let first = FirstRun::default();
    let levels = active_batches();
    let outs = Watch::run(&first, next_id(), &plain, |watch| settled(watch, &body, &plain))?;
    let FirstRun { captured, keys } = first;
    let mut identities = Vec::new();
    for (identity, t) in captured.into_inner() {
        identities.push(identity);
        all.push(t);
    }
    if !all.iter().any(has_derivative) {
        return Ok(outs);
    }
    let call = Call {
        body,
        arguments: inputs.len(),
        captured: identities,
        outputs: types(&outs),
        keys: keys.into_inner(),
        levels,
    };
    all.extend(outs);
    Ok(bind(&OpRef::new(Recompute(Arc::new(call))), &all.iter().collect::<Vec<_>>())?.into_vec())
}

/// Runs the body, and replaces what it returns that it did not make.
fn settled(watch: &Watch<'_>, body: &Body, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let outs = body(inputs)?;
    outs.iter()
        .map(|t| {
            check_alive(t, "result")?;
            watch.settle(t, "a result")
        })
        .collect()
}

/// True if a level is differentiating `t`.
fn has_derivative(t: &Tensor) -> bool {
    let Repr::Tracer(tracer) = t.repr() else { return false };
    match &tracer.value {
        Traced::Reverse { .. } | Traced::Forward { .. } | Traced::Linear { .. } => true,
        Traced::Capture { value, .. } | Traced::Batch { value, .. } => has_derivative(value),
    }
}

/// The value that `t` has for levels that differentiate nothing: its lanes stay.
fn without_derivatives(t: &Tensor, op: &str) -> Result<Tensor> {
    let Repr::Tracer(tracer) = t.repr() else { return Ok(t.clone()) };
    check_usable(tracer, op)?;
    if !has_derivative(t) {
        return Ok(t.clone());
    }
    match &tracer.value {
        Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
            without_derivatives(primal, op)
        }
        Traced::Capture { value, variable } => {
            Ok(capture::wrap(&tracer.level, without_derivatives(value, op)?, *variable))
        }
        Traced::Batch { value, dim, .. } => {
            Ok(batch::wrap(&tracer.level, without_derivatives(value, op)?, *dim as usize))
        }
    }
}

/// Collects what the function captures, and the keys that it takes from generators.
#[derive(Default)]
struct FirstRun {
    captured: RefCell<Vec<(WeakTracer, Tensor)>>,
    keys: RefCell<Vec<Key>>,
}

impl Outside for FirstRun {
    fn stand_in(&self, t: &Tensor, op: &str) -> Result<Tensor> {
        let Repr::Tracer(tracer) = t.repr() else { return Ok(t.clone()) };
        check_usable(tracer, op)?;
        let resolved = resolve(t, op)?;
        let plain = without_derivatives(&resolved, op)?;
        made_here(&plain);
        self.captured.borrow_mut().push((Handle::downgrade(tracer), resolved));
        Ok(plain)
    }

    fn note_key(&self, key: Key) {
        self.keys.borrow_mut().push(key);
    }
}

/// Gives back what the first run collected.
struct Again<'a> {
    call: &'a Call,
    /// What stands for each captured value.
    captured: &'a [Tensor],
    keys: RefCell<VecDeque<Key>>,
    too_many_keys: Cell<bool>,
}

impl Again<'_> {
    fn position(&self, tracer: &Tracer) -> Option<usize> {
        self.call.captured.iter().position(|known| std::ptr::eq(known.as_ptr(), tracer))
    }
}

impl Outside for Again<'_> {
    fn stand_in(&self, t: &Tensor, op: &str) -> Result<Tensor> {
        let Repr::Tracer(tracer) = t.repr() else { return Ok(t.clone()) };
        match self.position(tracer).and_then(|k| self.captured.get(k)) {
            Some(known) => Ok(known.clone()),
            None => bail!(Rule, "`{op}` got a value of a `{}` ({}) that the function did not use in its first run",
                tracer.level.transform(), t.ty(); help = "the function must do the same each time it runs, and get leaves \
                and duals from outside"),
        }
    }

    fn knows(&self, tracer: &Tracer) -> bool {
        self.position(tracer).is_some()
    }

    fn replay_key(&self) -> Option<Key> {
        let next = self.keys.borrow_mut().pop_front();
        if next.is_none() {
            self.too_many_keys.set(true);
        }
        Some(next.unwrap_or(Key::new(0)))
    }
}

impl Call {
    /// The number of arguments and captured values.
    fn known(&self) -> usize {
        self.arguments + self.captured.len()
    }

    /// How many batch levels stand for ones of the first run: the generated batching rule has opened them.
    fn levels_that_stand_in(&self) -> usize {
        active_batches().iter().filter(|level| !self.levels.iter().any(|first| first.id == level.id)).count()
    }

    /// Runs the function again on `inputs`, where levels from number `entry` on are those of the rule that asks.
    fn again(&self, entry: u64, inputs: &[Tensor], levels: usize) -> Result<Vec<Tensor>> {
        let again = Again {
            call: self,
            captured: &inputs[self.arguments..],
            keys: RefCell::new(self.keys.iter().copied().collect()),
            too_many_keys: Cell::new(false),
        };
        // Lanes of transforms that came after the first run are none of the function's.
        let only = Only::like(&self.levels, levels);
        let arguments = &inputs[..self.arguments];
        let outs = Watch::run(&again, entry, inputs, |watch| settled(watch, &self.body, arguments))?;
        drop(only);
        let help = "the function must do the same each time it runs";
        if again.too_many_keys.get() || !again.keys.borrow().is_empty() {
            bail!(Rule, "expected {} keys to be taken from generators as in the first run, got {}", self.keys.len(),
                if again.too_many_keys.get() { "more" } else { "fewer" }; help = "{help}");
        }
        let got = types(&outs);
        if got != self.outputs {
            let list = |types: &[TensorType]| types.iter().map(TensorType::to_string).collect::<Vec<_>>().join(", ");
            bail!(Rule, "expected results {} as in the first run, got {}", list(&self.outputs), list(&got); help = "{help}");
        }
        Ok(outs)
    }

    /// The cotangents of the arguments and captured values that are needed, from those of the results.
    fn pull(
        &self,
        known: &[Tensor],
        levels: usize,
        needs: &[bool],
        grads: Vec<Option<Tensor>>,
    ) -> Result<Vec<Option<Tensor>>> {
        let entry = next_id();
        let open = OpenLevel::new(LevelKind::Reverse);
        let mut inputs = Vec::with_capacity(known.len());
        for (k, (t, need)) in known.iter().zip(needs).enumerate() {
            let t = resolve(t, "checkpoint")?;
            inputs.push(if *need && t.dtype().is_differentiable() { reverse::input(open.level(), k, t) } else { t });
        }
        let outs = self.again(entry, &inputs, levels)?;
        drop(inputs);
        let mut roots = Vec::new();
        for (out, grad) in outs.into_iter().zip(grads) {
            if let ((_, Some(edge)), Some(grad)) = (reverse::unwrap(open.level(), out), grad) {
                roots.push((edge, grad));
            }
        }
        drop(open);
        reverse::backward(roots, known.len())
    }

    /// The tangents of the results, from those of the arguments and captured values.
    fn push(&self, known: &[Tensor], levels: usize, tangents: Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> {
        let entry = next_id();
        let open = OpenLevel::new(LevelKind::Forward);
        let mut inputs = Vec::with_capacity(known.len());
        for (t, tangent) in known.iter().zip(tangents) {
            let t = resolve(t, "checkpoint")?;
            inputs.push(match tangent {
                Some(tangent) if t.dtype().is_differentiable() => forward::wrap(open.level(), t, tangent),
                _ => t,
            });
        }
        let outs = self.again(entry, &inputs, levels)?;
        Ok(outs.iter().map(|out| forward::unwrap(open.level(), out).1).collect())
    }
}

/// Calls a rule with tensors and optional tensors, of which there is any number. If a reverse level would record it, it is
/// a call that runs again in turn.
fn call_rule(
    known: &[Tensor],
    seeds: &[Cotangent],
    rule: impl Fn(&[Tensor], Vec<Option<Tensor>>) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
) -> Result<Vec<Option<Tensor>>> {
    let given: Vec<Option<Tensor>> = seeds.iter().map(|seed| seed.as_tensor().cloned()).collect();
    let mut inputs = known.to_vec();
    inputs.extend(given.iter().flatten().cloned());
    if !inputs.iter().any(is_recorded) {
        return rule(known, given);
    }
    let present: Vec<bool> = given.iter().map(Option::is_some).collect();
    let n = known.len();
    // Which results are not zero.
    let found: Arc<OnceLock<Vec<bool>>> = Arc::default();
    let first = found.clone();
    let body = move |tensors: &[Tensor]| {
        let (known, seeds) = tensors.split_at(n);
        let mut seeds = seeds.iter().cloned();
        let results = rule(known, present.iter().map(|&p| p.then(|| seeds.next()).flatten()).collect())?;
        first.get_or_init(|| results.iter().map(Option::is_some).collect());
        Ok(results.into_iter().flatten().collect())
    };
    let mut outs = call(Arc::new(body), &inputs)?.into_iter();
    let found = found.get().map(Vec::as_slice).unwrap_or_default();
    Ok(found.iter().map(|&there| there.then(|| outs.next()).flatten()).collect())
}

impl Op for Recompute {
    fn name(&self) -> &str {
        "checkpoint"
    }

    fn couples_cotangents(&self) -> bool {
        // The function may call others that do.
        true
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(inputs[self.0.known()..].iter().map(|&t| t.clone()).collect())
    }

    fn save(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        let known = inputs[..self.0.known()].iter().map(|&t| t.clone()).collect();
        Ok(Saved { tensors: known, ..Saved::default() }.with_state(self.0.levels_that_stand_in()))
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let (this, levels, needs) = (self.0.clone(), *saved.get_state::<usize>(), needs.to_vec());
        let rule = move |known: &[Tensor], grads| this.pull(known, levels, &needs, grads);
        let found = call_rule(&saved.tensors, grads, rule).context(|| "checkpoint".into())?;
        // The results of the first run are inputs that nothing flows back to.
        let rest = std::iter::repeat_n(None, self.0.outputs.len());
        Ok(found.into_iter().chain(rest).map(|t| t.map_or_else(Cotangent::zero, Cotangent::from)).collect())
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let (this, levels) = (self.0.clone(), *saved.get_state::<usize>());
        let rule = move |known: &[Tensor], tangents| this.push(known, levels, tangents);
        let tangents = &tangents[..self.0.known()];
        let found = call_rule(&saved.tensors, tangents, rule).context(|| "checkpoint".into())?;
        Ok(found.into_iter().map(|t| t.map_or_else(Tangent::zero, Tangent::from)).collect())
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        generated(OpRef::new(self.clone()), info, dims, inputs)
    }
}
