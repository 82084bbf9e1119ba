//! Loss functions.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
