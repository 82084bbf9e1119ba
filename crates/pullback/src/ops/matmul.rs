//! Matrix products.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
