//! Levels, tracers, and the one door through which every operation goes: [`bind`].
//!
//! A transform opens a level, wraps its inputs in tracers of that level, calls the user's function and closes the
//! level. An operation looks at its inputs only: the newest level among them decides which interpreter runs it, and
//! that interpreter runs rules on values of older levels, until no tracer is left and the kernels are called.

pub(crate) mod anomaly;
pub(crate) mod batch;
pub(crate) mod capture;
pub(crate) mod extras;
pub(crate) mod forward;
mod frame;
pub(crate) mod level;
pub(crate) mod linear;
pub(crate) mod mode;
pub(crate) mod noted;
pub(crate) mod reverse;
pub(crate) mod walk;
pub(crate) mod watch;

use std::sync::Arc;

use smallvec::SmallVec;

pub use frame::WrittenAs;
pub(crate) use frame::{Frame, Method, check_data_access, check_own, is_constant, running_method};
pub(crate) use level::{Level, LevelKind};

use crate::function::{OpRef, Outs};
use crate::shape::Shape;
use crate::tensor::Repr;
use crate::{Result, Tensor, error::bail};

/// A value of exactly one level, holding values of older levels.
pub(crate) struct Tracer {
    pub(crate) level: Arc<Level>,
    pub(crate) value: Traced,
}

/// What a tracer holds, by the kind of its level.
pub(crate) enum Traced {
    Reverse {
        primal: Tensor,
        edge: reverse::Edge,
    },
    Forward {
        primal: Tensor,
        tangent: Tensor,
    },
    Linear {
        primal: Tensor,
        variable: linear::Variable,
    },
    Capture {
        value: Tensor,
        variable: capture::Variable,
    },
    /// `dim` is narrow so that a tracer does not fill a size class of common allocators exactly, which is their slow case.
    Batch {
        value: Tensor,
        dim: u32,
        shape: Shape,
    },
}

impl Traced {
    /// The value of an older level.
    #[inline(always)]
    pub(crate) fn inner(&self) -> &Tensor {
        match self {
            Traced::Reverse { primal: inner, .. }
            | Traced::Forward { primal: inner, .. }
            | Traced::Linear { primal: inner, .. }
            | Traced::Capture { value: inner, .. }
            | Traced::Batch { value: inner, .. } => inner,
        }
    }
}

impl Tracer {
    /// The value of an older level that has the same contents and may be read instead: not that of one lane of many, and
    /// not the one on which a graph happens to be captured.
    pub(crate) fn primal(&self) -> Option<&Tensor> {
        match &self.value {
            Traced::Reverse { primal, .. } | Traced::Forward { primal, .. } | Traced::Linear { primal, .. } => {
                Some(primal)
            }
            Traced::Batch { .. } | Traced::Capture { .. } => None,
        }
    }
}

/// The newest level among the inputs.
pub(crate) fn newest<'a>(inputs: &[&'a Tensor]) -> Option<&'a Arc<Level>> {
    let mut best: Option<&Arc<Level>> = None;
    for t in inputs {
        if let Repr::Tracer(tracer) = t.repr()
            && best.is_none_or(|b| tracer.level.id > b.id)
        {
            best = Some(&tracer.level);
        }
    }
    best
}

/// True if a reverse level, of any age, is recording what depends on `t`, or a graph is, which may be differentiated
/// later.
pub(crate) fn is_recorded(t: &Tensor) -> bool {
    let Repr::Tracer(tracer) = t.repr() else { return false };
    match &tracer.value {
        Traced::Reverse { .. } | Traced::Capture { .. } => true,
        Traced::Forward { primal, tangent } => is_recorded(primal) || is_recorded(tangent),
        Traced::Linear { primal: value, .. } | Traced::Batch { value, .. } => is_recorded(value),
    }
}

/// True if a level of any kind and age is differentiating what depends on `t`, or writes it down.
pub(crate) fn is_differentiated(t: &Tensor) -> bool {
    match t.repr() {
        Repr::Array(_) => false,
        Repr::Tracer(tracer) => match &tracer.value {
            Traced::Batch { value, .. } => is_differentiated(value),
            _ => true,
        },
    }
}

/// Applies `op`: the newest level among the inputs interprets it, or the kernels do where there is none.
pub(crate) fn bind(op: &OpRef, inputs: &[&Tensor]) -> Result<Outs> {
    let Some(level) = newest(inputs) else {
        return op.forward(inputs);
    };
    let running = frame::is_running();
    if running && frame::is_watched() {
        return watch::bind(op, inputs);
    }
    interpret(op, level, inputs, running)
}

/// Runs `op` at `level`, the newest among its inputs. `running` says that a frame may refuse some.
#[inline(always)]
fn interpret(op: &OpRef, level: &Arc<Level>, inputs: &[&Tensor], running: bool) -> Result<Outs> {
    for t in inputs {
        if let Repr::Tracer(tracer) = t.repr()
            && (running || !tracer.level.is_alive())
        {
            check_usable(tracer, op.name())?;
        }
    }
    if op.couples_cotangents()
        && let Some(inner) = level::active_batch_newer_than(level.id)
        && inputs.iter().any(|t| is_recorded(t))
    {
        // Each lane must see its own cotangent although no input differs between lanes. This is done here, above all
        // levels of the inputs, because a value of an older level must not come to hold one of a newer level.
        let lifted = batch::lift(&inner, inputs[0])?;
        frame::allow(inner.id);
        let mut all: SmallVec<[&Tensor; 4]> = SmallVec::from_slice(inputs);
        all[0] = &lifted;
        return batch::process(op, &inner, &all);
    }
    match level.kind {
        LevelKind::Reverse => reverse::process(op, level, inputs),
        LevelKind::Forward => forward::process(op, level, inputs),
        LevelKind::Linear => linear::process(op, level, inputs),
        LevelKind::Capture => capture::process(op, level, inputs),
        LevelKind::Batch { .. } => batch::process(op, level, inputs),
    }
}

/// [`bind`] for an operation with one output.
pub(crate) fn bind1(op: &OpRef, inputs: &[&Tensor]) -> Result<Tensor> {
    let Some(level) = newest(inputs) else {
        return op.forward1(inputs);
    };
    // Recording is what is done most often, and needs no list of outputs.
    if reverse::only_records(level) && !op.couples_cotangents() && inputs.iter().all(|t| is_alive(t)) {
        return reverse::process1(op, level, inputs);
    }
    only(|| op.name(), bind(op, inputs))
}

#[inline(always)]
fn is_alive(t: &Tensor) -> bool {
    match t.repr() {
        Repr::Tracer(tracer) => tracer.level.is_alive(),
        Repr::Array(_) => true,
    }
}

/// The only output of an operation, whose name is asked for if there is none.
#[inline(always)]
pub(crate) fn only<'a>(op: impl FnOnce() -> &'a str, mut outs: Result<Outs>) -> Result<Tensor> {
    if let Ok(outs) = &mut outs
        && let Some(out) = outs.pop()
    {
        debug_assert!(outs.is_empty());
        return Ok(out);
    }
    outs.and_then(|_| bail!(Internal, "{}: an operation with one output returned none", op()))
}

/// An error if `tracer` must not be used here: it was captured by a user's method, or its level has ended.
pub(crate) fn check_usable(tracer: &Tracer, op: &str) -> Result<()> {
    let checked = frame::check_captured(tracer, op).and_then(|()| match tracer.level.is_alive() {
        true => Ok(()),
        false => Err(escaped(tracer, &format!("{op}: an input"))),
    });
    if checked.is_err() && watch::knows(tracer) {
        return Ok(());
    }
    checked
}

#[cold]
fn escaped(tracer: &Tracer, place: &str) -> crate::Error {
    let kind = tracer.level.transform();
    crate::Error::new(
        crate::ErrorKind::EscapedTracer,
        format!("{place} is a value of a `{kind}` (level {}) that has ended", tracer.level.id),
    )
    .with_help("return the value from the transformed function instead of storing it elsewhere")
}

/// An error if `t` belongs to a transform that has ended; `place` names who asks.
pub(crate) fn check_alive(t: &Tensor, place: &str) -> Result<()> {
    match t.repr() {
        Repr::Tracer(tracer) if !tracer.level.is_alive() && !watch::knows(tracer) => Err(escaped(tracer, place)),
        _ => Ok(()),
    }
}
