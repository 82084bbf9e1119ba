//! Loops over arrays. Nothing here knows a tensor, a level or a graph.

pub(crate) mod cast;
pub(crate) mod copy;
pub(crate) mod join;
pub(crate) mod map;
pub(crate) mod math;
pub(crate) mod matmul;
pub(crate) mod place;
pub(crate) mod reduce;
pub(crate) mod region;
pub(crate) mod simd;
pub(crate) mod strided;
pub(crate) mod threads;
