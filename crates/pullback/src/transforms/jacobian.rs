//! Jacobians: every direction at once, as lanes, or chunk by chunk.

use super::assemble::Assembly;
use super::options::{All, And, Argnums, HasAux, NoAux, Only, Options, Selected, builder, chunk, forms};
use super::vjp::{Recorded, gradients, record};
use crate::error::{Context as _, bail};
use crate::function::Randomness;
use crate::interp::level::{OpenLevel, Part};
use crate::interp::{LevelKind, batch, check_alive, forward};
use crate::shape::{Shape, with_dim};
use crate::tensor::checked_numel;
use crate::tree::{count, leaves, path_of, try_map};
use crate::{DType, Result, Tensor, TensorType, Tree};

/// The Jacobian of a function by reverse mode: one walk back per element of the result, all of them as lanes.
///
/// The result has the structure of the function's result, with the structure of the argument at each leaf:
/// `O::Mapped<A>`, which for a tensor-valued function of a tensor is a tensor. Each leaf has the shape of the result
/// followed by the shape of the argument. `f` runs once. Best where results are smaller than arguments. [`Jacrev`] has
/// options, [`jacobian`] chooses the mode.
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
    Jacrev::new().of(f)
}

/// The Jacobian of a function by forward mode: one push per element of the argument, all of them as lanes.
///
/// The structure and shapes are those of [`jacrev`]. `f` runs once for each tensor of the argument, on values
/// without lanes whose tangents have lanes. Best where arguments are smaller than results. [`Jacfwd`] has
/// options.
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
    Jacfwd::new().of(f)
}

/// The Jacobian of a function by the mode that needs fewer directions: reverse, if the result has at most as many
/// elements as the argument, else forward.
///
/// The structure and shapes are those of [`jacrev`]. `f` runs once, which tells the sizes; if forward mode is chosen,
/// it runs again, as in [`jacfwd`].
///
/// # Errors
/// As [`jacrev`], whichever is chosen.
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, jacobian};
/// let powers = |x: &Tensor| x.pow(&Tensor::from([1.0, 2.0, 3.0])); // one push
/// assert_eq!(jacobian(powers)(&Tensor::from(2.0))?.to_vec::<f64>()?, [1.0, 4.0, 12.0]);
/// let norm = |x: &Tensor| x.square()?.sum(); // one walk back
/// assert_eq!(jacobian(norm)(&Tensor::from([1.0, 2.0]))?.to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn jacobian<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(f: F) -> impl Fn(&A) -> Result<O::Mapped<A>> {
    move |x| {
        let f = |x: &A| Ok((f(x)?, ()));
        let run = || {
            let recorded = record(f, x)?;
            check_real("argument", x)?;
            check_results(&recorded.value.0)?;
            let size = |tensors: Vec<&Tensor>| tensors.into_iter().map(Tensor::numel).sum::<usize>();
            if size(leaves(&recorded.value.0)) <= size(leaves(x)) {
                return Ok(rows(recorded, x, usize::MAX)?.1);
            }
            drop(recorded);
            Ok(forward_jacobian(&f, x, usize::MAX, Randomness::Same)?.1)
        };
        run().context(|| "jacobian".into())
    }
}

/// The value of a function and its Jacobian by reverse mode, as `(value, jacobian)`; `f` runs once. See [`jacrev`].
///
/// By forward mode it is [`Jacfwd::new().value_and(f)`](Jacfwd::value_and).
///
/// ```
/// use pullback::{Tensor, value_and_jacobian};
/// let (y, j) = value_and_jacobian(|x: &Tensor| x.square())(&Tensor::from([1.0, 3.0]))?;
/// assert_eq!(y.to_vec::<f64>()?, [1.0, 9.0]);
/// assert_eq!(j.to_vec::<f64>()?, [2.0, 0.0, 0.0, 6.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn value_and_jacobian<A: Tree, O: Tree, F: Fn(&A) -> Result<O>>(f: F) -> impl Fn(&A) -> Result<(O, O::Mapped<A>)> {
    move |x| {
        let (value, jacobian, ()) =
            reverse_jacobian(&|x: &A| Ok((f(x)?, ())), x, usize::MAX).context(|| "value_and_jacobian".into())?;
        Ok((value, jacobian))
    }
}

builder! {
    /// Options for [`jacrev`].
    ///
    /// `f` runs once, with auxiliary data and with chunks too.
    ///
    /// ```
    /// use pullback::{Jacrev, Tensor};
    /// let f = |(w, x): &(Tensor, Tensor)| Ok((w.matmul(x)?, x.sum()?));
    /// let args = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([5.0, 6.0]));
    /// let (dx, total) = Jacrev::new().argnums::<1>().has_aux().chunk_size(1).of(f)(&args)?;
    /// assert_eq!(dx.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(total.item::<f64>()?, 11.0);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Jacrev {
        /// How many rows to compute at once, at most. The numbers are the same; what is held besides the result grows
        /// with the chunk. With 1 nothing is batched: each row is a walk back by itself. 0 is an error of kind `Value`
        /// when the function is called.
        chunk_size: usize,
    }
}

impl<S, X> Jacrev<S, X> {
    fn run<A: Tree, O: Tree, Y: Tree>(
        &self,
        f: &dyn Fn(&A) -> Result<(O, Y)>,
        x: &A,
    ) -> Result<(O, O::Mapped<Selected<S, A>>, Y)>
    where
        S: Argnums<A>,
    {
        let argnums = &self.0.argnums;
        let chunk = chunk(self.0.chunk_size)?;
        reverse_jacobian(&|s: &S::Selected| f(&*argnums.with(x, s)?), &*argnums.selected(x)?, chunk)
    }
}

forms!(Jacrev, "jacrev", "jacrev", [O] O => O::Mapped<Selected<S, A>>);

builder! {
    /// Options for [`jacfwd`].
    ///
    /// `f` runs once for each tensor of the selected arguments and each chunk of its elements. The value and the
    /// auxiliary data are those of the first run.
    ///
    /// ```
    /// use pullback::{Jacfwd, Tensor};
    /// let f = |x: &Tensor| x.square();
    /// let (y, dy) = Jacfwd::new().chunk_size(1).value_and(f)(&Tensor::from([1.0, 3.0]))?;
    /// assert_eq!(y.to_vec::<f64>()?, [1.0, 9.0]);
    /// assert_eq!(dy.to_vec::<f64>()?, [2.0, 0.0, 0.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Jacfwd {
        /// How many columns to compute at once, at most. The numbers are the same; what is held besides the result
        /// grows with the chunk. With 1 nothing is batched: each column is a run of the function by itself. 0 is an
        /// error of kind `Value` when the function is called.
        chunk_size: usize,
        /// How random numbers are drawn inside: by default they are a part of the function that all directions share
        /// (`Same`). `Different` makes each column that of a function with other numbers, and `Error` refuses them.
        ///
        /// A [`Generator`](crate::random::Generator) that is captured advances in every run; use a
        /// [`Key`](crate::random::Key).
        randomness: Randomness,
    }
}

impl<S, X> Jacfwd<S, X> {
    fn run<A: Tree, O: Tree, Y: Tree>(
        &self,
        f: &dyn Fn(&A) -> Result<(O, Y)>,
        x: &A,
    ) -> Result<(O, O::Mapped<Selected<S, A>>, Y)>
    where
        S: Argnums<A>,
    {
        let Options { argnums, chunk_size, randomness, .. } = &self.0;
        let f = |s: &S::Selected| f(&*argnums.with(x, s)?);
        forward_jacobian(&f, &*argnums.selected(x)?, chunk(*chunk_size)?, *randomness)
    }
}

forms!(Jacfwd, "jacfwd", "jacfwd", [O] O => O::Mapped<Selected<S, A>>);

/// The value, the Jacobian by reverse mode, and the auxiliary data.
pub(super) fn reverse_jacobian<A: Tree, O: Tree, Y: Tree>(
    f: &dyn Fn(&A) -> Result<(O, Y)>,
    x: &A,
    chunk: usize,
) -> Result<(O, O::Mapped<A>, Y)> {
    let recorded = record(f, x)?;
    check_real("argument", x)?;
    check_results(&recorded.value.0)?;
    rows(recorded, x, chunk)
}

/// An error unless all results are floating.
fn check_results<O: Tree>(value: &O) -> Result<()> {
    check_real("result", value)?;
    for (k, t) in leaves(value).into_iter().enumerate() {
        if !t.dtype().is_float() {
            bail!(NotDifferentiable, "expected floating-point results, got {} at result{}", t.ty(), path_of(value, k);
                help = "return it as auxiliary data, from another function, or converted with `to_dtype`");
        }
    }
    Ok(())
}

/// An error if a tensor is complex: what the Jacobian of a function of complex numbers is depends on whether it is
/// holomorphic.
fn check_real<X: Tree>(what: &str, all: &X) -> Result<()> {
    match leaves(all).into_iter().enumerate().find(|(_, t)| t.dtype().is_complex()) {
        None => Ok(()),
        Some((k, t)) => {
            let path = path_of(all, k);
            bail!(NotDifferentiable, "expected real {what}s, got {} at {what}{path}", t.ty(); help = "take the real and \
                imaginary parts as two {what}s, or use `vjp` or `jvp`")
        }
    }
}

/// The rows of the Jacobian of a recorded function.
fn rows<A: Tree, O: Tree, Y: Tree>(recorded: Recorded<A, (O, Y)>, x: &A, chunk: usize) -> Result<(O, O::Mapped<A>, Y)> {
    let Recorded { arguments, value: (value, aux), edges } = recorded;
    let mut rows = Vec::new();
    // The auxiliary data is not walked back from.
    let edges: Vec<_> = edges.into_iter().take(count(&value)).collect();
    for (t, mut edge) in leaves(&value).into_iter().zip(edges) {
        let TensorType { dtype, shape } = t.ty();
        let n = t.numel();
        let mut columns: Vec<Assembly> = leaves(x).iter().map(|_| Assembly::new(0, n)).collect();
        for part in parts(n, chunk) {
            // The last walk may take apart what it passes.
            let own = if part.first + part.size >= n { edge.take() } else { edge.clone() };
            let root = |direction: Tensor| own.map(|e| (e, direction)).into_iter().collect();
            let mut columns = columns.iter_mut();
            let mut push = |row: Tensor| match columns.next() {
                Some(column) => column.push(row, || "rows of a Jacobian".into()),
                None => Ok(()),
            };
            if part.in_loop || part.of == 1 {
                // One direction needs no lanes.
                let row = gradients::<A>(&arguments, root(unit(&part, &shape, dtype)?))?;
                leaves(&row).into_iter().try_for_each(|g| push(g.reshape_to(&with_dim(g.shape(), 0, 1))?))?;
            } else {
                let open = OpenLevel::lanes(part.size, Randomness::Same, None);
                let basis = batch::wrap(open.level(), units(&part, &shape, dtype)?, 0);
                let row = gradients::<A>(&arguments, root(basis))?;
                leaves(&row).into_iter().try_for_each(|g| push(batch::unwrap_at(open.level(), g, 0)?))?;
            }
        }
        let mut columns = columns.into_iter();
        rows.push(try_map(x, &mut |own| {
            let full = joint_shape(&shape, own.shape())?;
            match columns.next() {
                Some(column) => column.finish()?.reshape_to(&full),
                None => Ok(own.clone()),
            }
        })?);
    }
    let mut rows = rows.into_iter();
    let jacobian = value.map(&mut |_| rows.next().expect("one row for each result"));
    Ok((value, jacobian, aux))
}

/// The shape of the derivative of a result by an argument.
fn joint_shape(result: &[usize], argument: &[usize]) -> Result<Shape> {
    let full: Shape = result.iter().chain(argument).copied().collect();
    checked_numel("the Jacobian", &full)?;
    Ok(full)
}

/// Some of the directions of a tensor.
#[derive(Clone, Copy)]
pub(super) struct Directions {
    pub(super) first: usize,
    pub(super) size: usize,
    of: usize,
    /// Whether nothing is to be batched.
    in_loop: bool,
}

/// All directions of a tensor of `n` elements, at most `chunk` at a time. There is one part, without directions, if
/// there are none.
pub(super) fn parts(n: usize, chunk: usize) -> impl Iterator<Item = Directions> {
    let step = chunk.clamp(1, n.max(1));
    (0..n.max(1)).step_by(step).map(move |first| Directions {
        first,
        size: step.min(n - first),
        of: n,
        in_loop: chunk == 1 && n > 0,
    })
}

/// The unit vectors of a shape in the given directions, in front.
fn units(part: &Directions, shape: &[usize], dtype: DType) -> Result<Tensor> {
    checked_numel("the basis of all directions", &[part.size, part.of])?;
    let eye: Tensor = crate::kernels::cast::eye(part.size, part.of, part.first as isize, dtype).into();
    eye.reshape_to(&with_dim(shape, 0, part.size))
}

/// The unit vector of a shape in the only direction of `part`.
fn unit(part: &Directions, shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::from(crate::kernels::cast::eye(1, part.of, part.first as isize, dtype)).reshape_to(shape)
}

/// Runs `f` at a forward level along some directions of tensor number `i` of `x`, and returns what it returns at `x`.
/// `each` is given every tensor of the result with its number and its tangents, which have the directions along a new
/// last dim; `None` if it does not depend on that tensor of `x`.
pub(super) fn along<A: Tree, O: Tree, Y: Tree>(
    f: &dyn Fn(&A) -> Result<(O, Y)>,
    x: &A,
    i: usize,
    part: &Directions,
    randomness: Randomness,
    each: &mut dyn FnMut(usize, &Tensor, Option<Tensor>) -> Result<()>,
) -> Result<(O, Y)> {
    let alone = part.in_loop || part.of == 1;
    let place = Part { first: part.first, of: part.of, in_loop: alone };
    let lanes = OpenLevel::lanes(part.size, randomness, Some(place));
    let open = OpenLevel::new(LevelKind::Forward);
    let mut k = 0;
    let wrapped = try_map(x, &mut |t| {
        let own = k == i;
        k += 1;
        if !own {
            return Ok(t.clone());
        }
        let tangent = match alone {
            true => unit(part, t.shape(), t.dtype())?,
            false => batch::wrap(lanes.level(), units(part, t.shape(), t.dtype())?, 0),
        };
        Ok(forward::wrap(open.level(), t.clone(), tangent))
    })?;
    let out = f(&wrapped)?;
    drop(wrapped);
    let results = count(&out.0);
    let mut k = 0;
    try_map(&out, &mut |t| {
        check_alive(t, "result")?;
        let (primal, tangent) = forward::unwrap(open.level(), t);
        let rank = primal.rank();
        let tangent = match tangent {
            _ if k >= results => None,
            Some(t) if alone => Some(t.reshape_to(&with_dim(t.shape(), rank, 1))?),
            Some(t) => Some(batch::unwrap_at(lanes.level(), &t, rank)?),
            None => None,
        };
        if k < results {
            each(k, &primal, tangent)?;
        }
        k += 1;
        // Only where each direction draws numbers of its own has the value lanes; it is then that of the first.
        match batch::unwrap(lanes.level(), &primal) {
            (value, Some(dim)) => value.select(dim as isize, 0),
            (value, None) => Ok(value),
        }
    })
}

/// The value, the Jacobian by forward mode, and the auxiliary data.
pub(super) fn forward_jacobian<A: Tree, O: Tree, Y: Tree>(
    f: &dyn Fn(&A) -> Result<(O, Y)>,
    x: &A,
    chunk: usize,
    randomness: Randomness,
) -> Result<(O, O::Mapped<A>, Y)> {
    check_real("argument", x)?;
    let arguments = leaves(x);
    for (k, t) in arguments.iter().enumerate() {
        check_alive(t, "argument")?;
        if !t.dtype().is_float() {
            bail!(NotDifferentiable, "expected floating-point arguments, got {} at argument{}", t.ty(), path_of(x, k);
                help = "capture integer tensors in a closure, or select the arguments to differentiate with `argnums`");
        }
    }
    // The Jacobian of each result by each argument.
    let mut columns: Vec<Vec<Tensor>> = Vec::new();
    let mut first: Option<(O, Y)> = None;
    for (i, argument) in arguments.iter().enumerate() {
        let n = argument.numel();
        let mut assemblies: Vec<Assembly> = Vec::new();
        for part in parts(n, chunk) {
            let out = along(f, x, i, &part, randomness, &mut |k, primal, tangent| {
                let rank = primal.rank();
                if part.first == 0 {
                    assemblies.push(Assembly::new(rank, n));
                }
                let column = match tangent {
                    Some(t) => t,
                    None => Tensor::zeros(&with_dim(primal.shape(), rank, part.size), primal.dtype())?,
                };
                match assemblies.get_mut(k) {
                    Some(assembly) => assembly.push(column, || format!("the columns of result {k}")),
                    None => Ok(()),
                }
            })?;
            let results = count(&out.0);
            if results != assemblies.len() || first.as_ref().is_some_and(|f| count(&f.0) != results) {
                bail!(Arity, "the function must return the same structure every time, got {} now", out.0.describe());
            }
            first.get_or_insert(out);
        }
        columns.push(assemblies.into_iter().map(Assembly::finish).collect::<Result<_>>()?);
    }
    let Some((value, aux)) = first else {
        bail!(Arity, "expected at least one tensor to differentiate, got {}", x.describe());
    };
    check_real("result", &value)?;
    let jacobians = leaves(&value).into_iter().enumerate().map(|(k, t)| {
        let mut columns = columns.iter().map(|column| column[k].clone());
        try_map(x, &mut |own| {
            let full = joint_shape(t.shape(), own.shape())?;
            columns.next().map_or_else(|| Ok(own.clone()), |c| c.reshape_to(&full))
        })
    });
    let mut jacobians = jacobians.collect::<Result<Vec<A>>>()?.into_iter();
    let jacobian = value.map(&mut |_| jacobians.next().expect("one Jacobian for each result"));
    Ok((value, jacobian, aux))
}
