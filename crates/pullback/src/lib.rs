//! pullback
#![deny(missing_docs)]

mod array;
mod dtype;
mod error;
pub mod function;
mod interp;
mod kernels;
mod ops;
pub mod random;
mod shape;
mod tensor;
mod transforms;
mod tree;

/// Checking derivatives, and the table of operations that tests and bindings are generated from.
pub mod testing {
    pub use crate::ops::{all as operations, table};
}

pub use dtype::{DType, Element, Scalar};
pub use error::{Error, ErrorKind, Result};
pub use function::{Context, Cotangent, Cotangents, Dims, Function, Randomness, Tangent, Tangents, VmapInfo};
pub use ops::{cat, stack};
#[doc(inline)]
pub use pullback_macros::Tree;
pub use shape::{Shape, TensorType};
pub use tensor::{Ellipsis, IndexBound, IndexItem, Indices, NewAxis, Operand, Tensor, s};
pub use transforms::{DimSpec, Grad, Pullback, Vmap, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap};
pub use tree::{Leaf, Static, Tree};

// `derive(Tree)` names this crate; inside it, that must resolve as well.
extern crate self as pullback;
