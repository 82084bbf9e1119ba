//! Functions of functions: they open a level, wrap, call, unwrap and close. They use operations only to cut values and to
//! put them together, and know none that is differentiated. Control flow is written in operations.

mod assemble;
mod checkpoint;
mod control;
mod curvature;
mod dims;
mod grad;
mod hessian;
pub mod implicit;
mod jacobian;
mod jvp;
mod linearize;
mod options;
mod refused;
mod stop;
mod vjp;
mod vmap;

pub use checkpoint::checkpoint;
pub use control::{Checkpointed, Recorded, Scan, WhileLoop, cond, fori, map, scan, while_loop};
pub use curvature::{HessianDiagonal, Hvp, Laplacian, Vhp, hessian_diagonal, hvp, laplacian, vhp};
pub use dims::{BatchDim, DimSpec};
pub use grad::{Grad, grad, value_and_grad};
pub use hessian::{Hessian, HessianStrategy, hessian};
pub use jacobian::{Jacfwd, Jacrev, jacfwd, jacobian, jacrev, value_and_jacobian};
pub use jvp::{Jvp, jvp};
pub use linearize::{Pushforward, linearize};
pub use options::Argnums;
pub use stop::stop_gradient;
pub use vjp::{Pullback, Vjp, vjp};
pub use vmap::{Vmap, vmap};
