//! Branches and loops that depend on values, under every transform.
//!
//! Values are known while a function runs, so that a branch that is chosen by one value, or a loop, simply runs, and is
//! recorded as it does. Only a predicate that differs between lanes needs more: see [`lanes`].

mod cond;
mod fori;
mod lanes;
mod map;
mod scan;
mod while_loop;

pub use cond::cond;
pub use fori::fori;
pub use map::map;
pub use scan::{Checkpointed, Recorded, Scan, scan};
pub use while_loop::{WhileLoop, while_loop};
