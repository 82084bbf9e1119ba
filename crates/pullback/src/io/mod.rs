//! Files of tensors, and the names that parameters have in them.
//!
//! A tree of parameters becomes a map of names with [`state_dict`] and is filled from one with [`load_state_dict`]. Names are
//! those that PyTorch would give to a module with the same fields, such as `layers.0.weight`, so weights that PyTorch saved
//! load into a struct that is written alike. The formats, each behind a feature of the crate that is off by default:
//!
//! | module | feature | files |
//! |---|---|---|
//! | `safetensors` | `safetensors` | `.safetensors`: named tensors and text |
//! | `npy` | `npy` | `.npy`: one array of NumPy |
//! | `npz` | `npy` | `.npz`: named arrays of NumPy, compressed or not |
//!
//! What is read is checked before memory is taken for it: a file that is damaged, cut off or forged is an error of kind
//! [`Io`](crate::ErrorKind::Io), which has the [`std::io::Error`] as its source where there is one. Elements go from the file to
//! their tensor without a copy in between.

#[cfg(any(feature = "npy", feature = "safetensors"))]
mod file;
#[cfg(feature = "npy")]
pub mod npy;
#[cfg(feature = "npy")]
pub mod npz;
#[cfg(any(feature = "npy", feature = "safetensors", feature = "serde"))]
pub(crate) mod raw;
#[cfg(feature = "safetensors")]
pub mod safetensors;
mod state;

pub use state::{load_state_dict, state_dict};
