//! Run-time choice of instruction set: a loop written once, compiled for each.

use crate::dtype::{Element, Word};

/// Runs `f` with the widest instruction set of this machine.
///
/// The compiler vectorises `f` separately for each, which works only if `f` and all that it calls are inlined: mark
/// closures `#[inline(always)]`. Keep `f` small, since there are three copies of it; debug builds make one only.
#[inline(always)]
pub(crate) fn vectorize<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri), not(debug_assertions)))]
    {
        match x86::level() {
            // SAFETY: `level` found these features on this machine.
            x86::AVX512 => return unsafe { x86::avx512(f) },
            // SAFETY: as above.
            x86::AVX2 => return unsafe { x86::avx2(f) },
            _ => {}
        }
    }
    f()
}

/// [`vectorize`] for loops over floats. Loops over other elements are compiled once: they would take as long to build
/// and are seldom what a program waits for.
#[inline(always)]
pub(crate) fn vectorize_floats<T: Element, R>(f: impl FnOnce() -> R) -> R {
    if const { T::DTYPE.is_float() } { vectorize(f) } else { f() }
}

/// [`vectorize_floats`] without the widest vectors: for loops that wait for memory, whose copies take long to build.
#[inline(always)]
pub(crate) fn vectorize_narrow<T: Element, R>(f: impl FnOnce() -> R) -> R {
    if const { T::DTYPE.is_float() } { narrow(f) } else { f() }
}

#[inline(always)]
fn narrow<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri), not(debug_assertions)))]
    if x86::level() >= x86::AVX2 {
        // SAFETY: `level` found these features on this machine.
        return unsafe { x86::avx2(f) };
    }
    f()
}

/// [`vectorize`] for loops that choose among words of the size of floats.
#[inline(always)]
pub(crate) fn vectorize_words<W: Word, R>(f: impl FnOnce() -> R) -> R {
    if const { matches!(size_of::<W>(), 4 | 8) } { vectorize(f) } else { f() }
}

/// Evaluates an expression with the vectors of this machine, whose name in it is the first argument; the other expression where
/// they are short and have no fused multiplication.
macro_rules! wide {
    ($simd:ident => $body:expr, else $other:expr) => {{
        let level = fearless_simd::Level::new();
        #[cfg(target_arch = "x86_64")]
        {
            if let Some($simd) = level.as_avx512() {
                $simd.vectorize(
                    #[inline(always)]
                    || $body,
                )
            } else if let Some($simd) = level.as_avx2() {
                $simd.vectorize(
                    #[inline(always)]
                    || $body,
                )
            } else {
                $other
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        fearless_simd::dispatch!(level, $simd => $body)
    }};
}
pub(crate) use wide;

#[cfg(all(target_arch = "x86_64", not(miri), not(debug_assertions)))]
mod x86 {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    const UNKNOWN: u8 = 0;
    const BASELINE: u8 = 1;
    pub(super) const AVX2: u8 = 2;
    pub(super) const AVX512: u8 = 3;

    static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline(always)]
    pub(super) fn level() -> u8 {
        let level = LEVEL.load(Relaxed);
        if level == UNKNOWN { detect() } else { level }
    }

    #[cold]
    fn detect() -> u8 {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        let level = match (avx2, avx512) {
            (true, true) => AVX512,
            (true, false) => AVX2,
            _ => BASELINE,
        };
        LEVEL.store(level, Relaxed);
        level
    }

    #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn avx512<R>(f: impl FnOnce() -> R) -> R {
        f()
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_computes_the_same() {
        let x: Vec<f32> = (0..1000).map(|k| k as f32 * 0.37).collect();
        let mut y = vec![0.0; x.len()];
        vectorize(
            #[inline(always)]
            || {
                for (o, &v) in y.iter_mut().zip(&x) {
                    *o = v.mul_add(2.0, 1.0);
                }
            },
        );
        assert!(x.iter().zip(&y).all(|(&v, &o)| o == v.mul_add(2.0, 1.0)));
    }
}
