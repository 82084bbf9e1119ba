//! The derivative rules that an opaque function has on slices, as functions: they are batched as it is, and have no
//! derivative of their own.

use std::sync::Arc;

use super::slices::{ArrayRef, Results};
use super::{Batching, OpaqueFunction, contiguous, lane_type, no_lanes};
use crate::function::{Context, Cotangent, Dims, Function, Tangent, VmapInfo};
use crate::tree::leaves;
use crate::{Result, Tensor, TensorType, Tree, error::bail};

/// What the error of a second derivative says of the function; the checkers look for it.
pub(crate) const FIRST_ONLY: &str = "has a first derivative only";

/// A rule of one call, applied to the inputs, the outputs, and the cotangents of the outputs or tangents of the inputs.
pub(super) struct RawRule<T: OpaqueFunction> {
    function: Arc<T>,
    kind: Kind,
    name: Arc<str>,
    /// How many of the tensors are inputs and outputs of the function.
    inputs: usize,
    outputs: usize,
}

#[derive(Clone)]
pub(super) enum Kind {
    /// Which inputs need a cotangent.
    Backward(Arc<[bool]>),
    Jvp,
}

impl<T: OpaqueFunction> Clone for RawRule<T> {
    fn clone(&self) -> Self {
        RawRule {
            function: self.function.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            inputs: self.inputs,
            outputs: self.outputs,
        }
    }
}

/// The (co)tangents as tensors behind the inputs and outputs.
fn arguments<'a>(
    inputs: &impl Tree,
    outputs: &impl Tree,
    given: impl Iterator<Item = &'a Cotangent>,
) -> Result<Vec<Tensor>> {
    let mut all: Vec<Tensor> = leaves(inputs).into_iter().chain(leaves(outputs)).cloned().collect();
    for g in given {
        all.push(g.tensor()?);
    }
    Ok(all)
}

/// The cotangents of the inputs by `backward` on slices.
pub(super) fn backward<T: OpaqueFunction>(
    function: &Arc<T>,
    inputs: &T::Inputs,
    outputs: &T::Outputs,
    needs: &[bool],
    grads: &[Cotangent],
) -> Result<Vec<Cotangent>> {
    let tensors = leaves(inputs);
    let wanted: Arc<[bool]> = tensors.iter().zip(needs).map(|(t, need)| *need && t.dtype().is_float()).collect();
    let rule = RawRule {
        function: function.clone(),
        name: format!("{}.backward", function.name()).into(),
        kind: Kind::Backward(wanted.clone()),
        inputs: tensors.len(),
        outputs: leaves(outputs).len(),
    };
    let mut found = rule.apply(&arguments(inputs, outputs, grads.iter())?)?.into_iter();
    Ok(wanted.iter().map(|w| w.then(|| found.next()).flatten().map_or_else(Cotangent::zero, Cotangent::from)).collect())
}

/// The tangents of the outputs by `jvp` on slices.
pub(super) fn jvp<T: OpaqueFunction>(
    function: &Arc<T>,
    inputs: &T::Inputs,
    outputs: &T::Outputs,
    tangents: &[Tangent],
) -> Result<Vec<Tangent>> {
    let outs = leaves(outputs);
    let rule = RawRule {
        function: function.clone(),
        name: format!("{}.jvp", function.name()).into(),
        kind: Kind::Jvp,
        inputs: tangents.len(),
        outputs: outs.len(),
    };
    let mut found = rule.apply(&arguments(inputs, outputs, tangents.iter())?)?.into_iter();
    let float = outs.iter().map(|t| t.dtype().is_float());
    Ok(float.map(|f| f.then(|| found.next()).flatten().map_or_else(Tangent::zero, Tangent::from)).collect())
}

impl<T: OpaqueFunction> RawRule<T> {
    fn method(&self) -> &'static str {
        match self.kind {
            Kind::Backward(_) => "backward",
            Kind::Jvp => "jvp",
        }
    }

    #[cold]
    fn second_order<R>(&self) -> Result<R> {
        let (name, method) = (self.function.name(), self.method());
        bail!(MissingRule, "function `{name}` {FIRST_ONLY}: its `{method}` works on slices and cannot be \
            differentiated"; help = "for higher orders, implement `tensor_{method}` with tensor operations and other \
            functions")
    }
}

impl<T: OpaqueFunction> Function for RawRule<T> {
    type Inputs = Vec<Tensor>;
    type Outputs = Vec<Tensor>;
    type Saved = ();

    fn name(&self) -> &str {
        &self.name
    }

    fn forward(&self, all: &Vec<Tensor>) -> Result<Vec<Tensor>> {
        let arrays = contiguous(all)?;
        let views: Vec<ArrayRef<'_>> = arrays.iter().map(ArrayRef::new).collect();
        let (ends, given) = views.split_at(self.inputs + self.outputs);
        let (inputs, outputs) = ends.split_at(self.inputs);
        let types = |of: &[ArrayRef<'_>], wanted: &dyn Fn(usize) -> bool| -> Vec<Option<TensorType>> {
            of.iter().enumerate().map(|(k, a)| wanted(k).then(|| a.ty())).collect()
        };
        match &self.kind {
            Kind::Backward(wanted) => {
                let mut results = Results::new(types(inputs, &|k| wanted[k]))?;
                self.function.backward(inputs, outputs, given, &mut results.views())?;
                results.finish("the cotangent of input")
            }
            Kind::Jvp => {
                let mut results = Results::new(types(outputs, &|k| outputs[k].dtype().is_float()))?;
                self.function.jvp(inputs, outputs, given, &mut results.views())?;
                results.finish("the tangent of output")
            }
        }
    }

    fn setup_context(&self, _: &mut Context<Self>, _: &Vec<Tensor>, _: &Vec<Tensor>) -> Result<()> {
        Ok(())
    }

    fn backward(&self, _: &Context<Self>, (): &(), _: Vec<Cotangent>) -> Result<Vec<Cotangent>> {
        self.second_order()
    }

    fn jvp(&self, _: &Context<Self>, (): &(), _: Vec<Tangent>) -> Result<Vec<Tangent>> {
        self.second_order()
    }

    fn vmap(
        &self,
        info: &VmapInfo,
        in_dims: Dims<Vec<Tensor>>,
        all: &Vec<Tensor>,
    ) -> Result<(Vec<Tensor>, Dims<Vec<Tensor>>)> {
        if info.batch_size == 0 && self.function.batching() != Batching::Refuse {
            let lanes: Vec<TensorType> = all.iter().zip(&in_dims).map(|(t, d)| lane_type(t.ty(), *d)).collect();
            let outputs = match &self.kind {
                Kind::Backward(wanted) => {
                    lanes.iter().zip(&**wanted).filter(|(_, w)| **w).map(|(ty, _)| no_lanes(ty)).collect()
                }
                Kind::Jvp => {
                    let outputs = &lanes[self.inputs..self.inputs + self.outputs];
                    outputs.iter().filter(|ty| ty.dtype.is_float()).map(no_lanes).collect::<Result<Vec<_>>>()
                }
            }?;
            let out_dims = vec![Some(0); outputs.len()];
            return Ok((outputs, out_dims));
        }
        let batching = match self.function.batching() {
            // Each lane needs a (co)tangent of its own, also for an input that all lanes share.
            Batching::Expand => Batching::LeadingDims,
            other => other,
        };
        batching.run(self, info, in_dims, all)
    }
}
