//! One call of a Python function, as the library's `Function`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pullback::function::{WrittenAs, backward_from_jvp, jvp_from_backward, rules};
use pullback::{Context, Cotangent, Error, ErrorKind, Function, Result, Static, Tensor, VmapInfo};
use pyo3::exceptions::PyUserWarning;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::class::{self, Facts, Lanes};
use super::context::{FunctionCtx, GradDTypes, Notes, ToSave};
use super::outputs::{Objects, Outputs, build_all};
use super::returned::{Parts, name_of_leaf, wrong};
use super::severed::Severed;
use crate::autograd::Block;
use crate::convert::wrap;
use crate::error::from_py;
use crate::nest::Nest;
use crate::tensor::PyTensor;
use crate::tree::{Structure, flatten_into};

/// A class and the arguments of one call. Clones are the same call.
#[derive(Clone)]
pub struct Call(pub(super) Arc<Data>);

pub(super) struct Data {
    class: Py<PyType>,
    pub(super) facts: Arc<Facts>,
    /// The arguments, with places for their tensors.
    pub(super) args: Vec<Structure>,
    /// For each argument, whether any level differentiates it.
    needs: Arc<[bool]>,
    /// What was found in each run, by the address of its first output. There are several where a graph is run again.
    runs: Mutex<Vec<(usize, Arc<Run>)>>,
}

/// What is known once `forward`, or the batching rule, has run.
pub struct Run {
    pub outputs: Outputs,
    /// Arguments that were changed in place, each with the number of the output tensor that is their new value.
    pub dirty: Vec<(usize, usize)>,
    /// What a `forward` with `ctx` kept.
    pub(super) kept: Option<Kept>,
}

/// Two sets of saved tensors: for `backward` and for `jvp`.
type Sets<T> = [Option<Vec<Option<T>>>; 2];

/// What a `forward` with `ctx` kept, by places, so that each level finds its own values there.
pub(super) struct Kept {
    sets: Sets<Place>,
    non_differentiable: Vec<usize>,
    zeros_stay_none: bool,
    grad_dtypes: Option<GradDTypes>,
    attributes: Option<Py<PyDict>>,
}

/// Where a saved tensor is found.
#[derive(Clone, Copy)]
enum Place {
    Input(usize),
    /// Intermediate values are further outputs.
    Output(usize),
}

/// What the rules of a call read besides tensors.
pub struct State {
    /// For each argument, whether it is differentiated at this level.
    pub(super) needs: Arc<[bool]>,
    /// For each of the two sets, whether there is a tensor or None.
    pub(super) sets: [Option<Box<[bool]>>; 2],
    pub(super) zeros_stay_none: bool,
    pub(super) grad_dtypes: Option<GradDTypes>,
    pub(super) non_differentiable: Vec<usize>,
    pub(super) attributes: Option<Py<PyDict>>,
}

pub(super) type SavedTree = (Vec<Tensor>, Static<Arc<State>>);

pub(super) fn wrapped<'py>(py: Python<'py>, tensors: &[Tensor]) -> Result<Vec<Bound<'py, PyTensor>>> {
    tensors.iter().map(|t| wrap(py, t.clone()).map_err(from_py)).collect()
}

impl Call {
    /// A call, and the tensors among its arguments.
    pub fn new(cls: &Bound<'_, PyType>, facts: Arc<Facts>, args: &Bound<'_, PyTuple>) -> PyResult<(Call, Vec<Tensor>)> {
        let mut tensors = Vec::with_capacity(args.len());
        let (mut structures, mut needs) = (Vec::with_capacity(args.len()), Vec::with_capacity(args.len()));
        for arg in args.iter() {
            let first = tensors.len();
            structures.push(flatten_into(&arg, &mut tensors)?);
            needs.push(tensors[first..].iter().any(Tensor::is_differentiated));
        }
        let class = cls.clone().unbind();
        let data = Data { class, facts, args: structures, needs: needs.into(), runs: Mutex::default() };
        Ok((Call(Arc::new(data)), tensors))
    }

    fn runs(&self) -> MutexGuard<'_, Vec<(usize, Arc<Run>)>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_if_any(&self) -> Option<Arc<Run>> {
        self.runs().last().map(|(_, run)| run.clone())
    }

    /// What the run found that had these outputs.
    fn run_of(&self, outputs: &[Tensor]) -> Arc<Run> {
        let runs = self.runs();
        let own = match outputs.first().filter(|_| runs.len() > 1).map(Tensor::concrete_address) {
            Some(address) => runs.iter().find(|(of, _)| *of == address),
            None => None,
        };
        // Lanes may lie elsewhere than where they were; of those, nothing was kept that depends on their numbers.
        own.or(runs.last()).map(|(_, run)| run.clone()).expect("a call is set up after it has run")
    }

    /// What the newest run found.
    pub fn run(&self) -> Arc<Run> {
        self.run_if_any().expect("a call that succeeded has run `forward` or `vmap`")
    }

    pub(super) fn set_run(&self, outputs: &[Tensor], run: Run) {
        let entry = (outputs.first().map_or(0, Tensor::concrete_address), Arc::new(run));
        let mut runs = self.runs();
        // Who held the outputs of an earlier run with this address has dropped them.
        let old = runs.iter().position(|(of, _)| *of == entry.0).map(|k| runs.remove(k));
        runs.push(entry);
        drop(runs);
        // Outside of the lock: it may hold objects of the user.
        drop(old);
    }

    /// How messages name an argument tensor.
    pub(super) fn name_of_input(&self, leaf: usize) -> String {
        name_of_leaf(&Parts { structures: &self.0.args, name: &|k| self.0.facts.argument(k) }, leaf)
    }

    /// The arguments, with these objects for their tensors.
    pub(super) fn arguments<'py>(
        &self,
        py: Python<'py>,
        objects: &[Bound<'py, PyTensor>],
    ) -> Result<Vec<Bound<'py, PyAny>>> {
        build_all(py, &self.0.args, &mut objects.iter().map(|t| t.clone().into_any())).map_err(from_py)
    }

    /// Calls a method of the user. What it raises travels on as it is, with a note that names the method.
    pub(super) fn call<'py>(
        &self,
        method: &Bound<'py, PyAny>,
        name: &str,
        args: impl IntoIterator<Item = Bound<'py, PyAny>, IntoIter: ExactSizeIterator>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = method.py();
        let _block = Block::begin();
        let _nest = Nest::enter().map_err(from_py)?;
        let call = || method.call1(PyTuple::new(py, args)?);
        call().map_err(|raised| {
            let note = format!("in `{name}` of function `{}`", self.0.facts.name);
            // Python 3.10 has no notes.
            let _ = raised.value(py).call_method1(intern!(py, "add_note"), (note,));
            from_py(raised)
        })
    }

    /// Whether each argument is differentiated, from the same of each tensor.
    fn needs_of_arguments(&self, needs: &[bool]) -> Arc<[bool]> {
        let mut rest = needs;
        let any = |structure: &Structure| {
            let (own, others) = rest.split_at(structure.leaves());
            rest = others;
            own.contains(&true)
        };
        self.0.args.iter().map(any).collect()
    }

    /// The number of the argument that is tensor `leaf` itself; `None` for a tensor inside of a container.
    fn position(&self, leaf: usize) -> Option<usize> {
        let mut before = 0;
        for (position, structure) in self.0.args.iter().enumerate() {
            if before == leaf && matches!(structure, Structure::Leaf) {
                return Some(position);
            }
            before += structure.leaves();
        }
        None
    }

    fn run_forward(&self, py: Python<'_>, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        let facts = &self.0.facts;
        let objects = wrapped(py, inputs)?;
        let arguments = self.arguments(py, &objects)?;
        let forward = facts.forward().bind(py);
        let ctx = |needs| Bound::new(py, FunctionCtx::saving(facts.name.clone(), needs)).map_err(from_py);
        let (returned, notes, attributes) = if facts.combined {
            let ctx = ctx(self.0.needs.clone())?;
            let mut all = vec![ctx.clone().into_any()];
            all.extend(arguments);
            let returned = self.call(forward, "forward", all)?;
            let (notes, attributes) = ctx.get().take(py);
            (returned, Some(notes), attributes)
        } else {
            (self.call(forward, "forward", arguments)?, None, None)
        };
        let (outputs, Objects(results)) = Outputs::of(&returned).map_err(from_py)?;
        let mut outs: Vec<Tensor> = results.iter().map(|t| t.get().get()).collect();
        let changed: Vec<bool> = objects.iter().zip(inputs).map(|(t, old)| !t.get().get().is_same(old)).collect();
        let returns_input = || results.iter().any(|result| objects.iter().any(|object| object.is(result)));
        let notes = match notes {
            Some(notes) => notes,
            // In the newer form it is `setup_context` that says what was changed.
            None if changed.contains(&true) || returns_input() => {
                let ctx = ctx(vec![false; self.0.args.len()].into())?;
                let arguments = PyTuple::new(py, self.arguments(py, &objects)?).map_err(from_py)?;
                let setup = facts.setup_context().bind(py);
                self.call(setup, "setup_context", [ctx.clone().into_any(), arguments.into_any(), returned.clone()])?;
                ctx.get().take(py).0
            }
            None => Notes::default(),
        };
        let dirty = self.dirty(py, &objects, &results, &changed, &notes.dirty)?;
        let kept = if facts.combined {
            // Intermediate values are further outputs.
            let mut place = |object: Py<PyTensor>| {
                self.place(object.bind(py), &dirty, &objects, inputs, &results).unwrap_or_else(|| {
                    outs.push(object.get().get());
                    Place::Output(outs.len() - 1)
                })
            };
            let mut keep = |set: ToSave| set.into_iter().map(|object| object.map(&mut place)).collect();
            Some(Kept {
                sets: [notes.backward.map(&mut keep), notes.forward.map(&mut keep)],
                non_differentiable: self.marked(py, &notes.non_differentiable, &results)?,
                zeros_stay_none: notes.zeros_stay_none,
                grad_dtypes: checked_dtypes(notes.grad_dtypes, &outputs)?,
                attributes,
            })
        } else {
            None
        };
        self.set_run(&outs, Run { outputs, dirty, kept });
        Ok(outs)
    }

    /// Where a saved tensor comes from; `None` for an intermediate value.
    fn place(
        &self,
        object: &Bound<'_, PyTensor>,
        dirty: &[(usize, usize)],
        objects: &[Bound<'_, PyTensor>],
        inputs: &[Tensor],
        results: &[Bound<'_, PyTensor>],
    ) -> Option<Place> {
        let output = results.iter().position(|result| result.is(object));
        if let Some(k) = output.filter(|k| dirty.iter().any(|(_, output)| output == k)) {
            return Some(Place::Output(k));
        }
        if let Some(k) = objects.iter().position(|input| input.is(object)) {
            return Some(Place::Input(k));
        }
        if let Some(k) = output {
            return Some(Place::Output(k));
        }
        // Another object with the same value, if there is no doubt whose it is.
        let value = object.get().get();
        let mut found =
            inputs.iter().enumerate().filter(|(_, t)| t.is_same(&value)).map(|(k, _)| Place::Input(k)).chain(
                results
                    .iter()
                    .enumerate()
                    .filter(|(_, t)| t.get().get().is_same(&value))
                    .map(|(k, _)| Place::Output(k)),
            );
        let place = found.next();
        place.filter(|_| found.next().is_none())
    }

    /// The numbers of the outputs that were marked.
    fn marked(&self, py: Python<'_>, marks: &[Py<PyTensor>], results: &[Bound<'_, PyTensor>]) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for (k, mark) in marks.iter().enumerate() {
            let value = mark.get().get();
            let before = found.len();
            found.extend(results.iter().enumerate().filter(|(_, t)| t.is(mark.bind(py))).map(|(k, _)| k));
            if found.len() == before {
                found.extend(results.iter().enumerate().filter(|(_, t)| t.get().get().is_same(&value)).map(|(k, _)| k));
            }
            if found.len() == before {
                let text = format!(
                    "expected outputs in `ctx.mark_non_differentiable`, got another tensor ({}) as argument {k}",
                    value.ty()
                );
                return Err(wrong(ErrorKind::Rule, text, "mark the objects that `forward` returns"));
            }
        }
        Ok(found)
    }

    /// The arguments that were changed in place, each with the output that is its new value.
    pub(super) fn dirty(
        &self,
        py: Python<'_>,
        objects: &[Bound<'_, PyTensor>],
        results: &[Bound<'_, PyTensor>],
        changed: &[bool],
        marks: &[Py<PyTensor>],
    ) -> Result<Vec<(usize, usize)>> {
        let (mut dirty, mut known) = (Vec::new(), Vec::new());
        for mark in marks {
            let Some(leaf) = objects.iter().position(|object| object.is(mark.bind(py))) else {
                let text = format!(
                    "function `{}`: `ctx.mark_dirty` is for arguments of `forward`, got another tensor",
                    self.0.facts.name
                );
                let text = std::ffi::CString::new(text).unwrap_or_default();
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1).map_err(from_py)?;
                continue;
            };
            let name = || self.name_of_input(leaf);
            let Some(position) = self.position(leaf) else {
                let text =
                    format!("expected arguments in `ctx.mark_dirty`, got {}, which is inside of a container", name());
                return Err(wrong(ErrorKind::Rule, text, "pass the tensor as an argument of its own"));
            };
            let Some(output) = results.iter().position(|result| result.is(mark.bind(py))) else {
                let text = format!("expected {} to be returned, because it is marked with `ctx.mark_dirty`", name());
                return Err(wrong(ErrorKind::Rule, text, "return the object that was changed in place"));
            };
            known.push(leaf);
            dirty.push((position, output));
        }
        if let Some(leaf) = (0..changed.len()).find(|leaf| changed[*leaf] && !known.contains(leaf)) {
            let text = format!(
                "expected {} as it came, but it was changed in place without `ctx.mark_dirty`",
                self.name_of_input(leaf)
            );
            return Err(wrong(ErrorKind::Rule, text, "compute on a copy (`x.clone()`), or mark it and return it"));
        }
        Ok(dirty)
    }

    /// Runs the user's `setup_context`.
    fn run_setup(
        &self,
        py: Python<'_>,
        ctx: &mut Context<Self>,
        inputs: &[Tensor],
        outputs: &[Tensor],
    ) -> Result<SavedTree> {
        let (facts, run) = (&self.0.facts, self.run_of(outputs));
        if let Some(kept) = &run.kept {
            return self.set_up_again(py, ctx, kept, run.outputs.leaves, inputs, outputs);
        }
        if facts.combined {
            let text = "expected a method `setup_context`, which says what to keep of each lane, where a function with a rule \
                        `vmap` is differentiated inside of the lanes; got a `forward` that takes `ctx`, which has not run";
            let help = "let `forward` take its arguments only, and do in `setup_context(ctx, inputs, output)` what is done with \
                        `ctx`";
            return Err(wrong(ErrorKind::MissingRule, text.into(), help));
        }
        let mut objects = wrapped(py, inputs)?;
        let results = wrapped(py, outputs)?;
        let mut leaf = 0;
        for (position, structure) in self.0.args.iter().enumerate() {
            if let Some((_, output)) = run.dirty.iter().find(|(dirty, _)| *dirty == position) {
                objects[leaf] = results[*output].clone();
            }
            leaf += structure.leaves();
        }
        let needs = self.needs_of_arguments(ctx.needs_input_grad());
        let python = Bound::new(py, FunctionCtx::saving(facts.name.clone(), needs.clone())).map_err(from_py)?;
        let arguments = PyTuple::new(py, self.arguments(py, &objects)?).map_err(from_py)?;
        let output = run.outputs.build(py, &mut results.iter().cloned()).map_err(from_py)?;
        let setup = facts.setup_context().bind(py);
        self.call(setup, "setup_context", [python.clone().into_any(), arguments.into_any(), output])?;
        let (notes, attributes) = python.get().take(py);
        self.dirty(py, &objects, &results, &[], &notes.dirty)?;
        let marks = self.marked(py, &notes.non_differentiable, &results)?;
        ctx.mark_non_differentiable(&marks)?;
        let mut tensors = Vec::new();
        let mut pattern = |set: Option<ToSave>| -> Option<Box<[bool]>> {
            let set = set?;
            tensors.extend(set.iter().flatten().map(|t| t.get().get()));
            Some(set.iter().map(Option::is_some).collect())
        };
        let sets = [pattern(notes.backward), pattern(notes.forward)];
        Ok((
            tensors,
            Static(Arc::new(State {
                needs,
                sets,
                zeros_stay_none: notes.zeros_stay_none,
                grad_dtypes: checked_dtypes(notes.grad_dtypes, &run.outputs)?,
                non_differentiable: marks,
                attributes,
            })),
        ))
    }

    /// What a `forward` with `ctx` kept, as values of this level.
    fn set_up_again(
        &self,
        py: Python<'_>,
        ctx: &mut Context<Self>,
        kept: &Kept,
        visible: usize,
        inputs: &[Tensor],
        outputs: &[Tensor],
    ) -> Result<SavedTree> {
        let needs = self.needs_of_arguments(ctx.needs_input_grad());
        let hidden = &outputs[visible..];
        let severed: Vec<Tensor> = if !hidden.is_empty() && inputs.iter().any(Tensor::is_differentiated) {
            Severed(self.0.facts.name.clone()).apply(&(inputs.to_vec(), hidden.to_vec()))?
        } else {
            hidden.to_vec()
        };
        let mut marks = kept.non_differentiable.clone();
        marks.extend(visible..outputs.len());
        ctx.mark_non_differentiable(&marks)?;
        let mut tensors = Vec::new();
        let sets = [0, 1].map(|k| {
            let set = kept.sets[k].as_ref()?;
            tensors.extend(set.iter().flatten().map(|place| match *place {
                Place::Input(k) => inputs[k].clone(),
                Place::Output(k) if k >= visible => severed[k - visible].clone(),
                Place::Output(k) => outputs[k].clone(),
            }));
            Some(set.iter().map(Option::is_some).collect())
        });
        let attributes = kept.attributes.as_ref().map(|attributes| attributes.clone_ref(py));
        Ok((
            tensors,
            Static(Arc::new(State {
                needs,
                sets,
                zeros_stay_none: kept.zeros_stay_none,
                grad_dtypes: kept.grad_dtypes.clone(),
                non_differentiable: marks,
                attributes,
            })),
        ))
    }
}

/// The dtypes of gradients, of which there must be one for each returned value.
fn checked_dtypes(dtypes: Option<GradDTypes>, outputs: &Outputs) -> Result<Option<GradDTypes>> {
    let count = outputs.slots.len();
    match dtypes {
        Some(dtypes) if dtypes.len() != count => {
            let got = dtypes.len();
            let text = format!(
                "expected {count} dtypes in `ctx.set_output_grad_dtype`, one for each returned value, got {got}"
            );
            Err(wrong(ErrorKind::Arity, text, "give None for a gradient that stays as it is"))
        }
        dtypes => Ok(dtypes),
    }
}

impl Function for Call {
    type Inputs = Vec<Tensor>;
    type Outputs = Vec<Tensor>;
    type Saved = SavedTree;

    fn name(&self) -> &str {
        &self.0.facts.name
    }

    fn forward(&self, inputs: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        Python::attach(|py| self.run_forward(py, inputs))
    }

    fn setup_context(&self, ctx: &mut Context<Self>, inputs: &Vec<Tensor>, outputs: &Vec<Tensor>) -> Result<SavedTree> {
        Python::attach(|py| self.run_setup(py, ctx, inputs, outputs))
    }

    fn backward(&self, ctx: &Context<Self>, saved: &SavedTree, grads: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
        Python::attach(|py| match self.0.facts.backward(self.0.class.bind(py)).map_err(from_py)? {
            Some(rule) => self.run_backward(py, &rule, ctx, saved, &grads),
            None => backward_from_jvp(self, ctx, saved, grads),
        })
    }

    fn jvp(&self, ctx: &Context<Self>, saved: &SavedTree, tangents: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
        Python::attach(|py| match class::method(self.0.class.bind(py), intern!(py, "jvp")).map_err(from_py)? {
            Some(rule) => self.run_jvp(py, &rule, ctx, saved, &tangents),
            None => jvp_from_backward(self, ctx, saved, tangents),
        })
    }

    fn vmap(
        &self,
        info: &VmapInfo,
        in_dims: Vec<Option<usize>>,
        inputs: &Vec<Tensor>,
    ) -> Result<(Vec<Tensor>, Vec<Option<usize>>)> {
        Python::attach(|py| match class::lanes(self.0.class.bind(py)).map_err(from_py)? {
            Lanes::Generated => rules::generated(self, info, in_dims, inputs),
            Lanes::Rule(rule) => self.run_vmap(py, &rule, info, &in_dims, inputs),
            Lanes::Missing => {
                let text = format!("function `{}` has no batching rule", self.0.facts.name);
                let help = "set `generate_vmap_rule = True` if its methods are written in tensor operations, or write the \
                            static method `vmap(info, in_dims, *args)`";
                Err(Error::new(ErrorKind::MissingRule, text).with_help(help))
            }
        })
    }

    fn once_differentiable(&self) -> bool {
        self.0.facts.backward_once
    }

    fn jvp_is_once_differentiable(&self) -> bool {
        self.0.facts.jvp_once
    }

    fn part(&self, of: &str, index: usize) -> String {
        match of {
            "input" => self.name_of_input(index),
            _ => self.run_if_any().map_or_else(|| format!("{of} {index}"), |run| run.outputs.name(index)),
        }
    }

    fn written_as(&self) -> WrittenAs {
        WrittenAs::Python
    }
}
