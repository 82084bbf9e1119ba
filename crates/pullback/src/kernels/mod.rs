//! Loops over arrays. Nothing here knows a tensor, a level or a graph.

pub(crate) mod matmul;
pub(crate) mod reduce;
pub(crate) mod simd;
pub(crate) mod strided;
pub(crate) mod threads;
