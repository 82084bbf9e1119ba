//! What is recorded on this thread: the scopes of `no_grad` and `enable_grad`, and anomaly mode.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::level;

/// Which levels differentiate what runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recording {
    /// Levels of transforms with smaller numbers do not.
    from: u64,
    /// Whether the ambient level does.
    ambient: bool,
}

impl Recording {
    const ALL: Recording = Recording { from: 0, ambient: true };

    /// What is recorded on this thread now.
    pub(crate) fn now() -> Recording {
        NOW.get()
    }

    /// True if it records every level that `other` does.
    pub(crate) fn covers(self, other: Recording) -> bool {
        self.from <= other.from && (self.ambient || !other.ambient)
    }
}

/// What anomaly mode looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anomaly {
    /// Infinities too, not only NaN.
    pub(crate) infinities: bool,
}

thread_local! {
    /// Levels with smaller numbers take the long way, which asks the other variables. The ambient level always does; all
    /// levels do while there is anything to ask.
    static GATE: Cell<u64> = const { Cell::new(1) };
    static NOW: Cell<Recording> = const { Cell::new(Recording::ALL) };
    /// What was recorded when the newest derivative level of this thread was opened: `enable_grad` goes back to it.
    static BASE: Cell<Recording> = const { Cell::new(Recording::ALL) };
    static ANOMALY: Cell<Option<Anomaly>> = const { Cell::new(None) };
    /// The open scopes, which may end in any order.
    static SCOPES: RefCell<Vec<(u64, Says)>> = const { RefCell::new(Vec::new()) };
    static TOKENS: Cell<u64> = const { Cell::new(0) };
}

/// A level with a smaller number must ask [`records`] and [`anomaly`].
#[inline]
pub(super) fn gate() -> u64 {
    GATE.get()
}

/// True if level `id` differentiates what runs now.
pub(crate) fn records(id: u64) -> bool {
    let now = NOW.get();
    if id == level::AMBIENT { now.ambient } else { id >= now.from }
}

/// True if some level may not record.
pub(super) fn is_narrowed() -> bool {
    NOW.get() != Recording::ALL
}

/// What anomaly mode looks for on this thread, if it is on.
pub(crate) fn anomaly() -> Option<Anomaly> {
    ANOMALY.get()
}

/// Opens a derivative level: what is recorded now is what `enable_grad` inside of it goes back to.
pub(super) fn enter_level() -> LevelScope {
    LevelScope(BASE.replace(NOW.get()))
}

/// Ends what [`enter_level`] began.
pub(super) struct LevelScope(Recording);

impl Drop for LevelScope {
    fn drop(&mut self) {
        BASE.set(self.0);
    }
}

/// What a scope says; about the other thing, the scope around it does.
enum Says {
    Recording(Recording),
    Anomaly(Option<Anomaly>),
}

/// A scope on this thread; it ends when it is dropped.
pub(crate) struct Scope {
    token: u64,
    /// It belongs to this thread.
    here: PhantomData<*const ()>,
}

impl Scope {
    fn enter(says: Says) -> Scope {
        let token = TOKENS.replace(TOKENS.get() + 1);
        SCOPES.with_borrow_mut(|scopes| scopes.push((token, says)));
        refresh();
        Scope { token, here: PhantomData }
    }

    /// No level that exists now records.
    pub(crate) fn off() -> Scope {
        Scope::enter(Says::Recording(Recording { from: level::next_id(), ambient: false }))
    }

    /// What recorded where the innermost running transform was called records again.
    pub(crate) fn on() -> Scope {
        Scope::enter(Says::Recording(BASE.get()))
    }

    /// The ambient level records or not; the levels of transforms stay as they are.
    pub(crate) fn ambient(records: bool) -> Scope {
        Scope::enter(Says::Recording(Recording { ambient: records, ..NOW.get() }))
    }

    /// Anomaly mode is on or off.
    pub(crate) fn anomaly(what: Option<Anomaly>) -> Scope {
        Scope::enter(Says::Anomaly(what))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        SCOPES.with_borrow_mut(|scopes| scopes.retain(|(token, _)| *token != self.token));
        refresh();
    }
}

/// Sets what the innermost scopes say.
fn refresh() {
    let (now, anomaly) = SCOPES.with_borrow(|scopes| {
        let mut last = scopes.iter().rev();
        let now = last.clone().find_map(|(_, says)| match says {
            Says::Recording(recording) => Some(*recording),
            Says::Anomaly(_) => None,
        });
        let anomaly = last.find_map(|(_, says)| match says {
            Says::Anomaly(what) => Some(*what),
            Says::Recording(_) => None,
        });
        (now.unwrap_or(Recording::ALL), anomaly.flatten())
    });
    NOW.set(now);
    ANOMALY.set(anomaly);
    GATE.set(if now == Recording::ALL && anomaly.is_none() { 1 } else { u64::MAX });
}
