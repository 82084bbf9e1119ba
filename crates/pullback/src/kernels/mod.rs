//! Loops over arrays. Nothing here knows a tensor, a level or a graph.

pub(crate) mod cast;
pub(crate) mod classes;
pub(crate) mod copy;
pub(crate) mod gather;
pub(crate) mod half;
pub(crate) mod join;
pub(crate) mod linalg;
pub(crate) mod map;
pub(crate) mod math;
pub(crate) mod matmul;
pub(crate) mod median;
pub(crate) mod place;
pub(crate) mod prod;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod region;
pub(crate) mod running;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod simd;
pub(crate) mod softmax;
pub(crate) mod softmax_diff;
pub(crate) mod sort;
pub(crate) mod strided;
pub(crate) mod threads;
pub(crate) mod triangle;
