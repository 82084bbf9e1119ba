//! Half precision: kernels that compute get `f32`, and what they make is rounded once.

use super::cast::cast;
use crate::array::Array;
use crate::{DType, Result};

/// What a kernel makes.
pub(crate) trait Results {
    /// The same with all `f32` rounded to `half`.
    fn rounded(self, half: DType) -> Self;
}

impl Results for Array {
    fn rounded(self, half: DType) -> Array {
        if self.dtype() == DType::F32 { cast(&self, half) } else { self }
    }
}

/// Values and their places.
impl Results for (Array, Array) {
    fn rounded(self, half: DType) -> (Array, Array) {
        (self.0.rounded(half), self.1)
    }
}

/// Calls a kernel that computes: for inputs of half precision with `f32`, and rounds what it makes.
#[inline(always)]
pub(crate) fn widened<const N: usize, R: Results>(
    inputs: [&Array; N],
    kernel: impl Fn([&Array; N]) -> Result<R>,
) -> Result<R> {
    match inputs.iter().map(|x| x.dtype()).find(|d| d.is_half()) {
        None => kernel(inputs),
        Some(half) => through_single(inputs, half, &kernel),
    }
}

/// It does not know the kernel, so that there are few copies.
#[inline(never)]
fn through_single<const N: usize, R: Results>(
    inputs: [&Array; N],
    half: DType,
    kernel: &dyn Fn([&Array; N]) -> Result<R>,
) -> Result<R> {
    let wide = inputs.map(|x| if x.dtype().is_half() { cast(x, DType::F32) } else { x.clone() });
    Ok(kernel(wide.each_ref())?.rounded(half))
}
