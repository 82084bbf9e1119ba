//! Splitting work over threads, above a threshold only.

use std::ops::Range;

/// Calls `f` on ranges that cover `0..n`, on several threads if the whole is worth it.
///
/// `nanos` estimates the serial time of the whole work. Ranges start at multiples of `grain`, except that the last
/// one ends at `n`.
pub(crate) fn split(n: usize, grain: usize, nanos: usize, f: impl Fn(Range<usize>) + Sync) {
    let _ = (grain, nanos);
    f(0..n);
}
