//! What neural networks are made of: options of the operations on [`Tensor`](crate::Tensor) that slide a window over an
//! image, and the enumerations that others take.

pub(super) mod activations;
pub(super) mod attention;
pub(super) mod class_loss;
mod class_loss_samples;
pub(super) mod conv;
pub(super) mod ctc;
mod ctc_samples;
pub(super) mod embedding;
pub(super) mod fold;
pub(super) mod grid_sample;
mod grid_samples;
pub(super) mod interpolate;
mod loss_options;
mod loss_samples;
pub(super) mod losses;
mod norm_samples;
pub(super) mod norms;
mod options;
pub(super) mod pool;
mod resample;
mod samples;
pub(super) mod shuffle;

pub use super::unary::gated::Approximate;
pub use attention::Attention;
pub use ctc::CtcLoss;
pub use fold::Patches;
pub use grid_sample::{GridMode, GridPadding, GridSample};
pub use interpolate::{Interpolate, InterpolateMode};
pub use loss_options::{BinaryCrossEntropy, BinaryCrossEntropyWithLogits, CrossEntropy, NllLoss};
pub use options::{Conv, ConvPadding, ConvTranspose, PerDim};
pub use pool::{AvgPool, MaxPool};
