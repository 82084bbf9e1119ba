//! Joining the elements of a run, side by side or in steps, to one.

use smallvec::SmallVec;

use super::Monoid;
use crate::dtype::Element;
use crate::kernels::strided::Loop;

/// Lanes in which a run is accumulated: enough independent chains to hide the latency of an addition.
const LANES: usize = 64;
/// Elements of a run that are accumulated before a pairwise step.
const BLOCK: usize = 64 * LANES;

/// Partial results that are joined pairwise as they come: level `k` holds the join of `2^k` of them.
pub(super) struct Tower<A> {
    levels: SmallVec<[A; 16]>,
    count: usize,
}

impl<A: Copy> Tower<A> {
    pub(super) fn new() -> Self {
        Tower { levels: SmallVec::new(), count: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, mut a: A, join: impl Fn(A, A) -> A) {
        let done = self.count.trailing_ones() as usize;
        for &level in &self.levels[..done] {
            a = join(level, a);
        }
        if done == self.levels.len() {
            self.levels.push(a);
        } else {
            self.levels[done] = a;
        }
        self.count += 1;
    }

    /// The join of all, after which the tower is empty.
    #[inline(always)]
    pub(super) fn finish(&mut self, empty: A, join: impl Fn(A, A) -> A) -> A {
        let mut total = None;
        for (k, &level) in self.levels.iter().enumerate() {
            if self.count >> k & 1 == 1 {
                total = Some(match total {
                    None => level,
                    Some(t) => join(level, t),
                });
            }
        }
        (self.count, _) = (0, self.levels.clear());
        total.unwrap_or(empty)
    }
}

/// Where the elements of a run come from.
pub(crate) trait Source<T>: Copy {
    /// Whether it is worth accumulating in [`LANES`] lanes instead of 8.
    const WIDE: bool;

    /// Elements `i` to `i + N`, by value: a copy in registers cannot alias the lanes, which would keep them in memory.
    ///
    /// # Safety
    /// The elements must be part of the run.
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N];
}

/// Elements side by side.
#[derive(Clone, Copy)]
pub(crate) struct Neighbours<T>(pub(crate) *const T);

impl<T: Copy> Source<T> for Neighbours<T> {
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: by the contract.
        unsafe { self.0.add(i).cast::<[T; N]>().read_unaligned() }
    }
}

/// Elements in steps.
#[derive(Clone, Copy)]
struct Steps<T>(*const T, isize);

impl<T: Element> Source<T> for Steps<T> {
    // Fetching one by one is what takes the time, and 64 of it in a row make a lot of code.
    const WIDE: bool = false;

    #[inline(always)]
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N] {
        let mut out = [T::ZERO; N];
        for (l, o) in out.iter_mut().enumerate() {
            // SAFETY: by the contract.
            *o = unsafe { *self.0.wrapping_offset((i + l) as isize * self.1) };
        }
        out
    }
}

/// Joins elements `start..end`, at most `BLOCK` of them.
///
/// # Safety
/// They must be part of the run.
#[inline(always)]
unsafe fn block<T: Copy, M: Monoid<T>, S: Source<T>>(source: S, start: usize, end: usize) -> M::Acc {
    let mut i = start;
    let mut acc = M::EMPTY;
    // SAFETY: `i` plus the length of a part is at most `end`.
    unsafe {
        if const { S::WIDE } && end - i >= LANES {
            let mut lanes = first_lanes::<T, M, LANES>(source.get(i));
            i += LANES;
            while i + LANES <= end {
                join_lanes::<T, M, LANES>(&mut lanes, source.get(i));
                i += LANES;
            }
            acc = join_all::<T, M, LANES>(lanes);
        }
        if end - i >= 8 {
            let mut lanes = first_lanes::<T, M, 8>(source.get(i));
            i += 8;
            while i + 8 <= end {
                join_lanes::<T, M, 8>(&mut lanes, source.get(i));
                i += 8;
            }
            acc = M::join(acc, join_all::<T, M, 8>(lanes));
        }
        while i < end {
            let [x] = source.get(i);
            acc = M::join(acc, M::lift(x));
            i += 1;
        }
    }
    acc
}

/// The lanes to begin with. Joining them to nothing would be half of the work of a short run.
#[inline(always)]
pub(super) fn first_lanes<T: Copy, M: Monoid<T>, const N: usize>(values: [T; N]) -> [M::Acc; N] {
    let mut lanes = [M::EMPTY; N];
    for l in 0..N {
        lanes[l] = M::lift(values[l]);
    }
    lanes
}

#[inline(always)]
pub(super) fn join_lanes<T: Copy, M: Monoid<T>, const N: usize>(lanes: &mut [M::Acc; N], values: [T; N]) {
    for l in 0..N {
        lanes[l] = M::join(lanes[l], M::lift(values[l]));
    }
}

/// Joins all lanes.
#[inline(always)]
fn join_all<T, M: Monoid<T>, const N: usize>(mut lanes: [M::Acc; N]) -> M::Acc {
    // The test is made once, because the compiler finds no vectors in halves that are joined with it.
    let mut any = 0;
    for l in 0..N {
        any |= u32::from(M::is_last(lanes[l]));
    }
    if any != 0 {
        return M::LAST;
    }
    if N > 8 {
        fold::<T, M, 32>(&mut lanes);
        fold::<T, M, 16>(&mut lanes);
        fold::<T, M, 8>(&mut lanes);
    }
    fold::<T, M, 4>(&mut lanes);
    fold::<T, M, 2>(&mut lanes);
    fold::<T, M, 1>(&mut lanes);
    lanes[0]
}

/// Joins the second `HALF` of lanes to the first.
#[inline(always)]
fn fold<T, M: Monoid<T>, const HALF: usize>(lanes: &mut [M::Acc]) {
    for l in 0..HALF {
        lanes[l] = M::join_simply(lanes[l], lanes[l + HALF]);
    }
}

/// Joins the `n` elements of a run.
///
/// # Safety
/// They must be valid.
#[inline(always)]
pub(crate) unsafe fn run<T: Copy, M: Monoid<T>>(source: impl Source<T>, n: usize) -> M::Acc {
    // SAFETY: by the contract.
    unsafe {
        if n <= BLOCK {
            return block::<T, M, _>(source, 0, n);
        }
        let mut tower = Tower::new();
        for start in (0..n).step_by(BLOCK) {
            tower.push(block::<T, M, _>(source, start, n.min(start + BLOCK)), M::join);
        }
        tower.finish(M::EMPTY, M::join)
    }
}

/// Joins `inner.size` elements from `x` on, in steps.
///
/// # Safety
/// Every address on the way must be valid.
#[inline(always)]
pub(super) unsafe fn strided_run<T: Element, M: Monoid<T>>(x: *const T, inner: Loop<1>) -> M::Acc {
    // SAFETY: the caller vouches for every address.
    unsafe {
        match inner.steps {
            [1] => run::<T, M>(Neighbours(x), inner.size),
            [step] => run::<T, M>(Steps(x, step), inner.size),
        }
    }
}
