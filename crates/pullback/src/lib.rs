//! Composable function transforms, with operations that you extend.
//!
//! pullback differentiates and batches ordinary Rust functions of [`Tensor`]s. A *transform* takes a function and
//! returns a function; transforms nest in any order and to any depth:
//!
//! | transform | what it gives |
//! |---|---|
//! | [`grad`], [`value_and_grad`] | the gradient of a scalar function, by reverse mode |
//! | [`vjp`] | the value and the pullback: cotangents of results to cotangents of arguments |
//! | [`jvp`] | the value and its change along a direction, by forward mode |
//! | [`linearize`] | the value and the pushforward: that map, for many directions |
//! | [`vmap`] | a function of one example turned into a function of many |
//! | [`jacrev`], [`jacfwd`] | the Jacobian, by reverse or forward mode |
//! | [`jacobian`], [`value_and_jacobian`] | the Jacobian by the mode that suits the sizes, and with the value |
//! | [`hessian`] | the Hessian, forward over reverse |
//! | [`hvp`], [`vhp`], [`laplacian`], [`hessian_diagonal`] | parts of the Hessian without the Hessian |
//! | [`capture`] | a graph of what the function does: to print, check, draw and run again |
//! | [`checkpoint`] | the function, with a reverse mode that takes less memory |
//!
//! Each has a builder with its options, such as [`Grad`] and [`Vmap`]: which arguments to differentiate, auxiliary data,
//! chunks, random numbers, dims.
//!
//! # The five-minute tour
//!
//! A function to differentiate takes a reference to its arguments and returns a [`Result`]. Closures name the type of
//! their argument, as in `|x: &Tensor|`; Rust cannot infer it:
//!
//! ```
//! use pullback::{Tensor, grad};
//!
//! let f = |x: &Tensor| x.sin()?.mul(x);
//! let x = Tensor::from(2.0);
//! let slope = grad(f)(&x)?;
//! assert!((slope.item::<f64>()? - (2.0f64.sin() + 2.0 * 2.0f64.cos())).abs() < 1e-12);
//! // A gradient is a function again.
//! let bend = grad(grad(f))(&x)?;
//! assert!((bend.item::<f64>()? - (2.0 * 2.0f64.cos() - 2.0 * 2.0f64.sin())).abs() < 1e-12);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! Arguments and results are *trees*: tensors, tuples, vectors, and structs with
//! [`#[derive(Tree)]`](derive@Tree). Gradients have the same type as the arguments:
//!
//! ```
//! use pullback::{Result, Tensor, Tree, grad};
//!
//! #[derive(Clone, Tree)]
//! struct Layer<T = Tensor> {
//!     weight: T,
//!     bias: T,
//! }
//!
//! fn loss(layer: &Layer, x: &Tensor, target: &Tensor) -> Result<Tensor> {
//!     let error = x.matmul(&layer.weight)? + &layer.bias - target;
//!     error.mul(&error)?.sum()
//! }
//!
//! let layer = Layer { weight: Tensor::from([[1.0], [2.0]]), bias: Tensor::from([0.5]) };
//! let (x, target) = (Tensor::from([3.0, 4.0]), Tensor::from([10.0]));
//! let gradient = grad(|p: &Layer| loss(p, &x, &target))(&layer)?;
//! assert_eq!(gradient.weight.to_vec::<f64>()?, [9.0, 12.0]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! [`vmap`] writes the batch dimension for you, and works with everything else. The gradient *of each example* is:
//!
//! ```
//! use pullback::{Tensor, Vmap, grad};
//!
//! let loss = |w: &Tensor, x: &Tensor| w.mul(x)?.sum()?.sin();
//! let w = Tensor::from([1.0, 2.0]);
//! let examples = Tensor::from([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
//! let each = Vmap::new().in_dims((None, 0)).of(|(w, x): &(Tensor, Tensor)| grad(|w: &Tensor| loss(w, x))(w));
//! assert_eq!(each(&(w, examples))?.shape(), [3, 2]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! An operation that the library does not have, or that calls code outside it, is a [`Function`]: it says how to
//! compute, and one derivative rule, and then works under every transform. This one computes with plain Rust:
//!
//! ```
//! use pullback::{Context, Cotangent, Dims, Function, Result, Tensor, VmapInfo, grad, jvp, vmap};
//!
//! /// The square root by plain Rust code.
//! #[derive(Clone)]
//! struct Root;
//!
//! impl Function for Root {
//!     type Inputs = Tensor;
//!     type Outputs = Tensor;
//!     type Saved = Tensor;
//!
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         let roots: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(f64::sqrt).collect();
//!         Tensor::from_slice(&roots, x.shape())
//!     }
//!     fn setup_context(&self, _: &mut Context<Self>, _: &Tensor, y: &Tensor) -> Result<Tensor> {
//!         Ok(y.clone())
//!     }
//!     fn backward(&self, _: &Context<Self>, y: &Tensor, g: Cotangent) -> Result<Cotangent> {
//!         g.map(|g| g.div(&(y * 2.0)))
//!     }
//!     fn vmap(&self, _: &VmapInfo, dims: Dims<Tensor>, x: &Tensor) -> Result<(Tensor, Dims<Tensor>)> {
//!         Ok((self.apply(x)?, dims)) // elementwise: the lanes stay where they are
//!     }
//! }
//!
//! let root = |x: &Tensor| Root.apply(x);
//! let x = Tensor::from(4.0);
//! assert_eq!(grad(root)(&x)?.item::<f64>()?, 0.25);
//! assert_eq!(grad(grad(root))(&x)?.item::<f64>()?, -0.03125);
//! assert_eq!(jvp(root, &x, &Tensor::from(1.0))?.1.item::<f64>()?, 0.25); // derived from `backward`
//! assert_eq!(vmap(grad(root))(&Tensor::from([4.0, 16.0]))?.to_vec::<f64>()?, [0.25, 0.125]);
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! The short form is a few closures, with [`custom_vjp`], [`custom_jvp`] or [`custom_vmap`]; [`custom`] combines them. And code
//! whose derivatives are on slices too is an [`OpaqueFunction`].
//!
//! # What is an error
//!
//! What cannot be computed right is an [`Error`], not a wrong number: a rule that returns the wrong shape, a value that
//! escapes its transform, a traced value that a `Function` captured, a missing rule. Messages name the chain of
//! transforms, the function and method, and both types. Operators on tensors (`&a + &b`) panic with the same message;
//! the methods ([`a.add(&b)`](Tensor::add)) return it.
//!
//! # Complex numbers
//!
//! The derivative of a function of complex numbers is that of the function of their real and imaginary parts, and the gradient of
//! a real function is the direction of steepest ascent: `2z` for `|z|²`, as in PyTorch. [`jvp`] multiplies the tangent by the
//! derivative `f'(z)`, and [`vjp`] the cotangent by its conjugate; ⟨u, v⟩ is `Re Σ conj(u)·v`. A real operand beside complex ones
//! has a real cotangent. [`grad`] needs a real result, and Jacobians real arguments and results.
//!
//! ```
//! use pullback::{Complex, Tensor, grad, vjp};
//!
//! let z = Tensor::from(Complex::new(3.0, 4.0));
//! let slope = grad(|z: &Tensor| z.abs()?.square())(&z)?;
//! assert_eq!(slope.item::<Complex<f64>>()?, Complex::new(6.0, 8.0));
//! let (_, pullback) = vjp(Tensor::square, &z)?;
//! let one = Tensor::from(Complex::new(1.0, 0.0));
//! assert_eq!(pullback.call(&one)?.item::<Complex<f64>>()?, Complex::new(6.0, -8.0));
//! # Ok::<(), pullback::Error>(())
//! ```
//!
//! # Features
//!
//! All are off by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `fft` | the module `fft`: Fourier transforms |
//! | `linalg` | eigenvalues of matrices that are not symmetric, and faster decompositions of large ones |
//! | `safetensors`, `npy` | formats of files in [`io`] |
//! | `serde` | `Serialize` and `Deserialize` for tensors |
//! | `ndarray`, `nalgebra`, `faer` | conversions from and to the arrays and matrices of these crates |
//! | `dynamic` | the module `dynamic`: operations called with arguments whose types are known at run time |
//!
//! # Where things are
//!
//! - [`Tensor`]: values and all operations. [`DType`] has the promotion table.
//! - [`Function`]: your own operations; [`custom`]: from closures; [`OpaqueFunction`]: on slices. [`function::rules`] has
//!   batching rules to choose from.
//! - [`cond`], [`while_loop`], [`fori`], [`scan`], [`map`]: branches and loops under `vmap`.
//! - [`Tree`]: structures of tensors. [`DimSpec`]: where their batch dims lie.
//! - [`autograd`]: the imperative surface: leaves, `backward`, hooks, `no_grad`, and finding where a NaN was born.
//! - [`implicit`]: solutions of equations, by any solver.
//! - [`graph`]: functions written down as lists of operations, and run again.
//! - [`io`]: names and files of parameters.
//! - [`nn`]: options of convolutions, pooling, attention; [`init`]: first values of parameters.
//! - [`random`]: seeded random tensors, and what `vmap` does with them.
//! - [`testing`]: checking derivatives.

#![deny(missing_docs)]

mod array;
pub mod autograd;
#[cfg(doctest)]
mod book;
mod dtype;
mod error;
pub mod function;
pub mod graph;
mod handle;
pub mod init;
#[cfg(any(feature = "faer", feature = "nalgebra", feature = "ndarray", feature = "serde"))]
mod interop;
mod interp;
pub mod io;
mod kernels;
mod ops;
pub mod random;
mod shape;
mod tensor;
pub mod testing;
mod transforms;
mod tree;

pub use array::{clear_cache, live_bytes};
pub use dtype::{Complex, Complex32, Complex64, DType, Element, Scalar, bf16, f16};
pub use error::{Error, ErrorKind, Result};
pub use function::{
    Context, Cotangent, Cotangents, Dims, Function, Opaque, OpaqueFunction, Randomness, Tangent, Tangents, VmapInfo,
    custom, custom_jvp, custom_vjp, custom_vmap,
};
pub use graph::capture;
pub use kernels::threads::{num_threads, set_num_threads};
#[cfg(feature = "dynamic")]
pub use ops::dynamic;
#[cfg(feature = "fft")]
pub use ops::fft;
pub use ops::{
    Classes, Contracted, GridOrder, Interpolation, MatrixNorm, NormOrder, PadMode, Reduce, Reduction, RoundingMode,
    blackman_window, block_diag, broadcast_tensors, cartesian_prod, cat, column_stack, complex, dstack, einsum,
    hamming_window, hann_window, hstack, meshgrid, multi_dot, nn, polar, stack, vstack,
};
pub use shape::{Shape, TensorType};
pub use tensor::{Ellipsis, IndexBound, IndexItem, Indices, Memory, NewAxis, Operand, Tensor, s};
pub use transforms::implicit;
pub use transforms::{
    Argnums, BatchDim, Checkpointed, DimSpec, Grad, Hessian, HessianDiagonal, HessianStrategy, Hvp, Jacfwd, Jacrev,
    Jvp, Laplacian, Pullback, Pushforward, Recorded, Scan, Vhp, Vjp, Vmap, WhileLoop, checkpoint, cond, fori, grad,
    hessian, hessian_diagonal, hvp, jacfwd, jacobian, jacrev, jvp, laplacian, linearize, map, scan, stop_gradient,
    value_and_grad, value_and_jacobian, vhp, vjp, vmap, while_loop,
};
pub use tree::{Leaf, Static, Tree, stack_trees, unstack_trees};

#[doc(inline)]
pub use pullback_macros::Tree;

// `derive(Tree)` names this crate; inside it, that must resolve as well.
extern crate self as pullback;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
