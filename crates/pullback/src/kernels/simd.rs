//! Run-time choice of instruction set: a loop written once, compiled for each.

/// Runs `f`, inlined, with the widest instruction set of this machine.
#[inline(always)]
pub(crate) fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    f()
}
