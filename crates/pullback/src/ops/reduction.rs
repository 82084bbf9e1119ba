//! Which dimensions a reduction runs over, and the family of reductions whose tangent is a weighted sum.

use std::fmt;

use smallvec::smallvec;

use super::arith::mul_owned;
use super::family::{adjoint, linear, vmap_front};
use super::reduce::Sum;
use super::table::Naive;
use crate::array::Array;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Saved, Tangent, VmapInfo};
use crate::interp::bind1;
use crate::kernels::copy;
use crate::kernels::half::widened;
use crate::shape::{Dims, Shape, resolve_dims};
use crate::{Result, Tensor};

/// The dimensions that a reduction runs over.
#[derive(Clone)]
pub(super) struct Over {
    /// In rising order.
    pub(super) dims: Dims,
    /// Those below this number vanish from the result, the others stay with size 1.
    removed: usize,
}

impl fmt::Debug for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keepdim = self.dims.iter().any(|&d| d >= self.removed);
        f.debug_struct("Over").field("dims", &self.dims).field("keepdim", &keepdim).finish()
    }
}

impl Over {
    /// All dimensions of a tensor of this rank, which vanish.
    pub(super) fn all(rank: usize) -> Over {
        Over { dims: (0..rank).collect(), removed: rank }
    }

    /// One dimension.
    pub(super) fn one(dim: usize, keepdim: bool) -> Over {
        Over { dims: smallvec![dim], removed: if keepdim { 0 } else { dim + 1 } }
    }

    /// Dimensions as users give them: negative ones count from the end, none means all.
    pub(super) fn new(op: &str, x: &Tensor, dims: &[isize], keepdim: bool) -> Result<Over> {
        let mut dims = resolve_dims(op, dims, x.rank(), x.ty())?;
        dims.sort_unstable();
        Ok(Over { dims, removed: if keepdim { 0 } else { x.rank() } })
    }

    /// Those in which a shape that broadcasts to `full` differs from it, so that it is the shape of the result.
    pub(super) fn between(shape: &[usize], full: &[usize]) -> Over {
        let lead = full.len() - shape.len();
        let dims = (0..full.len()).filter(|&k| k < lead || (shape[k - lead] == 1 && full[k] != 1)).collect();
        Over { dims, removed: lead }
    }

    /// The same dimensions and one more behind the last of `rank`, all of which vanish.
    pub(super) fn with_last(&self, rank: usize) -> Over {
        Over { dims: self.dims.iter().copied().chain([rank]).collect(), removed: rank + 1 }
    }

    /// The same dimensions, all of which stay with size 1.
    pub(super) fn keeping(&self) -> Over {
        Over { dims: self.dims.clone(), removed: 0 }
    }

    /// The same reduction where lanes lie along dimension 0.
    pub(super) fn batched(&self) -> Over {
        self.batched_at(0).0
    }

    /// The same reduction where lanes lie along dimension `lane`, and where they lie in the result.
    pub(super) fn batched_at(&self, lane: usize) -> (Over, usize) {
        let shift = |d: usize| d + usize::from(d >= lane);
        let vanished = self.dims.iter().filter(|&&d| d < lane.min(self.removed)).count();
        let removed = self.removed + usize::from(lane < self.removed);
        (Over { dims: self.dims.iter().map(|&d| shift(d)).collect(), removed }, lane - vanished)
    }

    /// How many elements make one of the result.
    pub(super) fn count(&self, shape: &[usize]) -> usize {
        self.dims.iter().map(|&d| shape[d]).product()
    }

    /// `shape` with the dimensions set to 1.
    pub(super) fn kept(&self, shape: &[usize]) -> Shape {
        let mut kept = Shape::from_slice(shape);
        for &d in &self.dims {
            kept[d] = 1;
        }
        kept
    }

    /// The shape of the result for an input of `shape`.
    pub(super) fn result(&self, shape: &[usize]) -> Shape {
        let mut kept = self.kept(shape);
        for &d in self.dims.iter().rev().filter(|&&d| d < self.removed) {
            kept.remove(d);
        }
        kept
    }

    /// What a kernel made from an array of `shape`, all dimensions having vanished, in the shape of the result.
    pub(super) fn finish(&self, y: Array, shape: &[usize]) -> Array {
        if self.dims.iter().all(|&d| d < self.removed) {
            return y;
        }
        reshaped(&y, &self.result(shape))
    }

    /// An error if elements of the result would come from no element at all.
    pub(super) fn check_not_empty(&self, op: &str, x: &Tensor) -> Result<()> {
        match self.dims.iter().find(|&&d| x.shape()[d] == 0) {
            Some(d) => bail!(Shape, "{op}: expected at least one element along dim {d}, got {}", x.ty()),
            None => Ok(()),
        }
    }
}

/// `x` under another shape, as a view where strides allow it.
pub(super) fn reshaped(x: &Array, shape: &[usize]) -> Array {
    match x.reshape_view(shape) {
        Some(view) => view,
        None => copy::contiguous(x).reshape_view(shape).expect("a contiguous array has a view of every shape"),
    }
}

/// A reduction whose derivative is given by the partial derivative with respect to every element.
pub(super) trait Reduce: Clone + Send + Sync + 'static {
    const NAME: &'static str;
    /// Whether [`weights`](Reduce::weights) reads the result.
    const READS_OUTPUT: bool = false;

    /// The result over `over.dims`, which vanish.
    fn kernel(&self, x: &Array, over: &Over) -> Result<Array>;

    /// The partial derivatives, in the shape of `x`. `y` is the result with its dimensions kept, if it is read.
    fn weights(&self, x: &Tensor, y: &Tensor, over: &Over) -> Result<Tensor>;
}

/// A [`Reduce`] as an operation.
struct ReduceOp<K> {
    kind: K,
    over: Over,
}

/// Applies a [`Reduce`].
pub(super) fn reduction<K: Reduce>(kind: K, over: Over, x: &Tensor) -> Result<Tensor> {
    let op = ReduceOp { kind, over };
    match x.array() {
        Some(array) => Ok(op.compute(array)?.into()),
        None => bind1(&OpRef::new(op), &[x]),
    }
}

impl<K: Reduce> ReduceOp<K> {
    fn compute(&self, x: &Array) -> Result<Array> {
        Ok(self.over.finish(widened([x], |[x]| self.kind.kernel(x, &self.over))?, x.shape()))
    }

    fn weights(&self, saved: &Saved) -> Result<Tensor> {
        let x = &saved.tensors[0];
        match saved.tensors.get(1) {
            Some(y) => self.kind.weights(x, &y.reshape_to(&self.over.kept(x.shape()))?, &self.over),
            None => self.kind.weights(x, x, &self.over),
        }
    }
}

impl<K: Reduce> Op for ReduceOp<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(&self.over)
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.compute(inputs[0].concrete())?.into()])
    }

    fn save(&self, _: &[bool], inputs: &[&Tensor], outputs: &[Tensor]) -> Result<Saved> {
        Ok(if K::READS_OUTPUT { Saved::tensors([inputs[0], &outputs[0]]) } else { Saved::tensors([inputs[0]]) })
    }

    fn backward(&self, saved: &Saved, _: &[bool], grads: &[Cotangent]) -> Result<Cotangents> {
        let found = grads[0].map(|g| {
            let kept = self.over.kept(saved.tensors[0].shape());
            adjoint(true, &g.reshape_to(&kept)?, |g| mul_owned(self.weights(saved)?, g.clone()))
        });
        Ok(smallvec![found?])
    }

    fn jvp(&self, saved: &Saved, tangents: &[Tangent]) -> Result<Tangents> {
        let found =
            tangents[0].map(|t| linear(Sum::<false>(self.over.clone()), &mul_owned(self.weights(saved)?, t.clone())?));
        Ok(smallvec![found?])
    }

    fn vmap(&self, _: &VmapInfo, dims: &[Option<usize>], inputs: &[&Tensor]) -> Result<Batched> {
        let op = ReduceOp { kind: self.kind.clone(), over: self.over.batched() };
        vmap_front(&OpRef::new(op), dims, inputs)
    }
}

/// `f` of the elements that belong to each element of the result, for samples.
pub(super) fn naive_reduce(x: &Naive, dims: &[usize], keepdim: bool, f: impl Fn(&[f64]) -> f64) -> Naive {
    let kept: Vec<usize> = x.shape.iter().enumerate().map(|(k, &n)| if dims.contains(&k) { 1 } else { n }).collect();
    let own = |i: &[usize]| -> Vec<usize> {
        i.iter().enumerate().map(|(k, &i)| if dims.contains(&k) { 0 } else { i }).collect()
    };
    let mut out = Naive::from_fn(&kept, |o| {
        let mut parts = Vec::new();
        Naive::from_fn(&x.shape, |i| {
            if own(i) == o {
                parts.push(x.at(i));
            }
            0.0
        });
        f(&parts)
    });
    if !keepdim {
        out.shape = x.shape.iter().enumerate().filter(|(k, _)| !dims.contains(k)).map(|(_, &n)| n).collect();
    }
    out
}
