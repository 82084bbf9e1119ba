//! Hessians: a Jacobian of a Jacobian, by any two modes.

use super::jacobian::{forward_jacobian, reverse_jacobian};
use super::options::{All, And, Argnums, HasAux, NoAux, Only, Options, Selected, builder, chunk, forms};
use crate::error::Context as _;
use crate::function::Randomness;
use crate::{Result, Tree};

/// The Hessian of a function, forward over reverse: `jacfwd(jacrev(f))`.
///
/// For a scalar function of a tensor of shape `[n]` the result is `[n, n]`. For trees, the structure of the argument
/// with the structure of the argument at each leaf. [`Hessian`] has options, and other strategies.
///
/// # Errors
/// As [`jacrev`](crate::jacrev).
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
    Hessian::new().of(f)
}

/// The modes that a Hessian is computed by; the outer one is named first. All give the same numbers.
///
/// How often the function runs, when its arguments have `n` elements in `t` tensors and chunks of `c` directions: each
/// mode counts for its own part, and reverse modes count once.
///
/// ```
/// use pullback::{Hessian, HessianStrategy, Tensor};
/// let f = |x: &Tensor| x.powi(3)?.sum();
/// let x = Tensor::from([1.0, 2.0]);
/// for strategy in HessianStrategy::ALL {
///     assert_eq!(Hessian::new().strategy(strategy).of(f)(&x)?.to_vec::<f64>()?, [6.0, 0.0, 0.0, 12.0]);
/// }
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HessianStrategy {
    /// The gradient is pushed along each direction: the cheapest for a scalar function in general. The function runs
    /// once for each tensor of the arguments and each chunk.
    #[default]
    ForwardOverReverse,
    /// The derivatives along all directions are recorded, and walked back from. The function runs once for each tensor
    /// of the arguments and each chunk. It needs the memory of reverse mode for all directions at once.
    ReverseOverForward,
    /// The walk back is recorded, and walked back from. The function runs once.
    ReverseOverReverse,
    /// Directions along directions: nothing is recorded. The function runs once for each pair of tensors of the
    /// arguments and each pair of chunks.
    ForwardOverForward,
}

impl HessianStrategy {
    /// All of them.
    pub const ALL: [HessianStrategy; 4] = [
        HessianStrategy::ForwardOverReverse,
        HessianStrategy::ReverseOverForward,
        HessianStrategy::ReverseOverReverse,
        HessianStrategy::ForwardOverForward,
    ];
}

builder! {
    /// Options for [`hessian`].
    ///
    /// [`HessianStrategy`] says how often the function runs. The value and the auxiliary data are those of its first
    /// run.
    ///
    /// ```
    /// use pullback::{Hessian, Tensor};
    /// let f = |(a, b): &(Tensor, Tensor)| Ok((a.powi(3)?.mul(b)?.sum()?, a.sum()?));
    /// let x = (Tensor::from([1.0, 2.0]), Tensor::from(10.0));
    /// let ((value, total), h) = Hessian::new().argnums::<0>().has_aux().chunk_size(1).value_and(f)(&x)?;
    /// assert_eq!((value.item::<f64>()?, total.item::<f64>()?), (90.0, 3.0));
    /// assert_eq!(h.to_vec::<f64>()?, [60.0, 0.0, 0.0, 120.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Hessian {
        /// How many rows or columns to compute at once, at most, for each of the two modes. The numbers are the same;
        /// what is held besides the result grows with the chunk, unless the outer mode is reverse. With 1 nothing is
        /// batched. 0 is an error of kind `Value` when the function is called.
        chunk_size: usize,
        /// How random numbers are drawn in forward modes. See [`Jacfwd::randomness`](crate::Jacfwd::randomness).
        randomness: Randomness,
        /// Which modes to use.
        strategy: HessianStrategy,
    }
}

/// The second derivatives of a function with results `O`.
type Second<O, A> = <<O as Tree>::Mapped<A> as Tree>::Mapped<A>;

impl<S, X> Hessian<S, X> {
    fn run<A: Tree, O: Tree, Y: Tree>(
        &self,
        f: &dyn Fn(&A) -> Result<(O, Y)>,
        x: &A,
    ) -> Result<(O, Second<O, Selected<S, A>>, Y)>
    where
        S: Argnums<A>,
        O::Mapped<Selected<S, A>>: Tree,
    {
        let Options { argnums, chunk_size, randomness, strategy, .. } = &self.0;
        let chunk = chunk(*chunk_size)?;
        let f = |s: &S::Selected| f(&*argnums.with(x, s)?);
        // The inner Jacobian with the value and what else the function returns, which the outer one passes on.
        let reverse = |x: &S::Selected| {
            let (value, jacobian, aux) = reverse_jacobian(&f, x, chunk)?;
            Ok((jacobian, (value, aux)))
        };
        let forward = |x: &S::Selected| {
            let (value, jacobian, aux) = forward_jacobian(&f, x, chunk, *randomness)?;
            Ok((jacobian, (value, aux)))
        };
        let x = &*argnums.selected(x)?;
        let (_, hessian, (value, aux)) = match strategy {
            HessianStrategy::ForwardOverReverse => forward_jacobian(&reverse, x, chunk, *randomness),
            HessianStrategy::ReverseOverForward => reverse_jacobian(&forward, x, chunk),
            HessianStrategy::ReverseOverReverse => reverse_jacobian(&reverse, x, chunk),
            HessianStrategy::ForwardOverForward => forward_jacobian(&forward, x, chunk, *randomness),
        }?;
        Ok((value, hessian, aux))
    }
}

forms!(Hessian, "hessian", "hessian", [O] O => Second<O, Selected<S, A>> where O::Mapped<Selected<S, A>>: Tree);
