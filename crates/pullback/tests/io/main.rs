//! Files, and conversions to the types of other libraries. Each needs its feature; `scripts/test` has them all.

#[cfg(feature = "npy")]
mod damaged_npy;
#[cfg(feature = "safetensors")]
mod damaged_safetensors;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "npy")]
mod npy;
#[cfg(feature = "safetensors")]
mod safetensors;
#[cfg(feature = "serde")]
mod serde;
mod state;
mod support;
