//! Levels: one per running transform, numbered by a global counter that never repeats.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use super::mode::{self, LevelScope};
use super::{capture, linear};
use crate::function::Randomness;

/// One running transform.
pub(crate) struct Level {
    /// Newer levels have larger numbers, so nesting order is the order of numbers, on every thread.
    pub(crate) id: u64,
    pub(crate) kind: LevelKind,
    alive: AtomicBool,
    /// Numbers the nodes of a reverse level in order of execution.
    sequence: AtomicU64,
    /// What it writes down, for a capture or linear level.
    pub(super) tape: Tape,
    /// Why the data of its values must not be read, if it must not: the dependence would be lost.
    pub(crate) sealed: Option<Sealed>,
    /// Which lanes a batch level has, if not all of its `vmap`.
    pub(crate) part: Option<Part>,
    /// Why random numbers are forbidden, if not by the policy of a `vmap`.
    pub(crate) undrawn: Option<Undrawn>,
}

/// A strategy by which a function is batched, under a policy for random numbers that it does not keep to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undrawn {
    pub(crate) strategy: &'static str,
    pub(crate) policy: Randomness,
}

/// The lanes of a batch level, if the `vmap` works through them part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The number of the first one.
    pub(crate) first: usize,
    /// How many there are in all parts.
    pub(crate) of: usize,
    /// Whether nothing is batched: the level has one lane, no values, and only tells random operations where they are.
    pub(crate) in_loop: bool,
}

/// What a level writes down. (The nodes of a reverse level hold each other.)
pub(super) enum Tape {
    None,
    Capture(Box<Mutex<capture::Record>>),
    Linear(Box<Mutex<linear::Record>>),
}

/// Why a level forbids reading the data of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sealed {
    /// A rule is being transposed.
    Transposing,
    /// A function without a derivative rule is being differentiated through the operations that it calls.
    NoRule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelKind {
    Reverse,
    Forward,
    Linear,
    Capture,
    Batch { size: usize, randomness: Randomness },
}

impl LevelKind {
    /// The transform as messages name it.
    pub(crate) fn transform(&self) -> &'static str {
        match self {
            LevelKind::Reverse => "grad",
            LevelKind::Forward => "jvp",
            LevelKind::Linear => "linearize",
            LevelKind::Capture => "capture",
            LevelKind::Batch { .. } => "vmap",
        }
    }
}

static COUNTER: AtomicU64 = AtomicU64::new(1);

/// The number of the ambient level: older than every other.
pub(crate) const AMBIENT: u64 = 0;

/// The level of the imperative surface: a reverse level of the whole process, which never ends.
pub(crate) fn ambient() -> &'static Arc<Level> {
    static LEVEL: LazyLock<Arc<Level>> = LazyLock::new(|| Level::numbered(AMBIENT, LevelKind::Reverse, None, None));
    &LEVEL
}

/// The number that the next level will have, or a later one.
pub(crate) fn next_id() -> u64 {
    COUNTER.load(Ordering::Relaxed)
}

thread_local! {
    /// The batch levels that are open on this thread, oldest first.
    static BATCHES: RefCell<Vec<Arc<Level>>> = const { RefCell::new(Vec::new()) };
    /// How many of them the running code is inside of: a batching rule runs below its own level.
    static VISIBLE: Cell<usize> = const { Cell::new(0) };
    /// The capture levels that the code running on this thread is inside of, oldest first.
    static CAPTURES: RefCell<Vec<Arc<Level>>> = const { RefCell::new(Vec::new()) };
}

impl Level {
    fn new(kind: LevelKind, sealed: Option<Sealed>, part: Option<Part>) -> Arc<Level> {
        Level::numbered(COUNTER.fetch_add(1, Ordering::Relaxed), kind, sealed, part)
    }

    fn numbered(id: u64, kind: LevelKind, sealed: Option<Sealed>, part: Option<Part>) -> Arc<Level> {
        let tape = match kind {
            LevelKind::Capture => Tape::Capture(Box::default()),
            LevelKind::Linear => Tape::Linear(Box::default()),
            _ => Tape::None,
        };
        Arc::new(Level {
            id,
            kind,
            alive: AtomicBool::new(true),
            sequence: AtomicU64::new(0),
            tape,
            sealed,
            part,
            undrawn: None,
        })
    }

    /// What works at this level, as messages name it.
    pub(crate) fn transform(&self) -> &'static str {
        if self.id == AMBIENT { "requires_grad" } else { self.kind.transform() }
    }

    /// The level of a lane of a plain loop, where nothing is batched.
    fn in_loop(&self) -> bool {
        self.part.is_some_and(|p| p.in_loop)
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// The next node number of a reverse level.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }
}

/// An open level; dropping it closes the level, also when user code panics.
pub(crate) struct OpenLevel {
    level: Arc<Level>,
    /// The number of batch levels that were open and visible before, for a batch level.
    before: Option<(usize, usize)>,
    /// For a derivative level.
    _scope: Option<LevelScope>,
}

impl OpenLevel {
    pub(crate) fn new(kind: LevelKind) -> OpenLevel {
        OpenLevel::with(Level::new(kind, None, None))
    }

    /// A batch level for some of the lanes of a `vmap`.
    pub(crate) fn lanes(size: usize, randomness: Randomness, part: Option<Part>) -> OpenLevel {
        OpenLevel::with(Level::new(LevelKind::Batch { size, randomness }, None, part))
    }

    /// A level without values at which random numbers are forbidden, for a call that serves `lanes` lanes.
    pub(crate) fn undrawn(lanes: usize, undrawn: Undrawn) -> OpenLevel {
        let part = Part { first: 0, of: lanes, in_loop: true };
        let kind = LevelKind::Batch { size: 1, randomness: Randomness::Error };
        let mut level = Level::new(kind, None, Some(part));
        if let Some(level) = Arc::get_mut(&mut level) {
            level.undrawn = Some(undrawn);
        }
        OpenLevel::with(level)
    }

    /// A level at which reading the data of values is an error.
    pub(crate) fn sealed(kind: LevelKind, why: Sealed) -> OpenLevel {
        OpenLevel::with(Level::new(kind, Some(why), None))
    }

    fn with(level: Arc<Level>) -> OpenLevel {
        let before = matches!(level.kind, LevelKind::Batch { .. }).then(|| {
            BATCHES.with_borrow_mut(|batches| {
                let before = (batches.len(), VISIBLE.get());
                // Levels that a surrounding rule hides stay hidden: they are not among the visible prefix.
                batches.insert(VISIBLE.get(), level.clone());
                VISIBLE.set(VISIBLE.get() + 1);
                before
            })
        });
        if level.kind == LevelKind::Capture {
            CAPTURES.with_borrow_mut(|captures| captures.push(level.clone()));
        }
        let _scope = (!matches!(level.kind, LevelKind::Batch { .. })).then(mode::enter_level);
        OpenLevel { level, before, _scope }
    }

    /// A forward level that values join one by one: it is not the scope of a function.
    pub(crate) fn dual() -> OpenLevel {
        OpenLevel { level: Level::new(LevelKind::Forward, None, None), before: None, _scope: None }
    }

    pub(crate) fn level(&self) -> &Arc<Level> {
        &self.level
    }
}

impl Drop for OpenLevel {
    fn drop(&mut self) {
        self.level.alive.store(false, Ordering::Relaxed);
        if let Some((len, visible)) = self.before {
            BATCHES.with_borrow_mut(|batches| {
                batches.retain(|l| l.id != self.level.id);
                debug_assert_eq!(batches.len(), len);
            });
            VISIBLE.set(visible);
        }
        if self.level.kind == LevelKind::Capture {
            CAPTURES.with_borrow_mut(|captures| captures.retain(|l| l.id != self.level.id));
        }
    }
}

/// The newest visible batch level of this thread that is newer than level `id`.
pub(crate) fn active_batch_newer_than(id: u64) -> Option<Arc<Level>> {
    match VISIBLE.get() {
        0 => None,
        n => BATCHES.with_borrow(|batches| batches[..n].iter().rfind(|l| !l.in_loop()).filter(|l| l.id > id).cloned()),
    }
}

/// The visible batch levels of this thread, oldest first.
pub(crate) fn active_batches() -> Vec<Arc<Level>> {
    match VISIBLE.get() {
        0 => Vec::new(),
        n => BATCHES.with_borrow(|batches| batches[..n].to_vec()),
    }
}

/// The newest open batch level of this thread that forbids random numbers, also one whose batching rule is running.
pub(crate) fn forbids_randomness() -> Option<Arc<Level>> {
    let forbids = |l: &&Arc<Level>| matches!(l.kind, LevelKind::Batch { randomness: Randomness::Error, .. });
    BATCHES.with_borrow(|batches| batches.iter().filter(forbids).max_by_key(|l| l.id).cloned())
}

/// While it lives, the batch levels of this thread are those of an earlier run, or others that stand for them.
pub(crate) struct Only {
    batches: Vec<Arc<Level>>,
    visible: usize,
}

impl Only {
    /// The `wanted` levels, oldest first, of a run. The newest `stand_ins` of those that are visible now stand for some
    /// that have ended. Others are left out, unless they are those of a loop, which no value can tell.
    pub(crate) fn like(wanted: &[Arc<Level>], stand_ins: usize) -> Only {
        let visible = active_batches();
        let mut others = visible[visible.len() - stand_ins.min(visible.len())..].iter().peekable();
        let mut kept = Vec::new();
        for level in wanted {
            let stands_for = |other: &&Arc<Level>| other.kind == level.kind && other.part == level.part;
            if visible.iter().any(|other| other.id == level.id) {
                kept.push(level.clone());
            } else if level.in_loop() {
                kept.push(Level::new(level.kind, None, level.part));
            } else if let Some(other) = others.next_if(stands_for) {
                kept.push(other.clone());
            }
        }
        let visible = VISIBLE.replace(kept.len());
        Only { batches: BATCHES.replace(kept), visible }
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        BATCHES.set(std::mem::take(&mut self.batches));
        VISIBLE.set(self.visible);
    }
}

/// While it lives, batch level `id` and newer ones are hidden from this thread: their batching rules run below them.
pub(crate) struct Below(usize);

impl Below {
    pub(crate) fn level(id: u64) -> Below {
        let before = VISIBLE.get();
        if before > 0 {
            let below = BATCHES.with_borrow(|batches| {
                let place = batches[..before].iter().position(|l| l.id == id);
                place.unwrap_or_else(|| batches[..before].partition_point(|l| l.id < id))
            });
            VISIBLE.set(below);
        }
        Below(before)
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        VISIBLE.set(self.0);
    }
}

/// The newest capture level that the code running on this thread is inside of.
pub(crate) fn active_capture() -> Option<Arc<Level>> {
    CAPTURES.with_borrow(|captures| captures.last().cloned())
}

/// While it lives, the open capture levels from a number on are hidden from this thread: what they write down runs below
/// them.
pub(super) struct HiddenCaptures(Vec<Arc<Level>>);

impl HiddenCaptures {
    pub(super) fn from(id: u64) -> HiddenCaptures {
        HiddenCaptures(CAPTURES.with_borrow_mut(|captures| {
            let visible = captures.partition_point(|l| l.id < id);
            captures.split_off(visible)
        }))
    }
}

impl Drop for HiddenCaptures {
    fn drop(&mut self) {
        // Those that were opened since have been closed.
        CAPTURES.with_borrow_mut(|captures| captures.append(&mut self.0));
    }
}
