//! Functions whose every part may be code that knows nothing of this crate.

mod raw;
mod slices;

use std::fmt;
use std::sync::Arc;

use slices::Results;
pub use slices::{ArrayMut, ArrayRef};

use super::batching::{Batching, LaneTypes, lane_type, zero_lanes};
use super::context::{Context, collect};
use super::{Cotangents, Dims, Function, Tangents, VmapInfo, derive, rules};
use crate::array::Array;
use crate::interp::WrittenAs;
use crate::tree::leaves;
use crate::{Error, Leaf, Result, Tensor, TensorType, Tree, error::bail, kernels};

/// One type per tensor of a tree.
pub type Types<T> = <T as Tree>::Mapped<TensorType>;

/// A function whose implementation works on slices: a call into C, a solver, another library.
///
/// State the types of the outputs, compute them from slices, and give derivative rules of either kind:
///
/// | | on slices | with tensor operations |
/// |---|---|---|
/// | reverse | [`backward`](OpaqueFunction::backward) | [`tensor_backward`](OpaqueFunction::tensor_backward) |
/// | forward | [`jvp`](OpaqueFunction::jvp) | [`tensor_jvp`](OpaqueFunction::tensor_jvp) |
/// | orders | the first | all |
/// | gives the other mode | no | yes |
///
/// Rules on slices need nothing of this crate, and serve every composition that differentiates once: `grad`, `jvp`, `vmap` of
/// them and the other way round, Jacobians. They are differentiable once: a second derivative of them is an error of kind
/// [`NotDifferentiable`](crate::ErrorKind::NotDifferentiable) that names the function. Rules with tensor
/// operations may call other functions, this one included (the derivative of xⁿ is xⁿ⁻¹), and serve every order. If a
/// mode has both, the one with tensor operations runs; a rule on slices is preferred to one derived from the other mode.
///
/// [`Opaque`] makes a [`Function`] of it. Tensors are handed over in the order in which they stand in the trees `Inputs` and
/// `Outputs`, contiguous, in row-major order. Results are allocated by the caller with the types that
/// [`output_types`](OpaqueFunction::output_types) states, and start as zeros.
///
/// # What is checked
/// Results cannot have a wrong number, shape or dtype, because they are not the implementation's to make. One that was not
/// written, or opened with the wrong element type, is an error, and so are lanes that do not add up to the stated types.
///
/// # Example
/// The norm of a vector, with every part on slices:
/// ```
/// use pullback::function::{ArrayMut, ArrayRef, Opaque, OpaqueFunction, Types};
/// use pullback::{DType, Function, Result, Tensor, TensorType, grad, jvp, vmap};
///
/// struct Norm;
///
/// impl OpaqueFunction for Norm {
///     type Inputs = Tensor;
///     type Outputs = Tensor;
///
///     fn output_types(&self, x: &TensorType) -> Result<TensorType> {
///         Ok(TensorType::new(x.dtype, &[]))
///     }
///     fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
///         y[0].as_mut_slice::<f64>()?[0] = x[0].as_slice::<f64>()?.iter().map(|x| x * x).sum::<f64>().sqrt();
///         Ok(())
///     }
///     fn backward(
///         &self,
///         x: &[ArrayRef<'_>],
///         y: &[ArrayRef<'_>],
///         g: &[ArrayRef<'_>],
///         dx: &mut [Option<ArrayMut<'_>>],
///     ) -> Result<()> {
///         let (g, norm) = (g[0].as_slice::<f64>()?[0], y[0].as_slice::<f64>()?[0]);
///         if let Some(dx) = &mut dx[0] {
///             for (dx, x) in dx.as_mut_slice::<f64>()?.iter_mut().zip(x[0].as_slice::<f64>()?) {
///                 *dx = g * x / norm;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let norm = |x: &Tensor| Opaque::new(Norm).apply(x);
/// let x = Tensor::from([3.0, 4.0]);
/// assert_eq!(grad(norm)(&x)?.to_vec::<f64>()?, [0.6, 0.8]);
/// let rows = Tensor::from([[3.0, 4.0], [0.0, 2.0]]);
/// assert_eq!(vmap(norm)(&rows)?.to_vec::<f64>()?, [5.0, 2.0]); // by a loop, unless `batching` says better
/// assert_eq!(vmap(grad(norm))(&rows)?.to_vec::<f64>()?, [0.6, 0.8, 0.0, 1.0]);
/// // There is no forward rule, and none can be derived from code on slices.
/// assert!(jvp(norm, &x, &x).unwrap_err().is_missing_rule());
/// // Second derivatives need rules that can be differentiated.
/// let second = grad(|x: &Tensor| grad(norm)(x)?.sum())(&x).unwrap_err();
/// assert_eq!(second.kind(), pullback::ErrorKind::NotDifferentiable);
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait OpaqueFunction: Sized + Send + Sync + 'static {
    /// The arguments: a tensor, or a tree of tensors.
    type Inputs: Tree;
    /// The results.
    type Outputs: Tree;

    /// The name that messages use; the name of the type unless overridden.
    fn name(&self) -> &str {
        super::type_name::<Self>()
    }

    /// The dtypes and shapes of the outputs for inputs of these types: what [`forward`](OpaqueFunction::forward) will be
    /// given to write. The place to refuse inputs of a wrong shape or dtype.
    fn output_types(&self, inputs: &Types<Self::Inputs>) -> Result<Types<Self::Outputs>>;

    /// Computes the outputs.
    fn forward(&self, inputs: &[ArrayRef<'_>], outputs: &mut [ArrayMut<'_>]) -> Result<()>;

    /// The cotangents of the inputs from those of the outputs, on slices. `input_grads` has one place per input, with
    /// `None` where no cotangent is needed or the dtype takes none.
    ///
    /// The default is "not given".
    fn backward(
        &self,
        inputs: &[ArrayRef<'_>],
        outputs: &[ArrayRef<'_>],
        grads: &[ArrayRef<'_>],
        input_grads: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        let _ = (inputs, outputs, grads, input_grads);
        not_given()
    }

    /// The tangents of the outputs from those of the inputs, on slices. The tangent of an input that is not being
    /// differentiated is zeros; `output_tangents` has `None` for outputs whose dtype takes no tangent.
    ///
    /// The default is "not given".
    fn jvp(
        &self,
        inputs: &[ArrayRef<'_>],
        outputs: &[ArrayRef<'_>],
        tangents: &[ArrayRef<'_>],
        output_tangents: &mut [Option<ArrayMut<'_>>],
    ) -> Result<()> {
        let _ = (inputs, outputs, tangents, output_tangents);
        not_given()
    }

    /// The cotangents of the inputs, written with tensor operations and other functions: [`Function::backward`] with the
    /// inputs and outputs saved. `ctx` says which cotangents are needed.
    ///
    /// The default is "not given".
    ///
    /// # Example
    /// ```
    /// use pullback::function::{ArrayMut, ArrayRef, Batching, Opaque, OpaqueFunction};
    /// use pullback::{Context, Cotangent, Function, Result, Tensor, TensorType, grad, jvp, vmap};
    ///
    /// /// xⁿ
    /// struct Power(i32);
    ///
    /// impl OpaqueFunction for Power {
    ///     type Inputs = Tensor;
    ///     type Outputs = Tensor;
    ///
    ///     fn output_types(&self, x: &TensorType) -> Result<TensorType> {
    ///         Ok(x.clone())
    ///     }
    ///     fn forward(&self, x: &[ArrayRef<'_>], y: &mut [ArrayMut<'_>]) -> Result<()> {
    ///         for (y, x) in y[0].as_mut_slice::<f64>()?.iter_mut().zip(x[0].as_slice::<f64>()?) {
    ///             *y = x.powi(self.0);
    ///         }
    ///         Ok(())
    ///     }
    ///     fn tensor_backward(&self, _: &Context<Opaque<Self>>, (x, _): &(Tensor, Tensor), g: Cotangent) -> Result<Cotangent> {
    ///         g.map(|g| g.mul(&(Opaque::new(Power(self.0 - 1)).apply(x)? * self.0)))
    ///     }
    ///     fn batching(&self) -> Batching {
    ///         Batching::LeadingDims
    ///     }
    /// }
    ///
    /// let f = |x: &Tensor| Opaque::new(Power(4)).apply(x);
    /// let x = Tensor::from(2.0);
    /// assert_eq!(grad(grad(grad(f)))(&x)?.item::<f64>()?, 48.0);
    /// assert_eq!(jvp(grad(f), &x, &Tensor::from(1.0))?.1.item::<f64>()?, 48.0);
    /// assert_eq!(vmap(grad(f))(&Tensor::from([1.0, 2.0]))?.to_vec::<f64>()?, [4.0, 32.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn tensor_backward(
        &self,
        ctx: &Context<Opaque<Self>>,
        saved: &(Self::Inputs, Self::Outputs),
        grads: Cotangents<Self::Outputs>,
    ) -> Result<Cotangents<Self::Inputs>> {
        let _ = (ctx, saved, grads);
        not_given()
    }

    /// The tangents of the outputs, written with tensor operations and other functions: [`Function::jvp`] with the inputs
    /// and outputs saved.
    ///
    /// The default is "not given".
    fn tensor_jvp(
        &self,
        ctx: &Context<Opaque<Self>>,
        saved: &(Self::Inputs, Self::Outputs),
        tangents: Tangents<Self::Inputs>,
    ) -> Result<Tangents<Self::Outputs>> {
        let _ = (ctx, saved, tangents);
        not_given()
    }

    /// How `vmap` hands lanes over, for `forward` and for the rules on slices. The default is one call per lane, which is
    /// right for every function.
    fn batching(&self) -> Batching {
        Batching::Loop
    }

    /// Promises that the reverse rule is linear in the cotangents; see [`Function::backward_is_linear`].
    fn backward_is_linear(&self) -> bool {
        false
    }
}

/// An [`OpaqueFunction`] as a [`Function`]: [`apply`](Function::apply) it, under any transform.
///
/// It keeps inputs and outputs for the derivative rules. A clone shares the implementation.
pub struct Opaque<T>(Arc<T>);

impl<T: OpaqueFunction> Opaque<T> {
    /// A function with this implementation.
    pub fn new(implementation: T) -> Opaque<T> {
        Opaque(Arc::new(implementation))
    }

    /// The types of the outputs of one lane.
    fn lane_types(&self, dims: &Dims<T::Inputs>, inputs: &T::Inputs) -> Result<Types<T::Outputs>> {
        let mut dims = collect::<T::Inputs, Option<usize>>(dims).into_iter();
        self.0.output_types(&inputs.map(&mut |t| lane_type(t.ty(), dims.next().flatten())))
    }
}

impl<T> Clone for Opaque<T> {
    fn clone(&self) -> Opaque<T> {
        Opaque(self.0.clone())
    }
}

impl<T: OpaqueFunction> fmt::Debug for Opaque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opaque({})", self.0.name())
    }
}

/// Marks the error of a rule that was not written, which only default bodies make.
#[derive(Debug)]
struct NotGiven;

impl fmt::Display for NotGiven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this rule was not given")
    }
}

impl std::error::Error for NotGiven {}

fn not_given<R>() -> Result<R> {
    Err(Error::other(NotGiven))
}

/// True for the error of a rule that was not given.
pub(super) fn is_not_given(e: &Error) -> bool {
    e.downcast_ref::<NotGiven>().is_some()
}

/// `None` if the rule was not given.
fn given<R>(result: Result<R>) -> Result<Option<R>> {
    match result {
        Ok(r) => Ok(Some(r)),
        Err(e) if is_not_given(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The concrete contents of tensors, contiguous.
fn contiguous<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Result<Vec<Array>> {
    tensors.into_iter().map(|t| Ok(kernels::copy::contiguous(t.data("forward")?))).collect()
}

/// A mapped tree from leaves in order, with the structure of a tree.
fn like<T: Tree, L: Leaf>(tree: &T, leaves: Vec<L>) -> Result<T::Mapped<L>> {
    let (mut leaves, mut missing) = (leaves.into_iter(), false);
    let mapped = tree.map(&mut |_| leaves.next());
    T::visit_mapped(&mapped, &mut |leaf: &Option<L>| missing |= leaf.is_none());
    if missing {
        bail!(Internal, "a rule on slices gave too few results");
    }
    Ok(T::map_mapped(&mapped, &mut |leaf: &Option<L>| leaf.clone().expect("none is missing")))
}

impl<T: OpaqueFunction> Function for Opaque<T> {
    type Inputs = T::Inputs;
    type Outputs = T::Outputs;
    type Saved = (T::Inputs, T::Outputs);

    fn name(&self) -> &str {
        self.0.name()
    }

    fn forward(&self, inputs: &T::Inputs) -> Result<T::Outputs> {
        let types = self.0.output_types(&inputs.map(&mut Tensor::ty))?;
        let arrays = contiguous(leaves(inputs))?;
        let views: Vec<ArrayRef<'_>> = arrays.iter().map(ArrayRef::new).collect();
        let mut results = Results::new(collect::<T::Outputs, TensorType>(&types).into_iter().map(Some))?;
        let mut outputs: Vec<ArrayMut<'_>> = results.views().into_iter().flatten().collect();
        self.0.forward(&views, &mut outputs)?;
        drop(outputs);
        let mut written = results.finish("output")?.into_iter();
        Ok(T::Outputs::from_mapped(&types, &mut |_: &TensorType| written.next().expect("one tensor per type")))
    }

    fn setup_context(
        &self,
        _: &mut Context<Self>,
        inputs: &T::Inputs,
        outputs: &T::Outputs,
    ) -> Result<(T::Inputs, T::Outputs)> {
        Ok((inputs.clone(), outputs.clone()))
    }

    fn backward(
        &self,
        ctx: &Context<Self>,
        saved: &Self::Saved,
        grads: Cotangents<T::Outputs>,
    ) -> Result<Cotangents<T::Inputs>> {
        if let Some(found) = given(self.0.tensor_backward(ctx, saved, grads.clone()))? {
            return Ok(found);
        }
        if ctx.deriving.is_none() {
            if let Some(found) = given(raw::backward(self, ctx, saved, &grads))? {
                return Ok(found);
            }
            if let Some(found) = given(derive::backward_from_jvp(self, ctx, saved, grads))? {
                return Ok(found);
            }
            return missing("backward", "jvp");
        }
        not_given()
    }

    fn jvp(
        &self,
        ctx: &Context<Self>,
        saved: &Self::Saved,
        tangents: Tangents<T::Inputs>,
    ) -> Result<Tangents<T::Outputs>> {
        if let Some(found) = given(self.0.tensor_jvp(ctx, saved, tangents.clone()))? {
            return Ok(found);
        }
        if ctx.deriving.is_none() {
            if let Some(found) = given(raw::jvp(self, ctx, saved, &tangents))? {
                return Ok(found);
            }
            if let Some(found) = given(derive::jvp_from_backward(self, ctx, saved, tangents))? {
                return Ok(found);
            }
            return missing("jvp", "backward");
        }
        not_given()
    }

    fn vmap(
        &self,
        info: &VmapInfo,
        in_dims: Dims<T::Inputs>,
        inputs: &T::Inputs,
    ) -> Result<(T::Outputs, Dims<T::Outputs>)> {
        if info.batch_size == 0 && self.0.batching() != Batching::Refuse {
            let types = self.lane_types(&in_dims, inputs)?;
            let none = collect::<T::Outputs, TensorType>(&types).iter().map(zero_lanes).collect::<Result<Vec<_>>>()?;
            let mut none = none.into_iter();
            let outputs =
                T::Outputs::from_mapped(&types, &mut |_: &TensorType| none.next().expect("one tensor per type"));
            let out_dims = outputs.map(&mut |_| Some(0));
            return Ok((outputs, out_dims));
        }
        let types = collect::<T::Outputs, TensorType>(&self.lane_types(&in_dims, inputs)?);
        let batching = self.0.batching();
        let (outputs, out_dims) = rules::by_name(batching, self, info, in_dims, inputs)?;
        let batching = Some((batching, info.batch_size));
        let expected = LaneTypes { types: &types, source: "`output_types` states", batching };
        expected.check(&outputs, &collect::<T::Outputs, Option<usize>>(&out_dims))?;
        Ok((outputs, out_dims))
    }

    fn backward_is_linear(&self) -> bool {
        self.0.backward_is_linear()
    }

    fn written_as(&self) -> WrittenAs {
        WrittenAs::Opaque
    }
}

/// How the error begins that says that there is no rule for a mode; the checkers look for it.
pub(crate) const NOT_ON_SLICES: &str = "expected a derivative rule, got";

#[cold]
fn missing<R>(wanted: &str, other: &str) -> Result<R> {
    bail!(MissingRule, "{NOT_ON_SLICES} neither `{wanted}` on slices nor `tensor_{wanted}`, and no \
        `tensor_{other}` to derive it from (`{other}` on slices cannot be transposed)"; help = "implement `tensor_{other}`, \
        which gives both modes and every order, or `{wanted}`, which gives first derivatives in this mode")
}
