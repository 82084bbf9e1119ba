//! What neural networks are made of: options of the operations on [`Tensor`](crate::Tensor) that slide a window over an
//! image, and the enumerations that others take.

pub(super) mod conv;
mod options;
pub(super) mod pool;
mod resample;
mod samples;

pub use options::{Conv, ConvPadding, ConvTranspose, PerDim};
pub use pool::{AvgPool, MaxPool};
