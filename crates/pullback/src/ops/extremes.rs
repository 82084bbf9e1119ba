//! Largest and smallest elements and their positions.

use super::table::OpInfo;

pub(super) static OPS: &[OpInfo] = &[];
