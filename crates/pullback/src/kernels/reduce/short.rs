//! Reductions of many short rows, eight at a time: the joins of lanes to one result are shared by eight results.

use super::run::{Neighbours, Source, first_lanes, run};
use super::{Monoid, Plan};
use crate::dtype::Element;
use crate::kernels::simd::vectorize_narrow;
use crate::kernels::strided::Out;
use crate::kernels::threads::split;

/// Rows that are reduced together, and the lanes of each.
const ROWS: usize = 8;
/// What the lengths of rows must be multiples of.
const STEP: usize = 2 * ROWS;
/// Rows that are longer spend their time on elements.
const LONGEST: usize = 32 * STEP;

/// The length of the rows, if they lie one after the other and are worth this.
pub(super) fn row_len<T: Element, M: Monoid<T>>(plan: &Plan<T>) -> Option<usize> {
    let ([kept], [reduced]) = (&plan.kept.loops[..], &plan.reduced.loops[..]) else { return None };
    let n = reduced.size;
    let dense = reduced.steps == [1] && kept.steps == [n as isize, 1];
    let suits = const { T::DTYPE.is_float() } && n.is_multiple_of(STEP) && n <= LONGEST && plan.results >= ROWS;
    (dense && suits && plan.pieces == 1).then_some(n)
}

/// The reduction of rows of `n` elements, a multiple of [`STEP`].
pub(super) fn rows<T: Element, M: Monoid<T>>(plan: &Plan<T>, n: usize, out: Out<M::Acc>) {
    split(plan.results, ROWS, plan.nanos, |range| {
        vectorize_narrow::<T, _>(
            #[inline(always)]
            || {
                let mut k = range.start;
                // SAFETY: rows `k` and the following are rows of `x`, and their results are ours.
                unsafe {
                    while k + ROWS <= range.end {
                        eight::<T, M>(plan.x.at((k * n) as isize), n, out.at(k));
                        k += ROWS;
                    }
                    while k < range.end {
                        *out.at(k) = run::<T, M>(Neighbours(plan.x.at((k * n) as isize)), n);
                        k += 1;
                    }
                }
            },
        );
    });
}

/// # Safety
/// `ROWS * n` elements of `x` and `ROWS` results must be valid, and `n` a multiple of [`STEP`].
#[inline(always)]
unsafe fn eight<T: Element, M: Monoid<T>>(x: *const T, n: usize, out: *mut M::Acc) {
    let mut last = [false; ROWS];
    // SAFETY: by the contract.
    let mut row = |k: usize| unsafe { lanes::<T, M>(Neighbours(x.add(k * n)), n, &mut last) };
    // Written out, because the compiler would keep rows of a loop in memory.
    let [a, b, c, d, e, f, g, h] = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
    if const { M::HAS_LAST } && last.into_iter().fold(false, |any, l| any | l) {
        for k in 0..ROWS {
            // SAFETY: by the contract.
            unsafe { *out.add(k) = run::<T, M>(Neighbours(x.add(k * n)), n) };
        }
        return;
    }
    let fours = [halves::<T, M, 4>(a, e), halves::<T, M, 4>(c, g), halves::<T, M, 4>(b, f), halves::<T, M, 4>(d, h)];
    let [p, q, r, s] = fours;
    let results = halves::<T, M, 1>(halves::<T, M, 2>(p, q), halves::<T, M, 2>(r, s));
    // SAFETY: by the contract.
    unsafe { out.cast::<[M::Acc; ROWS]>().write_unaligned(results) };
}

/// The joins of a row in each lane, which are worth nothing where `last` becomes true.
///
/// # Safety
/// As in [`eight`].
#[inline(always)]
unsafe fn lanes<T: Element, M: Monoid<T>>(row: Neighbours<T>, n: usize, last: &mut [bool; ROWS]) -> [M::Acc; ROWS] {
    // SAFETY: by the contract.
    let get = |i: usize| first_lanes::<T, M, ROWS>(unsafe { row.get::<ROWS>(i) });
    let mut lanes = get(0);
    if const { !M::HAS_LAST } {
        for i in (ROWS..n).step_by(ROWS) {
            let values = get(i);
            for l in 0..ROWS {
                lanes[l] = M::join_simply(lanes[l], values[l]);
            }
        }
        return lanes;
    }
    // Two at a time, which one instruction tests.
    let values = get(ROWS);
    for l in 0..ROWS {
        last[l] |= M::is_last(lanes[l]) | M::is_last(values[l]);
        lanes[l] = M::join_simply(lanes[l], values[l]);
    }
    for i in (STEP..n).step_by(STEP) {
        let (v, w) = (get(i), get(i + ROWS));
        for l in 0..ROWS {
            last[l] |= M::is_last(v[l]) | M::is_last(w[l]);
            lanes[l] = M::join_simply(lanes[l], M::join_simply(v[l], w[l]));
        }
    }
    lanes
}

/// In each group of `2 * W` lanes, the first half joined to the second: that of `a`, then that of `b`.
#[inline(always)]
fn halves<T, M: Monoid<T>, const W: usize>(a: [M::Acc; ROWS], b: [M::Acc; ROWS]) -> [M::Acc; ROWS] {
    let (mut low, mut high) = (a, b);
    for l in 0..ROWS {
        if l % (2 * W) < W {
            high[l] = a[l + W];
        } else {
            low[l] = b[l - W];
        }
    }
    for l in 0..ROWS {
        low[l] = M::join_simply(low[l], high[l]);
    }
    low
}
