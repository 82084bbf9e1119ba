//! Forward mode: a function's value, and how it changes along one direction.

use super::options::{All, And, Argnums, HasAux, NoAux, Only, Options, Selected, builder};
use super::vjp::check_like;
use crate::error::{Context as _, bail};
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, check_alive, forward};
use crate::tree::{count, leaves, path_of, same_places, try_map};
use crate::{Result, Tensor, Tree};

/// The value of `f` at `x`, and the Jacobian times `dx`: how the result changes when `x` changes by `dx`.
///
/// The tangent of an integer result, and of one that does not depend on `x`, is zero.
///
/// # Errors
/// `Arity`, `Shape` or `Dtype` if `dx` is not like `x`; `NotDifferentiable` for integer arguments; whatever `f`
/// reports.
///
/// # Nesting
/// In any order with all transforms; perturbations of different calls never mix.
///
/// # Example
/// ```
/// use pullback::{Tensor, jvp};
/// let (y, dy) = jvp(|x: &Tensor| x.mul(x), &Tensor::from(3.0), &Tensor::from(1.0))?;
/// assert_eq!((y.item::<f64>()?, dy.item::<f64>()?), (9.0, 6.0));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jvp<A: Tree, O: Tree>(f: impl FnOnce(&A) -> Result<O>, x: &A, dx: &A) -> Result<(O, O)> {
    push(f, x, dx).and_then(|(value, tangents)| with_tangents(value, tangents)).context(|| "jvp".into())
}

/// The value of `f`, and the tangent of each of its tensors that depends on the arguments.
pub(super) fn push<A: Tree, O: Tree>(
    f: impl FnOnce(&A) -> Result<O>,
    x: &A,
    dx: &A,
) -> Result<(O, std::vec::IntoIter<Option<Tensor>>)> {
    let (primals, tangents) = (leaves(x), leaves(dx));
    if primals.len() != tangents.len() || !same_places(x, dx) {
        let (want, got) = (x.describe(), dx.describe());
        bail!(Arity, "expected tangents at the places of the arguments, {want}, got {got}");
    }
    for (k, (p, t)) in primals.iter().zip(&tangents).enumerate() {
        if !p.dtype().is_differentiable() {
            bail!(NotDifferentiable, "expected floating-point arguments, got {} at argument{}", p.ty(), path_of(x, k);
                help = "capture integer tensors in a closure");
        }
        check_like("tangent", k, &t.ty(), "argument", &p.ty())?;
        check_alive(p, "argument")?;
        check_alive(t, "tangent")?;
    }
    let open = OpenLevel::new(LevelKind::Forward);
    let mut tangents = tangents.into_iter();
    let wrapped = try_map(x, &mut |p| match tangents.next() {
        Some(t) => Ok(forward::wrap(open.level(), p.clone(), t.clone())),
        None => Ok(p.clone()),
    })?;
    let out = f(&wrapped)?;
    drop(wrapped);
    let mut derivatives = Vec::new();
    let value = try_map(&out, &mut |t| {
        check_alive(t, "result")?;
        let (value, tangent) = forward::unwrap(open.level(), t);
        derivatives.push(tangent);
        Ok(value)
    })?;
    Ok((value, derivatives.into_iter()))
}

/// A value with its tangents; those that are missing are zero.
fn with_tangents<O: Tree>(value: O, mut tangents: impl Iterator<Item = Option<Tensor>>) -> Result<(O, O)> {
    let tangent = try_map(&value, &mut |t| match tangents.next().flatten() {
        Some(tangent) => Ok(tangent),
        None => Tensor::zeros(t.shape(), t.dtype()),
    })?;
    Ok((value, tangent))
}

builder! {
    /// Options for [`jvp`].
    ///
    /// ```
    /// use pullback::{Jvp, Tensor};
    /// let f = |(a, b): &(Tensor, Tensor)| a.mul(b);
    /// let x = (Tensor::from(2.0), Tensor::from(3.0));
    /// let (y, dy) = Jvp::new().argnums::<1>().of(f)(&x, &Tensor::from(1.0))?;
    /// assert_eq!((y.item::<f64>()?, dy.item::<f64>()?), (6.0, 2.0));
    ///
    /// let constant = Tensor::from(1.0);
    /// let independent = |_: &Tensor| Ok(constant.clone());
    /// assert!(Jvp::new().strict(true).of(independent)(&x.0, &x.1).is_err());
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Jvp {
        /// Whether a result that does not depend on the selected arguments is an error, instead of having a tangent of
        /// zeros.
        strict: bool,
    }
}

impl<S, X> Jvp<S, X> {
    fn run<A: Tree, O: Tree, Y: Tree>(
        &self,
        f: impl Fn(&A) -> Result<(O, Y)>,
        x: &A,
        dx: &Selected<S, A>,
    ) -> Result<(O, O, Y)>
    where
        S: Argnums<A>,
    {
        let argnums = &self.0.argnums;
        let selected = argnums.selected(x)?;
        let ((value, aux), tangents) = push(|s: &S::Selected| f(&*argnums.with(x, s)?), &*selected, dx)?;
        let tangents = tangents.as_slice();
        let own = count(&value);
        if self.0.strict
            && let Some(k) = tangents.iter().take(own).position(Option::is_none)
        {
            let (path, ty) = (path_of(&value, k), leaves(&value)[k].ty());
            bail!(NotDifferentiable, "strict: result{path} ({ty}, number {k}) does not depend on the arguments"; help = "\
                leave it out, return it as auxiliary data, or do without `strict` to get zeros");
        }
        let (value, tangent) = with_tangents(value, tangents.iter().cloned())?;
        Ok((value, tangent, aux))
    }
}

impl<S> Jvp<S, NoAux> {
    /// The function of the arguments and the tangents of those that are selected, which returns the value and its
    /// tangent. See [`jvp`].
    pub fn of<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(self, f: F) -> impl Fn(&A, &Selected<S, A>) -> Result<(O, O)>
    where
        S: Argnums<A>,
    {
        move |x, dx| {
            let (value, tangent, ()) = self.run(|x: &A| Ok((f(x)?, ())), x, dx).context(|| "jvp".into())?;
            Ok((value, tangent))
        }
    }
}

impl<S> Jvp<S, HasAux> {
    /// The function of the arguments and the tangents of those that are selected, which returns the value, its tangent,
    /// and the auxiliary data. See [`jvp`].
    pub fn of<A: Tree, O: Tree, Y: Tree, F: Fn(&A) -> Result<(O, Y)>>(
        self,
        f: F,
    ) -> impl Fn(&A, &Selected<S, A>) -> Result<(O, O, Y)>
    where
        S: Argnums<A>,
    {
        move |x, dx| self.run(&f, x, dx).context(|| "jvp".into())
    }
}
