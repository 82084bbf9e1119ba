//! The capture interpreter: every operation runs, and is written down.
//!
//! A tracer carries the value of the level below, so no operation needs a rule that predicts shapes, and a user's
//! function is written down as one call, whatever it does inside.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use super::level::{HiddenCaptures, Tape};
use super::{Level, Traced, Tracer, bind, mode};
use crate::function::{OpRef, Outs};
use crate::tensor::Repr;
use crate::{Result, Tensor, TensorType, error::bail};

/// The number of a value of a graph.
pub(crate) type Variable = u32;

/// What a call in a graph, or the graph itself, refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Variable(Variable),
    /// A value from outside of the graph, by its number in [`Record::constants`].
    Constant(u32),
}

/// One recorded operation.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) op: OpRef,
    pub(crate) inputs: SmallVec<[Source; 2]>,
    pub(crate) outputs: SmallVec<[Variable; 1]>,
}

/// What a capture level has written down so far.
#[derive(Default)]
pub(crate) struct Record {
    /// The type of each variable; the first ones are the arguments.
    pub(crate) types: Vec<TensorType>,
    /// In order of execution.
    pub(crate) calls: Vec<Call>,
    /// Each value once, by reference.
    pub(crate) constants: Vec<Tensor>,
    /// How many keys the captured code took from generators.
    pub(crate) keys_taken: usize,
    /// The number of each constant, by its address, which it keeps as long as it is in the list.
    places: HashMap<usize, u32>,
}

impl Record {
    fn variable(&mut self, ty: TensorType) -> Variable {
        self.types.push(ty);
        (self.types.len() - 1) as Variable
    }

    fn constant(&mut self, t: &Tensor) -> Source {
        let next = self.constants.len() as u32;
        let place = *self.places.entry(t.address()).or_insert(next);
        if place == next {
            self.constants.push(t.clone());
        }
        Source::Constant(place)
    }
}

/// Calls `f` with what `level` has written down.
fn with_record<R>(level: &Level, f: impl FnOnce(&mut Record) -> R) -> R {
    match &level.tape {
        // A panic elsewhere leaves the record whole: it only grows.
        Tape::Capture(record) => f(&mut record.lock().unwrap_or_else(PoisonError::into_inner)),
        _ => unreachable!("a capture level has a record of calls"),
    }
}

pub(crate) fn wrap(level: &Arc<Level>, value: Tensor, variable: Variable) -> Tensor {
    Tracer { level: level.clone(), value: Traced::Capture { value, variable } }.into()
}

/// Wraps `value` as the next argument of the graph.
pub(crate) fn input(level: &Arc<Level>, value: Tensor) -> Tensor {
    let variable = with_record(level, |record| record.variable(value.ty()));
    wrap(level, value, variable)
}

/// The value of the level below, and what the graph calls it.
pub(crate) fn output(level: &Level, t: &Tensor) -> (Tensor, Source) {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
            Traced::Capture { value, variable } => (value.clone(), Source::Variable(*variable)),
            _ => unreachable!("a capture level holds capture tracers"),
        },
        _ => (t.clone(), with_record(level, |record| record.constant(t))),
    }
}

/// Takes what `level` has written down.
pub(crate) fn finish(level: &Level) -> Record {
    with_record(level, std::mem::take)
}

/// Notes that a key was taken from a generator by code that `level` captures.
pub(crate) fn note_key_taken(level: &Level) {
    with_record(level, |record| record.keys_taken += 1);
}

/// Runs `op` on the values below `level` and writes it down.
pub(super) fn process(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Outs> {
    let mut values: SmallVec<[&Tensor; 4]> = SmallVec::new();
    for t in inputs {
        values.push(match t.repr() {
            Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
                Traced::Capture { value, .. } => value,
                _ => unreachable!("a capture level holds capture tracers"),
            },
            _ => t,
        });
    }
    let outs = {
        let _hidden = HiddenCaptures::from(level.id);
        bind(op, &values)?
    };
    for out in &outs {
        if let Repr::Tracer(tracer) = out.repr()
            && tracer.level.id > level.id
        {
            let transform = tracer.level.transform();
            bail!(Randomness, "`{}` draws random numbers for a `{transform}` (level {}) that none of its inputs depends \
                on, which a captured call cannot", op.name(), tracer.level.id; help = "draw them outside of the function \
                and pass them to it");
        }
    }
    let variables: SmallVec<[Variable; 1]> = with_record(level, |record| {
        let source = |t: &&Tensor| match t.repr() {
            Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
                Traced::Capture { variable, .. } => Source::Variable(*variable),
                _ => unreachable!("a capture level holds capture tracers"),
            },
            _ => record.constant(t),
        };
        let inputs = inputs.iter().map(source).collect();
        let outputs: SmallVec<[Variable; 1]> = outs.iter().map(|out| record.variable(out.ty())).collect();
        record.calls.push(Call { op: op.clone(), inputs, outputs: outputs.clone() });
        outputs
    });
    let outs = outs.into_iter().zip(variables).map(|(out, variable)| wrap(level, out, variable));
    if op.is_differentiable() && level.id < mode::gate() && !mode::records(level.id) {
        // Inside `no_grad`, which is not there any more when the graph is differentiated.
        return outs.map(|out| if out.dtype().is_differentiable() { out.detach() } else { Ok(out) }).collect();
    }
    Ok(outs.collect())
}

/// Writes down an operation without inputs, such as a draw of random numbers.
pub(crate) fn process_source(op: &OpRef, level: &Arc<Level>) -> Result<Outs> {
    super::frame::allow(level.id);
    process(op, level, &[])
}
