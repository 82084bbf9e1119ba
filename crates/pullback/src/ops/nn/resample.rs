//! The linear operation behind averages over windows and interpolations: weighted sums along one dimension.

use std::sync::Arc;

use crate::array::Array;
use crate::kernels::resample::{self, Taps};
use crate::ops::family::{Linear, linear};
use crate::ops::shape::{behind, broadcast_to};
use crate::{Result, Tensor};

/// Weighted sums of elements along a dimension.
#[derive(Clone, Debug)]
struct Resample {
    dim: usize,
    taps: Arc<Taps>,
}

impl Linear for Resample {
    const NAME: &'static str = "resample";
    fn kernel(&self, x: &Array) -> Result<Array> {
        resample::resample(x, self.dim, &self.taps)
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(Resample { dim: self.dim, taps: Arc::new(self.taps.transposed()) }, g)
    }
    fn batched(&self, _: usize) -> Resample {
        Resample { dim: self.dim + 1, ..self.clone() }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Resample, usize)> {
        Some((Resample { dim: behind(self.dim, lane), ..self.clone() }, lane))
    }
}

/// The result of `shape` for images without elements, of which the first `lead` dimensions are not spatial: no windows are listed,
/// of which there may be any number.
pub(super) fn of_nothing(x: &Tensor, lead: usize, shape: &[usize]) -> Result<Tensor> {
    let spatial: Vec<isize> = (lead..x.rank()).map(|d| d as isize).collect();
    broadcast_to(&x.sum_dims(&spatial, true)?, shape)
}

/// The weighted sums of elements of `x`, of a floating dtype, along `dim`.
pub(super) fn apply(x: &Tensor, dim: usize, taps: Taps) -> Result<Tensor> {
    debug_assert_eq!(x.shape()[dim], taps.inputs);
    linear(Resample { dim, taps: Arc::new(taps) }, x)
}
