//! The operations, one file per family. Each is declared once, as a row with its documentation and samples and an
//! implementation with its rules.

pub(crate) mod arith;
mod cast;
pub(crate) mod family;
mod join;
mod reduce;
pub(crate) mod shape;
pub(crate) mod structural;
pub mod table;
mod unary;

pub use join::{cat, stack};

/// The tables of the families.
static FAMILIES: &[&[table::OpInfo]] = &[arith::OPS, cast::OPS, join::OPS, reduce::OPS, shape::OPS, unary::OPS];

/// Every operation.
pub fn all() -> impl Iterator<Item = &'static table::OpInfo> {
    FAMILIES.iter().copied().flatten()
}
