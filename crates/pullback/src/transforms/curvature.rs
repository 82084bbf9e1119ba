//! Parts of a Hessian without the Hessian: its product with a vector, its diagonal and its trace.

use super::assemble::Assembly;
use super::grad::scalar;
use super::jacobian::{along, parts};
use super::jvp::push;
use super::options::{All, And, Argnums, HasAux, NoAux, Only, Options, Selected, builder, chunk, forms};
use crate::error::Context as _;
use crate::function::Randomness;
use crate::ops::structural::sum_dim;
use crate::tree::{leaves, try_map};
use crate::{Result, Tensor, Tree};

/// The value of a scalar function at `x`, and its Hessian times `v`: how the gradient changes when `x` changes by `v`.
///
/// Forward over reverse: the gradient is pushed along `v`, which costs a few runs of `f` and no more memory than the
/// gradient. `f` runs once. [`Hvp`] has options.
///
/// # Errors
/// `NotScalar` if the result is not 0-d; `Arity`, `Shape` or `Dtype` if `v` is not like `x`; `NotDifferentiable` for
/// integer arguments or results; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, hvp};
/// let f = |x: &Tensor| x.powi(3)?.sum();
/// let (y, product) = hvp(f, &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 10.0]))?;
/// assert_eq!(y.item::<f64>()?, 9.0);
/// assert_eq!(product.to_vec::<f64>()?, [6.0, 120.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # Source
/// Pearlmutter, "Fast exact multiplication by the Hessian", 1994. The pair of results is that of
/// `torch.autograd.functional.hvp`.
pub fn hvp<A: Tree>(f: impl FnOnce(&A) -> Result<Tensor>, x: &A, v: &A) -> Result<(Tensor, A)> {
    let (value, product, ()) = forward_over_reverse(|x| Ok((f(x)?, ())), x, v).context(|| "hvp".into())?;
    Ok((value, product))
}

/// The value of a scalar function at `x`, and `v` times its Hessian, by reverse over forward mode: the gradient of the
/// derivative along `v`.
///
/// The Hessian is symmetric, so this is the product that [`hvp`] gives, by another way: it needs the forward rules of
/// the functions, differentiated, where `hvp` needs their backward rules, differentiated. `f` runs once. [`Vhp`] has
/// options.
///
/// # Errors
/// As [`hvp`].
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, vhp};
/// let f = |x: &Tensor| x.powi(3)?.sum();
/// let (y, product) = vhp(f, &Tensor::from([1.0, 2.0]), &Tensor::from([1.0, 10.0]))?;
/// assert_eq!(y.item::<f64>()?, 9.0);
/// assert_eq!(product.to_vec::<f64>()?, [6.0, 120.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn vhp<A: Tree>(f: impl FnOnce(&A) -> Result<Tensor>, x: &A, v: &A) -> Result<(Tensor, A)> {
    let (value, product, ()) = reverse_over_forward(|x| Ok((f(x)?, ())), x, v).context(|| "vhp".into())?;
    Ok((value, product))
}

fn forward_over_reverse<A: Tree, Y: Tree>(
    f: impl FnOnce(&A) -> Result<(Tensor, Y)>,
    x: &A,
    v: &A,
) -> Result<(Tensor, A, Y)> {
    let gradient = |x: &A| {
        let (value, gradient, aux) = scalar(f, x)?;
        Ok((gradient, (value, aux)))
    };
    let ((gradient, (value, aux)), mut tangents) = push(gradient, x, v)?;
    let product = try_map(&gradient, &mut |g| match tangents.next().flatten() {
        Some(tangent) => Ok(tangent),
        None => Tensor::zeros(g.shape(), g.dtype()),
    })?;
    Ok((value, product, aux))
}

fn reverse_over_forward<A: Tree, Y: Tree>(
    f: impl FnOnce(&A) -> Result<(Tensor, Y)>,
    x: &A,
    v: &A,
) -> Result<(Tensor, A, Y)> {
    let slope = |x: &A| {
        let (out, mut tangents) = push(f, x, v)?;
        let slope = match tangents.next().flatten() {
            Some(tangent) => tangent,
            None => Tensor::zeros(out.0.shape(), out.0.dtype())?,
        };
        Ok((slope, out))
    };
    let (_, product, (value, aux)) = scalar(slope, x)?;
    Ok((value, product, aux))
}

/// Writes a builder for a product of the Hessian with a vector.
macro_rules! product {
    ($(#[$about:meta])* $builder:ident, $name:literal, $run:ident) => {
        builder! {
            $(#[$about])*
            $builder {}
        }

        impl<S, X> $builder<S, X> {
            fn run<A: Tree, Y: Tree>(
                &self,
                f: impl Fn(&A) -> Result<(Tensor, Y)>,
                x: &A,
                v: &Selected<S, A>,
            ) -> Result<(Tensor, Selected<S, A>, Y)>
            where
                S: Argnums<A>,
            {
                let argnums = &self.0.argnums;
                let run = || $run(|s: &S::Selected| f(&*argnums.with(x, s)?), &*argnums.selected(x)?, v);
                run().context(|| $name.into())
            }
        }

        impl<S> $builder<S, NoAux> {
            #[doc = concat!("The function of the arguments and the vector, which returns the value and the product. See \
                [`", $name, "`].")]
            pub fn of<A: Tree, F: Fn(&A) -> Result<Tensor>>(
                self,
                f: F,
            ) -> impl Fn(&A, &Selected<S, A>) -> Result<(Tensor, Selected<S, A>)>
            where
                S: Argnums<A>,
            {
                move |x, v| {
                    let (value, product, ()) = self.run(|x: &A| Ok((f(x)?, ())), x, v)?;
                    Ok((value, product))
                }
            }
        }

        impl<S> $builder<S, HasAux> {
            #[doc = concat!("The function of the arguments and the vector, which returns the value, the product and the \
                auxiliary data. See [`", $name, "`].")]
            pub fn of<A: Tree, Y: Tree, F: Fn(&A) -> Result<(Tensor, Y)>>(
                self,
                f: F,
            ) -> impl Fn(&A, &Selected<S, A>) -> Result<(Tensor, Selected<S, A>, Y)>
            where
                S: Argnums<A>,
            {
                move |x, v| self.run(&f, x, v)
            }
        }
    };
}

product! {
    /// Options for [`hvp`].
    ///
    /// ```
    /// use pullback::{Hvp, Tensor};
    /// let f = |(a, b): &(Tensor, Tensor)| Ok((a.square()?.mul(b)?.sum()?, a.sum()?));
    /// let x = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    /// let (y, product, total) = Hvp::new().argnums::<0>().has_aux().of(f)(&x, &Tensor::from([1.0, 0.0]))?;
    /// assert_eq!((y.item::<f64>()?, total.item::<f64>()?), (15.0, 3.0));
    /// assert_eq!(product.to_vec::<f64>()?, [6.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Hvp, "hvp", forward_over_reverse
}

product! {
    /// Options for [`vhp`].
    ///
    /// ```
    /// use pullback::{Tensor, Vhp};
    /// let f = |(a, b): &(Tensor, Tensor)| a.square()?.mul(b)?.sum();
    /// let x = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    /// let (_, product) = Vhp::new().argnums::<0>().of(f)(&x, &Tensor::from([1.0, 0.0]))?;
    /// assert_eq!(product.to_vec::<f64>()?, [6.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Vhp, "vhp", reverse_over_forward
}

/// The Laplacian of a scalar function: the trace of its Hessian, a 0-d tensor. For trees, the sum over all tensors.
///
/// Forward over reverse, at most [64 directions](Laplacian::chunk_size) at a time, of which the diagonal is kept. `f`
/// runs once for each tensor of the argument and each chunk. [`Laplacian`] has options.
///
/// # Errors
/// `NotScalar` if the result is not 0-d; `NotDifferentiable` for integer arguments or results; whatever `f` reports.
///
/// # Nesting
/// In any order with all transforms; `vmap(laplacian(f))` gives one for each point.
///
/// # Example
/// ```
/// use pullback::{Tensor, laplacian, vmap};
/// let f = |x: &Tensor| x.powi(3)?.sum();
/// assert_eq!(laplacian(f)(&Tensor::from([1.0, 2.0]))?.item::<f64>()?, 18.0);
/// let points = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(vmap(laplacian(f))(&points)?.to_vec::<f64>()?, [18.0, 42.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn laplacian<A: Tree, F: Fn(&A) -> Result<Tensor>>(f: F) -> impl Fn(&A) -> Result<Tensor> {
    Laplacian::new().of(f)
}

/// The diagonal of the Hessian of a scalar function, shaped like the argument. It costs as much as the [`laplacian`].
///
/// # Errors
/// As [`laplacian`].
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, hessian_diagonal};
/// let f = |x: &Tensor| x.powi(3)?.sum();
/// assert_eq!(hessian_diagonal(f)(&Tensor::from([1.0, 2.0]))?.to_vec::<f64>()?, [6.0, 12.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn hessian_diagonal<A: Tree, F: Fn(&A) -> Result<Tensor>>(f: F) -> impl Fn(&A) -> Result<A> {
    HessianDiagonal::new().of(f)
}

/// How many directions of a Hessian are kept at a time, unless a builder says otherwise.
const DIRECTIONS: usize = 64;

builder! {
    /// Options for [`laplacian`].
    ///
    /// The value and the auxiliary data are those of the first run of the function.
    ///
    /// ```
    /// use pullback::{Laplacian, Tensor};
    /// let f = |x: &Tensor| x.powi(3)?.sum();
    /// let (y, trace) = Laplacian::new().chunk_size(1).value_and(f)(&Tensor::from([1.0, 2.0]))?;
    /// assert_eq!((y.item::<f64>()?, trace.item::<f64>()?), (9.0, 18.0));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Laplacian {
        /// How many directions to follow at once, at most; 64 by default. What is held grows with it. With 1 nothing is
        /// batched. 0 is an error of kind `Value` when the function is called.
        chunk_size: usize,
        /// How random numbers are drawn inside. See [`Jacfwd::randomness`](crate::Jacfwd::randomness).
        randomness: Randomness,
    }
}

builder! {
    /// Options for [`hessian_diagonal`].
    ///
    /// ```
    /// use pullback::{HessianDiagonal, Tensor};
    /// let f = |(a, b): &(Tensor, Tensor)| a.square()?.mul(b)?.sum();
    /// let x = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    /// let (y, diagonal) = HessianDiagonal::new().argnums::<0>().value_and(f)(&x)?;
    /// assert_eq!(y.item::<f64>()?, 15.0);
    /// assert_eq!(diagonal.to_vec::<f64>()?, [6.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    HessianDiagonal {
        /// How many directions to follow at once, at most; 64 by default. What is held grows with it. With 1 nothing is
        /// batched. 0 is an error of kind `Value` when the function is called.
        chunk_size: usize,
        /// How random numbers are drawn inside. See [`Jacfwd::randomness`](crate::Jacfwd::randomness).
        randomness: Randomness,
    }
}

impl<S, X> HessianDiagonal<S, X> {
    fn run<A: Tree, Y: Tree>(&self, f: &dyn Fn(&A) -> Result<(Tensor, Y)>, x: &A) -> Result<(Tensor, Selected<S, A>, Y)>
    where
        S: Argnums<A>,
    {
        diagonal(&self.0, f, x)
    }
}

impl<S, X> Laplacian<S, X> {
    fn run<A: Tree, Y: Tree>(&self, f: &dyn Fn(&A) -> Result<(Tensor, Y)>, x: &A) -> Result<(Tensor, Tensor, Y)>
    where
        S: Argnums<A>,
    {
        let (value, diagonal, aux) = diagonal(&self.0, f, x)?;
        let mut total: Option<Tensor> = None;
        for t in leaves(&diagonal) {
            let sum = sum_dim(&t.reshape_to(&[t.numel()])?, 0)?;
            total = Some(match total {
                Some(total) => total.add(sum)?,
                None => sum,
            });
        }
        let trace = total.map_or_else(|| Tensor::zeros(&[], value.dtype()), Ok)?;
        Ok((value, trace, aux))
    }
}

forms!(HessianDiagonal, "hessian_diagonal", "hessian_diagonal", [] Tensor => Selected<S, A>);
forms!(Laplacian, "laplacian", "laplacian", [] Tensor => Tensor);

/// The value, the diagonal of the Hessian, and the auxiliary data.
fn diagonal<S: Argnums<A>, X, A: Tree, Y: Tree>(
    options: &Options<S, X>,
    f: &dyn Fn(&A) -> Result<(Tensor, Y)>,
    x: &A,
) -> Result<(Tensor, S::Selected, Y)> {
    let Options { argnums, chunk_size, randomness, .. } = options;
    let chunk = chunk(chunk_size.or(Some(DIRECTIONS)))?;
    let gradient = |s: &S::Selected| {
        let (value, gradient, aux) = scalar(|s: &S::Selected| f(&*argnums.with(x, s)?), s)?;
        Ok((gradient, (value, aux)))
    };
    let x = &*argnums.selected(x)?;
    let mut found = Vec::new();
    let mut first = None;
    for (i, t) in leaves(x).into_iter().enumerate() {
        let n = t.numel();
        let mut entries = Assembly::new(0, n);
        for part in parts(n, chunk) {
            let (_, rest) = along(&gradient, x, i, &part, *randomness, &mut |k, g, tangents| {
                if k != i {
                    return Ok(());
                }
                let entry = match tangents {
                    // Row `first + l` is wanted of direction `l`.
                    Some(t) => {
                        t.reshape_to(&[n, part.size])?.narrow(0, part.first as isize, part.size)?.diagonal(0, 0, 1)?
                    }
                    None => Tensor::zeros(&[part.size], g.dtype())?,
                };
                // It is copied to its place, so that the other rows are not held.
                entries.push(entry, || format!("the diagonal of tensor {k}"))
            })?;
            first.get_or_insert(rest);
        }
        found.push(entries.finish()?.reshape_to(t.shape())?);
    }
    let (value, aux) = match first {
        Some(first) => first,
        // Without a tensor there is nothing to follow, but the value.
        None => gradient(x)?.1,
    };
    let mut found = found.into_iter();
    Ok((value, try_map(x, &mut |t| Ok(found.next().unwrap_or_else(|| t.clone())))?, aux))
}
