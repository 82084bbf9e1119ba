//! The rules of a Python function, as the library calls them: what they are given, and what they return.

use pullback::{Context, Cotangent, Error, ErrorKind, Result, Static, Tensor, TensorType, VmapInfo};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call::{Call, Run, SavedTree, wrapped};
use super::context::{FunctionCtx, PyVmapInfo, Saved};
use super::outputs::{Objects, Outputs, build_hollow};
use super::returned::{self, Parts, all_entries, in_dtype, wrong};
use crate::convert::wrap;
use crate::error::from_py;
use crate::tensor::PyTensor;
use crate::tree::Structure;

/// The rules, with the set that each reads.
const BACKWARD: (&str, usize) = ("backward", 0);
const JVP: (&str, usize) = ("jvp", 1);

impl Call {
    /// The context of a rule.
    fn context<'py>(
        &self,
        py: Python<'py>,
        (tensors, Static(state)): &SavedTree,
        (method, set): (&'static str, usize),
    ) -> Result<Bound<'py, FunctionCtx>> {
        let count = |set: &Option<Box<[bool]>>| set.iter().flatten().filter(|present| **present).count();
        let first = if set == 0 { 0 } else { count(&state.sets[0]) };
        let mut own = tensors[first..].iter();
        let tensors = match &state.sets[set] {
            Some(pattern) => pattern.iter().map(|present| if *present { own.next().cloned() } else { None }).collect(),
            None => Vec::new(),
        };
        let only_for_other = state.sets[set].is_none() && state.sets[1 - set].is_some();
        let needs = state.needs.clone();
        let attributes = state.attributes.as_ref().map(|attributes| attributes.clone_ref(py));
        let saved = Saved { tensors, only_for_other };
        Bound::new(py, FunctionCtx::of_rule(self.0.facts.name.clone(), needs, (method, saved), attributes))
            .map_err(from_py)
    }

    pub(super) fn run_backward(
        &self,
        py: Python<'_>,
        rule: &Bound<'_, PyAny>,
        ctx: &Context<Self>,
        saved: &SavedTree,
        grads: &[Cotangent],
    ) -> Result<Vec<Cotangent>> {
        let run = self.run();
        let mut args = vec![self.context(py, saved, BACKWARD)?.into_any()];
        let mut grads = grads.iter();
        let mut next = || {
            let grad = grads.next().filter(|grad| !(saved.1.0.zeros_stay_none && grad.is_zero()));
            object(py, grad)
        };
        for (k, slot) in run.outputs.slots.iter().enumerate() {
            let grad = build_hollow(py, slot, &mut next).map_err(from_py)?;
            let dtype = saved.1.0.grad_dtypes.as_ref().and_then(|dtypes| dtypes[k]);
            args.push(match (dtype, grad.cast::<PyTensor>()) {
                (Some(dtype), Ok(tensor)) => wrap(py, tensor.get().get().to_dtype(dtype)?).map_err(from_py)?.into_any(),
                _ => grad,
            });
        }
        if self.0.facts.boxed {
            let grads = PyList::new(py, args.drain(1..)).map_err(from_py)?;
            args.push(grads.into_any());
        }
        let returned = self.call(rule, "backward", args)?;
        let (needs, types) = (ctx.needs_input_grad(), ctx.input_types());
        self.refuse_missing(needs, &returned)?;
        let parts = Parts { structures: &self.0.args, name: &|k| self.0.facts.argument(k) };
        let found = all_entries("gradient", "argument", &parts, &returned, true)?;
        let fit = |(k, grad): (usize, Option<Tensor>)| match grad {
            Some(grad) if !types[k].dtype.is_differentiable() => {
                let (name, ty, got) = (self.name_of_input(k), &types[k], grad.ty());
                let text = format!("expected None as the gradient of {name}, which is {ty} and takes none, got {got}");
                Err(wrong(ErrorKind::Rule, text, ""))
            }
            Some(grad) if needs[k] => Ok(in_dtype("gradient", &|| self.name_of_input(k), grad, &types[k])?.into()),
            _ => Ok(Cotangent::zero()),
        };
        found.into_iter().enumerate().map(fit).collect()
    }

    /// An error for a container with tensors that need gradients for which there is only one None: it may be meant for what is
    /// no tensor.
    fn refuse_missing(&self, needs: &[bool], returned: &Bound<'_, PyAny>) -> Result<()> {
        let Ok(returned) = returned.cast::<PyTuple>() else { return Ok(()) };
        let mut leaf = 0;
        for (k, (structure, value)) in self.0.args.iter().zip(returned.iter()).enumerate() {
            let own = leaf..leaf + structure.leaves();
            leaf = own.end;
            if matches!(structure, Structure::Node(_)) && value.is_none() && needs[own].contains(&true) {
                let (name, structure) = (self.0.facts.argument(k), structure.describe());
                let text = format!("expected gradients for {name} in its structure, {structure}, got None");
                return Err(wrong(ErrorKind::Rule, text, "return a tensor or None in the place of each tensor"));
            }
        }
        Ok(())
    }

    pub(super) fn run_jvp(
        &self,
        py: Python<'_>,
        rule: &Bound<'_, PyAny>,
        ctx: &Context<Self>,
        saved: &SavedTree,
        tangents: &[Cotangent],
    ) -> Result<Vec<Cotangent>> {
        let (run, types) = (self.run(), ctx.input_types());
        let zeros_stay_none = saved.1.0.zeros_stay_none;
        let mut args = vec![self.context(py, saved, JVP)?.into_any()];
        let mut given = tangents.iter().zip(types.iter());
        let mut next = || {
            let tangent = given.next().filter(|(_, ty)| ty.dtype.is_differentiable()).map(|(tangent, _)| tangent);
            object(py, tangent.filter(|tangent| !(zeros_stay_none && tangent.is_zero())))
        };
        for structure in &self.0.args {
            args.push(build_hollow(py, structure, &mut next).map_err(from_py)?);
        }
        let returned = self.call(rule, "jvp", args)?;
        let parts = Parts { structures: &run.outputs.slots, name: &|k| format!("output {k}") };
        let found = all_entries("tangent", "output", &parts, &returned, false)?;
        let (types, visible) = (ctx.output_types(), run.outputs.leaves);
        let mut fitted = Vec::with_capacity(types.len());
        for (k, tangent) in found.into_iter().enumerate() {
            let (ty, name) = (&types[k], || run.outputs.name(k));
            let constant = !ty.dtype.is_differentiable() || saved.1.0.non_differentiable.contains(&k);
            fitted.push(match tangent {
                Some(_) if constant => {
                    let name = name();
                    let text =
                        format!("expected None as the tangent of {name}, which is not differentiable, got a tensor");
                    return Err(wrong(ErrorKind::Rule, text, ""));
                }
                Some(tangent) => in_dtype("tangent", &name, tangent, ty)?.into(),
                None if constant || zeros_stay_none => Cotangent::zero(),
                None => return Err(missing_tangent(&name(), ty)),
            });
        }
        // Those of intermediate values are not known, and where they matter `Severed` refuses.
        fitted.resize(visible.max(types.len()), Cotangent::zero());
        Ok(fitted)
    }

    pub(super) fn run_vmap(
        &self,
        py: Python<'_>,
        rule: &Bound<'_, PyAny>,
        info: &VmapInfo,
        dims: &[Option<usize>],
        inputs: &[Tensor],
    ) -> Result<(Vec<Tensor>, Vec<Option<usize>>)> {
        let objects = wrapped(py, inputs)?;
        let mut dims = dims.iter();
        let mut next = || Ok(dims.next().copied().flatten().into_pyobject(py)?.into_any());
        let in_dims: Vec<Bound<'_, PyAny>> = self
            .0
            .args
            .iter()
            .map(|structure| build_hollow(py, structure, &mut next))
            .collect::<PyResult<_>>()
            .map_err(from_py)?;
        let info = Bound::new(py, PyVmapInfo::new(info)).map_err(from_py)?;
        let mut args = vec![info.into_any(), PyTuple::new(py, in_dims).map_err(from_py)?.into_any()];
        args.extend(self.arguments(py, &objects)?);
        let returned = self.call(rule, "vmap", args)?;
        let (output, out_dims) = returned::lanes(&returned)?;
        let (outputs, Objects(results)) = Outputs::of(&output).map_err(from_py)?;
        let outs: Vec<Tensor> = results.iter().map(|t| t.get().get()).collect();
        let out_dims = returned::out_dims(&outputs, &outs, &out_dims)?;
        let changed: Vec<bool> = objects.iter().zip(inputs).map(|(t, old)| !t.get().get().is_same(old)).collect();
        // A Function that the rule calls has checked the marks.
        let marks: Vec<Py<PyTensor>> =
            objects.iter().zip(&changed).filter(|(_, changed)| **changed).map(|(t, _)| t.clone().unbind()).collect();
        let dirty = self.dirty(py, &objects, &results, &changed, &marks)?;
        self.set_run(&outs, Run { outputs, dirty, kept: None });
        Ok((outs, out_dims))
    }
}

/// A (co)tangent as a Python value, where nothing is None.
fn object<'py>(py: Python<'py>, value: Option<&Cotangent>) -> PyResult<Bound<'py, PyAny>> {
    use crate::error::OrRaise as _;
    match value {
        Some(value) => Ok(wrap(py, value.tensor().or_raise()?)?.into_any()),
        None => Ok(py.None().into_bound(py)),
    }
}

fn missing_tangent(name: &str, ty: &TensorType) -> Error {
    let text = format!("expected a tangent for {name} ({ty}), got None");
    let help = "return zeros if it does not depend on the inputs; with `ctx.set_materialize_grads(False)`, None stands for them";
    wrong(ErrorKind::Rule, text, help)
}
