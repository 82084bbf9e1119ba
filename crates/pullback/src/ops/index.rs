//! Reading and writing by index tensors.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
