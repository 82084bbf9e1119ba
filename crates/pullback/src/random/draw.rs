//! One draw as an operation: where its numbers come from, which levels have a say in its shape, and how a captured graph
//! repeats it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::{SmallVec, smallvec};

use super::Key;
use crate::error::bail;
use crate::function::op::{Batched, Cotangents, Op, Tangents};
use crate::function::{Cotangent, OpRef, Outs, Randomness, Saved, Tangent, VmapInfo};
use crate::interp::level::{Below, Part, Undrawn, active_batches, active_capture, forbids_randomness};
use crate::interp::{LevelKind, batch, capture, watch};
use crate::kernels::random::{self as kernel, Runs};
use crate::shape::{Shape, numel};
use crate::tensor::checked_numel;
use crate::{DType, Result, Tensor};

/// What the numbers of a draw are made from.
#[derive(Clone)]
pub(crate) enum Source {
    /// The same numbers every time.
    Key(Key),
    /// Other numbers every time: those of the next key.
    Generator { key: Key, draws: Arc<AtomicU64> },
}

impl Source {
    pub(super) fn key(&self) -> Key {
        match self {
            Source::Key(key) => *key,
            Source::Generator { key, draws } => {
                super::note_taken();
                key.fold_in(draws.fetch_add(1, Ordering::Relaxed))
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Key(Key { key, stream }) => write!(f, "key {key:#x}.{stream:x}"),
            Source::Generator { key, .. } => write!(f, "generator {:#x}", key.key),
        }
    }
}

/// Which numbers are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Uniform(DType),
    Normal(DType),
    Exponential(DType),
    Bits,
    Integers { low: i64, high: i64, dtype: DType },
    Bernoulli(f64),
    Permutation,
}

/// Which lanes of a level draw, of those that its `vmap` has in all parts.
#[derive(Clone, Copy)]
struct Lanes {
    first: usize,
    size: usize,
    of: usize,
    /// Whether the only lane has no dimension.
    in_loop: bool,
}

/// A draw of random numbers.
#[derive(Clone)]
pub(super) struct Draw {
    /// The operation as messages name it.
    pub(super) op: &'static str,
    pub(super) kind: Kind,
    /// The lanes that draw their own numbers, outermost first; filled in as levels are asked.
    lanes: Vec<Lanes>,
    /// The shape for one lane.
    shape: Shape,
    source: Source,
}

impl fmt::Debug for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("Draw");
        match self.kind {
            Kind::Integers { low, high, .. } => parts.field("low", &low).field("high", &high),
            Kind::Bernoulli(p) => parts.field("p", &p),
            _ => &mut parts,
        };
        parts.field("from", &self.source).finish()
    }
}

impl Draw {
    pub(super) fn new(op: &'static str, kind: Kind, shape: &[usize], source: Source) -> Draw {
        Draw { op, kind, lanes: Vec::new(), shape: Shape::from_slice(shape), source }
    }

    /// Draws: numbers of its own for every lane that is to have them, and as an operation of the graph that is being
    /// captured, if there is one.
    pub(super) fn apply(self) -> Result<Tensor> {
        let op = self.op;
        if let Some(level) = forbids_randomness() {
            let (id, LevelKind::Batch { size, .. }) = (level.id, level.kind) else { unreachable!("a batch level") };
            let size = level.part.map_or(size, |p| p.of);
            if let Some(Undrawn { strategy, policy }) = level.undrawn {
                let (does, help) = if policy == Randomness::Same {
                    (
                        "draws for all of them at once",
                        "draw outside and pass the numbers in, or choose `Batching::Loop`",
                    )
                } else {
                    (
                        "draws the same for each",
                        "draw outside and pass the numbers in, with those of each lane along a batch dim",
                    )
                };
                bail!(Randomness, "{op}: random numbers are drawn in a function that is batched by `{strategy}`, which {does}, \
                    inside a `vmap` ({size} lanes) with `Randomness::{policy:?}`"; help = "{help}");
            }
            bail!(Randomness, "{op}: random numbers are drawn inside a `vmap` ({size} lanes, level {id}) that does not \
                say whether its lanes share them"; help = "give it `.randomness(Randomness::Different)` for numbers \
                of their own, or `.randomness(Randomness::Same)` for shared ones");
        }
        let capture = active_capture();
        // Older levels hold the outer dimensions. Those that are older than the graph are asked below it.
        let newer = |id| capture.as_ref().is_none_or(|c| c.id < id);
        let mut levels = Vec::new();
        let mut lanes = Vec::new();
        for level in active_batches().into_iter().filter(|level| newer(level.id)) {
            let LevelKind::Batch { size, randomness: Randomness::Different } = level.kind else { continue };
            let part = level.part.unwrap_or(Part { first: 0, of: size, in_loop: false });
            lanes.push(Lanes { first: part.first, size, of: part.of, in_loop: part.in_loop });
            if !part.in_loop {
                levels.push(level);
            }
        }
        lanes.extend_from_slice(&self.lanes);
        let all: Shape = lanes.iter().map(|l| l.of).chain(self.shape.iter().copied()).collect();
        checked_numel(op, &all)?;
        let draw = Draw { lanes, ..self };
        let mut t = match capture {
            Some(level) => {
                let _below = Below::level(level.id);
                match capture::process_source(&OpRef::new(draw), &level)?.pop() {
                    Some(t) => t,
                    None => bail!(Internal, "{op}: a draw gave no tensor"),
                }
            }
            None => draw.numbers()?,
        };
        for level in &levels {
            t = batch::wrap(level, t, 0);
        }
        watch::made_here(&t);
        Ok(t)
    }

    fn numbers(&self) -> Result<Tensor> {
        let (Key { key, stream }, own) = (self.source.key(), self.lanes.iter().filter(|l| !l.in_loop).map(|l| l.size));
        let shape: &[usize] = &own.chain(self.shape.iter().copied()).collect::<Shape>();
        let ranges: SmallVec<[_; 2]> = self.lanes.iter().map(|l| (l.first, l.size, l.of)).collect();
        let runs = &Runs::of(&ranges, numel(&self.shape));
        let array = match self.kind {
            Kind::Uniform(dtype) => kernel::uniform(shape, runs, dtype, key, stream)?,
            Kind::Normal(dtype) => kernel::normal(shape, runs, dtype, key, stream)?,
            Kind::Exponential(dtype) => kernel::exponential(shape, runs, dtype, key, stream)?,
            Kind::Bits => kernel::bits(shape, runs, key, stream),
            Kind::Integers { low, high, dtype } => kernel::integers(shape, runs, low, high, dtype, key, stream)?,
            Kind::Bernoulli(p) => kernel::bernoulli(shape, runs, p, key, stream),
            Kind::Permutation => kernel::permutations(shape, runs, key, stream),
        };
        Ok(array.into())
    }

    fn has_no_inputs<T>(&self) -> Result<T> {
        bail!(Internal, "{}: a draw has no inputs, so no rule of it is ever called", self.op)
    }
}

impl Op for Draw {
    fn name(&self) -> &str {
        self.op
    }

    fn parameters(&self) -> Option<&dyn fmt::Debug> {
        Some(self)
    }

    fn has_effect(&self) -> bool {
        matches!(self.source, Source::Generator { .. })
    }

    fn is_differentiable(&self) -> bool {
        false
    }

    /// Not only numbers: in a graph, a draw is where the levels around a replay are asked.
    fn forward(&self, _: &[&Tensor]) -> Result<Outs> {
        Ok(smallvec![self.clone().apply()?])
    }

    fn save(&self, _: &[bool], _: &[&Tensor], _: &[Tensor]) -> Result<Saved> {
        self.has_no_inputs()
    }

    fn backward(&self, _: &Saved, _: &[bool], _: &[Cotangent]) -> Result<Cotangents> {
        self.has_no_inputs()
    }

    fn jvp(&self, _: &Saved, _: &[Tangent]) -> Result<Tangents> {
        self.has_no_inputs()
    }

    fn vmap(&self, _: &VmapInfo, _: &[Option<usize>], _: &[&Tensor]) -> Result<Batched> {
        self.has_no_inputs()
    }
}
