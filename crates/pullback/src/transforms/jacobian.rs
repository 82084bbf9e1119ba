//! Jacobians and Hessians: every direction at once, as lanes.

use super::vjp::{gradients, record};
use crate::error::{Context as _, bail};
use crate::function::Randomness;
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, batch, check_alive, forward};
use crate::shape::Shape;
use crate::tree::{leaves, path_of, try_map};
use crate::{DType, Result, Tensor, TensorType, Tree};

/// The Jacobian of a function by reverse mode: one walk back per element of the result, all of them as lanes.
///
/// The result has the structure of the function's result, with the structure of the argument at each leaf:
/// `O::Mapped<A>`, which for a tensor-valued function of a tensor is a tensor. Each leaf has the shape of the result
/// followed by the shape of the argument. `f` runs once. Best where results are smaller than arguments.
///
/// # Errors
/// `NotDifferentiable` for integer arguments or results; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms; `vmap(jacrev(f))` gives one Jacobian per example.
///
/// # Example
/// ```
/// use pullback::{Tensor, jacrev};
/// let j = jacrev(|x: &Tensor| x.mul(x))(&Tensor::from([1.0, 2.0]))?;
/// assert_eq!(j.to_vec::<f64>()?, [2.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jacrev<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(f: F) -> impl Fn(&A) -> Result<O::Mapped<A>> {
    move |x| reverse_jacobian(&f, x).context(|| "jacrev".into())
}

fn reverse_jacobian<A: Tree, O: Tree>(f: &dyn Fn(&A) -> Result<O>, x: &A) -> Result<O::Mapped<A>> {
    let recorded = record(f, x)?;
    let mut rows = Vec::new();
    for (k, (t, edge)) in leaves(&recorded.value).into_iter().zip(&recorded.edges).enumerate() {
        let TensorType { dtype, shape } = t.ty();
        if !dtype.is_float() {
            bail!(NotDifferentiable, "expected floating-point results, got {} at result {k}", t.ty(); help = "return it \
                from another function, or convert it with `to_dtype`");
        }
        let n = t.numel();
        let row = if n == 1 {
            // One direction needs no lanes.
            let roots = edge.iter().map(|e| Ok((e.clone(), Tensor::ones(&shape, dtype)?))).collect::<Result<_>>()?;
            gradients::<A>(&recorded.arguments, roots)?
        } else {
            let open = directions(n);
            let roots = edge.iter().map(|e| Ok((e.clone(), basis(&open, &shape, dtype)?))).collect::<Result<_>>()?;
            try_map(&gradients::<A>(&recorded.arguments, roots)?, &mut |g| batch::unwrap_at(open.level(), g, 0))?
        };
        let mut arguments = leaves(x).into_iter();
        rows.push(try_map(&row, &mut |g| {
            let own = arguments.next().map_or(&[][..], Tensor::shape);
            g.reshape_to(&shape.iter().chain(own).copied().collect::<Shape>())
        })?);
    }
    let mut rows = rows.into_iter();
    Ok(recorded.value.map(&mut |_| rows.next().expect("one row for each result")))
}

/// A batch level with a lane for each of `n` directions. Random numbers drawn meanwhile are part of the function, so all
/// directions share them.
fn directions(n: usize) -> OpenLevel {
    OpenLevel::new(LevelKind::Batch { size: n, randomness: Randomness::Same })
}

/// Every unit vector of a shape, as lanes.
fn basis(open: &OpenLevel, shape: &[usize], dtype: DType) -> Result<Tensor> {
    let n = crate::shape::numel(shape);
    crate::tensor::checked_numel("the basis of all directions", &[n, n])?;
    let eye: Tensor = crate::kernels::cast::eye(n, n, 0, dtype).into();
    let all: Shape = std::iter::once(n).chain(shape.iter().copied()).collect();
    Ok(batch::wrap(open.level(), eye.reshape_to(&all)?, 0))
}

/// The Jacobian of a function by forward mode: one push per element of the argument, all of them as lanes.
///
/// The structure and shapes are those of [`jacrev`]. `f` runs once for each tensor of the argument, on values
/// without lanes whose tangents have lanes. Best where arguments are smaller than results.
///
/// # Errors
/// `NotDifferentiable` for integer arguments; whatever `f` reports. The Jacobian of an integer result is zero.
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, jacfwd};
/// let j = jacfwd(|x: &Tensor| x.mul(x))(&Tensor::from([1.0, 2.0]))?;
/// assert_eq!(j.to_vec::<f64>()?, [2.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jacfwd<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(f: F) -> impl Fn(&A) -> Result<O::Mapped<A>> {
    move |x| forward_jacobian(&f, x).context(|| "jacfwd".into())
}

fn forward_jacobian<A: Tree, O: Tree>(f: &dyn Fn(&A) -> Result<O>, x: &A) -> Result<O::Mapped<A>> {
    let arguments = leaves(x);
    for (k, t) in arguments.iter().enumerate() {
        check_alive(t, "argument")?;
        if !t.dtype().is_float() {
            bail!(NotDifferentiable, "expected floating-point arguments, got {} at argument{}", t.ty(), path_of(x, k);
                help = "capture integer tensors in a closure");
        }
    }
    // columns[i][k]: result k by argument i.
    let mut columns: Vec<Vec<Tensor>> = Vec::new();
    let mut value = None;
    for (i, argument) in arguments.iter().enumerate() {
        let lanes = directions(argument.numel());
        let open = OpenLevel::new(LevelKind::Forward);
        let tangent = basis(&lanes, argument.shape(), argument.dtype())?;
        let mut k = 0;
        let wrapped = try_map(x, &mut |t| {
            let own = k == i;
            k += 1;
            Ok(if own { forward::wrap(open.level(), t.clone(), tangent.clone()) } else { t.clone() })
        })?;
        let out = f(&wrapped)?;
        let mut column = Vec::new();
        let primal = try_map(&out, &mut |t| {
            check_alive(t, "result")?;
            let (primal, tangent) = forward::unwrap(open.level(), t);
            let full: Shape = primal.shape().iter().chain(argument.shape()).copied().collect();
            column.push(match tangent {
                Some(t) => {
                    let own = primal.rank();
                    batch::unwrap_at(lanes.level(), &t, own)?.reshape_to(&full)?
                }
                None => Tensor::zeros(&full, primal.dtype())?,
            });
            Ok(primal)
        })?;
        columns.push(column);
        value.get_or_insert(primal);
    }
    let Some(value) = value else {
        bail!(Arity, "expected at least one tensor to differentiate, got none");
    };
    let mut k = 0;
    let mut failed = None;
    let jacobian = value.map(&mut |_| {
        let index = k;
        k += 1;
        let mut own = columns.iter().map(|column| column.get(index).cloned());
        try_map(x, &mut |_| match own.next().flatten() {
            Some(t) => Ok(t),
            None => bail!(Arity, "the function must return the same structure every time"),
        })
        .unwrap_or_else(|e| {
            failed.get_or_insert(e);
            x.clone()
        })
    });
    match failed {
        Some(e) => Err(e),
        None => Ok(jacobian),
    }
}

/// The Hessian of a function, forward over reverse: `jacfwd(jacrev(f))`.
///
/// For a scalar function of a tensor of shape `[n]` the result is `[n, n]`. For trees, the structure of the argument
/// with the structure of the argument at each leaf.
///
/// # Errors
/// As [`jacrev`].
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, hessian};
/// let f = |x: &Tensor| x.mul(x)?.mul(x)?.sum();
/// assert_eq!(hessian(f)(&Tensor::from([1.0, 2.0]))?.to_vec::<f64>()?, [6.0, 0.0, 0.0, 12.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn hessian<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(
    f: F,
) -> impl Fn(&A) -> Result<<O::Mapped<A> as Tree>::Mapped<A>>
where
    O::Mapped<A>: Tree,
{
    let gradient = move |x: &A| reverse_jacobian(&f, x);
    move |x| forward_jacobian(&gradient, x).context(|| "hessian".into())
}
