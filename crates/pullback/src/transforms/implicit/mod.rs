//! Functions that are defined by an equation: the solution may come from anywhere, and is differentiated through the
//! equation.
//!
//! Newton's method, an optimizer, a simulation that runs until nothing changes, or a solver of somebody else's: what it
//! finds satisfies an equation, and the equation knows how the solution moves with its parameters. So no step of the
//! solver is differentiated. A derivative costs one linear system, whatever the number of steps, and is exact at the
//! solution.
//!
//! | you have | use |
//! |---|---|
//! | `f(p, x) = 0` and a solver | [`root`] |
//! | `x = f(p, x)` and a solver | [`fixed_point`] |
//! | a linear `A(p)·x = b` as a product with `A`, and a solver | [`linear_solve`] |
//! | `f` alone | [`Root::newton`], [`Root::iterate`], [`LinearSolve::new`] |
//!
//! Each gives a function to call and to transform: both modes, derivatives of every order, `vmap`, and all their nestings
//! work, because the rules are written in transforms of `f` and in linear systems, which are differentiated the same way.
//! The solver runs once per call, on values without derivatives; it may read raw data, loop and call what it likes.
//! Under `vmap` it runs for one lane after the other, each with as many steps as it needs, unless
//! [`Root::batching`] says that it takes them all.
//!
//! What is differentiated must be a *parameter*, an argument of the function. A traced tensor that `f` or the solver captures is
//! an error of kind [`CapturedTracer`](crate::ErrorKind::CapturedTracer), never a lost derivative.
//!
//! # Example
//! ```
//! use pullback::{Tensor, grad, hessian, implicit, jvp, vmap};
//!
//! // The square root, from its definition and any iteration that finds it.
//! let root = implicit::root(
//!     |a: &Tensor, x: &Tensor| x.square()?.sub(a),
//!     |a: &Tensor| {
//!         let a = a.item::<f64>()?;
//!         let (mut x, mut before) = (a.max(1.0), f64::INFINITY);
//!         while x < before {
//!             (x, before) = (0.5 * (x + a / x), x);
//!         }
//!         Ok(Tensor::from(x))
//!     },
//! );
//! let a = Tensor::from(4.0);
//! assert_eq!(root(&a)?.item::<f64>()?, 2.0);
//! assert_eq!(grad(&root)(&a)?.item::<f64>()?, 0.25);
//! assert_eq!(jvp(&root, &a, &Tensor::from(1.0))?.1.item::<f64>()?, 0.25);
//! assert_eq!(hessian(&root)(&a)?.item::<f64>()?, -0.03125);
//! assert_eq!(vmap(grad(&root))(&Tensor::from([4.0, 16.0]))?.to_vec::<f64>()?, [0.25, 0.125]);
//! # Ok::<(), pullback::Error>(())
//! ```

mod flat;
mod krylov;
mod lanes;
mod linear;
mod lu;
mod operator;
mod root;
mod search;
mod solver;

pub use linear::{LinearSolve, linear_solve};
pub use root::{Root, fixed_point, root};
pub use solver::LinearSolver;

use std::sync::Arc;

use crate::Result;
use crate::function::{Cotangent, collect};
use crate::tree::try_map;
use crate::{Tensor, Tree};

/// A function of one tree.
type Body<A, B> = Arc<dyn Fn(&A) -> Result<B> + Send + Sync>;
/// A function of parameters and a candidate for the solution.
type Equation<P, X> = Arc<dyn Fn(&P, &X) -> Result<X> + Send + Sync>;

/// Cotangents (or tangents) as tensors, with zeros where they are symbolic; `None` if all of them are.
fn materialize<X: Tree>(like: &X, seeds: &X::Mapped<Cotangent>) -> Result<Option<X>> {
    let seeds = collect::<X, Cotangent>(seeds);
    if seeds.iter().all(|s| s.as_tensor().is_none()) {
        return Ok(None);
    }
    let mut seeds = seeds.into_iter();
    try_map(like, &mut |t| match seeds.next().and_then(Cotangent::into_tensor) {
        Some(seed) => Ok(seed),
        None => Tensor::zeros(t.shape(), t.dtype()),
    })
    .map(Some)
}

fn symbolic<X: Tree>(x: &X) -> X::Mapped<Cotangent> {
    x.map(&mut |t| Cotangent::from(t.clone()))
}

fn zeros<X: Tree>(like: &X) -> X::Mapped<Cotangent> {
    like.map(&mut |_| Cotangent::zero())
}

fn negated<X: Tree>(x: &X) -> Result<X> {
    try_map(x, &mut |t| t.neg())
}
