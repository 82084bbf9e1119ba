//! The three transforms that all others are made of. Their transposes are among them.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::fft;
use crate::ops::family::{Linear, linear};
use crate::ops::shape::behind;
use crate::shape::Dims;
use crate::{Result, Tensor};

/// The transform of complex numbers along some dims, times `scale`.
#[derive(Clone, Debug)]
pub(super) struct Fourier {
    pub(super) dims: Dims,
    pub(super) inverse: bool,
    pub(super) scale: f64,
}

impl Linear for Fourier {
    const NAME: &'static str = "fft";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let mut y = x.clone();
        for (k, &dim) in self.dims.iter().enumerate() {
            let scale = if k == 0 { self.scale } else { 1.0 };
            y = match y.dtype() {
                crate::DType::C64 => fft::complex::<f32>(&y, dim, self.inverse, scale),
                _ => fft::complex::<f64>(&y, dim, self.inverse, scale),
            };
        }
        Ok(y)
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        // The matrix is symmetric, and its conjugate is the inverse but for the scale.
        linear(Fourier { inverse: !self.inverse, ..self.clone() }, g)
    }
    fn batched(&self, _: usize) -> Fourier {
        Fourier { dims: self.dims.iter().map(|d| d + 1).collect(), ..*self }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(Fourier, usize)> {
        Some((Fourier { dims: self.dims.iter().map(|&d| behind(d, lane)).collect(), ..*self }, lane))
    }
}

/// The first half of the transform of real numbers, times `scale`. With `doubled`, values that stand for two of the whole
/// count twice.
#[derive(Clone, Debug)]
pub(super) struct FromReal {
    pub(super) dim: usize,
    pub(super) doubled: bool,
    pub(super) scale: f64,
}

/// The real numbers whose transform begins with the given half, times `scale`. With `halved`, values that stand for two of
/// the whole count half.
#[derive(Clone, Debug)]
pub(super) struct ToReal {
    pub(super) dim: usize,
    /// How many numbers.
    pub(super) n: usize,
    pub(super) halved: bool,
    pub(super) scale: f64,
}

impl Linear for FromReal {
    const NAME: &'static str = "rfft";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let FromReal { dim, doubled, scale } = *self;
        dispatch!(x.dtype(), "rfft", float, T => Ok(fft::from_real::<T>(x, dim, doubled, scale)))
    }
    fn transpose(&self, g: &Tensor, input: &[usize]) -> Result<Tensor> {
        // A number moves each value of the half once, but is the sum over all of the whole.
        let FromReal { dim, doubled, scale } = *self;
        linear(ToReal { dim, n: input[dim], halved: !doubled, scale }, g)
    }
    fn batched(&self, _: usize) -> FromReal {
        FromReal { dim: self.dim + 1, ..*self }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(FromReal, usize)> {
        Some((FromReal { dim: behind(self.dim, lane), ..*self }, lane))
    }
}

impl Linear for ToReal {
    const NAME: &'static str = "irfft";
    const COMPUTES: bool = false;
    fn kernel(&self, x: &Array) -> Result<Array> {
        let ToReal { dim, n, halved, scale } = *self;
        Ok(match x.dtype() {
            crate::DType::C64 => fft::to_real::<f32>(x, dim, n, halved, scale),
            _ => fft::to_real::<f64>(x, dim, n, halved, scale),
        })
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        let ToReal { dim, halved, scale, .. } = *self;
        linear(FromReal { dim, doubled: !halved, scale }, g)
    }
    fn batched(&self, _: usize) -> ToReal {
        ToReal { dim: self.dim + 1, ..*self }
    }
    fn batched_in_place(&self, _: &[usize], lane: usize) -> Option<(ToReal, usize)> {
        Some((ToReal { dim: behind(self.dim, lane), ..*self }, lane))
    }
}
