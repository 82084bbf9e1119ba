//! Forward mode in two halves: the function once, then its tangents any number of times.

use crate::error::{Context as _, bail};
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, check_alive, linear};
use crate::tree::{has_fixed_structure, leaves, path_of, same_places, try_map};
use crate::{Result, Tensor, TensorType, Tree};

/// The function that [`linearize`] returns: takes tangents of the arguments to tangents of the results.
///
/// It may be called any number of times, from any thread and inside other transforms, and does not run the function
/// again.
pub struct Pushforward<A: Tree, O: Tree> {
    arguments: A::Mapped<TensorType>,
    results: O::Mapped<TensorType>,
    map: linear::Map,
}

impl<A: Tree, O: Tree> Pushforward<A, O> {
    /// The tangents of the results, given those of the arguments: the Jacobian times `tangents`.
    ///
    /// The tangent of an integer result, and of one that depends on no argument, is zero.
    ///
    /// # Errors
    /// `Arity`, `Shape` or `Dtype` if the tangents are not like the arguments; whatever a derivative rule reports.
    pub fn call(&self, tangents: &A) -> Result<O> {
        self.run(tangents).context(|| "linearize".into())
    }

    fn run(&self, tangents: &A) -> Result<O> {
        let given = leaves(tangents);
        let mut expected = Vec::new();
        A::visit_mapped(&self.arguments, &mut |ty| expected.push(ty));
        if given.len() != expected.len() {
            bail!(Arity, "expected {} tangents, one for each argument, got {}", expected.len(), given.len());
        }
        if !has_fixed_structure::<A>() {
            let any = Tensor::from(0.0);
            let like = A::from_mapped(&self.arguments, &mut |_| any.clone());
            if !same_places(&like, tangents) {
                let (want, got) = (like.describe(), tangents.describe());
                bail!(Arity, "expected tangents at the places of the arguments, {want}, got {got}");
            }
        }
        for (k, (t, ty)) in given.iter().zip(expected).enumerate() {
            check_alive(t, "tangent")?;
            let got = t.ty();
            if got.shape != ty.shape {
                bail!(Shape, "expected a tangent of type {ty} for argument{}, got {got}", path_of(tangents, k));
            }
            if got.dtype != ty.dtype {
                bail!(Dtype, "expected a tangent of type {ty} for argument{}, got {got}", path_of(tangents, k);
                    help = "convert it with `to_dtype`");
            }
        }
        let mut found = self.map.push(given.into_iter().cloned().collect())?.into_iter();
        let mut failed = None;
        let result = O::from_mapped(&self.results, &mut |ty: &TensorType| match found.next().flatten() {
            Some(t) => t,
            None => Tensor::zeros(&ty.shape, ty.dtype).unwrap_or_else(|e| {
                failed.get_or_insert(e);
                Tensor::from(0.0f32)
            }),
        });
        match failed {
            Some(e) => Err(e),
            None => Ok(result),
        }
    }
}

/// The value of `f` at `x`, and its pushforward: the linear function from changes of `x` to changes of the result.
///
/// `f` runs once, however many tangents are pushed. [`jvp`](crate::jvp) is the same for a single one, and keeps nothing.
///
/// # Errors
/// `NotDifferentiable` for integer arguments; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms. `vmap(|dx| push.call(dx))` pushes many tangents at once, and
/// `vjp(|dx| push.call(dx), &x)` transposes the map.
///
/// # Example
/// ```
/// use pullback::{Tensor, linearize, vmap};
/// let (y, push) = linearize(|x: &Tensor| x.mul(x), &Tensor::from([1.0, 2.0]))?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 4.0]);
/// assert_eq!(push.call(&Tensor::from([1.0, 10.0]))?.to_vec::<f64>()?, [2.0, 40.0]);
/// let columns = vmap(|dx: &Tensor| push.call(dx))(&Tensor::from([[1.0, 0.0], [0.0, 1.0]]))?;
/// assert_eq!(columns.to_vec::<f64>()?, [2.0, 0.0, 0.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn linearize<A: Tree, O: Tree>(f: impl FnOnce(&A) -> Result<O>, x: &A) -> Result<(O, Pushforward<A, O>)> {
    run(f, x).context(|| "linearize".into())
}

fn run<A: Tree, O: Tree>(f: impl FnOnce(&A) -> Result<O>, x: &A) -> Result<(O, Pushforward<A, O>)> {
    for (k, t) in leaves(x).into_iter().enumerate() {
        if !t.dtype().is_differentiable() {
            bail!(NotDifferentiable, "expected floating-point arguments, got {} at argument{}", t.ty(), path_of(x, k);
                help = "capture integer tensors in a closure");
        }
        check_alive(t, "argument")?;
    }
    let open = OpenLevel::new(LevelKind::Linear);
    let wrapped = try_map(x, &mut |t| Ok(linear::input(open.level(), t.clone())))?;
    let out = f(&wrapped)?;
    drop(wrapped);
    let mut variables = Vec::new();
    let value = try_map(&out, &mut |t| {
        check_alive(t, "result")?;
        let (value, variable) = linear::output(open.level(), t);
        variables.push(variable);
        Ok(value)
    })?;
    let map = linear::Map::finish(open.level(), variables);
    let push = Pushforward { arguments: x.map(&mut Tensor::ty), results: value.map(&mut Tensor::ty), map };
    Ok((value, push))
}
