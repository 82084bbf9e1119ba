//! Reverse mode: a function's value, and the map from cotangents of its results to those of its arguments.

use super::options::{All, And, Argnums, HasAux, NoAux, Only, Options, Selected, builder};
use crate::error::{Context as _, bail};
use crate::interp::level::OpenLevel;
use crate::interp::{LevelKind, check_alive, reverse};
use crate::tree::{count, has_fixed_structure, leaves, path_of, same_places, try_map};
use crate::{Result, Tensor, TensorType, Tree};

/// The function that [`vjp`] returns: takes cotangents of the results to cotangents of the arguments.
///
/// It may be called any number of times, from any thread and inside other transforms.
pub struct Pullback<A: Tree, O: Tree> {
    arguments: A::Mapped<TensorType>,
    /// The type of each result, and where its cotangent goes, if it depends on an argument.
    results: O::Mapped<(TensorType, Option<reverse::Edge>)>,
}

impl<A: Tree, O: Tree> Pullback<A, O> {
    /// The cotangents of the arguments, given those of the results: the transposed Jacobian times `cotangents`.
    /// Arguments that no result depends on get zeros.
    ///
    /// # Errors
    /// `Arity`, `Shape` or `Dtype` if the cotangents are not like the results; whatever a derivative rule reports.
    pub fn call(&self, cotangents: &O) -> Result<A> {
        self.run(cotangents).context(|| "vjp".into())
    }

    fn run(&self, cotangents: &O) -> Result<A> {
        let given = leaves(cotangents);
        let mut expected = Vec::new();
        O::visit_mapped(&self.results, &mut |r| expected.push(r));
        if !has_fixed_structure::<O>() {
            let any = Tensor::from(0.0);
            let like = O::from_mapped(&self.results, &mut |_| any.clone());
            if given.len() != expected.len() || !same_places(&like, cotangents) {
                let (want, got) = (like.describe(), cotangents.describe());
                bail!(Arity, "expected cotangents at the places of the results, {want}, got {got}");
            }
        }
        let mut roots = Vec::new();
        for (k, (t, (ty, edge))) in given.into_iter().zip(expected).enumerate() {
            check_alive(t, "cotangent")?;
            check_like("cotangent", k, &t.ty(), "output", ty)?;
            if let Some(edge) = edge {
                roots.push((edge.clone(), t.clone()));
            }
        }
        gradients::<A>(&self.arguments, roots)
    }
}

/// An error unless the (co)tangent number `k` has the type of the value that it belongs to.
pub(super) fn check_like(kind: &str, k: usize, got: &TensorType, value: &str, expected: &TensorType) -> Result<()> {
    if got.shape != expected.shape {
        bail!(Shape, "{kind} {k} has type {got}, but {value} {k} of the function has type {expected}");
    }
    if got.dtype != expected.dtype {
        bail!(Dtype, "{kind} {k} has type {got}, but {value} {k} of the function has type {expected}"; help = "convert \
            it with `to_dtype`");
    }
    Ok(())
}

/// Walks back from `roots`; arguments that nothing arrives at get zeros.
pub(super) fn gradients<A: Tree>(arguments: &A::Mapped<TensorType>, roots: Vec<(reverse::Edge, Tensor)>) -> Result<A> {
    let mut n = 0;
    A::visit_mapped(arguments, &mut |_| n += 1);
    let mut found = reverse::backward(roots, n)?.into_iter();
    let mut failed = None;
    let result = A::from_mapped(arguments, &mut |ty: &TensorType| match found.next().flatten() {
        Some(g) => g,
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

/// A function run at a reverse level that has ended: its result unwrapped, and where cotangents go.
pub(super) struct Recorded<A: Tree, O: Tree> {
    pub(super) arguments: A::Mapped<TensorType>,
    pub(super) value: O,
    pub(super) edges: Vec<Option<reverse::Edge>>,
}

/// Runs `f` on tracers of a new reverse level.
pub(super) fn record<A: Tree, O: Tree>(f: impl FnOnce(&A) -> Result<O>, x: &A) -> Result<Recorded<A, O>> {
    let mut bad = None;
    let mut k = 0;
    let arguments = x.map(&mut |t| {
        let ty = t.ty();
        if !ty.dtype.is_differentiable() {
            bad.get_or_insert((k, ty.clone()));
        }
        k += 1;
        ty
    });
    if let Some((k, ty)) = bad {
        let path = path_of(x, k);
        bail!(NotDifferentiable, "expected floating-point arguments to differentiate, got {ty} at argument{path}"; help = "\
            capture integer tensors in a closure, or select the arguments to differentiate with `argnums`");
    }
    let open = OpenLevel::new(LevelKind::Reverse);
    let mut k = 0;
    let wrapped = try_map(x, &mut |t| {
        check_alive(t, "argument")?;
        let w = reverse::input(open.level(), k, t.clone());
        k += 1;
        Ok(w)
    })?;
    let out = f(&wrapped)?;
    drop(wrapped);
    let mut edges = Vec::with_capacity(count(&out));
    let value = try_map(&out, &mut |t| {
        check_alive(t, "result")?;
        let (value, edge) = reverse::unwrap(open.level(), t.clone());
        edges.push(edge);
        Ok(value)
    })?;
    Ok(Recorded { arguments, value, edges })
}

/// The value of `f` at `x`, and its pullback: the function from cotangents of the result to cotangents of `x`.
///
/// Arguments and results are trees of tensors. `f` runs once.
///
/// # Errors
/// `NotDifferentiable` if an argument or a result is not floating; whatever `f` reports.
///
/// # Nesting
/// Both the value and the pullback can be differentiated and batched by transforms outside.
///
/// # Example
/// ```
/// use pullback::{Tensor, vjp};
/// let x = Tensor::from([1.0, 2.0]);
/// let (y, pull) = vjp(|x: &Tensor| x.mul(x), &x)?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 4.0]);
/// assert_eq!(pull.call(&Tensor::from([1.0, 10.0]))?.to_vec::<f64>()?, [2.0, 40.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vjp<A: Tree, O: Tree>(f: impl FnOnce(&A) -> Result<O>, x: &A) -> Result<(O, Pullback<A, O>)> {
    let (value, pullback, ()) = run(|x: &A| Ok((f(x)?, ())), x).context(|| "vjp".into())?;
    Ok((value, pullback))
}

/// The value, the pullback and the auxiliary data.
fn run<A: Tree, O: Tree, Y: Tree>(f: impl FnOnce(&A) -> Result<(O, Y)>, x: &A) -> Result<(O, Pullback<A, O>, Y)> {
    let Recorded { arguments, value: (value, aux), edges } = record(f, x)?;
    let mut edges = edges.into_iter();
    let mut bad = None;
    let mut k = 0;
    let results = value.map(&mut |t| {
        let ty = t.ty();
        if !ty.dtype.is_differentiable() {
            bad.get_or_insert((k, ty.clone()));
        }
        k += 1;
        (ty, edges.next().flatten())
    });
    if k == 0 {
        bail!(Arity, "the function must return at least one tensor, got {}", value.describe());
    }
    if let Some((k, ty)) = bad {
        bail!(NotDifferentiable, "expected floating-point results, got {ty} at result{}", path_of(&value, k);
            help = "convert it with `to_dtype`, leave it out of the result, or return it as auxiliary data");
    }
    Ok((value, Pullback { arguments, results }, aux))
}

builder! {
    /// Options for [`vjp`].
    ///
    /// ```
    /// use pullback::{Static, Tensor, Vjp};
    /// let f = |(x, n): &(Tensor, Tensor)| Ok((x.mul(&n.to_dtype(x.dtype())?)?, Static("scaled")));
    /// let x = (Tensor::from([1.0, 2.0]), Tensor::from(3i64));
    /// let (y, pull, note) = Vjp::new().argnums::<0>().has_aux().of(f)(&x)?;
    /// assert_eq!((y.to_vec::<f64>()?, note.0), (vec![3.0, 6.0], "scaled"));
    /// assert_eq!(pull.call(&Tensor::from([1.0, 0.0]))?.to_vec::<f64>()?, [3.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Vjp {}
}

impl<S, X> Vjp<S, X> {
    fn run<A: Tree, O: Tree, Y: Tree>(
        &self,
        f: impl Fn(&A) -> Result<(O, Y)>,
        x: &A,
    ) -> Result<(O, Pullback<Selected<S, A>, O>, Y)>
    where
        S: Argnums<A>,
    {
        let argnums = &self.0.argnums;
        let run = || run(|s: &S::Selected| f(&*argnums.with(x, s)?), &*argnums.selected(x)?);
        run().context(|| "vjp".into())
    }
}

impl<S> Vjp<S, NoAux> {
    /// The function that returns the value and the pullback to the selected arguments. See [`vjp`].
    pub fn of<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(
        self,
        f: F,
    ) -> impl Fn(&A) -> Result<(O, Pullback<Selected<S, A>, O>)>
    where
        S: Argnums<A>,
    {
        move |x| {
            let (value, pullback, ()) = self.run(|x: &A| Ok((f(x)?, ())), x)?;
            Ok((value, pullback))
        }
    }
}

impl<S> Vjp<S, HasAux> {
    /// The function that returns the value, the pullback to the selected arguments, and the auxiliary data. See
    /// [`vjp`].
    pub fn of<A: Tree, O: Tree, Y: Tree, F: Fn(&A) -> Result<(O, Y)>>(
        self,
        f: F,
    ) -> impl Fn(&A) -> Result<(O, Pullback<Selected<S, A>, O>, Y)>
    where
        S: Argnums<A>,
    {
        move |x| self.run(&f, x)
    }
}
