//! Reductions over any set of dimensions: sum, prod, max, min, any, all, argmax, argmin.
//!
//! A reduction is cut into pieces by its shape alone and joined in a fixed order, pairwise above blocks, so that
//! results do not depend on the number of threads.

use std::ops::Range;

use smallvec::SmallVec;

use super::simd::vectorize_floats;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Shape, contiguous_strides, without_dim};

/// Arithmetic that wraps for integers.
pub(crate) trait Number: Element {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// The type in which elements are summed and multiplied.
pub(crate) trait Widen: Element {
    type Wide: Number;
    fn widen(self) -> Self::Wide;
}

/// The ends of the order of a type.
pub(crate) trait Bounds: Element {
    const LOWEST: Self;
    const HIGHEST: Self;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
        }
        impl Bounds for $t {
            const LOWEST: $t = <$t>::MIN;
            const HIGHEST: $t = <$t>::MAX;
        }
    )* };
}
integers!(u8, i32, i64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn times(self, other: $t) -> $t { self * other }
        }
        impl Bounds for $t {
            const LOWEST: $t = <$t>::NEG_INFINITY;
            const HIGHEST: $t = <$t>::INFINITY;
        }
    )* };
}
floats!(f32, f64);

impl Bounds for bool {
    const LOWEST: bool = false;
    const HIGHEST: bool = true;
}

macro_rules! widen {
    ($($t:ty => $wide:ty),*) => { $(
        impl Widen for $t {
            type Wide = $wide;
            #[inline(always)]
            fn widen(self) -> $wide { self as $wide }
        }
    )* };
}
widen!(bool => i64, u8 => i64, i32 => i64, i64 => i64, f32 => f32, f64 => f64);

/// How elements of type `T` are joined to one; associative and commutative but for rounding.
pub(crate) trait Monoid<T>: 'static {
    type Acc: Element;
    /// The result of joining nothing.
    const EMPTY: Self::Acc;
    fn lift(x: T) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
}

pub(crate) struct Sum;
pub(crate) struct Prod;
pub(crate) struct Max;
pub(crate) struct Min;
struct Any;
struct All;

impl<T: Widen> Monoid<T> for Sum {
    type Acc = T::Wide;
    const EMPTY: T::Wide = T::Wide::ZERO;
    #[inline(always)]
    fn lift(x: T) -> T::Wide {
        x.widen()
    }
    #[inline(always)]
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        a.plus(b)
    }
}

impl<T: Widen> Monoid<T> for Prod {
    type Acc = T::Wide;
    const EMPTY: T::Wide = T::Wide::ONE;
    #[inline(always)]
    fn lift(x: T) -> T::Wide {
        x.widen()
    }
    #[inline(always)]
    fn join(a: T::Wide, b: T::Wide) -> T::Wide {
        a.times(b)
    }
}

/// True for NaN, without a bound on the type.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(crate) fn is_nan<T: PartialOrd>(x: T) -> bool {
    x != x
}

impl<T: Bounds> Monoid<T> for Max {
    type Acc = T;
    const EMPTY: T = T::LOWEST;
    #[inline(always)]
    fn lift(x: T) -> T {
        x
    }
    // A comparison with NaN is false, so a NaN in `b` is taken and one in `a` needs the second test.
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        if a > b || is_nan(a) { a } else { b }
    }
}

impl<T: Bounds> Monoid<T> for Min {
    type Acc = T;
    const EMPTY: T = T::HIGHEST;
    #[inline(always)]
    fn lift(x: T) -> T {
        x
    }
    #[inline(always)]
    fn join(a: T, b: T) -> T {
        if a < b || is_nan(a) { a } else { b }
    }
}

impl<T: Element> Monoid<T> for Any {
    type Acc = bool;
    const EMPTY: bool = false;
    #[inline(always)]
    fn lift(x: T) -> bool {
        x != T::ZERO
    }
    #[inline(always)]
    fn join(a: bool, b: bool) -> bool {
        a | b
    }
}

impl<T: Element> Monoid<T> for All {
    type Acc = bool;
    const EMPTY: bool = true;
    #[inline(always)]
    fn lift(x: T) -> bool {
        x != T::ZERO
    }
    #[inline(always)]
    fn join(a: bool, b: bool) -> bool {
        a & b
    }
}

/// The sum over `dims` (ascending), which vanish; bools and integers are summed as `i64`.
pub(crate) fn sum(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "sum", all, T => Ok(reduce::<T, Sum>(x, dims)))
}

/// The product over `dims` (ascending), which vanish; bools and integers are multiplied as `i64`.
pub(crate) fn prod(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "prod", all, T => Ok(reduce::<T, Prod>(x, dims)))
}

/// The largest element over `dims` (ascending); NaN if there is one.
pub(crate) fn max(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "max", all, T => Ok(reduce::<T, Max>(x, dims)))
}

/// The smallest element over `dims` (ascending); NaN if there is one.
pub(crate) fn min(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "min", all, T => Ok(reduce::<T, Min>(x, dims)))
}

/// Whether any element over `dims` (ascending) is non-zero; NaN counts as non-zero.
pub(crate) fn any(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "any", all, T => Ok(reduce::<T, Any>(x, dims)))
}

/// Whether all elements over `dims` (ascending) are non-zero; NaN counts as non-zero.
pub(crate) fn all(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "all", all, T => Ok(reduce::<T, All>(x, dims)))
}

/// Lanes in which a run is accumulated: enough independent chains to hide the latency of an addition.
const LANES: usize = 64;
/// Elements of a run that are accumulated before a pairwise step.
const BLOCK: usize = 64 * LANES;
/// Columns that are accumulated side by side.
const WIDTH: usize = 1024;
/// Rows that are accumulated before a pairwise step.
const ROWS: usize = 64;
/// Elements from which a reduction to few results is cut into pieces.
const PIECE: usize = 1 << 15;

/// Partial results that are joined pairwise as they come: level `k` holds the join of `2^k` of them.
struct Tower<A> {
    levels: SmallVec<[A; 16]>,
    count: usize,
}

impl<A: Copy> Tower<A> {
    fn new() -> Self {
        Tower { levels: SmallVec::new(), count: 0 }
    }

    #[inline(always)]
    fn push(&mut self, mut a: A, join: impl Fn(A, A) -> A) {
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

    #[inline(always)]
    fn finish(self, empty: A, join: impl Fn(A, A) -> A) -> A {
        let mut total = None;
        for (k, &level) in self.levels.iter().enumerate() {
            if self.count >> k & 1 == 1 {
                total = Some(match total {
                    None => level,
                    Some(t) => join(level, t),
                });
            }
        }
        total.unwrap_or(empty)
    }
}

/// Where the elements of a run come from.
pub(crate) trait Source<T>: Copy {
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
unsafe fn block<T: Copy, M: Monoid<T>>(source: impl Source<T>, start: usize, end: usize) -> M::Acc {
    let mut i = start;
    let mut acc = M::EMPTY;
    // SAFETY: `i` plus the length of a part is at most `end`.
    unsafe {
        if end - i >= LANES {
            let mut lanes = [M::EMPTY; LANES];
            while i + LANES <= end {
                join_lanes::<T, M, LANES>(&mut lanes, source.get(i));
                i += LANES;
            }
            fold::<T, M, 32>(&mut lanes);
            fold::<T, M, 16>(&mut lanes);
            acc = fold_8::<T, M>(&mut lanes);
        }
        if end - i >= 8 {
            let mut lanes = [M::EMPTY; 8];
            while i + 8 <= end {
                join_lanes::<T, M, 8>(&mut lanes, source.get(i));
                i += 8;
            }
            acc = M::join(acc, fold_8::<T, M>(&mut lanes));
        }
        while i < end {
            let [x] = source.get(i);
            acc = M::join(acc, M::lift(x));
            i += 1;
        }
    }
    acc
}

#[inline(always)]
fn join_lanes<T: Copy, M: Monoid<T>, const N: usize>(lanes: &mut [M::Acc; N], values: [T; N]) {
    for l in 0..N {
        lanes[l] = M::join(lanes[l], M::lift(values[l]));
    }
}

/// Joins the second `HALF` of lanes to the first.
#[inline(always)]
fn fold<T, M: Monoid<T>, const HALF: usize>(lanes: &mut [M::Acc]) {
    for l in 0..HALF {
        lanes[l] = M::join(lanes[l], lanes[l + HALF]);
    }
}

/// Joins 16 lanes, or 8 of them.
#[inline(always)]
fn fold_8<T, M: Monoid<T>>(lanes: &mut [M::Acc]) -> M::Acc {
    if lanes.len() > 8 {
        fold::<T, M, 8>(lanes);
    }
    fold::<T, M, 4>(lanes);
    fold::<T, M, 2>(lanes);
    fold::<T, M, 1>(lanes);
    lanes[0]
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
            return block::<T, M>(source, 0, n);
        }
        let mut tower = Tower::new();
        for start in (0..n).step_by(BLOCK) {
            tower.push(block::<T, M>(source, start, n.min(start + BLOCK)), M::join);
        }
        tower.finish(M::EMPTY, M::join)
    }
}

/// Joins `inner.size` elements from `x` on, in steps.
///
/// # Safety
/// Every address on the way must be valid.
#[inline(always)]
unsafe fn strided_run<T: Element, M: Monoid<T>>(x: *const T, inner: Loop<1>) -> M::Acc {
    // SAFETY: the caller vouches for every address.
    unsafe {
        match inner.steps {
            [1] => run::<T, M>(Neighbours(x), inner.size),
            [step] => run::<T, M>(Steps(x, step), inner.size),
        }
    }
}

/// Joins the runs of `inner` that start at the offsets of `outer`.
///
/// # Safety
/// Every address on the way must be valid.
#[inline(always)]
unsafe fn nest_of_runs<T: Element, M: Monoid<T>>(x: *const T, outer: &Nest<1>, inner: Loop<1>) -> M::Acc {
    if outer.loops.is_empty() {
        // SAFETY: by the contract.
        return unsafe { strided_run::<T, M>(x, inner) };
    }
    let mut tower = Tower::new();
    outer.walk(
        0..outer.len(),
        #[inline(always)]
        // SAFETY: by the contract.
        |_, [o]| tower.push(unsafe { strided_run::<T, M>(x.wrapping_offset(o), inner) }, M::join),
    );
    tower.finish(M::EMPTY, M::join)
}

/// How many pieces the reduced loops are cut into; by shape alone.
fn pieces_of(reduced: &Nest<1>, results: usize) -> usize {
    let n = reduced.len();
    if results >= 64 || n < 2 * PIECE {
        return 1;
    }
    n.div_ceil(PIECE).min(reduced.loops[0].size)
}

/// The loops of piece `k` of `pieces`, and the offset at which they start.
fn piece_of(reduced: &Nest<1>, k: usize, pieces: usize) -> (Nest<1>, isize) {
    let mut nest = reduced.clone();
    let Some(outer) = nest.loops.first_mut() else { return (nest, 0) };
    let per = outer.size.div_ceil(pieces);
    let start = (k * per).min(outer.size);
    outer.size = per.min(outer.size - start);
    let offset = start as isize * outer.steps[0];
    (nest, offset)
}

/// The reduction of `x` over `dims` by `M`.
pub(crate) fn reduce<T: Element, M: Monoid<T>>(x: &Array, dims: &[usize]) -> Array {
    // The most common reduction of all, and often a small one: everything to a scalar.
    if dims.len() == x.rank()
        && x.numel() < 2 * PIECE
        && let Some(all) = x.as_slice::<T>()
    {
        let total = vectorize_floats::<T, _>(
            #[inline(always)]
            // SAFETY: the run is the slice.
            || unsafe { run::<T, M>(Neighbours(all.as_ptr()), all.len()) },
        );
        return Array::full(Shape::new(), total);
    }
    let kept: SmallVec<[usize; 6]> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
    let shape: Shape = kept.iter().map(|&d| x.shape()[d]).collect();
    let strides = contiguous_strides(&shape);
    let results: usize = shape.iter().product();
    if x.numel() == 0 {
        return Array::full(shape, M::EMPTY);
    }

    // The order of the reduced loops is free: long steps outside, short ones inside. Broadcast dims go outside.
    let mut order: SmallVec<[usize; 6]> = dims.iter().copied().filter(|&d| x.shape()[d] != 1).collect();
    order.sort_by_key(|&d| {
        let s = x.strides()[d].unsigned_abs();
        std::cmp::Reverse(if s == 0 { usize::MAX } else { s })
    });
    let reduced = Nest::over(order, x.shape(), [x.strides()]);
    let loops: SmallVec<[Loop<2>; 6]> = (kept.iter().enumerate())
        .map(|(k, &d)| Loop { size: x.shape()[d], steps: [x.strides()[d], strides[k]] })
        .collect();
    let kept = Nest::new(loops);

    let pieces = pieces_of(&reduced, results);
    let nanos = x.numel() * size_of::<T>() / 16 + results * 4;
    let x = In::<T>::of(x);
    let write = |out: Out<M::Acc>| {
        let inner_step = reduced.loops.last().map_or(1, |l| l.steps[0]);
        let vector = kept.loops.iter().position(|l| l.steps[0] == 1);
        match vector {
            Some(v) if inner_step != 1 && worth_columns(&reduced, kept.loops[v].size) => {
                columns::<T, M>(x, &kept, v, &reduced, pieces, results, nanos, out);
            }
            _ => rows::<T, M>(x, &kept, &reduced, pieces, results, nanos, out),
        }
    };
    // SAFETY: both ways write every result of every piece.
    unsafe {
        if pieces == 1 {
            return output(shape, write);
        }
        let mut parts = Vec::<M::Acc>::with_capacity(pieces * results);
        write(Out::new(parts.as_mut_ptr()));
        parts.set_len(pieces * results);
        output(shape, |out: Out<M::Acc>| {
            for i in 0..results {
                let mut tower = Tower::new();
                for p in 0..pieces {
                    tower.push(parts[p * results + i], M::join);
                }
                *out.at(i) = tower.finish(M::EMPTY, M::join);
            }
        })
    }
}

/// Whether a row of `width` neighbours is long enough, or can be made so, to accumulate rows instead of columns.
fn worth_columns(reduced: &Nest<1>, width: usize) -> bool {
    width >= 8 || fold_of(reduced, width) > 1
}

/// How many rows of `width` that follow each other without a gap are treated as one wide row.
fn fold_of(reduced: &Nest<1>, width: usize) -> usize {
    match reduced.loops.last() {
        Some(l) if l.steps[0] == width as isize && width <= WIDTH / 8 && l.size >= 16 => {
            (WIDTH / width).min(l.size / 8)
        }
        _ => 1,
    }
}

/// One result after the other, each from its own runs.
fn rows<T: Element, M: Monoid<T>>(
    x: In<T>,
    kept: &Nest<2>,
    reduced: &Nest<1>,
    pieces: usize,
    results: usize,
    nanos: usize,
    out: Out<M::Acc>,
) {
    split(results * pieces, 1, nanos, |range| {
        let mut start = range.start;
        while start < range.end {
            let piece = start / results;
            let end = range.end.min((piece + 1) * results);
            let (mut outer, base) = piece_of(reduced, piece, pieces);
            let inner = outer.pop();
            let part = start - piece * results..end - piece * results;
            vectorize_floats::<T, _>(
                #[inline(always)]
                || {
                    kept.walk(
                        part.clone(),
                        #[inline(always)]
                        |i, [at, _]| {
                            // SAFETY: the offsets are those of elements of `x`; result `i` of this piece is ours.
                            unsafe {
                                *out.at(piece * results + i) = nest_of_runs::<T, M>(x.at(base + at), &outer, inner)
                            }
                        },
                    )
                },
            );
            start = end;
        }
    });
}

/// Neighbouring results side by side: rows of `x` are added up.
#[allow(clippy::too_many_arguments)]
fn columns<T: Element, M: Monoid<T>>(
    x: In<T>,
    kept: &Nest<2>,
    vector: usize,
    reduced: &Nest<1>,
    pieces: usize,
    results: usize,
    nanos: usize,
    out: Out<M::Acc>,
) {
    let mut outer = kept.clone();
    let Loop { size: width, steps: [_, out_step] } = outer.loops.remove(vector);
    let chunks = width.div_ceil(WIDTH);
    let units = outer.len() * chunks;
    // A few rows need no tower, and are joined where the results belong if those are neighbours.
    let direct = pieces == 1 && out_step == 1 && (1..=ROWS).contains(&reduced.len()) && fold_of(reduced, width) == 1;
    split(units * pieces, 1, nanos, |range: Range<usize>| {
        let mut scratch = Scratch::<M::Acc>::default();
        for unit in range {
            let (piece, unit) = (unit / units, unit % units);
            let (nest, base) = piece_of(reduced, piece, pieces);
            let (group, chunk) = (unit / chunks, unit % chunks);
            let (start, w) = (chunk * WIDTH, WIDTH.min(width - chunk * WIDTH));
            outer.walk(group..group + 1, |_, [at, o]| {
                vectorize_floats::<T, _>(
                    #[inline(always)]
                    || {
                        let from = x.at(base + at + start as isize);
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
    let mut wide = nest.clone();
    let mut rest = Nest::default();
    if fold > 1 {
        let l = wide.loops.last_mut().expect("a folded nest has a loop");
        let tail = l.size % fold;
        *l = Loop { size: l.size / fold, steps: [l.steps[0] * fold as isize] };
        if tail > 0 {
            rest = nest.clone();
            rest.loops.last_mut().expect("a folded nest has a loop").size = tail;
        }
    }
    // SAFETY: a folded row covers `fold` rows, all of which are valid.
    unsafe { row_sums::<T, M>(x, w * fold, &wide, scratch) };
    if fold == 1 {
        return;
    }
    // Fold the wide row by halves, an odd row out joining the first.
    let mut rows = fold;
    while rows > 1 {
        let (half, odd) = (rows / 2, rows % 2);
        let (low, high) = scratch.total.split_at_mut((half + odd) * w);
        for (a, &b) in low[odd * w..].iter_mut().zip(high.iter()) {
            *a = M::join(*a, b);
        }
        rows = half + odd;
    }
    scratch.total.truncate(w);
    if !rest.loops.is_empty() {
        let size = wide.loops.last().map_or(0, |l| l.size) * fold;
        let offset = size as isize * nest.loops.last().map_or(0, |l| l.steps[0]);
        let main = std::mem::take(&mut scratch.total);
        // SAFETY: the tail rows start after the folded ones.
        unsafe { row_sums::<T, M>(x.wrapping_offset(offset), w, &rest, scratch) };
        for (a, &b) in scratch.total.iter_mut().zip(&main) {
            *a = M::join(b, *a);
        }
    }
}

/// `w` neighbours from an offset on.
///
/// # Safety
/// They must be valid for as long as the result is used.
#[inline(always)]
pub(super) unsafe fn line<'a, T>(x: *const T, offset: isize, w: usize) -> &'a [T] {
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
    nest.walk(
        passes.clone(),
        #[inline(always)]
        |i, [at]| offsets[i - passes.start] = at,
    );
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
                let low = M::join(M::lift(*p.add(j)), M::lift(*q.add(j)));
                let high = M::join(M::lift(*s.add(j)), M::lift(*t.add(j)));
                *out.add(j) = M::join(*out.add(j), M::join(low, high));
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

/// The position of the largest element along `dim`, which vanishes: the first of equals; a NaN counts as largest.
pub(crate) fn argmax(x: &Array, dim: usize) -> Result<Array> {
    dispatch!(x.dtype(), "argmax", all, T => Ok(arg_reduce::<T, Max>(x, dim)))
}

/// The position of the smallest element along `dim`, which vanishes: the first of equals; a NaN counts as smallest.
pub(crate) fn argmin(x: &Array, dim: usize) -> Result<Array> {
    dispatch!(x.dtype(), "argmin", all, T => Ok(arg_reduce::<T, Min>(x, dim)))
}

/// Which of two elements is the one that is looked for; false for NaN.
trait Best<T>: Monoid<T, Acc = T> {
    fn better(a: T, b: T) -> bool;
}

impl<T: Bounds> Best<T> for Max {
    #[inline(always)]
    fn better(a: T, b: T) -> bool {
        a > b
    }
}

impl<T: Bounds> Best<T> for Min {
    #[inline(always)]
    fn better(a: T, b: T) -> bool {
        a < b
    }
}

fn arg_reduce<T: Element, M: Best<T>>(x: &Array, dim: usize) -> Array {
    let shape = without_dim(x.shape(), dim);
    let strides = contiguous_strides(&shape);
    let along = Loop { size: x.shape()[dim], steps: [x.strides()[dim]] };
    let kept = Nest::new(
        (0..x.rank())
            .filter(|&d| d != dim)
            .enumerate()
            .map(|(k, d)| Loop { size: x.shape()[d], steps: [x.strides()[d], strides[k]] }),
    );
    let nanos = x.numel() / 4 + kept.len() * 4;
    let results = kept.len();
    let vector = kept.loops.iter().position(|l| l.steps[0] == 1 && l.size >= 8);
    let from = In::<T>::of(x);
    let write = |out: Out<i64>| match vector {
        Some(v) if along.steps[0] != 1 => arg_columns::<T, M>(from, &kept, v, along, nanos, out),
        _ => split(results, 1, nanos, |range| {
            vectorize_floats::<T, _>(
                #[inline(always)]
                || {
                    kept.walk(
                        range.clone(),
                        #[inline(always)]
                        |i, [at, _]| {
                            // SAFETY: the offsets are those of elements of `x`; result `i` is ours.
                            unsafe {
                                let best = strided_run::<T, M>(from.at(at), along);
                                *out.at(i) = first_equal(from.at(at), along, best) as i64;
                            }
                        },
                    )
                },
            );
        }),
    };
    // SAFETY: both ways write every result.
    unsafe { output(shape, write) }
}

/// Equality for which all NaNs are one.
#[inline(always)]
fn equal<T: PartialOrd + Copy>(a: T, b: T) -> bool {
    a == b || (is_nan(a) & is_nan(b))
}

/// Where the first element equal to `best` lies, two NaNs being equal here.
///
/// # Safety
/// Every address on the way must be valid.
#[inline(always)]
unsafe fn first_equal<T: Element>(x: *const T, along: Loop<1>, best: T) -> usize {
    let (n, [step]) = (along.size, along.steps);
    let mut i = 0;
    // Whole chunks first, without an early exit inside, so that they can be vectorised.
    while i + 32 <= n {
        let mut any = false;
        for l in 0..32 {
            // SAFETY: below `n`.
            any |= equal(unsafe { *x.wrapping_offset((i + l) as isize * step) }, best);
        }
        if any {
            break;
        }
        i += 32;
    }
    // SAFETY: below `n`.
    while i + 1 < n && !equal(unsafe { *x.wrapping_offset(i as isize * step) }, best) {
        i += 1;
    }
    i
}

/// Neighbouring results side by side, for a `dim` whose elements lie far apart.
fn arg_columns<T: Element, M: Best<T>>(
    x: In<T>,
    kept: &Nest<2>,
    vector: usize,
    along: Loop<1>,
    nanos: usize,
    out: Out<i64>,
) {
    const CHUNK: usize = 256;
    let mut outer = kept.clone();
    let Loop { size: width, steps: [_, out_step] } = outer.loops.remove(vector);
    let chunks = width.div_ceil(CHUNK);
    split(outer.len() * chunks, 1, nanos, |range| {
        for unit in range {
            let (group, start) = (unit / chunks, unit % chunks * CHUNK);
            let w = CHUNK.min(width - start);
            outer.walk(group..group + 1, |_, [at, o]| {
                let mut best = [T::ZERO; CHUNK];
                let mut place = [0i64; CHUNK];
                vectorize_floats::<T, _>(
                    #[inline(always)]
                    || {
                        for r in 0..along.size {
                            // SAFETY: `w` columns from `start` on are columns of `x` in each row.
                            let row = unsafe {
                                let offset = at + start as isize + r as isize * along.steps[0];
                                std::slice::from_raw_parts(x.at(offset), w)
                            };
                            for ((b, p), &v) in best.iter_mut().zip(&mut place).zip(row) {
                                let take = r == 0 || (!is_nan(*b) & (M::better(v, *b) | is_nan(v)));
                                *b = if take { v } else { *b };
                                *p = if take { r as i64 } else { *p };
                            }
                        }
                    },
                );
                for (j, &p) in place[..w].iter().enumerate() {
                    // SAFETY: these results are ours.
                    unsafe { *out.at(0).wrapping_offset(o + (start + j) as isize * out_step) = p };
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::kernels::strided::testing::{at, indices, layouts, read, samples};

    fn naive(x: &Array, dims: &[usize], empty: f64, join: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let kept: Vec<usize> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
        let shape: Vec<usize> = kept.iter().map(|&d| x.shape()[d]).collect();
        let mut out = vec![empty; shape.iter().product()];
        for index in indices(x.shape()) {
            let k = kept.iter().fold(0, |k, &d| k * x.shape()[d] + index[d]);
            out[k] = join(out[k], at(x, &index));
        }
        out
    }

    fn dim_sets(rank: usize) -> impl Iterator<Item = Vec<usize>> {
        (0..1 << rank).map(move |bits| (0..rank).filter(|d| bits >> d & 1 == 1).collect())
    }

    fn check<T: Element>(shape: &[usize]) {
        for x in layouts::<T>(shape) {
            for dims in dim_sets(shape.len()) {
                let close = |name, got: Array, expected: Vec<f64>| {
                    for (g, e) in read(&got).into_iter().zip(&expected) {
                        assert!((g - e).abs() <= 1e-5 * (1.0 + e.abs()), "{name} {} {dims:?}: {g} {e}", x.ty());
                    }
                    assert_eq!(got.numel(), expected.len());
                };
                close("sum", sum(&x, &dims).unwrap(), naive(&x, &dims, 0.0, |a, b| a + b));
                if x.numel() > 0 {
                    close("max", max(&x, &dims).unwrap(), naive(&x, &dims, f64::NEG_INFINITY, f64::max));
                    close("min", min(&x, &dims).unwrap(), naive(&x, &dims, f64::INFINITY, f64::min));
                }
                close("any", any(&x, &dims).unwrap(), naive(&x, &dims, 0.0, |a, b| f64::from(a != 0.0 || b != 0.0)));
                close("all", all(&x, &dims).unwrap(), naive(&x, &dims, 1.0, |a, b| f64::from(a != 0.0 && b != 0.0)));
                if x.numel() < 200 && x.dtype().is_float() {
                    close("prod", prod(&x, &dims).unwrap(), naive(&x, &dims, 1.0, |a, b| a * b));
                }
            }
        }
    }

    #[test]
    fn reductions_agree_with_loops_for_every_set_of_dims_layout_and_dtype() {
        for shape in [&[][..], &[1], &[7], &[0], &[3, 0, 2], &[5, 6], &[2, 3, 4, 5], &[70, 3], &[3, 130], &[9, 1, 17]] {
            check::<f32>(shape);
            check::<f64>(shape);
            check::<i32>(shape);
            check::<i64>(shape);
            check::<u8>(shape);
            check::<bool>(shape);
        }
        check::<f32>(&[2, 300, 33]);
        check::<f64>(&[1100, 3]);
    }

    #[test]
    fn large_reductions_are_accurate_in_every_direction() {
        let n = 1 << 20;
        let data: Vec<f32> = samples(n).iter().map(|&v| v as f32 + 1.0).collect();
        for (shape, dims) in [
            (&[1 << 20, 1][..], &[0, 1][..]),
            (&[1 << 10, 1 << 10], &[0]),
            (&[1 << 18, 4], &[0]),
            (&[4, 1 << 18], &[1]),
        ] {
            let x = Array::from_slice(Shape::from_slice(shape), &data);
            let exact = naive(&x, dims, 0.0, |a, b| a + b);
            for (g, e) in read(&sum(&x, dims).unwrap()).into_iter().zip(exact) {
                assert!((g - e).abs() <= 3e-7 * e.abs(), "{shape:?}: {g} {e}");
            }
        }
    }

    #[test]
    fn integers_are_summed_as_i64_and_floats_keep_their_dtype() {
        for dtype in DType::ALL {
            let x = layouts_of(dtype);
            let expected = if dtype.is_float() { dtype } else { DType::I64 };
            assert_eq!(sum(&x, &[0]).unwrap().dtype(), expected);
            assert_eq!(max(&x, &[0]).unwrap().dtype(), dtype);
        }
        let bytes = Array::full(Shape::from_slice(&[1000]), 255u8);
        assert_eq!(sum(&bytes, &[0]).unwrap().first::<i64>(), 255_000);
    }

    fn layouts_of(dtype: DType) -> Array {
        dispatch!(dtype, "test", all, T => Ok(layouts::<T>(&[3]).remove(0))).unwrap()
    }

    #[test]
    fn nan_is_the_extreme_and_its_first_position_is_found() {
        for n in [3, 100, 5000] {
            for place in [0, n / 2, n - 1] {
                let mut data = vec![1.0f32; n];
                data[place] = f32::NAN;
                let x = Array::from_slice(Shape::from_slice(&[n]), &data);
                assert!(max(&x, &[0]).unwrap().first::<f32>().is_nan());
                assert!(min(&x, &[0]).unwrap().first::<f32>().is_nan());
                assert_eq!(argmax(&x, 0).unwrap().first::<i64>(), place as i64);
                assert_eq!(argmin(&x, 0).unwrap().first::<i64>(), place as i64);
                let wide = x.reshape_view(&[n, 1]).unwrap().expand(&[n, 16]);
                let copy: Vec<f32> = read(&wide).iter().map(|&v| v as f32).collect();
                let wide = Array::from_slice(Shape::from_slice(&[n, 16]), &copy);
                assert_eq!(read(&argmax(&wide, 0).unwrap()), [place as f64; 16]);
                assert!(read(&max(&wide, &[0]).unwrap()).iter().all(|v| v.is_nan()));
            }
        }
    }

    #[test]
    fn argmax_and_argmin_give_the_first_of_equals() {
        for shape in [&[1][..], &[40], &[33, 17], &[4, 50, 9], &[3, 300]] {
            for x in layouts::<i32>(shape).into_iter().chain(layouts::<f64>(shape)) {
                for dim in 0..shape.len() {
                    let (big, small) = (argmax(&x, dim).unwrap(), argmin(&x, dim).unwrap());
                    for index in indices(big.shape()) {
                        let along = |k: usize| {
                            let mut full = index.clone();
                            full.insert(dim, k);
                            at(&x, &full)
                        };
                        let n = shape[dim];
                        let first = |worse: fn(f64, f64) -> bool| {
                            (1..n).fold(0, |best, k| if worse(along(best), along(k)) { k } else { best }) as f64
                        };
                        assert_eq!(at(&big, &index), first(|a, b| a < b), "{} dim {dim}", x.ty());
                        assert_eq!(at(&small, &index), first(|a, b| a > b), "{} dim {dim}", x.ty());
                    }
                }
            }
        }
    }
}
