//! Loops over arrays. Nothing here knows a tensor, a level or a graph.

pub(crate) mod simd;
pub(crate) mod threads;
