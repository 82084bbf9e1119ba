//! Batching strategies that can be chosen by name.

use super::rules;
use super::{Dims, Function, VmapInfo};
use crate::{Result, error::bail};

/// How a function that computes outside this crate is batched by `vmap`.
///
/// Such code sees numbers, not tensors, so no batching rule can be generated from it; what can be chosen is how the lanes
/// are handed to it. The derivative rules come along: under `vmap` they are called in the same way.
///
/// [`OpaqueFunction::batching`](super::OpaqueFunction::batching) and [`Custom::batching`](super::Custom::batching) take
/// one; each but `Refuse` is also a function in [`rules`], for a `vmap` written by hand.
///
/// | strategy | calls for `n` lanes | an input that has lanes | one that all lanes share |
/// |---|---|---|---|
/// | `Loop` | `n` | one lane at a time | as it is |
/// | `LeadingDims` | 1 | `[n, …]` | repeated: `[n, …]` |
/// | `Expand` | 1 | `[n, …]` | `[1, …]` |
/// | `Flatten` | 1 | `[n, b, …]` as `[n·b, …]` | repeated: `[n·b, …]` |
/// | `Refuse` | error | | |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Batching {
    /// One call per lane, results stacked. Right for every function.
    #[default]
    Loop,
    /// One call for all lanes, for code that accepts any number of leading dimensions and treats them alike. Every
    /// input has the lanes in front; one that all lanes share is repeated. Nested `vmap`s add a dimension each.
    LeadingDims,
    /// As `LeadingDims`, but an input that all lanes share gets a leading dimension of size 1, for code that broadcasts.
    Expand,
    /// One call for all lanes, for code whose inputs and outputs all have rows along dimension 0 that it treats alike: the
    /// lanes become more rows.
    Flatten,
    /// An error: batching would be wrong, or too slow to happen unnoticed.
    Refuse,
}

impl Batching {
    /// Runs `function` for all lanes.
    pub(crate) fn run<F: Function>(
        self,
        function: &F,
        info: &VmapInfo,
        in_dims: Dims<F::Inputs>,
        inputs: &F::Inputs,
    ) -> Result<(F::Outputs, Dims<F::Outputs>)> {
        match self {
            Batching::Loop => rules::per_example(function, info, in_dims, inputs),
            Batching::LeadingDims => rules::leading_dims(function, info, in_dims, inputs),
            Batching::Expand => rules::expand(function, info, in_dims, inputs),
            Batching::Flatten => rules::flatten(function, info, in_dims, inputs),
            Batching::Refuse => bail!(MissingRule, "expected a call without lanes, got {}: its batching is `Refuse`",
                info.batch_size; help = "loop over the examples outside of `vmap`, or choose another `Batching`"),
        }
    }
}
