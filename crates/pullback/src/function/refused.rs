//! Mistakes that the types notice: each example must not compile.
//!
//! A rule returns as many cotangents as there are inputs:
//! ```compile_fail
//! # use pullback::{Context, Cotangent, Cotangents, Tensor};
//! fn backward(g: Cotangent) -> Cotangents<(Tensor, Tensor)> {
//!     g
//! }
//! ```
//! and as many tangents as there are outputs:
//! ```compile_fail
//! # use pullback::{Tangent, Tangents, Tensor};
//! fn jvp(t: Tangent) -> Tangents<(Tensor, Tensor, Tensor)> {
//!     (t.clone(), t)
//! }
//! ```
//! A batching rule returns a dim for each output, which is a number:
//! ```compile_fail
//! # use pullback::{Dims, Tensor};
//! fn vmap(x: &Tensor) -> (Tensor, Dims<Tensor>) {
//!     x.clone()
//! }
//! ```
//! ```compile_fail
//! # use pullback::{Dims, Tensor};
//! fn vmap(x: &Tensor) -> (Tensor, Dims<Tensor>) {
//!     (x.clone(), Some(true))
//! }
//! ```
//! ```compile_fail
//! # use pullback::{Dims, Tensor};
//! fn vmap(x: &Tensor) -> ((Tensor, Tensor), Dims<(Tensor, Tensor)>) {
//!     ((x.clone(), x.clone()), (Some(0),))
//! }
//! ```
//! What the rules read has the type that `setup_context` returns:
//! ```compile_fail
//! # use pullback::{Context, Function, Tensor};
//! fn read<F: Function<Saved = ()>>(ctx: &Context<F>, saved: &F::Saved) -> Tensor {
//!     saved[0].clone()
//! }
//! ```
//! A method cannot change its arguments, nor a transformed function what it captured:
//! ```compile_fail
//! # use pullback::{Result, Tensor};
//! fn forward(x: &Tensor) -> Result<Tensor> {
//!     Ok(x.mul_(2.0)?.clone())
//! }
//! ```
//! ```compile_fail
//! # use pullback::{Tensor, vmap};
//! let mut sum = Tensor::from(0.0);
//! vmap(|x: &Tensor| Ok(sum.add_(x)?.clone()))(&Tensor::from([1.0, 2.0])).unwrap();
//! ```
