//! A function applied to slices one after the other.

use super::scan::Scan;
use crate::error::Context as _;
use crate::{Result, Tree};

/// The stacked results of `f` for each slice of `xs`, one after the other.
///
/// The slices are those of every tensor of `xs` along dimension 0, which is dropped; the results are stacked along a new
/// dimension 0. [`vmap`](crate::vmap()) gives the same by running `f` once for all slices, which is faster and needs the
/// memory of all of them. `map` is for an `f` that has to see one slice at a time: it may read data and draw random
/// numbers.
///
/// # Shapes and dtypes
/// As for [`scan`](crate::scan()), also for no slices.
///
/// # Derivative
/// That of the calls, in both modes.
///
/// # Errors
/// As [`scan`](crate::scan()).
///
/// # Nesting
/// In any order with all transforms.
///
/// # Example
/// ```
/// use pullback::{Tensor, map};
/// let sums = map(|row: &Tensor| row.sum(), &Tensor::from([[1.0, 2.0], [3.0, 4.0]]))?;
/// assert_eq!(sums.to_vec::<f64>()?, [3.0, 7.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
pub fn map<A: Tree, B: Tree>(f: impl Fn(&A) -> Result<B>, xs: &A) -> Result<B> {
    let step = |(): &(), x: &A| Ok(((), f(x)?));
    Ok(Scan::new().recorded(&step, &(), xs).context(|| "map".into())?.1)
}
