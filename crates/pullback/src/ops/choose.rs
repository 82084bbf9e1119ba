//! Choosing between values: where, clamp, maximum, minimum.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
