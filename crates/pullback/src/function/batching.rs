//! Batching strategies that can be chosen by name.

use super::{Randomness, VmapInfo};
use crate::error::{Context as _, bail};
use crate::interp::batch;
use crate::interp::level::{OpenLevel, Undrawn};
use crate::ops::structural::move_dim;
use crate::shape::{Shape, with_dim, without_dim};
use crate::tree::{leaves, try_map};
use crate::{Result, Tensor, TensorType, Tree, stack_trees};

/// How a function that computes outside this crate is batched by `vmap`.
///
/// Such code sees numbers, not tensors, so no batching rule can be generated from it; what can be chosen is how the lanes
/// are handed to it. The derivative rules come along: under `vmap` they are called in the same way.
///
/// [`OpaqueFunction::batching`](super::OpaqueFunction::batching) and [`Custom::batching`](super::Custom::batching) take
/// one; each but `Refuse` is also a function in [`rules`](super::rules), for a `vmap` written by hand.
///
/// | strategy | calls for `n` lanes | an input that has lanes | one that all lanes share |
/// |---|---|---|---|
/// | `Loop` | `n` | one lane at a time | as it is |
/// | `LeadingDims` | 1 | `[n, …]` | repeated: `[n, …]` |
/// | `Expand` | 1 | `[n, …]` | `[1, …]` |
/// | `Flatten` | 1 | `[n, b, …]` as `[n·b, …]` | repeated: `[n·b, …]` |
/// | `Refuse` | error | | |
///
/// Random numbers that the function draws would be the same for every lane in a loop, and drawn once for all lanes in one
/// call. Where the policy of the `vmap` is another, `Different` or [`Same`](super::Randomness::Same) respectively, drawing is
/// an error of kind [`Randomness`](crate::ErrorKind::Randomness).
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
    /// The name of its function in `rules`.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Batching::Loop => "per_example",
            Batching::LeadingDims => "leading_dims",
            Batching::Expand => "expand",
            Batching::Flatten => "flatten",
            Batching::Refuse => "refuse",
        }
    }

    /// The outputs of `call` for all lanes, which lie at `dims` of the inputs, with the lanes along dimension 0.
    pub(crate) fn lanes_first<A: Tree, B: Tree>(
        self,
        info: &VmapInfo,
        dims: &[Option<usize>],
        inputs: &A,
        call: impl Fn(&A) -> Result<B>,
    ) -> Result<B> {
        let (n, rule) = (info.batch_size, self.rule());
        let _undrawn = undrawn(info, rule, self == Batching::Loop);
        match self {
            Batching::Loop => one_by_one(n, dims, inputs, call),
            // Without any input that has lanes, outputs would have one.
            Batching::Expand if dims.iter().any(Option::is_some) => {
                call(&each_input(dims, inputs, |t, dim| match dim {
                    Some(dim) => move_dim(t, dim, 0),
                    None => t.unsqueeze(0),
                })?)
            }
            Batching::LeadingDims | Batching::Expand => {
                call(&each_input(dims, inputs, |t, dim| batch::materialize(t, dim, n))?)
            }
            Batching::Flatten => as_rows(n, dims, inputs, call),
            Batching::Refuse => bail!(MissingRule, "expected a call without lanes, got {n}: its batching is `Refuse`";
                help = "loop over the examples outside of `vmap`, or choose another `Batching`"),
        }
    }
}

/// While it lives, drawing random numbers is an error, if a strategy does not keep to the policy of the `vmap`: in a loop
/// all lanes draw the same, and one call for all lanes draws once for all.
pub(super) fn undrawn(info: &VmapInfo, strategy: &'static str, in_loop: bool) -> Option<OpenLevel> {
    let kept = if in_loop { Randomness::Same } else { Randomness::Different };
    let policy = info.randomness;
    let broken = info.batch_size > 0 && policy != Randomness::Error && policy != kept;
    broken.then(|| OpenLevel::undrawn(info.batch_size, Undrawn { strategy, policy }))
}

/// The types that the outputs must have in each lane, and who says so.
pub(super) struct LaneTypes<'a> {
    pub(super) types: &'a [TensorType],
    pub(super) source: &'a str,
    /// The strategy that was chosen, with the number of lanes; `None` for a rule that was written.
    pub(super) batching: Option<(Batching, usize)>,
}

impl LaneTypes<'_> {
    /// An error unless batched outputs are of these types lane by lane.
    pub(super) fn check<T: Tree>(&self, outputs: &T, out_dims: &[Option<usize>]) -> Result<()> {
        let (outputs, source) = (leaves(outputs), self.source);
        if outputs.len() != self.types.len() {
            let n = self.types.len();
            bail!(Rule, "expected {n} outputs, as {source} for one lane, got {}", outputs.len());
        }
        for (k, ((t, want), dim)) in outputs.into_iter().zip(self.types).zip(out_dims).enumerate() {
            let got = lane_type(t.ty(), *dim);
            if let (Some((batching, n)), Some(dim)) = (self.batching, *dim)
                && t.shape().get(dim) != Some(&n)
            {
                bail!(Rule, "expected {n} lanes along dim {dim} of output {k}, each {want}, as {source} for one, got {} from \
                    batching by `{batching:?}`", t.ty(); help = "choose a `Batching` that fits the code, such as \
                    `Batching::Loop`");
            }
            if got == *want || dim.is_some_and(|dim| dim >= t.rank()) {
                // The caller says what is wrong with a dim out of range.
                continue;
            }
            let all = t.ty();
            match self.batching {
                None => {
                    bail!(Rule, "expected {want} in each lane of output {k}, as {source} for one, got {got} ({all})";
                    help = "the rule must compute what the function does for each lane")
                }
                Some((batching, _)) => {
                    bail!(Rule, "expected {want} in each lane of output {k}, as {source} for one, got {got} \
                    ({all}) from batching by `{batching:?}`"; help = "choose a `Batching` that fits the code, such as \
                    `Batching::Loop`")
                }
            }
        }
        Ok(())
    }
}

/// The type of one lane. Dims out of range are reported by the caller.
pub(super) fn lane_type(mut ty: TensorType, dim: Option<usize>) -> TensorType {
    if let Some(dim) = dim.filter(|d| *d < ty.shape.len()) {
        ty.shape.remove(dim);
    }
    ty
}

/// Zero lanes of a type, along dimension 0.
pub(super) fn zero_lanes(ty: &TensorType) -> Result<Tensor> {
    Tensor::zeros(&with_dim(&ty.shape, 0, 0), ty.dtype)
}

/// The inputs, each as `f` makes it from the tensor and its batch dim.
fn each_input<T: Tree>(
    dims: &[Option<usize>],
    inputs: &T,
    mut f: impl FnMut(&Tensor, Option<usize>) -> Result<Tensor>,
) -> Result<T> {
    let mut dims = dims.iter();
    try_map(inputs, &mut |t| f(t, dims.next().copied().flatten()))
}

/// The inputs of one lane.
pub(super) fn one_lane<T: Tree>(dims: &[Option<usize>], inputs: &T, lane: usize) -> Result<T> {
    each_input(dims, inputs, |t, dim| match dim {
        Some(d) => t.select(d as isize, lane as isize),
        None => Ok(t.clone()),
    })
}

/// One call per lane.
fn one_by_one<A: Tree, B: Tree>(
    n: usize,
    dims: &[Option<usize>],
    inputs: &A,
    call: impl Fn(&A) -> Result<B>,
) -> Result<B> {
    if n == 0 {
        return no_lanes(dims, inputs, call);
    }
    let lanes: Vec<B> = (0..n).map(|lane| call(&one_lane(dims, inputs, lane)?)).collect::<Result<_>>()?;
    stack_trees(&lanes).context(|| "rules::per_example: the results of the lanes".to_string())
}

/// One call with the rows of all lanes.
fn as_rows<A: Tree, B: Tree>(
    n: usize,
    dims: &[Option<usize>],
    inputs: &A,
    call: impl Fn(&A) -> Result<B>,
) -> Result<B> {
    if n == 0 {
        return no_lanes(dims, inputs, call);
    }
    let mut k = 0;
    let rows = each_input(dims, inputs, |t, dim| {
        let index = k;
        k += 1;
        let all = batch::materialize(t, dim, n)?;
        let [_, b, rest @ ..] = all.shape() else {
            bail!(Rule, "rules::flatten: expected rows along dimension 0 of every input, got {} at input {index}",
                TensorType::new(t.dtype(), &all.shape()[1..]); help = "loop with `rules::per_example`");
        };
        let mut shape = Shape::from_slice(&[n * b]);
        shape.extend_from_slice(rest);
        all.reshape_to(&shape)
    })?;
    let mut k = 0;
    try_map(&call(&rows)?, &mut |t| {
        let index = k;
        k += 1;
        match t.shape() {
            [all, rest @ ..] if all % n == 0 => {
                let mut shape = Shape::from_slice(&[n, all / n]);
                shape.extend_from_slice(rest);
                t.reshape_to(&shape)
            }
            _ => bail!(Rule, "rules::flatten: expected as many rows for each of {n} lanes in output {index}, got {}",
                t.ty(); help = "loop with `rules::per_example`"),
        }
    })
}

/// The results for zero lanes, whose types are those of a lane of zeros.
fn no_lanes<A: Tree, B: Tree>(dims: &[Option<usize>], inputs: &A, call: impl Fn(&A) -> Result<B>) -> Result<B> {
    let lane = each_input(dims, inputs, |t, dim| match dim {
        Some(d) => Tensor::zeros(&without_dim(t.shape(), d), t.dtype()),
        None => t.detach(),
    })?;
    let outputs = match call(&lane) {
        Ok(outputs) => outputs,
        Err(e) => {
            bail!(Shape, "expected at least one lane, got 0, and the types of the outputs are unknown, because a lane \
            of zeros is an error ({e})"; help = "write a `vmap` rule that knows them")
        }
    };
    try_map(&outputs, &mut |t| zero_lanes(&t.ty()))
}
