//! The linear interpreter: keeps what the forward rule of each operation reads, so that tangents can be pushed through
//! later, any number of times.
//!
//! It is the forward interpreter cut in two: [`process`] is its first half, [`Map::push`] its second.

use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use super::level::Tape;
use super::{Level, Traced, Tracer, bind, mode};
use crate::function::{OpRef, Outs, Saved, Tangent};
use crate::tensor::Repr;
use crate::{Result, Tensor, TensorType, error::bail};

/// The number of a value whose tangent is pushed.
pub(crate) type Variable = u32;

/// One operation that depends on an argument.
struct Step {
    op: OpRef,
    saved: Saved,
    /// `None` for an input that does not depend on an argument.
    inputs: SmallVec<[Option<Variable>; 2]>,
    /// `None` for an output without a derivative.
    outputs: SmallVec<[Option<Variable>; 1]>,
    /// Whose tangents no later step reads, inputs and outputs of this one.
    last: SmallVec<[Variable; 2]>,
}

/// What a linear level has kept so far.
#[derive(Default)]
pub(crate) struct Record {
    types: Vec<TensorType>,
    steps: Vec<Step>,
}

impl Record {
    fn variable(&mut self, ty: TensorType) -> Variable {
        self.types.push(ty);
        (self.types.len() - 1) as Variable
    }
}

fn with_record<R>(level: &Level, f: impl FnOnce(&mut Record) -> R) -> R {
    match &level.tape {
        // A panic elsewhere leaves the record whole: it only grows.
        Tape::Linear(record) => f(&mut record.lock().unwrap_or_else(PoisonError::into_inner)),
        _ => unreachable!("a linear level has a record of steps"),
    }
}

pub(super) fn wrap(level: &Arc<Level>, primal: Tensor, variable: Variable) -> Tensor {
    Tracer { level: level.clone(), value: Traced::Linear { primal, variable } }.into()
}

/// Wraps `primal` as the next argument of the transform that opened `level`.
pub(crate) fn input(level: &Arc<Level>, primal: Tensor) -> Tensor {
    let variable = with_record(level, |record| record.variable(primal.ty()));
    wrap(level, primal, variable)
}

/// The value of the level below, and which tangent it has, if it depends on an argument.
pub(crate) fn output(level: &Level, t: &Tensor) -> (Tensor, Option<Variable>) {
    match t.repr() {
        Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
            Traced::Linear { primal, variable } => (primal.clone(), Some(*variable)),
            _ => unreachable!("a linear level holds linear tracers"),
        },
        _ => (t.clone(), None),
    }
}

/// Runs `op` on the values below `level`, and keeps what its forward rule reads.
pub(super) fn process(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor]) -> Result<Outs> {
    let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
    let mut variables: SmallVec<[Option<Variable>; 2]> = SmallVec::new();
    for t in inputs {
        match t.repr() {
            Repr::Tracer(tracer) if tracer.level.id == level.id => match &tracer.value {
                Traced::Linear { primal, variable } => {
                    primals.push(primal);
                    variables.push(Some(*variable));
                }
                _ => unreachable!("a linear level holds linear tracers"),
            },
            _ => {
                primals.push(t);
                variables.push(None);
            }
        }
    }
    let outs = bind(op, &primals)?;
    if !op.is_differentiable() || (level.id < mode::gate() && !mode::records(level.id)) {
        return Ok(outs);
    }
    let needs: SmallVec<[bool; 4]> = variables.iter().map(Option::is_some).collect();
    let saved = op.save(&needs, &primals, &outs)?;
    let outputs: SmallVec<[Option<Variable>; 1]> = with_record(level, |record| {
        let carries = |(k, out): (usize, &Tensor)| {
            (out.dtype().is_differentiable() && !saved.non_differentiable.contains(&k))
                .then(|| record.variable(out.ty()))
        };
        outs.iter().enumerate().map(carries).collect()
    });
    if outputs.iter().all(Option::is_none) {
        return Ok(outs);
    }
    let step = Step { op: op.clone(), saved, inputs: variables, outputs: outputs.clone(), last: SmallVec::new() };
    with_record(level, |record| record.steps.push(step));
    Ok(outs
        .into_iter()
        .zip(outputs)
        .map(|(primal, variable)| match variable {
            Some(variable) => wrap(level, primal, variable),
            None => primal,
        })
        .collect())
}

/// The linear map from tangents of the arguments to those of the results.
pub(crate) struct Map {
    types: Vec<TensorType>,
    /// Those that a result depends on, in order of execution.
    steps: Vec<Step>,
    results: Vec<Option<Variable>>,
}

impl Map {
    /// The map that `level` has recorded, to the tangents of `results`.
    pub(crate) fn finish(level: &Level, results: Vec<Option<Variable>>) -> Map {
        let Record { types, mut steps } = with_record(level, std::mem::take);
        let mut needed = vec![false; types.len()];
        for v in results.iter().flatten() {
            needed[*v as usize] = true;
        }
        // From the last step to the first: a step is needed if a later one or a result reads its output, and the first
        // mention of a variable on this way is its last use.
        let mut met = needed.clone();
        steps.reverse();
        steps.retain_mut(|step| {
            if !step.outputs.iter().flatten().any(|&v| needed[v as usize]) {
                return false;
            }
            for &v in step.outputs.iter().chain(&step.inputs).flatten() {
                if !std::mem::replace(&mut met[v as usize], true) {
                    step.last.push(v);
                }
            }
            for &v in step.inputs.iter().flatten() {
                needed[v as usize] = true;
            }
            true
        });
        steps.reverse();
        steps.shrink_to_fit();
        Map { types, steps, results }
    }

    /// The tangents of the results, `None` for zero.
    pub(crate) fn push(&self, tangents: Vec<Tensor>) -> Result<Vec<Option<Tensor>>> {
        let mut known: Vec<Tangent> = tangents.into_iter().map(Tangent::from).collect();
        known.resize(self.types.len(), Tangent::zero());
        for step in &self.steps {
            let zero = |v: &Option<Variable>| v.is_none_or(|v| known[v as usize].is_zero());
            if !step.inputs.iter().all(zero) {
                let mut given: SmallVec<[Tangent; 4]> = SmallVec::new();
                for v in &step.inputs {
                    given.push(match v {
                        // What was saved depends on which inputs have a tangent, so a zero becomes one.
                        Some(v) => {
                            let mut tangent = known[*v as usize].clone();
                            tangent.set_type(&self.types[*v as usize]);
                            tangent.tensor()?.into()
                        }
                        None => Tangent::zero(),
                    });
                }
                let found = step.op.jvp(&step.saved, &given)?;
                if found.len() != step.outputs.len() {
                    let (name, expected, got) = (step.op.name(), step.outputs.len(), found.len());
                    bail!(Internal, "{name}: jvp returned {got} tangents for {expected} outputs");
                }
                for (v, tangent) in step.outputs.iter().zip(found) {
                    if let (Some(v), Some(tangent)) = (v, tangent.into_tensor()) {
                        known[*v as usize] = tangent.into();
                    }
                }
            }
            for &v in &step.last {
                known[v as usize] = Tangent::zero();
            }
        }
        Ok(self.results.iter().map(|v| v.and_then(|v| known[v as usize].as_tensor().cloned())).collect())
    }
}
