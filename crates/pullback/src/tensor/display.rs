//! Printing.

use std::fmt;

use super::{Repr, Tensor};

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Array(_) => write!(f, "{}", self.ty()),
            Repr::Tracer(t) => write!(f, "{} of {} level {}", self.ty(), t.level.kind.transform(), t.level.id),
        }
    }
}
