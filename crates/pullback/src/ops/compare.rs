//! Comparisons and logical operations, with results of dtype bool.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
