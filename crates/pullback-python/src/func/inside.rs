//! Telling tensors that a function captured from those that it made.
//!
//! In place on a captured tensor would leave a value of the transform in it, or happen once where a loop over the lanes would do it
//! for each. Values never change, but Python objects do, so it is here that this is noticed.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Advances whenever a transform calls a function.
static CLOCK: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// When the innermost function that a transform is running on this thread was called; 0 outside.
    static BEGAN: Cell<u64> = const { Cell::new(0) };
}

/// The time, for objects that are made now.
#[inline]
pub fn now() -> u64 {
    CLOCK.load(Ordering::Relaxed)
}

/// True for an object that is older than the function that a transform is running.
#[inline]
pub fn is_captured(made: u64) -> bool {
    made < BEGAN.get()
}

/// Lasts as long as a transform runs a function.
pub struct Inside(u64);

impl Inside {
    pub fn enter() -> Inside {
        Inside(BEGAN.replace(CLOCK.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        BEGAN.set(self.0);
    }
}
