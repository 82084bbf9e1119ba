//! Sorting and selecting the largest.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
