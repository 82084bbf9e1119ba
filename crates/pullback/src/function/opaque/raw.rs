//! The derivative rules that an opaque function has on slices. They are batched as it is, and have no derivative of their
//! own.

use super::slices::{ArrayRef, Results};
use super::{Batching, Opaque, OpaqueFunction, contiguous, like};
use crate::function::context::{Context, collect};
use crate::function::once::{self, Rule};
use crate::function::{Cotangent, Cotangents, Function, Tangent, Tangents};
use crate::interp::{Frame, Method, WrittenAs};
use crate::kernels::cast::full;
use crate::tree::leaves;
use crate::{Result, Scalar, Tensor, TensorType};

/// A rule of one call. What was saved are the inputs and the outputs.
struct OnSlices<T> {
    function: Opaque<T>,
    method: Method,
    inputs: usize,
    /// The type in one lane of each result that is wanted.
    types: Vec<Option<TensorType>>,
}

/// The cotangents of the inputs by `backward` on slices.
pub(super) fn backward<T: OpaqueFunction>(
    function: &Opaque<T>,
    ctx: &Context<Opaque<T>>,
    saved: &(T::Inputs, T::Outputs),
    grads: &Cotangents<T::Outputs>,
) -> Result<Cotangents<T::Inputs>> {
    let needs = collect::<T::Inputs, bool>(ctx.needs_input_grad());
    let types = once::result_types(ctx, Method::Backward, |k| needs[k]);
    like(&saved.0, run(function, Method::Backward, types, saved, collect::<T::Outputs, Cotangent>(grads))?)
}

/// The tangents of the outputs by `jvp` on slices.
pub(super) fn jvp<T: OpaqueFunction>(
    function: &Opaque<T>,
    ctx: &Context<Opaque<T>>,
    saved: &(T::Inputs, T::Outputs),
    tangents: &Tangents<T::Inputs>,
) -> Result<Tangents<T::Outputs>> {
    let types = once::result_types(ctx, Method::Jvp, |_| true);
    like(&saved.1, run(function, Method::Jvp, types, saved, collect::<T::Inputs, Tangent>(tangents))?)
}

fn run<T: OpaqueFunction>(
    function: &Opaque<T>,
    method: Method,
    types: Vec<Option<TensorType>>,
    saved: &(T::Inputs, T::Outputs),
    seeds: Vec<Cotangent>,
) -> Result<Vec<Cotangent>> {
    let (mut all, outputs) = (leaves(&saved.0), leaves(&saved.1));
    let rule = OnSlices { function: function.clone(), method, inputs: all.len(), types };
    all.extend(outputs);
    once::apply(rule, &all, &seeds)
}

impl<T: OpaqueFunction> Rule for OnSlices<T> {
    fn function(&self) -> &str {
        self.function.name()
    }

    fn method(&self) -> Method {
        self.method
    }

    fn run(&self, saved: &[&Tensor], seeds: &[Cotangent]) -> Result<Vec<Cotangent>> {
        let arrays = contiguous(saved.iter().copied())?;
        let (inputs, outputs) = arrays.split_at(self.inputs);
        // Each result is like one of these, each (co)tangent like one of those; both may carry lanes.
        let (these, those) = if self.method == Method::Jvp { (outputs, inputs) } else { (inputs, outputs) };
        let mut given = Vec::new();
        for (seed, like) in seeds.iter().zip(those) {
            given.push(match seed.as_tensor() {
                Some(t) => contiguous([t])?.swap_remove(0),
                None => full(like.shape(), Scalar::Int(0), like.dtype()),
            });
        }
        let wanted = self.types.iter().zip(these).map(|(ty, like)| ty.is_some().then(|| like.ty()));
        let mut results = Results::new(wanted)?;
        let mut views = results.views();
        let view = |arrays| -> Vec<ArrayRef<'_>> { <[_]>::iter(arrays).map(ArrayRef::new).collect() };
        let (inputs, outputs, given) = (view(inputs), view(outputs), view(&given[..]));
        let arguments = &mut saved.iter().copied();
        let written =
            Frame::run(self.function.name(), self.method, WrittenAs::Opaque, arguments, || match self.method {
                Method::Jvp => self.function.0.jvp(&inputs, &outputs, &given, &mut views),
                _ => self.function.0.backward(&inputs, &outputs, &given, &mut views),
            });
        written?;
        drop(views);
        let what = if self.method == Method::Jvp { "the tangent of output" } else { "the cotangent of input" };
        let mut found = results.finish(what)?.into_iter();
        let result = |ty: &Option<TensorType>| match ty {
            Some(_) => found.next().map_or_else(Cotangent::zero, Cotangent::from),
            None => Cotangent::zero(),
        };
        Ok(self.types.iter().map(result).collect())
    }

    fn types(&self) -> Vec<Option<TensorType>> {
        self.types.clone()
    }

    fn batching(&self) -> Option<Batching> {
        Some(match self.function.0.batching() {
            // Each lane needs a (co)tangent of its own, also for an input that all lanes share.
            Batching::Expand => Batching::LeadingDims,
            other => other,
        })
    }

    fn every_order(&self) -> &'static str {
        // A rule on slices is preferred to one that is derived from the other mode, so each must have its twin.
        match self.method {
            Method::Jvp => "implement `tensor_jvp`, and `tensor_backward` too if there is a `backward` on slices",
            _ => "implement `tensor_backward`, and `tensor_jvp` too if there is a `jvp` on slices",
        }
    }
}
