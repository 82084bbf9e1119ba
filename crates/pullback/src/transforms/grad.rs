//! Gradients of scalar functions.

use super::options::{All, And, Argnums, HasAux, NoAux, Only, Options, Selected, builder, forms};
use super::vjp::{gradients, record};
use crate::error::{Context as _, bail};
use crate::{Result, Tensor, Tree};

/// The gradient of a scalar function: a function of the same arguments that returns what they would have to change
/// by, shaped like them.
///
/// `f` must return a 0-d floating tensor. Its argument is a tree; every tensor in it is differentiated, so integer
/// tensors belong into the closure, or use [`Grad::argnums`]. [`Grad`] has options.
///
/// # Errors
/// `NotScalar` if the result is not 0-d; `NotDifferentiable` for integer arguments or results; whatever `f` reports.
/// Arguments that do not influence the result get zeros.
///
/// # Nesting
/// In any order with all transforms: `grad(grad(f))`, `vmap(grad(f))`, `jvp(grad(f), …)`.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad};
/// let f = |x: &Tensor| x.sin();
/// let x = Tensor::from(0.5);
/// assert!((grad(f)(&x)?.item::<f64>()? - 0.5f64.cos()).abs() < 1e-15);
/// assert!((grad(grad(f))(&x)?.item::<f64>()? + 0.5f64.sin()).abs() < 1e-15);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn grad<A: Tree, F: Fn(&A) -> Result<Tensor>>(f: F) -> impl Fn(&A) -> Result<A> {
    move |x| Ok(scalar(|x| Ok((f(x)?, ())), x).context(|| "grad".into())?.1)
}

/// The value of a scalar function and its gradient, as `(value, gradient)`. See [`grad`].
///
/// ```
/// use pullback::{Tensor, value_and_grad};
/// let (y, dy) = value_and_grad(|x: &Tensor| x.mul(x))(&Tensor::from(3.0))?;
/// assert_eq!((y.item::<f64>()?, dy.item::<f64>()?), (9.0, 6.0));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn value_and_grad<A: Tree, F: Fn(&A) -> Result<Tensor>>(f: F) -> impl Fn(&A) -> Result<(Tensor, A)> {
    move |x| {
        let (value, gradient, ()) = scalar(|x| Ok((f(x)?, ())), x).context(|| "value_and_grad".into())?;
        Ok((value, gradient))
    }
}

/// The value, the gradient and the auxiliary data.
pub(super) fn scalar<A: Tree, X: Tree>(f: impl FnOnce(&A) -> Result<(Tensor, X)>, x: &A) -> Result<(Tensor, A, X)> {
    let recorded = record(f, x)?;
    let (value, aux) = recorded.value;
    let ty = value.ty();
    if !ty.shape.is_empty() {
        bail!(NotScalar, "the function must return a scalar, got {ty}"; help = "sum it, select one element, or use \
            `vjp` or `jacrev`");
    }
    if ty.dtype.is_complex() {
        bail!(NotDifferentiable, "the function must return a real scalar, got {ty}"; help = "return a function of it that \
            is real, such as `real` or `abs`, or use `vjp`");
    }
    if !ty.dtype.is_float() {
        bail!(NotDifferentiable, "the function must return a floating-point scalar, got {ty}"; help = "convert it \
            with `to_dtype` before differentiating");
    }
    let mut roots = Vec::new();
    // The edges of auxiliary data are dropped here: it is not differentiated at this level.
    if let Some(edge) = recorded.edges.into_iter().next().flatten() {
        roots.push((edge, Tensor::ones(&[], ty.dtype)?));
    }
    Ok((value, gradients::<A>(&recorded.arguments, roots)?, aux))
}

builder! {
    /// Options for [`grad`] and [`value_and_grad`].
    ///
    /// ```
    /// use pullback::{Grad, Tensor};
    /// let loss = |(w, x, class): &(Tensor, Tensor, Tensor)| w.mul(x)?.sum()?.add(&class.to_dtype(w.dtype())?);
    /// let args = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]), Tensor::from(1i64));
    /// let dw = Grad::new().argnums::<0>().of(loss)(&args)?;
    /// assert_eq!(dw.to_vec::<f64>()?, [3.0, 4.0]);
    ///
    /// let with_norm = |w: &Tensor| Ok((w.sin()?.sum()?, w.square()?.sum()?));
    /// let (_, norm) = Grad::new().has_aux().of(with_norm)(&Tensor::from([3.0, 4.0]))?;
    /// assert_eq!(norm.item::<f64>()?, 25.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Grad {}
}

impl<S, X> Grad<S, X> {
    fn run<A: Tree, Y: Tree>(
        &self,
        f: &impl Fn(&A) -> Result<(Tensor, Y)>,
        x: &A,
    ) -> Result<(Tensor, Selected<S, A>, Y)>
    where
        S: Argnums<A>,
    {
        let argnums = &self.0.argnums;
        scalar(|s: &S::Selected| f(&*argnums.with(x, s)?), &*argnums.selected(x)?)
    }
}

forms!(Grad, "grad", "value_and_grad", [] Tensor => Selected<S, A>);
