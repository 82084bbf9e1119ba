//! Operations that users write, on the same footing as those built in.

mod batching;
mod context;
mod cotangent;
mod custom;
mod derive;
mod erased;
mod once;
pub(crate) mod op;
mod opaque;
pub(crate) mod probe;
#[cfg(doctest)]
mod refused;
pub mod rules;
pub(crate) mod vmapped;

#[doc(hidden)]
pub use crate::interp::WrittenAs;
pub use batching::Batching;
pub use context::Context;
pub(crate) use context::collect;
pub use cotangent::{Cotangent, Tangent};
pub use custom::{Custom, custom, custom_jvp, custom_vjp, custom_vmap};
pub use derive::{backward_from_jvp, jvp_from_backward};
pub(crate) use derive::{backward_through, jvp_through};
pub(crate) use op::{OpRef, Outs, Saved};
pub use op::{Randomness, VmapInfo};
pub(crate) use opaque::NOT_ON_SLICES;
pub use opaque::{ArrayMut, ArrayRef, Opaque, OpaqueFunction, Types};

use crate::{Result, Tree};

/// One [`Cotangent`] per tensor of a tree.
pub type Cotangents<T> = <T as Tree>::Mapped<Cotangent>;

/// One [`Tangent`] per tensor of a tree.
pub type Tangents<T> = <T as Tree>::Mapped<Tangent>;

/// One batch dimension per tensor of a tree; `None` for a tensor that is the same for every lane.
pub type Dims<T> = <T as Tree>::Mapped<Option<usize>>;

/// The name of a type without its path and parameters.
fn type_name<T>() -> &'static str {
    // By bytes: it is asked for in every call, and searching strings costs as much as a small kernel.
    let full = std::any::type_name::<T>();
    let end = full.bytes().position(|b| b == b'<').unwrap_or(full.len());
    let start = full.as_bytes()[..end].iter().rposition(|&b| b == b':').map_or(0, |k| k + 1);
    &full[start..end]
}

/// A differentiable, batchable operation that you define.
///
/// Implement [`forward`](Function::forward), [`setup_context`](Function::setup_context) and one derivative rule,
/// [`backward`](Function::backward) or [`jvp`](Function::jvp); the missing one is derived by transposing the other.
/// The batching rule, [`vmap`](Function::vmap), is generated unless you write one. Call it with
/// [`apply`](Function::apply). It then works under every transform, nested in any order.
///
/// Parameters that are not tensors are fields of the implementing struct. Short functions can be made of closures, with
/// [`custom`]; code whose derivatives work on slices too is an [`OpaqueFunction`].
///
/// # When each method runs
/// - `forward` runs once per call, at the bottom of all transforms, on values that carry no derivatives. Anything
///   may happen inside: other libraries, other languages, loops over raw slices.
/// - `setup_context` runs once per level that differentiates the call, on values of the level below. It keeps what
///   the rules need; what it computes with tensor operations is itself differentiated by the levels outside.
/// - `backward` and `jvp` run on values of the level below, and must be written in tensor operations and other
///   `Function`s, so that they can be differentiated and batched in turn.
/// - `vmap` runs when at least one input is batched, on values of the level below.
///
/// Every value must reach a method as an argument: a tensor captured from outside that some transform is working
/// on is an error of kind [`CapturedTracer`](crate::ErrorKind::CapturedTracer).
///
/// # What is checked
/// The number, shapes and dtypes of everything a rule returns, and batch dims and sizes. A violation is an error of
/// kind [`Rule`](crate::ErrorKind::Rule) that names the function, the method and the position.
///
/// # Example
/// A cube that also returns `3x²`, so that its derivative need not be recomputed. Because the intermediate is an
/// output with a cotangent of its own, derivatives of every order are exact.
///
/// ```
/// use pullback::{Context, Cotangent, Function, Result, Tensor, grad, hessian};
///
/// #[derive(Clone)]
/// struct Cube;
///
/// impl Function for Cube {
///     type Inputs = Tensor;
///     type Outputs = (Tensor, Tensor);
///     type Saved = (Tensor, Tensor);
///
///     fn forward(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
///         Ok((x.powi(3)?, x.square()?.mul(3.0)?))
///     }
///
///     fn setup_context(&self, _: &mut Context<Self>, x: &Tensor, y: &(Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
///         Ok((x.clone(), y.1.clone()))
///     }
///
///     fn backward(
///         &self,
///         _: &Context<Self>,
///         (x, dx): &(Tensor, Tensor),
///         (gy, gdx): (Cotangent, Cotangent),
///     ) -> Result<Cotangent> {
///         Ok(gy * dx + gdx * x * 6.0)
///     }
/// }
///
/// let cube = |x: &Tensor| Ok(Cube.apply(x)?.0);
/// let x = Tensor::from(2.0);
/// assert_eq!(cube(&x)?.item::<f64>()?, 8.0);
/// assert_eq!(grad(cube)(&x)?.item::<f64>()?, 12.0);
/// assert_eq!(hessian(cube)(&x)?.item::<f64>()?, 12.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait Function: Clone + Send + Sync + 'static {
    /// The arguments: a tensor, or a tree of tensors.
    type Inputs: Tree;
    /// The results.
    type Outputs: Tree;
    /// What the derivative rules read.
    type Saved: Tree;

    /// The name that messages use; the name of the type unless overridden.
    fn name(&self) -> &str {
        type_name::<Self>()
    }

    /// Computes the outputs. The inputs carry no derivatives here, so their data may be read.
    fn forward(&self, inputs: &Self::Inputs) -> Result<Self::Outputs>;

    /// Keeps what the derivative rules will read, usually some inputs and outputs, and makes marks on `ctx`.
    ///
    /// Must be pure: it runs once per differentiating level.
    fn setup_context(
        &self,
        ctx: &mut Context<Self>,
        inputs: &Self::Inputs,
        outputs: &Self::Outputs,
    ) -> Result<Self::Saved>;

    /// The cotangents of the inputs from those of the outputs: `grads` times the Jacobian.
    ///
    /// It must be linear in `grads`, unless [`jvp`](Function::jvp) is written too. Cotangents must have the shape
    /// and dtype of their input; integer and bool inputs take none (return [`Cotangent::zero`]). Work for inputs that
    /// `ctx.needs_input_grad()` excludes may be skipped.
    ///
    /// A cotangent that has the shape of an output or of another input, to which its own input broadcasts, is summed to
    /// the shape of its input: that is the transpose of the broadcast. Any other cotangent that is too large is an
    /// error, because nothing says that a sum is meant; use [`sum_to`](crate::Tensor::sum_to).
    ///
    /// The default derives it from `jvp`, at the cost of one recorded call of `jvp` and one walk back through it: the
    /// gradient of the sine of one number then takes 1.8 times as long as with a written rule.
    fn backward(
        &self,
        ctx: &Context<Self>,
        saved: &Self::Saved,
        grads: Cotangents<Self::Outputs>,
    ) -> Result<Cotangents<Self::Inputs>> {
        derive::backward_from_jvp(self, ctx, saved, grads)
    }

    /// The tangents of the outputs from those of the inputs: the Jacobian times `tangents`.
    ///
    /// The default derives it from `backward`, at the cost of one recorded call of `backward` and one walk back
    /// through it: the tangent of the sine of one number then takes 2.1 times as long as with a written rule.
    fn jvp(
        &self,
        ctx: &Context<Self>,
        saved: &Self::Saved,
        tangents: Tangents<Self::Inputs>,
    ) -> Result<Tangents<Self::Outputs>> {
        derive::jvp_from_backward(self, ctx, saved, tangents)
    }

    /// The outputs for all lanes of a `vmap` at once, with the batch dim of each.
    ///
    /// `in_dims` says where each input carries its lanes. Output dims must be in range and of size
    /// `info.batch_size`; `None` means that the output is the same for every lane. The rule usually moves the lanes
    /// somewhere convenient (see [`VmapInfo::lanes_first`]) and calls `self.apply` or tensor operations, whose
    /// derivatives are then those of the batched function.
    ///
    /// The default is the generated rule: it runs `forward`, `setup_context`, `backward` and `jvp` under a batch
    /// level, so they must not read raw data. Functions that do choose another rule, such as [`rules::per_example`] (a
    /// loop), [`rules::leading_dims`] or [`rules::elementwise`].
    fn vmap(
        &self,
        info: &VmapInfo,
        in_dims: Dims<Self::Inputs>,
        inputs: &Self::Inputs,
    ) -> Result<(Self::Outputs, Dims<Self::Outputs>)> {
        rules::generated(self, info, in_dims, inputs)
    }

    /// True if `backward` is linear in the cotangents (it almost always is), which lets a call on inputs that no
    /// lane of a surrounding `vmap` changes run once for all lanes.
    ///
    /// The default is `false`: each lane then has its own call of `backward`, so that even a rule that clips
    /// gradients gives what a loop over the lanes gives.
    fn backward_is_linear(&self) -> bool {
        false
    }

    /// True if the derivative rules must not be differentiated themselves, because they are approximate or call code
    /// outside this crate.
    ///
    /// The rules then run on values without derivatives, like `forward`, so they may read raw data. First derivatives
    /// work under every transform; under `vmap` such a rule runs for all lanes at once, or for one after the other if
    /// it reads data. A second derivative with respect to anything that the inputs or the cotangents depend on is an
    /// error of kind [`NotDifferentiable`](crate::ErrorKind::NotDifferentiable) that names the function: never a zero.
    /// In reverse mode it is reported when the walk gets to the rule's result, in forward mode at once.
    fn once_differentiable(&self) -> bool {
        false
    }

    /// [`once_differentiable`](Function::once_differentiable) of `jvp` alone. Not for implementors.
    #[doc(hidden)]
    fn jvp_is_once_differentiable(&self) -> bool {
        self.once_differentiable()
    }

    /// How a message names the input or output (`of`) whose number among the tensors is `index`. Not for implementors.
    #[doc(hidden)]
    fn part(&self, of: &str, index: usize) -> String {
        format!("{of} {index}")
    }

    /// In whose terms an error advises. Not for implementors.
    #[doc(hidden)]
    fn written_as(&self) -> WrittenAs {
        WrittenAs::Function
    }

    /// Applies the function.
    fn apply(&self, inputs: &Self::Inputs) -> Result<Self::Outputs> {
        erased::apply(self, inputs)
    }
}
