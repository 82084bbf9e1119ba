//! Functions of functions: they open a level, wrap, call, unwrap and close. They use operations only to cut values and
//! to put them together, and know none that is differentiated.

mod assemble;
mod curvature;
mod dims;
mod grad;
mod hessian;
pub mod implicit;
mod jacobian;
mod jvp;
mod options;
mod refused;
mod stop;
mod vjp;
mod vmap;

pub use curvature::{HessianDiagonal, Hvp, Laplacian, Vhp, hessian_diagonal, hvp, laplacian, vhp};
pub use dims::{BatchDim, DimSpec};
pub use grad::{Grad, grad, value_and_grad};
pub use hessian::{Hessian, HessianStrategy, hessian};
pub use jacobian::{Jacfwd, Jacrev, jacfwd, jacobian, jacrev, value_and_jacobian};
pub use jvp::{Jvp, jvp};
pub use options::Argnums;
pub use stop::stop_gradient;
pub use vjp::{Pullback, Vjp, vjp};
pub use vmap::{Vmap, vmap};
