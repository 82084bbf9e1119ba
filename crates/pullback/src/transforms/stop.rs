//! Constants in the middle of a function.

use crate::tree::try_map;
use crate::{Result, Tree};

/// The same tree as a constant: no transform differentiates through it, in either mode. Each tensor is
/// [`detach`](crate::Tensor::detach)ed. `vmap` is not stopped.
///
/// # Errors
/// `EscapedTracer` for a value of a transform that has ended.
///
/// # Example
/// ```
/// use pullback::{Tensor, grad, stop_gradient};
/// // A target that the loss does not move.
/// let loss = |(x, target): &(Tensor, Tensor)| (x - stop_gradient(target)?).square();
/// let (dx, dtarget) = grad(loss)(&(Tensor::from(3.0), Tensor::from(1.0)))?;
/// assert_eq!((dx.item::<f64>()?, dtarget.item::<f64>()?), (4.0, 0.0));
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn stop_gradient<T: Tree>(tree: &T) -> Result<T> {
    try_map(tree, &mut |t| t.detach())
}
