//! Linear functions of one tensor.

use std::fmt;

use smallvec::smallvec;

use super::vmap_front;
use crate::array::Array;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind1;
use crate::kernels::complex;
use crate::kernels::half::widened;
use crate::{Result, Tensor};

/// A linear function of one tensor: both modes follow from the function itself and its transpose.
pub(crate) trait Linear: Clone + fmt::Debug + Send + Sync + 'static {
    const NAME: &'static str;
    /// False if the kernel only moves elements, whatever their dtype.
    const COMPUTES: bool = true;
    /// False if a complex array is not to be treated as two real ones.
    const BY_PARTS: bool = true;

    /// Computes the result.
    fn kernel(&self, x: &Array) -> Result<Array>;

    /// The transpose: takes a cotangent of the result to one of the input, whose shape is given. Of a function of complex
    /// numbers, the conjugate transpose.
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor>;

    /// The same function for `size` lanes, which lie along dimension 0 of input and result.
    fn batched(&self, size: usize) -> Self;

    /// The same function for lanes that lie along dimension `lane` of an input of shape `input`, and where they lie in
    /// the result; `None` if they have to move to the front first.
    fn batched_in_place(&self, _input: &[usize], _lane: usize) -> Option<(Self, usize)> {
        None
    }
}

/// A [`Linear`] as an operation.
struct LinearOp<K>(K);

/// Applies a [`Linear`].
pub(crate) fn linear<K: Linear>(op: K, x: &Tensor) -> Result<Tensor> {
    match x.array() {
        Some(array) => Ok(run_linear(&op, array)?.into()),
        None => bind1(&OpRef::new(LinearOp(op)), &[x]),
    }
}

#[inline]
fn run_linear<K: Linear>(op: &K, x: &Array) -> Result<Array> {
    match K::COMPUTES {
        true if K::BY_PARTS && x.dtype().is_complex() => complex::by_parts([x], |[x]| op.kernel(x)),
        true => widened([x], |[x]| op.kernel(x)),
        false => op.kernel(x),
    }
}

impl<K: Linear> Op for LinearOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(&self.0)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.forward1(inputs)?])
    }

    fn forward1(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        Ok(run_linear(&self.0, inputs[0].concrete())?.into())
    }

    fn save_to(&self, _: &[bool], inputs: &[&Tensor], _: &[Tensor], saved: &mut Saved) -> Result<()> {
        saved.keep_shape(inputs[0].shape());
        Ok(())
    }

    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        Ok(smallvec![grads[0].map(|g| self.0.transpose(g, &saved.get_shape()))?])
    }

    fn jvp(&self, _: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].map(|t| linear(self.0.clone(), t))?])
    }

    fn vmap(&self, info: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        if let Some(lane) = dims[0]
            && let Some((op, lane)) = self.0.batched_in_place(inputs[0].shape(), lane)
        {
            return Ok((smallvec![linear(op, inputs[0])?], smallvec![Some(lane)]));
        }
        vmap_front(&OpRef::new(LinearOp(self.0.batched(info.batch_size))), dims, inputs)
    }
}
