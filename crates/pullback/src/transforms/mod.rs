//! Functions of functions: they open a level, wrap, call, unwrap and close. No operation's name occurs in
//! those that do; control flow is written in operations.

mod checkpoint;
mod control;
mod grad;
mod jacobian;
mod jvp;
mod vjp;
mod vmap;

pub use checkpoint::checkpoint;
pub use control::{Checkpointed, Recorded, Scan, WhileLoop, cond, fori, map, scan, while_loop};
pub use grad::{Grad, grad, value_and_grad};
pub use jacobian::{hessian, jacfwd, jacrev};
pub use jvp::jvp;
pub use vjp::{Pullback, vjp};
pub use vmap::{DimSpec, Vmap, vmap};
