//! What a graph consists of, and how it runs.

use smallvec::SmallVec;

use crate::array::Array;
use crate::dtype::any_dtype;
use crate::error::bail;
use crate::function::Outs;
use crate::interp::bind;
use crate::interp::capture::{Call, Record, Source, Variable};
use crate::tensor::Repr;
use crate::{Result, Tensor, TensorType};

/// A value from outside of the graph.
#[derive(Clone)]
pub(super) struct Constant {
    pub(super) value: Tensor,
    /// A number that the function made, once or many times, and that nobody else holds: as written in its code.
    pub(super) is_literal: bool,
}

impl Constant {
    fn new(value: Tensor) -> Constant {
        let is_literal = value.array().is_some_and(|a| a.is_unique() && is_uniform(a));
        Constant { value, is_literal }
    }
}

/// A list of calls, each of which reads what stands before it.
#[derive(Clone)]
pub(super) struct Program {
    /// How many of the variables are arguments; they are the first ones.
    pub(super) arguments: usize,
    /// The type of each variable.
    pub(super) types: Vec<TensorType>,
    pub(super) constants: Vec<Constant>,
    pub(super) calls: Vec<Call>,
    pub(super) results: Vec<Source>,
    /// For each call, the variables that nothing after it reads.
    last: Vec<SmallVec<[Variable; 2]>>,
}

impl Program {
    /// What was recorded, without the calls that no result depends on, unless they are to be kept.
    pub(super) fn new(record: Record, arguments: usize, results: Vec<Source>, keep_unused: bool) -> Program {
        let Record { types, calls, constants, .. } = record;
        let used = used(&types, &calls, &results);
        let kept = |call: &&Call| keep_unused || call.op.has_effect() || call.outputs.iter().any(|&v| used[v as usize]);
        let calls: Vec<Call> = calls.iter().filter(kept).cloned().collect();
        // What is left is numbered anew.
        let mut variables: Vec<Option<Variable>> = vec![None; types.len()];
        let mut named = Vec::new();
        let defined = (0..arguments as Variable).chain(calls.iter().flat_map(|call| call.outputs.iter().copied()));
        for (place, v) in defined.enumerate() {
            variables[v as usize] = Some(place as Variable);
            named.push(types[v as usize].clone());
        }
        let mut places: Vec<Option<u32>> = vec![None; constants.len()];
        let mut held = Vec::new();
        let mut rename = |source: Source| match source {
            Source::Variable(v) => Source::Variable(variables[v as usize].unwrap_or(v)),
            Source::Constant(c) => Source::Constant(*places[c as usize].get_or_insert_with(|| {
                held.push(c);
                (held.len() - 1) as u32
            })),
        };
        let calls: Vec<Call> = calls
            .into_iter()
            .map(|call| Call {
                inputs: call.inputs.iter().map(|&s| rename(s)).collect(),
                outputs: call.outputs.iter().map(|&v| variables[v as usize].unwrap_or(v)).collect(),
                op: call.op,
            })
            .collect();
        let results: Vec<Source> = results.into_iter().map(rename).collect();
        let mut constants: Vec<Option<Tensor>> = constants.into_iter().map(Some).collect();
        let held = held.into_iter().filter_map(|c| constants[c as usize].take());
        let constants = held.map(Constant::new).collect();
        let mut program = Program { arguments, types: named, constants, calls, results, last: Vec::new() };
        program.last = program.last_uses();
        program
    }

    /// For each call, the variables that nothing after it reads, from the last call to the first.
    fn last_uses(&self) -> Vec<SmallVec<[Variable; 2]>> {
        let mut met = vec![false; self.types.len()];
        for source in &self.results {
            if let Source::Variable(v) = source {
                met[*v as usize] = true;
            }
        }
        let mut last: Vec<SmallVec<[Variable; 2]>> = Vec::with_capacity(self.calls.len());
        for call in self.calls.iter().rev() {
            let mut here = SmallVec::new();
            let read = call.inputs.iter().filter_map(|s| match s {
                Source::Variable(v) => Some(*v),
                Source::Constant(_) => None,
            });
            for v in call.outputs.iter().copied().chain(read) {
                if !std::mem::replace(&mut met[v as usize], true) {
                    here.push(v);
                }
            }
            last.push(here);
        }
        last.reverse();
        last
    }

    /// Which calls no result depends on, where those were kept.
    pub(super) fn unused(&self) -> Vec<bool> {
        let used = used(&self.types, &self.calls, &self.results);
        self.calls.iter().map(|call| !call.outputs.iter().any(|&v| used[v as usize])).collect()
    }

    /// A value from outside.
    pub(super) fn constant(&self, source: Source) -> &Tensor {
        match source {
            Source::Constant(c) => &self.constants[c as usize].value,
            Source::Variable(_) => unreachable!("a variable has no value of its own"),
        }
    }

    /// The type of what a call refers to.
    pub(super) fn type_of(&self, source: Source) -> TensorType {
        match source {
            Source::Variable(v) => self.types[v as usize].clone(),
            Source::Constant(c) => self.constants[c as usize].value.ty(),
        }
    }

    /// The results for other arguments, of the types of the first ones.
    pub(super) fn run(&self, arguments: &[&Tensor]) -> Result<Vec<Tensor>> {
        self.run_with(arguments, |call, inputs| bind(&call.op, inputs))
    }

    /// [`run`](Program::run) with another way to make a call.
    pub(super) fn run_with(
        &self,
        arguments: &[&Tensor],
        mut apply: impl FnMut(&Call, &[&Tensor]) -> Result<Outs>,
    ) -> Result<Vec<Tensor>> {
        let mut known: Vec<Option<Tensor>> = arguments.iter().map(|&t| Some(t.clone())).collect();
        known.resize(self.types.len(), None);
        for (k, call) in self.calls.iter().enumerate() {
            let outs = {
                let mut inputs: SmallVec<[&Tensor; 4]> = SmallVec::new();
                for &source in &call.inputs {
                    inputs.push(self.value(&known, source)?);
                }
                apply(call, &inputs)?
            };
            let name = call.op.name();
            if outs.len() != call.outputs.len() {
                let (expected, got) = (call.outputs.len(), outs.len());
                bail!(Rule, "`{name}` must return {expected} tensors, as when the graph was captured, got {got}");
            }
            for (&v, out) in call.outputs.iter().zip(outs) {
                let ty = &self.types[v as usize];
                if out.dtype() != ty.dtype || out.shape() != &ty.shape[..] {
                    bail!(Shape, "`{name}` must return {ty}, as when the graph was captured, got {}", out.ty(); help = "\
                        capture the function again for these arguments: the shapes in a graph are fixed");
                }
                known[v as usize] = Some(out);
            }
            for &v in &self.last[k] {
                known[v as usize] = None;
            }
        }
        self.results.iter().map(|&source| self.value(&known, source).cloned()).collect()
    }

    fn value<'a>(&'a self, known: &'a [Option<Tensor>], source: Source) -> Result<&'a Tensor> {
        let found = match source {
            Source::Variable(v) => known.get(v as usize).and_then(Option::as_ref),
            Source::Constant(c) => self.constants.get(c as usize).map(|c| &c.value),
        };
        match found {
            Some(t) => Ok(t),
            None => bail!(Internal, "a value is read that has not been computed"),
        }
    }

    /// The transform that a value from outside of the graph belongs to, if one does.
    pub(super) fn depends_on(&self) -> Option<&'static str> {
        self.constants.iter().find_map(|c| match c.value.repr() {
            Repr::Tracer(tracer) => Some(tracer.level.transform()),
            Repr::Array(_) => None,
        })
    }
}

/// True if all elements are equal, of which there is at least one.
fn is_uniform(array: &Array) -> bool {
    let repeats = array.shape().iter().zip(array.strides()).all(|(&n, &stride)| n == 1 || stride == 0);
    array.numel() > 0
        && (repeats
            || any_dtype!(array.dtype(), T => {
                array.as_slice::<T>().is_some_and(|all| all.iter().all(|x| *x == all[0]))
            }))
}

/// Which variables a result depends on.
fn used(types: &[TensorType], calls: &[Call], results: &[Source]) -> Vec<bool> {
    let mut used = vec![false; types.len()];
    let mark = |used: &mut Vec<bool>, source: &Source| {
        if let Source::Variable(v) = source {
            used[*v as usize] = true;
        }
    };
    results.iter().for_each(|s| mark(&mut used, s));
    for call in calls.iter().rev() {
        if call.op.has_effect() || call.outputs.iter().any(|&v| used[v as usize]) {
            call.inputs.iter().for_each(|s| mark(&mut used, s));
        }
    }
    used
}
