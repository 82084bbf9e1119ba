//! Parameters of distributions: numbers and tensors, looked at before anything is drawn from them.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::{batch, bind, bind1};
use crate::kernels::copy;
use crate::shape::broadcasts_to;
use crate::tensor::{Operand, checked_numel};
use crate::{DType, Result, Tensor};

/// What the elements of a parameter must be.
#[derive(Clone, Copy)]
pub(super) struct Must {
    /// As a message says it.
    pub(super) be: &'static str,
    pub(super) hold: fn(f64) -> bool,
}

impl Must {
    pub(super) const POSITIVE: Must = Must { be: "above 0 and finite", hold: |v| v > 0.0 && v.is_finite() };
    /// Below this, logarithms of numbers of the gamma distribution and their derivatives leave the range of `f64`.
    pub(super) const CONCENTRATION: Must =
        Must { be: "from 1e-100 up and finite", hold: |v| v >= 1e-100 && v.is_finite() };
    pub(super) const NOT_NEGATIVE: Must = Must { be: "from 0 up and finite", hold: |v| v >= 0.0 && v.is_finite() };
    pub(super) const PROBABILITY: Must = Must { be: "from 0 to 1", hold: |v| (0.0..=1.0).contains(&v) };
    pub(super) const ORDERED: Must = Must { be: "a number", hold: |v| !v.is_nan() };
}

/// Passes a parameter on if all of its elements are what they must be.
#[derive(Clone)]
pub(super) struct Checked {
    pub(super) op: &'static str,
    /// The parameter as a message names it.
    pub(super) what: &'static str,
    pub(super) must: Must,
    /// How many of the first dims are lanes.
    pub(super) lanes: usize,
}

impl fmt::Debug for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Check {{ {}: {} }}", self.what, self.must.be)
    }
}

/// A number as messages show it: not with hundreds of digits.
fn short(v: f64) -> String {
    if v == 0.0 || !v.is_finite() || (1e-5..1e16).contains(&v.abs()) { v.to_string() } else { format!("{v:e}") }
}

/// ` at [1, 2]`: the place of element `flat` of a row-major array, of whose dims the first `lanes` are not counted.
pub(super) fn place(shape: &[usize], mut flat: usize, lanes: usize) -> String {
    let mut index: SmallVec<[usize; 6]> = shape.iter().rev().map(|&n| (flat % n, flat /= n).0).collect();
    index.reverse();
    let index = &index[lanes..];
    if index.is_empty() { String::new() } else { format!(" at {index:?}") }
}

impl Op for Checked {
    fn name(&self) -> &str {
        self.op
    }
    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }
    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        let values = inputs[0].to_dtype(DType::F64)?;
        let values = copy::contiguous(values.concrete());
        let values: &[f64] = values.as_slice().unwrap_or_default();
        if let Some(at) = values.iter().position(|&v| !(self.must.hold)(v)) {
            let Checked { op, what, must: Must { be, .. }, lanes } = *self;
            bail!(
                Value,
                "{op}: expected a {what} {be}, got {}{}",
                short(values[at]),
                place(inputs[0].shape(), at, lanes)
            );
        }
        Ok(smallvec![inputs[0].clone()])
    }
    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        Ok(Saved::default())
    }
    fn backward(&self, _: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![grads[0].map(|g| Ok(g.clone()))?])
    }
    fn jvp(&self, _: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| Ok(t.clone()))?])
    }
    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let values = batch::to_front(dims, inputs)?;
        let op = OpRef::new(Checked { lanes: self.lanes + 1, ..self.clone() });
        Ok((bind(&op, &[&values[0]])?, smallvec![Some(0)]))
    }
}

/// A parameter in `f64`, of the shape of the draw.
pub(super) fn parameter(
    op: &'static str,
    what: &'static str,
    must: Must,
    value: impl Operand,
    shape: &[usize],
) -> Result<Tensor> {
    checked_numel(op, shape)?;
    let value = value.into_operand(op, DType::F64)?;
    if value.dtype() == DType::Bool || value.dtype().is_complex() {
        bail!(Dtype, "{op}: expected a {what} that is a real number, got {}", value.ty(); help = "convert it with `to_dtype`");
    }
    if !broadcasts_to(value.shape(), shape) {
        bail!(Shape, "{op}: expected a {what} that broadcasts to the shape of the draw, {shape:?}, got {}", value.ty());
    }
    let value = bind1(&OpRef::new(Checked { op, what, must, lanes: 0 }), &[&value])?;
    value.to_dtype(DType::F64)?.expand(shape)
}
