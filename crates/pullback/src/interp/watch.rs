//! Watching a closure: what it uses from outside is replaced by something that stands for it.
//!
//! Three things are built on this. A branch that only some lanes take must not see what the other lanes would bring in.
//! A closure that will run again has its captured values collected, and finds them replaced when it does.
//!
//! A closure sees values through operations only, so [`bind`] is where they are replaced. A value is from outside
//! if its level is older than the watch and no operation inside made it. For a value of a level that was opened inside,
//! the values that it holds count instead.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use smallvec::SmallVec;

use super::{Traced, Tracer, batch, capture, forward, frame, linear, newest, reverse};
use crate::function::{OpRef, Outs};
use crate::handle::Handle;
use crate::random::Key;
use crate::tensor::{Repr, TracerHandle, WeakTracer};
use crate::{Result, Tensor};

/// What a watch does with values from outside.
pub(crate) trait Outside {
    /// What stands for `t`, when `op` uses it first. Runs outside of the watch.
    fn stand_in(&self, t: &Tensor, op: &str) -> Result<Tensor>;

    /// True for a tracer that something stands for already, so that it does not matter whether its level has ended.
    fn knows(&self, _: &Tracer) -> bool {
        false
    }

    /// Notes a key that a generator gave to the closure.
    fn note_key(&self, _: Key) {}

    /// The key that a generator must give to the closure, if it is not for the generator to say.
    fn replay_key(&self) -> Option<Key> {
        None
    }
}

/// One watched run of a closure.
pub(crate) struct Watch<'a> {
    outside: &'a dyn Outside,
    /// Levels from this number on were opened inside.
    entry: u64,
    /// An operation is running, whose inputs have been replaced: what happens below it is no use of the closure's.
    busy: Cell<bool>,
    own: RefCell<Own>,
    /// Values from outside, by address, and what stands for them.
    replaced: RefCell<HashMap<*const Tracer, (Tensor, Tensor)>>,
    /// How many times something stood for a value from outside.
    uses: Cell<usize>,
}

/// Tracers of older levels that were made inside, by address. A weak reference keeps the address from being reused.
#[derive(Default)]
struct Own {
    made: HashMap<*const Tracer, WeakTracer>,
    /// The number of entries at which those that are gone are removed.
    full: usize,
}

impl Own {
    /// False if it was there.
    fn insert(&mut self, tracer: &TracerHandle) -> bool {
        if self.made.len() >= self.full {
            self.made.retain(|_, tracer| tracer.is_alive());
            self.full = 64 + 2 * self.made.len();
        }
        self.made.insert(Handle::as_ptr(tracer), Handle::downgrade(tracer)).is_none()
    }
}

impl<'a> Watch<'a> {
    /// Calls `body`, to which `inputs` belong. Levels from number `entry` on are its own.
    pub(crate) fn run<'t, R>(
        outside: &'a dyn Outside,
        entry: u64,
        inputs: impl IntoIterator<Item = &'t Tensor>,
        body: impl FnOnce(&Watch<'a>) -> R,
    ) -> R {
        let watch = Watch {
            outside,
            entry,
            busy: Cell::new(false),
            own: RefCell::default(),
            replaced: RefCell::default(),
            uses: Cell::new(0),
        };
        for t in inputs {
            watch.own(t);
        }
        frame::enter_watch(&watch, || body(&watch))
    }

    /// `t`, or what stands for it.
    pub(crate) fn settle(&self, t: &Tensor, op: &str) -> Result<Tensor> {
        Ok(self.replacement(t, op)?.unwrap_or_else(|| t.clone()))
    }

    /// What stands for `t`, unless `t` itself does.
    fn replacement(&self, t: &Tensor, op: &str) -> Result<Option<Tensor>> {
        let Repr::Tracer(tracer) = t.repr() else { return Ok(None) };
        if tracer.level.id >= self.entry {
            return self.rebuilt(tracer, op);
        }
        let at = Handle::as_ptr(tracer);
        if self.own.borrow().made.contains_key(&at) {
            return Ok(None);
        }
        self.uses.set(self.uses.get() + 1);
        if let Some((_, known)) = self.replaced.borrow().get(&at) {
            return Ok(Some(known.clone()));
        }
        let found = frame::outside_of(self, || self.outside.stand_in(t, op))?;
        self.own(&found);
        self.replaced.borrow_mut().insert(at, (t.clone(), found.clone()));
        Ok(Some(found))
    }

    /// A tracer of a level that was opened inside, with what it holds replaced.
    fn rebuilt(&self, tracer: &Tracer, op: &str) -> Result<Option<Tensor>> {
        let level = &tracer.level;
        Ok(match &tracer.value {
            Traced::Reverse { primal, edge } => {
                self.replacement(primal, op)?.map(|primal| reverse::wrap(level, primal, edge.clone()))
            }
            Traced::Linear { primal, variable } => {
                self.replacement(primal, op)?.map(|primal| linear::wrap(level, primal, *variable))
            }
            Traced::Capture { value, variable } => {
                self.replacement(value, op)?.map(|value| capture::wrap(level, value, *variable))
            }
            Traced::Batch { value, dim, .. } => {
                self.replacement(value, op)?.map(|value| batch::wrap(level, value, *dim as usize))
            }
            Traced::Forward { primal, tangent } => {
                match (self.replacement(primal, op)?, self.replacement(tangent, op)?) {
                    (None, None) => None,
                    (p, t) => Some(forward::wrap(
                        level,
                        p.unwrap_or_else(|| primal.clone()),
                        t.unwrap_or_else(|| tangent.clone()),
                    )),
                }
            }
        })
    }

    /// Notes that `t`, and what it holds, was made inside.
    fn own(&self, t: &Tensor) {
        let Repr::Tracer(tracer) = t.repr() else { return };
        if tracer.level.id < self.entry && !self.own.borrow_mut().insert(tracer) {
            return;
        }
        match &tracer.value {
            Traced::Reverse { primal, .. } | Traced::Linear { primal, .. } => self.own(primal),
            Traced::Capture { value, .. } | Traced::Batch { value, .. } => self.own(value),
            Traced::Forward { primal, tangent } => {
                self.own(primal);
                self.own(tangent);
            }
        }
    }
}

/// While it lives, a watch is busy.
struct Busy<'a>(&'a Cell<bool>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// [`bind`](super::bind) inside of a watch.
#[cold]
pub(super) fn bind(op: &OpRef, inputs: &[&Tensor]) -> Result<Outs> {
    let outs = frame::with_innermost_watch(|watch| {
        if watch.busy.get() {
            return run(op, inputs);
        }
        let name = op.name();
        let replaced: SmallVec<[Option<Tensor>; 4]> =
            inputs.iter().map(|t| watch.replacement(t, name)).collect::<Result<_>>()?;
        let inputs: SmallVec<[&Tensor; 4]> =
            inputs.iter().zip(&replaced).map(|(t, r)| r.as_ref().unwrap_or(t)).collect();
        watch.busy.set(true);
        let _busy = Busy(&watch.busy);
        run(op, &inputs)
    })
    .unwrap_or_else(|| run(op, inputs))?;
    outs.iter().for_each(made_here);
    Ok(outs)
}

fn run(op: &OpRef, inputs: &[&Tensor]) -> Result<Outs> {
    match newest(inputs) {
        None => op.forward(inputs),
        Some(level) => super::interpret(op, level, inputs, true),
    }
}

/// What stands for `t` here: itself, unless a watched closure uses it that did not make it.
pub(crate) fn resolve(t: &Tensor, op: &str) -> Result<Tensor> {
    if t.array().is_some() || !frame::is_watched() {
        return Ok(t.clone());
    }
    let settled = frame::find_watch(false, |watch| (!watch.busy.get()).then(|| watch.settle(t, op)));
    settled.unwrap_or_else(|| Ok(t.clone()))
}

/// Notes that `t`, which no operation returned, was made here.
pub(crate) fn made_here(t: &Tensor) {
    if t.array().is_none() && frame::is_watched() {
        frame::find_watch(true, |watch| {
            watch.own(t);
            None::<()>
        });
    }
}

/// True if something stands for the value of `tracer` here.
pub(super) fn knows(tracer: &Tracer) -> bool {
    frame::is_watched() && frame::find_watch(true, |watch| watch.outside.knows(tracer).then_some(())).is_some()
}

/// How many times something stood for a value from outside, in the watches around what runs here. If it grew while a
/// closure ran, what the closure did is of no use elsewhere.
pub(crate) fn uses() -> usize {
    let mut uses = 0;
    if frame::is_watched() {
        frame::find_watch(true, |watch| {
            uses += watch.uses.get();
            None::<()>
        });
    }
    uses
}

/// True if something watches what runs here.
pub(crate) fn is_active() -> bool {
    frame::is_watched()
}

/// The next key of a generator, which `draw` takes.
pub(crate) fn next_key(draw: impl FnOnce() -> Key) -> Key {
    if !frame::is_watched() {
        return draw();
    }
    let mut watches = 0;
    let replayed = frame::find_watch(true, |watch| {
        watches += 1;
        watch.outside.replay_key()
    });
    let key = replayed.unwrap_or_else(draw);
    frame::find_watch(true, |watch| {
        watch.outside.note_key(key);
        watches -= 1;
        (watches == 0).then_some(())
    });
    key
}
