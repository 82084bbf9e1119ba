//! pullback
mod array;
mod dtype;
mod error;
mod kernels;
mod shape;

pub use dtype::{DType, Element, Scalar};
pub use error::{Error, ErrorKind, Result};
pub use shape::{Shape, TensorType};
