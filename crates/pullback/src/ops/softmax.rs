//! Softmax and its logarithms.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
