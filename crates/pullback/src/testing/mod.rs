//! Checking derivatives and batching rules, and the table of operations that tests and bindings are generated from.

pub use crate::ops::{all as operations, table};
