//! Forward mode: a function's value, and how it changes along one direction.

use super::vjp::check_like;
use crate::error::{Context as _, bail};
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, check_alive, forward};
use crate::tree::{leaves, path_of, same_places, try_map};
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
    run(f, x, dx).context(|| "jvp".into())
}

fn run<A: Tree, O: Tree>(f: impl FnOnce(&A) -> Result<O>, x: &A, dx: &A) -> Result<(O, O)> {
    let (primals, tangents) = (leaves(x), leaves(dx));
    if primals.len() != tangents.len() {
        bail!(Arity, "expected {} tangents, one for each argument, got {}", primals.len(), tangents.len());
    }
    if !same_places(x, dx) {
        let (want, got) = (x.describe(), dx.describe());
        bail!(Arity, "expected tangents at the places of the arguments, {want}, got {got}");
    }
    for (k, (p, t)) in primals.iter().zip(&tangents).enumerate() {
        if !p.dtype().is_float() {
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
        derivatives.push(match tangent {
            Some(t) => t,
            None => Tensor::zeros(value.shape(), value.dtype())?,
        });
        Ok(value)
    })?;
    let mut derivatives = derivatives.into_iter();
    let tangent = try_map(&out, &mut |t| Ok(derivatives.next().unwrap_or_else(|| t.clone())))?;
    Ok((value, tangent))
}
