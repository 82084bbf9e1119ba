//! A loop over numbers.

use std::ops::Range;

use super::lanes::check_same;
use crate::error::Context as _;
use crate::{Result, Tree};

/// The state after `body(i, &state)` has been applied to `init` for every `i` of a range, in order.
///
/// This is a plain Rust loop which checks that the state keeps its structure and types. For a loop that reads a slice per
/// step or returns a result per step, or one with checkpoints, see [`scan`](crate::scan()).
///
/// # Derivative
/// That of the steps, in both modes. Reverse mode records each.
///
/// # Errors
/// `Arity`, `Shape` or `Dtype` if `body` changes the structure or a type of the state; whatever it reports.
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, fori, grad};
/// let power = |x: &Tensor| fori(0..5, |_, p: &Tensor| p.mul(x), &Tensor::from(1.0));
/// assert_eq!(grad(power)(&Tensor::from(2.0))?.item::<f64>()?, 80.0);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn fori<S: Tree>(range: Range<usize>, body: impl Fn(usize, &S) -> Result<S>, init: &S) -> Result<S> {
    let run = || {
        let mut state = init.clone();
        for i in range {
            let next = body(i, &state)?;
            check_same((&state, "before a step"), (&next, "from the body"))?;
            state = next;
        }
        Ok(state)
    };
    run().context(|| "fori".into())
}
