//! Reductions whose results lie side by side in the input: whole rows are joined.

use std::ops::Range;

use smallvec::SmallVec;

use super::run::{Neighbours, Source, first_lanes, join_lanes};
use super::{Monoid, Plan};
use crate::dtype::Element;
use crate::kernels::simd::vectorize_narrow;
use crate::kernels::strided::{Loop, Nest, Out};
use crate::kernels::threads::split;

/// Columns that are accumulated side by side.
const WIDTH: usize = 1024;
/// Rows that are accumulated before a pairwise step.
const ROWS: usize = 64;
/// Columns of narrow rows that are accumulated in registers.
const STRIP: usize = 64;
/// Blocks of [`ROWS`] rows that are joined in registers.
const BLOCKS: usize = 8;

/// Whether rows of this width are cut into strips.
const fn in_strips<T: Element>(width: usize) -> bool {
    T::DTYPE.is_float() && width <= 4 * STRIP && width.is_multiple_of(STRIP)
}

/// Whether a row of `width` neighbours is long enough, or can be made so, to accumulate rows instead of columns.
pub(super) fn worth_columns(reduced: &Nest<1>, width: usize) -> bool {
    width >= 8 || fold_of(reduced, width) > 1
}

/// How many rows of `width` that follow each other without a gap are treated as one wide row: as many as make it a number of
/// strips, or of about [`WIDTH`].
fn fold_of(reduced: &Nest<1>, width: usize) -> usize {
    match reduced.loops.last() {
        Some(l) if l.steps[0] == width as isize && width <= WIDTH / 8 && l.size >= 16 => {
            let wide = if STRIP.is_multiple_of(width) || width == 2 * STRIP { STRIP.max(width) } else { WIDTH };
            (wide / width).min(l.size / 8)
        }
        _ => 1,
    }
}

/// Neighbouring results side by side: rows of `x` are added up.
pub(super) fn columns<T: Element, M: Monoid<T>>(plan: &Plan<T>, vector: usize, out: Out<M::Acc>) {
    let Plan { x, reduced, pieces, results, .. } = plan;
    let mut outer = plan.kept.clone();
    let Loop { size: width, steps: [_, out_step] } = outer.loops.remove(vector);
    let chunks = width.div_ceil(WIDTH);
    let units = outer.len() * chunks;
    // A few rows need no tower, and are joined where the results belong if those are neighbours.
    let direct = *pieces == 1 && out_step == 1 && reduced.len() <= ROWS && fold_of(reduced, width) == 1;
    let strips = match reduced.loops[..] {
        [l] if *pieces == 1 && out_step == 1 && l.size <= BLOCKS * ROWS && in_strips::<T>(width) => Some(l),
        _ => None,
    };
    split(units * pieces, 1, plan.nanos, |range: Range<usize>| {
        let mut scratch = Scratch::<M::Acc>::default();
        for unit in range {
            let (piece, unit) = (unit / units, unit % units);
            let (nest, base) = plan.piece(piece);
            let (group, chunk) = (unit / chunks, unit % chunks);
            let (start, w) = (chunk * WIDTH, WIDTH.min(width - chunk * WIDTH));
            outer.walk(group..group + 1, |_, [at, o]| {
                vectorize_narrow::<T, _>(
                    #[inline(always)]
                    || {
                        let from = x.at(base + at + start as isize);
                        if let Some(rows) = strips {
                            // SAFETY: these are columns of `x`, and these results are ours.
                            unsafe { narrow::<T, M>(from, w, rows, out.at(o as usize + start)) };
                            return;
                        }
                        if direct {
                            // SAFETY: the columns from `start` on are columns of `x`, and these results are ours.
                            unsafe { few_rows::<T, M>(from, w, &nest, 0..nest.len(), out.at(o as usize + start)) };
                            return;
                        }
                        // SAFETY: as above.
                        unsafe { column_block::<T, M>(from, w, &nest, &mut scratch) };
                        for (j, &a) in scratch.total.iter().enumerate() {
                            let to = o + (start + j) as isize * out_step;
                            // SAFETY: result `to` of this piece is ours.
                            unsafe { *out.at(piece * results).wrapping_offset(to) = a };
                        }
                    },
                );
            });
        }
    });
}

/// The rows in which columns are accumulated, kept between blocks so that they are allocated once.
#[derive(Default)]
struct Scratch<A> {
    total: Vec<A>,
    acc: Vec<A>,
    levels: Vec<Vec<A>>,
}

/// Leaves the joins of `w` neighbouring columns over all passes of `nest` in `scratch.total`.
///
/// # Safety
/// `w` elements from every offset of `nest` on must be valid.
#[inline(always)]
unsafe fn column_block<T: Element, M: Monoid<T>>(x: *const T, w: usize, nest: &Nest<1>, scratch: &mut Scratch<M::Acc>) {
    let fold = fold_of(nest, w);
    let mut parts: SmallVec<[(Nest<1>, usize, isize); 2]> = SmallVec::new();
    let mut wide = nest.clone();
    if let Some(l) = wide.loops.last_mut()
        && fold > 1
    {
        let (size, [step]) = (l.size, l.steps);
        *l = Loop { size: size / fold, steps: [step * fold as isize] };
        let done = size - size % fold;
        parts.push((wide, w * fold, 0));
        if done < size {
            // The rows that are left over, after the folded ones.
            let mut rest = nest.clone();
            rest.loops.pop();
            rest.loops.push(Loop { size: size - done, steps: [step] });
            parts.push((rest, w, done as isize * step));
        }
    } else {
        parts.push((wide, w, 0));
    }
    let mut before = Vec::new();
    for (nest, width, offset) in &parts {
        // SAFETY: a folded row covers `fold` rows, and both parts together are the rows of the caller's nest.
        unsafe { row_sums::<T, M>(x.wrapping_offset(*offset), *width, nest, scratch) };
        // Fold a wide row by halves, an odd row out joining the first.
        let mut rows = width / w;
        while rows > 1 {
            let (half, odd) = (rows / 2, rows % 2);
            let (low, high) = scratch.total.split_at_mut((half + odd) * w);
            for (a, &b) in low[odd * w..].iter_mut().zip(high.iter()) {
                *a = M::join(*a, b);
            }
            rows = half + odd;
        }
        scratch.total.truncate(w);
        for (a, &b) in scratch.total.iter_mut().zip(&before) {
            *a = M::join(b, *a);
        }
        if parts.len() > 1 {
            before.clone_from(&scratch.total);
        }
    }
}

/// `w` neighbours from an offset on.
///
/// # Safety
/// They must be valid for as long as the result is used.
#[inline(always)]
pub(crate) unsafe fn line<'a, T>(x: *const T, offset: isize, w: usize) -> &'a [T] {
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(x.wrapping_offset(offset), w) }
}

/// As [`column_block`], without folding.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn row_sums<T: Element, M: Monoid<T>>(x: *const T, w: usize, nest: &Nest<1>, scratch: &mut Scratch<M::Acc>) {
    let n = nest.len();
    let mut count = 0usize;
    scratch.total.clear();
    for start in (0..n).step_by(ROWS) {
        let acc = &mut scratch.acc;
        acc.clear();
        acc.reserve(w);
        // SAFETY: by the contract; `w` results are written.
        unsafe {
            few_rows::<T, M>(x, w, nest, start..n.min(start + ROWS), acc.as_mut_ptr());
            acc.set_len(w);
        }
        if n <= ROWS {
            std::mem::swap(&mut scratch.total, &mut scratch.acc);
            return;
        }
        let full = count.trailing_ones() as usize;
        for level in &scratch.levels[..full] {
            for (a, &b) in acc.iter_mut().zip(level) {
                *a = M::join(b, *a);
            }
        }
        if full == scratch.levels.len() {
            scratch.levels.push(Vec::new());
        }
        std::mem::swap(&mut scratch.levels[full], &mut scratch.acc);
        count += 1;
    }
    for (k, level) in scratch.levels.iter().enumerate() {
        if count >> k & 1 == 0 {
            continue;
        }
        if scratch.total.is_empty() {
            scratch.total.extend_from_slice(&level[..w]);
        } else {
            for (a, &b) in scratch.total.iter_mut().zip(level) {
                *a = M::join(b, *a);
            }
        }
    }
}

/// Writes the joins of the `w` columns of some rows, a number of strips.
///
/// # Safety
/// `w` elements of each row must be valid, and `w` results at `out`; there is at least one row.
#[inline(always)]
unsafe fn narrow<T: Element, M: Monoid<T>>(x: *const T, w: usize, rows: Loop<1>, out: *mut M::Acc) {
    let Loop { size, steps: [step] } = rows;
    for j in (0..w).step_by(STRIP) {
        // SAFETY: by the contract.
        unsafe {
            let block = |start: usize| {
                let x = x.wrapping_add(j).wrapping_offset(start as isize * step);
                strip::<T, M>(x, ROWS.min(size - start), |i| i as isize * step)
            };
            let mut lanes = block(0);
            for start in (ROWS..size).step_by(ROWS) {
                let more = block(start);
                for l in 0..STRIP {
                    lanes[l] = M::join(lanes[l], more[l]);
                }
            }
            out.add(j).cast::<[M::Acc; STRIP]>().write_unaligned(lanes);
        }
    }
}

/// The joins of [`STRIP`] columns of rows, which begin at offsets from `x`.
///
/// # Safety
/// As in [`narrow`].
#[inline(always)]
unsafe fn strip<T: Element, M: Monoid<T>>(
    x: *const T,
    rows: usize,
    offset: impl Fn(usize) -> isize,
) -> [M::Acc; STRIP] {
    let row = |i: usize| x.wrapping_offset(offset(i));
    // SAFETY: by the contract.
    unsafe {
        let mut lanes = first_lanes::<T, M, STRIP>(Neighbours(row(0)).get(0));
        let mut i = 1;
        while const { M::HAS_LAST } && i + 4 <= rows {
            let (p, q, s, t) = (row(i), row(i + 1), row(i + 2), row(i + 3));
            for l in 0..STRIP {
                lanes[l] = join_five::<T, M>(lanes[l], [*p.add(l), *q.add(l), *s.add(l), *t.add(l)]);
            }
            i += 4;
        }
        while i < rows {
            join_lanes::<T, M, STRIP>(&mut lanes, Neighbours(row(i)).get(0));
            i += 1;
        }
        lanes
    }
}

/// A result joined with four elements. One test for all takes fewer instructions than one in each join.
#[inline(always)]
fn join_five<T: Element, M: Monoid<T>>(old: M::Acc, values: [T; 4]) -> M::Acc {
    let [p, q, s, t] = values.map(M::lift);
    let joined = M::join_simply(old, M::join_simply(M::join_simply(p, q), M::join_simply(s, t)));
    let last = M::is_last(p) | M::is_last(q) | M::is_last(s) | M::is_last(t) | M::is_last(old);
    if last { M::LAST } else { joined }
}

/// Writes the joins of `w` columns over a few passes of `nest`.
///
/// # Safety
/// `w` elements from every offset of `nest` on must be valid, and `w` results at `out`; there is at least one pass.
#[inline(always)]
unsafe fn few_rows<T: Element, M: Monoid<T>>(
    x: *const T,
    w: usize,
    nest: &Nest<1>,
    passes: Range<usize>,
    out: *mut M::Acc,
) {
    let rows = passes.len();
    let mut offsets = [0isize; ROWS];
    if let [l] = nest.loops[..] {
        for (i, o) in offsets[..rows].iter_mut().enumerate() {
            *o = (passes.start + i) as isize * l.steps[0];
        }
    } else {
        nest.walk(
            passes.clone(),
            #[inline(always)]
            |i, [at]| offsets[i - passes.start] = at,
        );
    }
    if in_strips::<T>(w) {
        for j in (0..w).step_by(STRIP) {
            // SAFETY: by the contract.
            unsafe {
                let lanes = strip::<T, M>(x.wrapping_add(j), rows, |i| offsets[i]);
                out.add(j).cast::<[M::Acc; STRIP]>().write_unaligned(lanes);
            }
        }
        return;
    }
    // SAFETY: by the contract; the first row is written before it is joined to.
    unsafe {
        let row = x.wrapping_offset(offsets[0]);
        for j in 0..w {
            *out.add(j) = M::lift(*row.add(j));
        }
        let mut r = 1;
        while r + 4 <= rows {
            let (p, q, s, t) = (
                x.wrapping_offset(offsets[r]),
                x.wrapping_offset(offsets[r + 1]),
                x.wrapping_offset(offsets[r + 2]),
                x.wrapping_offset(offsets[r + 3]),
            );
            for j in 0..w {
                *out.add(j) = join_five::<T, M>(*out.add(j), [*p.add(j), *q.add(j), *s.add(j), *t.add(j)]);
            }
            r += 4;
        }
        while r < rows {
            let row = x.wrapping_offset(offsets[r]);
            for j in 0..w {
                *out.add(j) = M::join(*out.add(j), M::lift(*row.add(j)));
            }
            r += 1;
        }
    }
}
