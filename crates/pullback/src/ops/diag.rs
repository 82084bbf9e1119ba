//! Diagonals and triangles.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
