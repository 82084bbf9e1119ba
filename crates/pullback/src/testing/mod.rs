//! Checking derivatives and batching rules, and the table of operations that tests and bindings are generated from.
//!
//! [`check_function`] runs every [property](properties) on a [`Function`](crate::Function) of your own, the same
//! ones that the built-in operations are tested with.

mod close;
mod function;
mod gradcheck;
mod jacobian;
mod lanes;
mod limits;
mod numeric;
mod properties;

pub use crate::ops::{all as operations, table};
pub use close::{assert_close, max_error};
pub use function::{Report, check_function};
pub use gradcheck::{GradCheck, gradcheck, gradgradcheck};
pub use numeric::numeric_jvp;
pub use properties::{Property, properties};
