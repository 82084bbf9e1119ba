//! A typed [`Function`] as an [`Op`]: trees become slices on the way in and trees again on the way out, and
//! everything that a user's method returns is checked here.

use std::fmt;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::context::{Context, Facts, Marks, collect, count};
use super::once::{self, Which, Written};
use super::op::{Batched, Cotangents, Op, Saved, Tangents};
use super::{Cotangent, Function, OpRef, Outs, Tangent, VmapInfo};
use crate::error::{Context as _, bail};
use crate::interp::{Frame, Method, WrittenAs, bind, check_own};
use crate::shape::broadcasts_to;
use crate::tree::{Leaf, has_fixed_structure, leaves, same_places};
use crate::{Result, Tensor, TensorType, Tree};

/// A structure without leaves.
type Skeleton<T> = <T as Tree>::Mapped<()>;

/// One call of a function: the function, and the structure of its arguments and results.
pub(super) struct Erased<F: Function> {
    function: F,
    inputs: Skeleton<F::Inputs>,
    /// Known once `forward` has run.
    outputs: OnceLock<Skeleton<F::Outputs>>,
}

impl<F: Function> Clone for Erased<F> {
    fn clone(&self) -> Erased<F> {
        Erased { function: self.function.clone(), inputs: self.inputs.clone(), outputs: self.outputs.clone() }
    }
}

/// What [`Op::save`] keeps besides the saved tensors.
struct SavedCall<F: Function> {
    marks: Marks,
    facts: Arc<Facts<F>>,
    saved: Skeleton<F::Saved>,
}

/// Rebuilds a tree from tensors in order.
fn rebuild<'a, T: Tree>(skeleton: &Skeleton<T>, tensors: impl IntoIterator<Item = &'a Tensor>) -> T {
    let mut tensors = tensors.into_iter();
    T::from_mapped(skeleton, &mut |()| tensors.next().expect("a leaf for every place of the skeleton").clone())
}

/// A mapped tree from leaves in order.
fn fill<T: Tree, L: Leaf>(skeleton: &Skeleton<T>, values: impl IntoIterator<Item = L>) -> T::Mapped<L> {
    let mut values = values.into_iter();
    T::map_mapped(skeleton, &mut |()| values.next().expect("a leaf for every place of the skeleton"))
}

fn skeleton<T: Tree>(tree: &T) -> Skeleton<T> {
    tree.map(&mut |_| ())
}

/// Applies a function to a tree.
pub(super) fn apply<F: Function>(function: &F, inputs: &F::Inputs) -> Result<F::Outputs> {
    let tensors = leaves(inputs);
    if crate::interp::newest(&tensors).is_none() {
        // Nothing to interpret: no operation needs to be built.
        return run_forward(function, inputs, &tensors);
    }
    let erased = Arc::new(Erased { function: function.clone(), inputs: skeleton(inputs), outputs: OnceLock::new() });
    let outs = bind(&OpRef::Shared(erased.clone()), &tensors)?;
    Ok(erased.rebuild_outputs(&outs))
}

/// Applies the generated batching rule of a function.
pub(super) fn apply_generated<F: Function>(
    function: &F,
    info: &VmapInfo,
    dims: &[Option<usize>],
    inputs: &F::Inputs,
) -> Result<F::Outputs> {
    let erased = Arc::new(Erased { function: function.clone(), inputs: skeleton(inputs), outputs: OnceLock::new() });
    let outs = super::vmapped::bind_vmapped(OpRef::Shared(erased.clone()), info, dims, &leaves(inputs))?;
    Ok(erased.rebuild_outputs(&outs))
}

fn run_forward<F: Function>(function: &F, inputs: &F::Inputs, tensors: &[&Tensor]) -> Result<F::Outputs> {
    let name = function.name();
    Frame::run(name, Method::Forward, function.written_as(), &mut tensors.iter().copied(), || {
        let outputs = function.forward(inputs)?;
        check_all_own(&outputs, "an output")?;
        Ok(outputs)
    })
    .context(|| place(name, Method::Forward))
}

fn check_all_own<T: Tree>(tree: &T, what: &str) -> Result<()> {
    let mut checked = Ok(());
    tree.visit(&mut |t| {
        if checked.is_ok() {
            checked = check_own(t, what);
        }
    });
    checked
}

/// How messages name a method of a user's function.
pub(super) fn place(function: &str, method: Method) -> String {
    format!("`{}` of function `{function}`", method.name())
}

impl<F: Function> Erased<F> {
    fn rebuild_outputs(&self, outs: &[Tensor]) -> F::Outputs {
        rebuild(self.outputs.get().expect("forward has run"), outs)
    }

    /// The outputs of one call, and what its rules would be given.
    pub(super) fn saved_call(function: &F, inputs: &F::Inputs) -> Result<(F::Outputs, Context<F>, F::Saved)> {
        let erased = Erased { function: function.clone(), inputs: skeleton(inputs), outputs: OnceLock::new() };
        let tensors = leaves(inputs);
        let outs = erased.forward(&tensors)?;
        let needs: Vec<bool> = tensors.iter().map(|t| t.dtype().is_differentiable()).collect();
        let saved = erased.save(&needs, &tensors, &outs)?;
        let call: &SavedCall<F> = saved.get_state();
        Ok((erased.rebuild_outputs(&outs), erased.context(call), rebuild(&call.saved, &saved.tensors)))
    }

    fn context(&self, call: &SavedCall<F>) -> Context<F> {
        Context { facts: call.facts.clone(), marks: call.marks.clone(), deriving: None }
    }

    /// Calls the user's `backward`.
    pub(super) fn run_backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let call: &SavedCall<F> = saved.get_state();
        let ctx = self.context(call);
        let mut grads: Vec<Cotangent> = grads.to_vec();
        let outputs = collect::<F::Outputs, TensorType>(&call.facts.outputs);
        for (grad, ty) in grads.iter_mut().zip(&outputs) {
            grad.set_type(ty);
        }
        let tree: F::Saved = rebuild(&call.saved, &saved.tensors);
        let mut arguments = saved.tensors.iter().chain(grads.iter().filter_map(Cotangent::as_tensor));
        self.run(Method::Backward, &mut arguments, || {
            let grads =
                fill::<F::Outputs, Cotangent>(self.outputs.get().expect("forward has run"), grads.iter().cloned());
            let found = self.function.backward(&ctx, &tree, grads)?;
            check_structure::<F::Inputs, _, _>(&self.inputs, &found, ["cotangent", "input"])?;
            let types = collect::<F::Inputs, TensorType>(&call.facts.inputs);
            let mut fitted = Cotangents::new();
            for (k, (value, ty)) in collect::<F::Inputs, Cotangent>(&found).into_iter().zip(&types).enumerate() {
                let value = sum_broadcast(value, ty, || types.iter().chain(&outputs).map(|ty| &ty.shape[..]))?;
                check_rule_value("cotangent", &|| self.function.part("input", k), &value, ty, needs[k])?;
                fitted.push(value);
            }
            Ok(fitted)
        })
    }

    /// Calls the user's `jvp`.
    pub(super) fn run_jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let call: &SavedCall<F> = saved.get_state();
        let ctx = self.context(call);
        let mut tangents: Vec<Tangent> = tangents.to_vec();
        for (tangent, ty) in tangents.iter_mut().zip(collect::<F::Inputs, TensorType>(&call.facts.inputs)) {
            tangent.set_type(&ty);
        }
        let tree: F::Saved = rebuild(&call.saved, &saved.tensors);
        let mut arguments = saved.tensors.iter().chain(tangents.iter().filter_map(Tangent::as_tensor));
        self.run(Method::Jvp, &mut arguments, || {
            let tangents = fill::<F::Inputs, Tangent>(&self.inputs, tangents.iter().cloned());
            let found = self.function.jvp(&ctx, &tree, tangents)?;
            let outputs = self.outputs.get().expect("forward has run");
            check_structure::<F::Outputs, _, _>(outputs, &found, ["tangent", "output"])?;
            let found = collect::<F::Outputs, Tangent>(&found);
            let types = collect::<F::Outputs, TensorType>(&call.facts.outputs);
            for (k, (value, ty)) in found.iter().zip(&types).enumerate() {
                let marked = saved.non_differentiable.contains(&k);
                check_rule_value(
                    "tangent",
                    &|| self.function.part("output", k),
                    value,
                    ty,
                    ty.dtype.is_differentiable() && !marked,
                )?;
            }
            Ok(found.into_iter().collect())
        })
    }

    pub(super) fn name(&self) -> &str {
        self.function.name()
    }

    pub(super) fn written_as(&self) -> WrittenAs {
        self.function.written_as()
    }

    /// The types of the results of a rule, for those that are wanted and take derivatives.
    pub(super) fn result_types(
        &self,
        saved: &Saved,
        method: Method,
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Option<TensorType>> {
        once::result_types(&self.context(saved.get_state()), method, wanted)
    }

    /// Calls a rule of a function that is differentiable once. The inputs come after the saved tensors that it reads.
    fn run_once(&self, rule: Which, saved: &Saved, seeds: &[Cotangent]) -> Result<Vec<Cotangent>> {
        let read = count::<F::Saved, ()>(&saved.get_state::<SavedCall<F>>().saved);
        let kept = Saved {
            tensors: SmallVec::new(),
            state: saved.state.clone(),
            non_differentiable: saved.non_differentiable.clone(),
        };
        let tensors: SmallVec<[&Tensor; 8]> = saved.tensors.iter().collect();
        once::apply(Written { erased: self.clone(), rule, saved: kept, read }, &tensors, seeds)
    }

    fn run<R>(
        &self,
        method: Method,
        arguments: &mut dyn Iterator<Item = &Tensor>,
        body: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let name = self.function.name();
        Frame::run(name, method, self.function.written_as(), arguments, body).map_err(|e| {
            let place = place(name, method);
            // A rule that may not be differentiated says its place itself, because it may be found out after this call.
            if e.context().next() == Some(&place) { e } else { e.in_context(place) }
        })
    }

    /// An error if an output of a batching rule is one of its inputs as it came, with its lanes said to lie elsewhere.
    fn check_returned_input(
        &self,
        k: usize,
        out: &Tensor,
        dim: Option<usize>,
        lanes: &[(&Tensor, Option<usize>)],
    ) -> Result<()> {
        let mut same = lanes.iter().enumerate().filter(|(_, (t, _))| t.is_same(out));
        let Some((j, &(t, known))) = same.next() else { return Ok(()) };
        if known == dim || same.any(|(_, (_, other))| *other == dim) {
            return Ok(());
        }
        let show = |dim: Option<usize>| dim.map_or("none".to_string(), |d| d.to_string());
        let (output, input) = (self.function.part("output", k), self.function.part("input", j));
        bail!(Rule, "{output} is {input} as it came ({}), so its batch dim is {}, got {}", t.ty(), show(known), show(dim);
        help = "return the dim of the input, or move the dimension with `movedim`")
    }

    fn fail<T>(&self, method: Method, e: crate::Error) -> Result<T> {
        Err(e.in_context(place(self.function.name(), method)))
    }
}

/// The cotangent or tangent of a part of a call, whose name is made only for a message.
struct Of<'a>(&'a str, &'a dyn Fn() -> String);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} of {}", self.0, self.1())
    }
}

/// What a rule returned for one tensor, checked against the type that it must have.
pub(super) fn check_rule_value(
    kind: &str,
    part: &dyn Fn() -> String,
    value: &Cotangent,
    ty: &TensorType,
    needed: bool,
) -> Result<()> {
    let name = if kind == "tangent" { "Tangent" } else { "Cotangent" };
    let Some(t) = value.as_tensor() else {
        if !value.is_supplied() && needed {
            let part = part();
            bail!(Rule, "expected a {kind} for {part} ({ty}), which is needed, got none"; help = "compute it, \
                or return `{name}::zero()` if the function does not depend on it");
        }
        return Ok(());
    };
    check_own(t, Of(kind, part))?;
    let got = t.ty();
    if got.dtype == ty.dtype && got.shape == ty.shape && ty.dtype.is_differentiable() {
        return Ok(());
    }
    let part = part();
    if !ty.dtype.is_differentiable() {
        bail!(Rule, "expected no {kind} for {part}, which is {ty} and takes none, got {got}"; help = "return \
            `{name}::zero()` for it");
    }
    if got.shape != ty.shape {
        bail!(Rule, "expected a {kind} of type {ty} for {part}, got {got}"; help = "{}",
        if kind == "cotangent" && broadcasts_to(&ty.shape, &got.shape) {
            "sum over the dimensions that were broadcast, with `sum_to`"
        } else if kind == "tangent" && broadcasts_to(&got.shape, &ty.shape) {
            "repeat it as the value was, with `expand`"
        } else {
            "return the shape of the value itself"
        });
    }
    bail!(Rule, "expected a {kind} of type {ty} for {part}, got {got}"; help = "convert it with `to_dtype`");
}

/// A cotangent that has the shape of a tensor of the call to which its input broadcasts, summed to the shape of the
/// input; any other as it is. The input was then used broadcast, and the sum is the transpose of that.
pub(super) fn sum_broadcast<'a, I: Iterator<Item = &'a [usize]>>(
    value: Cotangent,
    ty: &TensorType,
    shapes_of_call: impl FnOnce() -> I,
) -> Result<Cotangent> {
    match value.as_tensor() {
        Some(t) if t.shape() != &ty.shape[..] && ty.dtype.is_differentiable() => {
            check_own(t, "a cotangent")?;
            let shape = t.shape();
            let explained = broadcasts_to(&ty.shape, shape) && shapes_of_call().any(|other| other == shape);
            if explained { Ok(t.sum_to(&ty.shape)?.into()) } else { Ok(value) }
        }
        _ => Ok(value),
    }
}

/// An error unless what a rule returned has one leaf for each of those that are expected, in the same places.
pub(super) fn check_structure<T: Tree, L: Leaf, M: Leaf>(
    expected: &T::Mapped<L>,
    got: &T::Mapped<M>,
    [kind, of]: [&str; 2],
) -> Result<()> {
    if has_fixed_structure::<T>() {
        return Ok(());
    }
    let (n, m) = (count::<T, L>(expected), count::<T, M>(got));
    if n != m {
        bail!(Rule, "expected one {kind} for each of {n} {of}s, got {m}");
    }
    let any = Tensor::from(0.0);
    let expected = T::from_mapped(expected, &mut |_: &L| any.clone());
    let got = T::from_mapped(got, &mut |_: &M| any.clone());
    if !same_places(&expected, &got) {
        let (expected, got) = (expected.describe(), got.describe());
        bail!(Rule, "expected {kind}s in the structure of the {of}s, {expected}, got {got}");
    }
    Ok(())
}

impl<F: Function> Op for Erased<F> {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn is_function(&self) -> bool {
        true
    }

    fn couples_cotangents(&self) -> bool {
        !self.function.backward_is_linear()
    }

    fn saves_by_value(&self) -> bool {
        true
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let tree: F::Inputs = rebuild(&self.inputs, inputs.iter().copied());
        let outputs = run_forward(&self.function, &tree, inputs)?;
        let found = skeleton(&outputs);
        let n = count::<F::Outputs, ()>(&found);
        let known = self.outputs.get_or_init(|| found);
        let expected = count::<F::Outputs, ()>(known);
        if n != expected {
            let e = crate::Error::new(
                crate::ErrorKind::Rule,
                format!("expected {expected} outputs as in the first run of this call, got {n}"),
            );
            return self.fail(Method::Forward, e.with_help("`forward` must return the same structure every time"));
        }
        let mut outs = Outs::new();
        outputs.visit(&mut |t| outs.push(t.clone()));
        Ok(outs)
    }

    fn save(&self, needs: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        let input_tree: F::Inputs = rebuild(&self.inputs, inputs.iter().copied());
        let output_tree = self.rebuild_outputs(outputs);
        let facts = Arc::new(Facts {
            needs: fill::<F::Inputs, bool>(&self.inputs, needs.iter().copied()),
            inputs: input_tree.map(&mut Tensor::ty),
            outputs: output_tree.map(&mut Tensor::ty),
        });
        let mut ctx = Context { facts: facts.clone(), marks: Marks::default(), deriving: None };
        let mut arguments = inputs.iter().copied().chain(outputs);
        let saved = self.run(Method::SetupContext, &mut arguments, || {
            let saved = self.function.setup_context(&mut ctx, &input_tree, &output_tree)?;
            check_all_own(&saved, "a saved value")?;
            Ok(saved)
        })?;
        let mut tensors = SmallVec::new();
        saved.visit(&mut |t| tensors.push(t.clone()));
        if self.function.once_differentiable() || self.function.jvp_is_once_differentiable() {
            tensors.extend(inputs.iter().filter(|t| t.dtype().is_differentiable()).map(|&t| t.clone()));
        }
        let non_differentiable = ctx.marks.non_differentiable.as_slice().into();
        let call = SavedCall::<F> { marks: ctx.marks, facts, saved: skeleton(&saved) };
        Ok(Saved { tensors, non_differentiable, ..Saved::default() }.with_state(call))
    }

    fn backward(&self, saved: &Saved, needs: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        if self.function.once_differentiable() {
            return Ok(self.run_once(Which::Backward(SmallVec::from_slice(needs)), saved, grads)?.into());
        }
        self.run_backward(saved, needs, grads)
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        if self.function.jvp_is_once_differentiable() {
            return Ok(self.run_once(Which::Jvp, saved, tangents)?.into());
        }
        self.run_jvp(saved, tangents)
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let tree: F::Inputs = rebuild(&self.inputs, inputs.iter().copied());
        let in_dims = fill::<F::Inputs, Option<usize>>(&self.inputs, dims.iter().copied());
        self.run(Method::Vmap, &mut inputs.iter().copied(), || {
            let (outputs, out_dims) = self.function.vmap(info, in_dims, &tree)?;
            let found = skeleton(&outputs);
            check_structure::<F::Outputs, _, _>(&found, &out_dims, ["batch dim", "output"])?;
            let out_dims = collect::<F::Outputs, Option<usize>>(&out_dims);
            let outs = leaves(&outputs);
            let lanes: SmallVec<[(&Tensor, Option<usize>); 4]> =
                inputs.iter().copied().zip(dims.iter().copied()).collect();
            for (k, (out, dim)) in outs.iter().zip(&out_dims).enumerate() {
                check_own(out, "an output")?;
                let (ty, n) = (out.ty(), info.batch_size);
                match dim.map(|dim| (dim, out.shape().get(dim))) {
                    Some((dim, None)) => {
                        bail!(Rule, "batch dim {dim} of {} is out of range for {ty}", self.function.part("output", k); help = "return \
                        `None` for an output that does not depend on the lane")
                    }
                    Some((dim, Some(&size))) if size != n => {
                        bail!(Rule, "expected batch size {n} at dim {dim} of {}, got {size} ({ty})", self.function.part("output", k); help = "return the dimension that the lanes lie along")
                    }
                    _ if n > 1 => self.check_returned_input(k, out, *dim, &lanes)?,
                    _ => {}
                }
            }
            let known = self.outputs.get_or_init(|| found.clone());
            check_structure::<F::Outputs, _, _>(known, &found, ["output", "output of `forward`"])?;
            Ok((outs.into_iter().cloned().collect(), out_dims.into_iter().collect()))
        })
    }
}
