//! What neural networks are made of.

pub(super) mod conv;
mod options;
mod samples;

pub use options::{Conv, ConvPadding, ConvTranspose, PerDim};
