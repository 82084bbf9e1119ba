//! Elementwise loops with one, two or three operands, over any strides, with a contiguous result.
//!
//! The function of the elements is compiled into one loop per instruction set, over contiguous data only. Operands
//! that lie otherwise are copied block by block into a buffer on the stack, which stays in the first cache; that copy
//! depends on the element size alone, so no operation pays for strided loops in code size.
//!
//! Pass functions as closures marked `#[inline(always)]`: anything else, a path like `T::exp` included, may end up as
//! a call per element at the baseline instruction set.

use std::borrow::Cow;
use std::hint::select_unpredictable;
use std::mem::MaybeUninit;
use std::ops::Range;

use super::copy::{Layout, collapse, contiguous, gather};
use super::simd::{vectorize, vectorize_floats, vectorize_words};
use super::threads::{SendPtr, split};
use crate::array::Array;
use crate::dtype::{Element, Word};
use crate::shape::{Shape, Strides, numel, same_shape};

/// A guess at the time of a loop over `n` elements, in ns: between that of a sum of two numbers and that of a tangent.
const fn estimate(n: usize) -> usize {
    n / 4
}

/// Elements per block of gathered operands; a block of the widest type is 4 KiB.
const BLOCK: usize = 512;

/// Rows of at least this length are worked on one at a time; shorter ones several in a block.
const LONG_ROW: usize = 128;

/// A block of elements on the stack.
struct Block<T>([MaybeUninit<T>; BLOCK]);

impl<T: Word> Block<T> {
    #[inline(always)]
    fn new() -> Block<T> {
        Block([const { MaybeUninit::uninit() }; BLOCK])
    }

    #[inline(always)]
    fn ptr(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

/// `out[i] = f(x[i])`.
///
/// # Safety
/// `x` and `out` must be valid for `n` elements and not overlap.
#[inline(never)]
unsafe fn loop1<T: Element, U: Element>(x: *const T, out: *mut U, n: usize, f: impl Fn(T) -> U + Copy) {
    // SAFETY: the caller's promise.
    let (x, out) =
        unsafe { (std::slice::from_raw_parts(x, n), std::slice::from_raw_parts_mut(out.cast::<MaybeUninit<U>>(), n)) };
    vectorize_floats::<T, _>(
        #[inline(always)]
        || {
            for (o, &v) in out.iter_mut().zip(x) {
                o.write(f(v));
            }
        },
    );
}

/// `out[i] = f(a[i], b[i])`.
///
/// # Safety
/// `a`, `b` and `out` must be valid for `n` elements, and `out` must not overlap the others.
#[inline(never)]
unsafe fn loop2<A: Element, B: Element, U: Element>(
    a: *const A,
    b: *const B,
    out: *mut U,
    n: usize,
    f: impl Fn(A, B) -> U + Copy,
) {
    // SAFETY: the caller's promise.
    let (a, b, out) = unsafe {
        (
            std::slice::from_raw_parts(a, n),
            std::slice::from_raw_parts(b, n),
            std::slice::from_raw_parts_mut(out.cast::<MaybeUninit<U>>(), n),
        )
    };
    vectorize_floats::<A, _>(
        #[inline(always)]
        || {
            for ((o, &v), &w) in out.iter_mut().zip(a).zip(b) {
                o.write(f(v, w));
            }
        },
    );
}

/// `f` of every element.
pub(crate) fn map<T: Element, U: Element>(x: &Array, f: impl Fn(T) -> U + Copy + Send + Sync) -> Array {
    // SAFETY: every element is written; `x` has `n` elements in a row where that is said.
    unsafe {
        Array::build(x.shape(), |out: &mut [MaybeUninit<U>]| {
            let (n, out) = (out.len(), out.as_mut_ptr().cast::<U>());
            if n <= BLOCK && x.is_contiguous() {
                loop1(x.as_ptr::<T>(), out, n, f);
            } else {
                map_blocks::<T, U>(x, SendPtr(out), n, &|x, out, len| loop1(x, out, len, f));
            }
        })
    }
}

/// All but the simplest case of [`map`]: feeds `kernel(x, out, len)` with contiguous blocks. It does not know the
/// function, so that there is one copy per combination of dtypes.
fn map_blocks<T: Element, U: Element>(
    x: &Array,
    out: SendPtr<U>,
    n: usize,
    kernel: &(dyn Fn(*const T, *mut U, usize) + Sync),
) {
    let from = |x: &Array| SendPtr(x.as_ptr::<T>().cast_mut());
    if x.is_contiguous() {
        let x = from(x);
        return split(n, BLOCK, estimate(n), |r| {
            // SAFETY: ranges lie within both, which have `n` elements in a row, and are disjoint.
            let (x, out) = unsafe { (x.get().add(r.start), out.get().add(r.start)) };
            kernel(x, out, r.len());
        });
    }
    let x = &*in_reading_order(x);
    let layout = collapse(x.shape(), [x.strides()]);
    let x = from(x);
    split(n, BLOCK, estimate(n), |r| {
        let mut block = Block::<T>::new();
        for start in r.clone().step_by(BLOCK) {
            let len = BLOCK.min(r.end - start);
            // SAFETY: blocks cover every element; `layout` is that of `x`.
            let out = unsafe {
                gather(x.get(), &layout, start, block.ptr(), len);
                out.get().add(start)
            };
            kernel(block.ptr(), out, len);
        }
    });
}

/// `fast` of every element, except that elements for which `in_range` fails get `slow`. Use it where a function needs
/// a branch, which would keep its loop from being vectorised; elements out of range should be rare.
pub(crate) fn map_guarded<T: Element, U: Element>(
    x: &Array,
    in_range: impl Fn(T) -> bool + Copy + Send + Sync,
    fast: impl Fn(T) -> U + Copy + Send + Sync,
    slow: impl Fn(T) -> U + Copy + Send + Sync,
) -> Array {
    let x = &contiguous(x);
    let n = x.numel();
    // SAFETY: blocks cover every element; `x` has `n` elements in a row.
    unsafe {
        Array::build(x.shape(), |out: &mut [MaybeUninit<U>]| {
            let (x, out) = (SendPtr(x.as_ptr::<T>().cast_mut()), SendPtr(out.as_mut_ptr().cast::<U>()));
            split(n, BLOCK, estimate(n), |r| {
                for start in r.clone().step_by(BLOCK) {
                    let len = BLOCK.min(r.end - start);
                    let (x, out) = (x.get().cast_const().add(start), out.get().add(start));
                    let values = std::slice::from_raw_parts(x, len);
                    let good = vectorize(
                        #[inline(always)]
                        || values.iter().map(|&v| u32::from(in_range(v))).sum::<u32>(),
                    );
                    loop1(x, out, len, fast);
                    if good as usize != len {
                        for i in 0..len {
                            if !in_range(*x.add(i)) {
                                *out.add(i) = slow(*x.add(i));
                            }
                        }
                    }
                }
            });
        })
    }
}

/// Replaces every element by `f` of it, or returns false if `x` is not contiguous or not the only owner.
pub(crate) fn map_in_place<T: Element>(x: &mut Array, f: impl Fn(T) -> T + Copy + Send + Sync) -> bool {
    let Some(data) = x.as_mut_slice::<T>() else { return false };
    let n = data.len();
    let data = SendPtr(data.as_mut_ptr());
    split(n, BLOCK, estimate(n), |r| {
        // SAFETY: ranges are disjoint parts of `data`, which is borrowed mutably.
        let part = unsafe { std::slice::from_raw_parts_mut(data.get().add(r.start), r.len()) };
        vectorize_floats::<T, _>(
            #[inline(always)]
            || {
                for v in part.iter_mut() {
                    *v = f(*v);
                }
            },
        );
    });
    true
}

/// Copies a large view whose rows lie far apart, because reading it row by row would touch a cache line per element.
fn in_reading_order(x: &Array) -> Cow<'_, Array> {
    let far = x.strides().last().is_some_and(|s| s.unsigned_abs() > 8) && x.strides().contains(&1);
    if far && x.numel() >= 4096 { Cow::Owned(contiguous(x)) } else { Cow::Borrowed(x) }
}

/// Strides of `x` as an operand of a loop over `shape`, to which it broadcasts.
fn strides_in(x: &Array, shape: &[usize]) -> Strides {
    let lead = shape.len() - x.rank();
    let mut out = Strides::from_elem(0, shape.len());
    for (k, (&n, &s)) in x.shape().iter().zip(x.strides()).enumerate() {
        if n != 1 {
            debug_assert_eq!(n, shape[k + lead]);
            out[k + lead] = s;
        }
    }
    out
}

/// One operand of a blocked loop: where its blocks come from.
enum Source<T> {
    /// All elements in a row.
    Direct(SendPtr<T>),
    /// The same `period` elements in a row, over and over; blocks begin at multiples of the period.
    Periodic(SendPtr<T>, usize),
    /// Anything else.
    Strided(SendPtr<T>, Layout<1>),
}

impl<T: Word> Source<T> {
    fn new(x: &Array, shape: &[usize]) -> Source<T> {
        let ptr = SendPtr(x.start::<T>().cast_mut());
        let layout = collapse(shape, [&strides_in(x, shape)]);
        match layout[..] {
            [] | [(_, [1])] => Source::Direct(ptr),
            [(_, [0])] => Source::Periodic(ptr, 1),
            [(_, [0]), (p, [1])] if p <= BLOCK / 2 => Source::Periodic(ptr, p),
            _ => Source::Strided(ptr, layout),
        }
    }

    /// The length that blocks should be a multiple of.
    fn period(&self) -> usize {
        match self {
            Source::Periodic(_, p) => *p,
            _ => 1,
        }
    }

    /// Fills the buffer with as much as does not depend on the block.
    unsafe fn prepare(&self, buffer: &mut Block<T>, len: usize) {
        if let Source::Periodic(ptr, p) = self {
            let (len, start) = (len.min(BLOCK), buffer.ptr());
            let mut done = len.min(*p);
            // SAFETY: the operand has a period of `p` elements, and what is copied within the buffer doubles each time.
            unsafe {
                std::ptr::copy_nonoverlapping(ptr.get(), start, done);
                while done < len {
                    let more = done.min(len - done);
                    std::ptr::copy_nonoverlapping(start, start.add(done), more);
                    done += more;
                }
            }
        }
    }

    /// Where the `len ≤ BLOCK` elements from `start` on are, after copying them to the buffer if need be.
    #[inline(always)]
    unsafe fn block(&self, buffer: &mut Block<T>, start: usize, len: usize) -> *const T {
        match self {
            // SAFETY: the operand has `start + len` elements.
            Source::Direct(ptr) => unsafe { ptr.get().add(start) },
            Source::Periodic(..) => buffer.ptr(),
            Source::Strided(ptr, layout) => {
                // SAFETY: as above, in this layout.
                unsafe { gather(ptr.get(), layout, start, buffer.ptr(), len) };
                buffer.ptr()
            }
        }
    }
}

/// A common multiple of two periods that fits a block, and blocks as long as possible: (block length, whether both
/// operands may stay periodic).
fn block_len(p: usize, q: usize) -> Option<usize> {
    let (mut a, mut b) = (p, q);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let common = p / a * q;
    (common <= BLOCK).then(|| BLOCK / common * common)
}

/// Whether `x` has the elements of `shape`, `n` of them, in a row.
#[inline(always)]
fn whole(x: &Array, shape: &[usize], n: usize) -> bool {
    x.is_contiguous() && x.numel() == n && (n == 1 || same_shape(x.shape(), shape))
}

/// `f` of corresponding elements of `a` and `b`, which both broadcast to `shape`.
pub(crate) fn zip<A: Element, B: Element, U: Element>(
    a: &Array,
    b: &Array,
    shape: &[usize],
    f: impl Fn(A, B) -> U + Copy + Send + Sync,
) -> Array {
    // SAFETY: every element is written.
    unsafe {
        Array::build(shape, |out: &mut [MaybeUninit<U>]| {
            let (n, out) = (out.len(), out.as_mut_ptr().cast::<U>());
            if n <= BLOCK && whole(a, shape, n) && whole(b, shape, n) {
                loop2(a.as_ptr::<A>(), b.as_ptr::<B>(), out, n, f);
            } else {
                zip_blocks::<A, B, U>(a, b, shape, SendPtr(out), &|a, b, out, len| loop2(a, b, out, len, f));
            }
        })
    }
}

/// All but the simplest case of [`zip`]: feeds `kernel(a, b, out, len)` with contiguous blocks. It does not know the
/// function, so that there is one copy per combination of dtypes.
fn zip_blocks<A: Element, B: Element, U: Element>(
    a: &Array,
    b: &Array,
    shape: &[usize],
    out: SendPtr<U>,
    kernel: &(dyn Fn(*const A, *const B, *mut U, usize) + Sync),
) {
    let n = numel(shape);
    if n == 0 {
        return;
    }
    let (all_a, all_b) = (whole(a, shape, n), whole(b, shape, n));
    let (mut pa, mut pb) = (a.as_ptr::<A>(), b.as_ptr::<B>());
    if all_a && all_b {
        let (a, b) = (SendPtr(pa.cast_mut()), SendPtr(pb.cast_mut()));
        return split(n, BLOCK, estimate(n), |r| {
            // SAFETY: ranges lie within all three, which have `n` elements in a row, and are disjoint.
            let (a, b, out) = unsafe { (a.get().add(r.start), b.get().add(r.start), out.get().add(r.start)) };
            kernel(a, b, out, r.len());
        });
    }
    if n <= BLOCK && (all_a || all_b) && (a.numel() == 1 || b.numel() == 1) {
        // A number and a short array, the commonest case that is not the one above.
        let (mut block_a, mut block_b) = (Block::<A>::new(), Block::<B>::new());
        // SAFETY: an operand with one element has it where it begins.
        unsafe {
            if a.numel() == 1 {
                block_a.0[..n].fill(MaybeUninit::new(*pa));
                pa = block_a.ptr();
            } else {
                block_b.0[..n].fill(MaybeUninit::new(*pb));
                pb = block_b.ptr();
            }
        }
        return kernel(pa, pb, out.get(), n);
    }
    let (a, b) = (&*in_reading_order(a), &*in_reading_order(b));
    let joint = collapse(shape, [&strides_in(a, shape), &strides_in(b, shape)]);
    if let [_, .., (row, [sa @ (0 | 1), sb @ (0 | 1)])] = joint[..]
        && row >= LONG_ROW
    {
        let outer = &joint[..joint.len() - 1];
        let (a, b) = (SendPtr(a.as_ptr::<A>().cast_mut()), SendPtr(b.as_ptr::<B>().cast_mut()));
        // SAFETY: rows and blocks stay within the operands and the result.
        split(n, row, estimate(n), |r| unsafe { zip_rows(a, b, out, outer, row, [sa, sb], r, kernel) });
        return;
    }
    let (sa, sb) = (Source::<A>::new(a, shape), Source::<B>::new(b, shape));
    let (mut sa, mut sb) = (sa, sb);
    let len = match block_len(sa.period(), sb.period()) {
        Some(len) => len,
        None => {
            sb = Source::Strided(SendPtr(b.as_ptr::<B>().cast_mut()), collapse(shape, [&strides_in(b, shape)]));
            match block_len(sa.period(), 1) {
                Some(len) => len,
                None => {
                    sa = Source::Strided(SendPtr(a.as_ptr::<A>().cast_mut()), collapse(shape, [&strides_in(a, shape)]));
                    BLOCK
                }
            }
        }
    };
    split(n, len, estimate(n), |r| {
        let (mut block_a, mut block_b) = (Block::<A>::new(), Block::<B>::new());
        // SAFETY: blocks stay within the operands and the result, and ranges are disjoint.
        unsafe {
            sa.prepare(&mut block_a, r.len());
            sb.prepare(&mut block_b, r.len());
            for start in r.clone().step_by(len) {
                let len = len.min(r.end - start);
                let pa = sa.block(&mut block_a, start, len);
                let pb = sb.block(&mut block_b, start, len);
                kernel(pa, pb, out.get().add(start), len);
            }
        }
    });
}

/// Rows `r.start / row .. r.end / row`, where each operand either has the row's elements side by side (stride 1) or
/// repeats one of them (stride 0).
///
/// # Safety
/// The layout must describe valid elements of both operands and cover the result.
#[allow(clippy::too_many_arguments)]
unsafe fn zip_rows<A: Element, B: Element, U: Element>(
    a: SendPtr<A>,
    b: SendPtr<B>,
    out: SendPtr<U>,
    outer: &[(usize, [isize; 2])],
    row: usize,
    steps: [isize; 2],
    r: Range<usize>,
    kernel: &(dyn Fn(*const A, *const B, *mut U, usize) + Sync),
) {
    let (mut block_a, mut block_b) = (Block::<A>::new(), Block::<B>::new());
    let len = row.min(BLOCK);
    for k in r.start / row..r.end / row {
        let (mut rest, mut at) = (k, [0isize; 2]);
        for &(n, s) in outer.iter().rev() {
            let i = (rest % n) as isize;
            rest /= n;
            at = [at[0] + i * s[0], at[1] + i * s[1]];
        }
        // SAFETY: row `k` of each operand begins there; the caller vouches for the layout.
        unsafe {
            let (pa, pb) = (a.get().offset(at[0]), b.get().offset(at[1]));
            let to = out.get().add(k * row);
            if steps == [1, 1] {
                kernel(pa, pb, to, row);
                continue;
            }
            if steps[0] == 0 {
                block_a.0[..len].fill(MaybeUninit::new(*pa));
            }
            if steps[1] == 0 {
                block_b.0[..len].fill(MaybeUninit::new(*pb));
            }
            for start in (0..row).step_by(BLOCK) {
                let len = BLOCK.min(row - start);
                let pa = if steps[0] == 0 { block_a.ptr().cast_const() } else { pa.add(start) };
                let pb = if steps[1] == 0 { block_b.ptr().cast_const() } else { pb.add(start) };
                kernel(pa, pb, to.add(start), len);
            }
        }
    }
}

/// Writes `f(aᵢ, bᵢ)` over `a`, where `b` broadcasts to the shape of `a`. False, and nothing done, if `a` is not
/// contiguous or not the only owner.
pub(crate) fn zip_in_place<T: Element>(a: &mut Array, b: &Array, f: impl Fn(T, T) -> T + Copy + Send + Sync) -> bool {
    let shape = Shape::from_slice(a.shape());
    let Some(data) = a.as_mut_slice::<T>() else { return false };
    let (n, data) = (data.len(), data.as_mut_ptr());
    // SAFETY: both have `n` elements in a row where that is said, and `b` shares no storage with `data`.
    unsafe {
        if n <= BLOCK && whole(b, &shape, n) {
            loop_in_place(data, b.as_ptr::<T>(), n, f);
        } else {
            zip_blocks_in_place::<T>(SendPtr(data), b, &shape, &|x, y, len| loop_in_place(x, y, len, f));
        }
    }
    true
}

/// Writes `f(aᵢ, bᵢ)` over `b`, where `a` broadcasts to the shape of `b`; otherwise as [`zip_in_place`].
pub(crate) fn zip_in_place_right<T: Element>(
    a: &Array,
    b: &mut Array,
    f: impl Fn(T, T) -> T + Copy + Send + Sync,
) -> bool {
    zip_in_place(
        b,
        a,
        #[inline(always)]
        move |y, x| f(x, y),
    )
}

/// `a[i] = f(a[i], b[i])`.
///
/// # Safety
/// `a` and `b` must be valid for `n` elements and not overlap.
#[inline(never)]
unsafe fn loop_in_place<T: Element>(a: *mut T, b: *const T, n: usize, f: impl Fn(T, T) -> T + Copy) {
    // SAFETY: the caller's promise.
    let (a, b) = unsafe { (std::slice::from_raw_parts_mut(a, n), std::slice::from_raw_parts(b, n)) };
    vectorize_floats::<T, _>(
        #[inline(always)]
        || {
            for (x, &y) in a.iter_mut().zip(b) {
                *x = f(*x, y);
            }
        },
    );
}

/// All but the simplest case of [`zip_in_place`]: feeds `kernel(a, b, len)` with contiguous blocks.
fn zip_blocks_in_place<T: Element>(
    a: SendPtr<T>,
    b: &Array,
    shape: &[usize],
    kernel: &(dyn Fn(*mut T, *const T, usize) + Sync),
) {
    let n = numel(shape);
    if n == 0 {
        return;
    }
    if whole(b, shape, n) {
        let b = SendPtr(b.as_ptr::<T>().cast_mut());
        return split(n, BLOCK, estimate(n), |r| {
            // SAFETY: ranges lie within both, which have `n` elements in a row, and are disjoint.
            let (a, b) = unsafe { (a.get().add(r.start), b.get().add(r.start)) };
            kernel(a, b, r.len());
        });
    }
    let b = in_reading_order(b);
    let source = Source::<T>::new(&b, shape);
    let len = BLOCK / source.period() * source.period();
    split(n, len, estimate(n), |r| {
        let mut block = Block::<T>::new();
        // SAFETY: blocks stay within the operands, and ranges are disjoint.
        unsafe {
            source.prepare(&mut block, r.len());
            for start in r.clone().step_by(len) {
                let len = len.min(r.end - start);
                let y = source.block(&mut block, start, len);
                kernel(a.get().add(start), y, len);
            }
        }
    });
}

/// `a` where `cond` holds, else `b`; all three broadcast to `shape`.
pub(crate) fn select<W: Word>(cond: &Array, a: &Array, b: &Array, shape: &[usize]) -> Array {
    assert_eq!(a.dtype(), b.dtype());
    let (a, b) = (&*in_reading_order(a), &*in_reading_order(b));
    // SAFETY: blocks cover every element.
    unsafe {
        Array::build_words(shape, a.dtype(), |out: &mut [MaybeUninit<W>]| {
            let n = out.len();
            if n == 0 {
                return;
            }
            let out = SendPtr(out.as_mut_ptr().cast::<W>());
            let sources = (Source::<bool>::new(cond, shape), Source::<W>::new(a, shape), Source::<W>::new(b, shape));
            let sources = (sources.0.general(cond, shape), sources.1.general(a, shape), sources.2.general(b, shape));
            split(n, BLOCK, estimate(n), |r| {
                let mut blocks = (Block::new(), Block::new(), Block::new());
                sources.0.prepare(&mut blocks.0, r.len());
                sources.1.prepare(&mut blocks.1, r.len());
                sources.2.prepare(&mut blocks.2, r.len());
                for start in r.clone().step_by(BLOCK) {
                    let len = BLOCK.min(r.end - start);
                    let c = std::slice::from_raw_parts(sources.0.block(&mut blocks.0, start, len), len);
                    let x = std::slice::from_raw_parts(sources.1.block(&mut blocks.1, start, len), len);
                    let y = std::slice::from_raw_parts(sources.2.block(&mut blocks.2, start, len), len);
                    let out = std::slice::from_raw_parts_mut(out.get().add(start).cast::<MaybeUninit<W>>(), len);
                    vectorize_words::<W, _>(
                        #[inline(always)]
                        || {
                            for (((o, &c), &x), &y) in out.iter_mut().zip(c).zip(x).zip(y) {
                                // A plain `if` becomes a branch around the reads, and no vectors.
                                o.write(select_unpredictable(c, x, y));
                            }
                        },
                    );
                }
            });
        })
    }
}

impl<T: Word> Source<T> {
    /// The same source, without a period that does not divide a whole block.
    fn general(self, x: &Array, shape: &[usize]) -> Source<T> {
        match self {
            Source::Periodic(ptr, p) if !BLOCK.is_multiple_of(p) => {
                Source::Strided(ptr, collapse(shape, [&strides_in(x, shape)]))
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
