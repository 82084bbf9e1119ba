//! Irregular numbers, and the inputs of the lanes of a batched sample.

use super::table::Sample;
use crate::dtype::any_dtype;
use crate::{DType, Result, Tensor, stack};

/// Irregular numbers between 0 and 1, the same in every run.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next number. The mixing is that of SplitMix64.
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A floating tensor like `t`, with numbers whose size is between 0.2 and 1, of both signs.
pub(super) fn direction(t: &Tensor, seed: u64) -> Result<Tensor> {
    let mut numbers = Numbers::new(seed);
    let values: Vec<f64> = (0..t.numel())
        .map(|_| {
            let u = numbers.next() * 2.0 - 1.0;
            u.signum() * (0.2 + 0.8 * u.abs())
        })
        .collect();
    Tensor::from_slice(&values, t.shape())?.to_dtype(t.dtype())
}

/// A direction for each tensor.
pub(super) fn directions<'a>(like: impl IntoIterator<Item = &'a Tensor>, seed: u64) -> Result<Vec<Tensor>> {
    like.into_iter().enumerate().map(|(k, t)| direction(t, seed.wrapping_mul(31) + k as u64)).collect()
}

/// The inputs of lane `n`: lane 0 is the sample itself.
pub(super) fn lane(sample: &Sample, n: usize) -> Result<Vec<Tensor>> {
    if let Some(lanes) = &sample.lanes {
        return Ok(lanes(n));
    }
    if n == 0 {
        return Ok(sample.inputs.clone());
    }
    sample.inputs.iter().enumerate().map(|(k, t)| vary(t, n, k as u64)).collect()
}

/// Shrinks each element of a float by a few percent, and rotates the elements of anything else.
fn vary(t: &Tensor, n: usize, seed: u64) -> Result<Tensor> {
    let dtype = t.dtype();
    if dtype.is_float() {
        let mut numbers = Numbers::new(1000 * n as u64 + seed);
        let scale = 0.06 * (1.0 - 0.5f64.powi(n as i32));
        let values: Vec<f64> =
            super::close::values(t)?.into_iter().map(|v| v * (1.0 - scale * (0.5 + 0.5 * numbers.next()))).collect();
        return Tensor::from_slice(&values, t.shape())?.to_dtype(dtype);
    }
    // Through i64, which holds every value of the other dtypes.
    let mut values = t.to_dtype(DType::I64)?.to_vec::<i64>()?;
    let len = values.len().max(1);
    values.rotate_left(n % len);
    Tensor::from_slice(&values, t.shape())?.to_dtype(dtype)
}

/// Tensors of one type as the lanes of one, along dimension `dim`; for no lanes, `like` gives the type.
pub(super) fn join(lanes: &[Tensor], like: &Tensor, dim: usize) -> Result<Tensor> {
    if lanes.is_empty() {
        return Tensor::zeros(&crate::shape::with_dim(like.shape(), dim, 0), like.dtype());
    }
    stack(&lanes.iter().collect::<Vec<_>>(), dim as isize)
}

/// A contiguous copy in memory of its own.
pub(super) fn fresh(t: &Tensor) -> Result<Tensor> {
    any_dtype!(t.dtype(), T => Tensor::from_slice(&t.to_vec::<T>()?, t.shape()))
}
