//! Gradients of scalar functions.

use super::vjp::{gradients, record};
use crate::error::{Context as _, bail};
use crate::{Result, Tensor, Tree};

/// The gradient of a scalar function: a function of the same arguments that returns what they would have to change
/// by, shaped like them.
///
/// `f` must return a 0-d floating tensor. Its argument is a tree; every tensor in it is differentiated, so integer
/// tensors belong into the closure, or use [`Grad::argnums`].
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
    move |x| Ok(run("grad", |x| Ok((f(x)?, ())), x)?.2)
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
        let (value, (), gradient) = run("value_and_grad", |x| Ok((f(x)?, ())), x)?;
        Ok((value, gradient))
    }
}

/// The value, the auxiliary data and the gradient.
fn run<A: Tree, X: Tree>(name: &str, f: impl FnOnce(&A) -> Result<(Tensor, X)>, x: &A) -> Result<(Tensor, X, A)> {
    let run = || {
        let recorded = record(f, x)?;
        let (value, aux) = recorded.value;
        let ty = value.ty();
        if !ty.shape.is_empty() {
            bail!(NotScalar, "the function must return a scalar, got {ty}"; help = "sum it, select one element, or use \
                `vjp` or `jacrev`");
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
        Ok((value, aux, gradients::<A>(&recorded.arguments, roots)?))
    };
    run().context(|| name.into())
}

/// Options for [`grad`].
///
/// ```
/// use pullback::{Grad, Tensor};
/// let loss = |(w, x, class): &(Tensor, Tensor, Tensor)| w.mul(x)?.sum()?.add(&class.to_dtype(w.dtype())?);
/// let args = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]), Tensor::from(1i64));
/// let dw = Grad::new().argnums::<0>().of(loss)(&args)?;
/// assert_eq!(dw.to_vec::<f64>()?, [3.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Grad<S = All>(S);

/// Selects every argument.
#[derive(Clone, Copy, Debug, Default)]
pub struct All;

/// Selects argument number `N` of a tuple.
#[derive(Clone, Copy, Debug, Default)]
pub struct Only<const N: usize>;

impl Grad {
    /// No options: the same as [`grad`].
    pub fn new() -> Grad {
        Grad(All)
    }

    /// Differentiates argument number `N` of a tuple only; the others are constants of any dtype.
    pub fn argnums<const N: usize>(self) -> Grad<Only<N>> {
        Grad(Only)
    }

    /// The gradient function. See [`grad`].
    pub fn of<A: Tree, F: Fn(&A) -> Result<Tensor>>(self, f: F) -> impl Fn(&A) -> Result<A> {
        grad(f)
    }
}

impl<const N: usize> Grad<Only<N>> {
    /// The gradient with respect to the selected argument. See [`grad`].
    pub fn of<A: Argument<N>, F: Fn(&A) -> Result<Tensor>>(self, f: F) -> impl Fn(&A) -> Result<A::Selected> {
        move |x| Ok(run("grad", |selected: &A::Selected| Ok((f(&x.replaced(selected))?, ())), x.selected())?.2)
    }

    /// The value and the gradient with respect to the selected argument. See [`value_and_grad`].
    pub fn value_and<A: Argument<N>, F: Fn(&A) -> Result<Tensor>>(
        self,
        f: F,
    ) -> impl Fn(&A) -> Result<(Tensor, A::Selected)> {
        move |x| {
            let f = |selected: &A::Selected| Ok((f(&x.replaced(selected))?, ()));
            let (value, (), gradient) = run("value_and_grad", f, x.selected())?;
            Ok((value, gradient))
        }
    }
}

/// A tuple that has an argument number `N`.
pub trait Argument<const N: usize>: Tree {
    /// The type of that argument.
    type Selected: Tree;
    /// The argument.
    fn selected(&self) -> &Self::Selected;
    /// The tuple with another value for the argument.
    fn replaced(&self, with: &Self::Selected) -> Self;
}

macro_rules! argument {
    ($($n:tt of ($($t:ident $k:tt),*): $s:ident;)*) => { $(
        impl<$($t: Tree),*> Argument<$n> for ($($t,)*) {
            type Selected = $s;
            fn selected(&self) -> &$s {
                &self.$n
            }
            fn replaced(&self, with: &$s) -> Self {
                let mut out = self.clone();
                out.$n = with.clone();
                out
            }
        }
    )* };
}
argument! {
    0 of (A 0): A;
    0 of (A 0, B 1): A; 1 of (A 0, B 1): B;
    0 of (A 0, B 1, C 2): A; 1 of (A 0, B 1, C 2): B; 2 of (A 0, B 1, C 2): C;
    0 of (A 0, B 1, C 2, D 3): A; 1 of (A 0, B 1, C 2, D 3): B; 2 of (A 0, B 1, C 2, D 3): C; 3 of (A 0, B 1, C 2, D 3): D;
}
