//! Loop nests over the dimensions of several operands at once, and the address of an output that threads share.

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use crate::DType;
use crate::array::Array;
use crate::dtype::{Element, Word};
use crate::shape::Shape;

/// The address of an output of which threads write disjoint parts.
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Out<T> {}

// SAFETY: an address alone does nothing; every use of it is an `unsafe` block that claims a part for one thread.
unsafe impl<T: Send> Send for Out<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Out<T> {}

impl<T> Out<T> {
    pub(crate) fn new(ptr: *mut T) -> Out<T> {
        Out(ptr)
    }

    /// The address of element `k`.
    #[inline(always)]
    pub(crate) fn at(self, k: usize) -> *mut T {
        self.0.wrapping_add(k)
    }

    /// The output from element `k` on.
    #[inline(always)]
    pub(crate) fn plus(self, k: usize) -> Out<T> {
        Out(self.0.wrapping_add(k))
    }
}

/// The address of an input that threads share.
pub(crate) struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for In<T> {}

// SAFETY: reading shared elements is what `Sync` elements allow; nobody writes to an input.
unsafe impl<T: Sync> Send for In<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for In<T> {}

impl<T> In<T> {
    pub(crate) fn new(ptr: *const T) -> In<T> {
        In(ptr)
    }
}

impl<T: Element> In<T> {
    pub(crate) fn of(x: &Array) -> In<T> {
        In(x.as_ptr::<T>())
    }
}

impl<T: Word> In<T> {
    /// The elements of an array of any dtype as words of their size.
    pub(crate) fn words(x: &Array) -> In<T> {
        In(x.start::<T>())
    }

    /// The address `offset` elements further on.
    #[inline(always)]
    pub(crate) fn at(self, offset: isize) -> *const T {
        self.0.wrapping_offset(offset)
    }

    /// The input from `offset` elements further on.
    #[inline(always)]
    pub(crate) fn plus(self, offset: isize) -> In<T> {
        In(self.0.wrapping_offset(offset))
    }
}

/// A fresh contiguous array whose elements `fill` writes, all of them, through their address.
///
/// # Safety
/// `fill` must initialise every element.
pub(crate) unsafe fn output<T: Element>(shape: Shape, fill: impl FnOnce(Out<T>)) -> Array {
    // SAFETY: by the contract of this function.
    unsafe { Array::build(shape, |out: &mut [MaybeUninit<T>]| fill(Out::new(out.as_mut_ptr().cast()))) }
}

/// [`output`] of any dtype, written as words of the size of its elements.
///
/// # Safety
/// `fill` must initialise every element.
pub(crate) unsafe fn output_words<W: Word>(shape: Shape, dtype: DType, fill: impl FnOnce(Out<W>)) -> Array {
    // SAFETY: by the contract of this function.
    unsafe { Array::build_words(shape, dtype, |out: &mut [MaybeUninit<W>]| fill(Out::new(out.as_mut_ptr().cast()))) }
}

/// One loop: how often, and the step of each operand, in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Loop<const N: usize> {
    pub(crate) size: usize,
    pub(crate) steps: [isize; N],
}

/// Loops inside each other, outermost first, with the step of `N` operands for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nest<const N: usize> {
    pub(crate) loops: SmallVec<[Loop<N>; 4]>,
}

impl<const N: usize> Nest<N> {
    /// The nest of the given loops: single passes are dropped, neighbours that act as one loop are merged.
    pub(crate) fn new(loops: impl IntoIterator<Item = Loop<N>>) -> Nest<N> {
        let mut nest = Nest { loops: SmallVec::new() };
        for l in loops {
            if l.size == 1 {
                continue;
            }
            match nest.loops.last_mut() {
                Some(o) if (0..N).all(|k| o.steps[k] == l.steps[k] * l.size as isize) => {
                    *o = Loop { size: o.size * l.size, steps: l.steps };
                }
                _ => nest.loops.push(l),
            }
        }
        nest
    }

    /// The loops over `dims` of operands with these strides.
    pub(crate) fn over(dims: impl IntoIterator<Item = usize>, shape: &[usize], strides: [&[isize]; N]) -> Nest<N> {
        Nest::new(dims.into_iter().map(|d| Loop { size: shape[d], steps: std::array::from_fn(|k| strides[k][d]) }))
    }

    /// How often the body of the innermost loop runs.
    pub(crate) fn len(&self) -> usize {
        self.loops.iter().map(|l| l.size).product()
    }

    /// Takes out the innermost loop; without any, a single pass.
    pub(crate) fn pop(&mut self) -> Loop<N> {
        self.loops.pop().unwrap_or(Loop { size: 1, steps: [0; N] })
    }

    /// Calls `f` with the number of each pass in `range` and the offsets of the operands in it.
    #[inline(always)]
    pub(crate) fn walk(&self, range: std::ops::Range<usize>, mut f: impl FnMut(usize, [isize; N])) {
        if range.is_empty() {
            return;
        }
        // The innermost loop runs by itself, without the counters of the others.
        let (inner, outer) = match self.loops.split_last() {
            Some((inner, outer)) => (*inner, outer),
            None => (Loop { size: 1, steps: [0; N] }, &[][..]),
        };
        let mut turn = Turn::new(outer);
        let mut k = 0;
        if range.start > 0 {
            k = range.start % inner.size;
            turn.skip(outer, range.start / inner.size);
        }
        let mut at = turn.at;
        step(&mut at, inner.steps, k as isize);
        let mut i = range.start;
        loop {
            let end = range.end.min(i + (inner.size - k));
            while i < end {
                f(i, at);
                step(&mut at, inner.steps, 1);
                i += 1;
            }
            if i == range.end {
                return;
            }
            turn.next(outer);
            (at, k) = (turn.at, 0);
        }
    }
}

/// A place in loops inside each other: the offsets there.
pub(crate) struct Turn<const N: usize> {
    counters: SmallVec<[usize; 8]>,
    pub(crate) at: [isize; N],
}

impl<const N: usize> Turn<N> {
    /// The first place.
    #[inline(always)]
    pub(crate) fn new(loops: &[Loop<N>]) -> Turn<N> {
        Turn { counters: SmallVec::from_elem(0, loops.len()), at: [0; N] }
    }

    /// From the first place to the one with a number.
    #[inline(always)]
    fn skip(&mut self, loops: &[Loop<N>], mut number: usize) {
        for (c, l) in self.counters.iter_mut().zip(loops).rev() {
            *c = number % l.size;
            number /= l.size;
            step(&mut self.at, l.steps, *c as isize);
        }
    }

    /// To the next place, and from the last one to the first.
    #[inline(always)]
    pub(crate) fn next(&mut self, loops: &[Loop<N>]) {
        for (c, l) in self.counters.iter_mut().zip(loops).rev() {
            *c += 1;
            step(&mut self.at, l.steps, 1);
            if *c < l.size {
                break;
            }
            *c = 0;
            step(&mut self.at, l.steps, -(l.size as isize));
        }
    }
}

/// Moves offsets by a number of steps.
#[inline(always)]
fn step<const N: usize>(at: &mut [isize; N], steps: [isize; N], count: isize) {
    for (at, step) in at.iter_mut().zip(steps) {
        *at += step * count;
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Inputs in every kind of layout, and slow reading, for the tests of the kernels.

    use super::*;
    use crate::dtype::dispatch;

    /// Numbers in [-1, 1), always the same.
    pub(crate) fn samples(n: usize) -> Vec<f64> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn fresh<T: Element>(shape: &[usize]) -> Array {
        // Small integers, so that there are ties; floats get a fraction as well.
        let shift = if T::DTYPE == crate::DType::U8 { 5.0 } else { 0.0 };
        let value = |v: f64| if T::DTYPE.is_float() && v > 0.0 { v } else { (5.0 * v + shift).trunc() };
        let data: Vec<T> = samples(shape.iter().product()).into_iter().map(|v| T::from_f64(value(v))).collect();
        Array::from_slice(Shape::from_slice(shape), &data)
    }

    /// Arrays of this shape: contiguous, transposed, with gaps, backwards, and broadcast along each dimension.
    pub(crate) fn layouts<T: Element>(shape: &[usize]) -> Vec<Array> {
        let rank = shape.len();
        let mut out = vec![fresh::<T>(shape)];
        if rank == 0 {
            return out;
        }
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        let order: Vec<usize> = (0..rank).rev().collect();
        out.push(fresh::<T>(&reversed).permute(&order));
        let double: Vec<usize> = shape.iter().map(|&n| 2 * n + 1).collect();
        let mut gaps = fresh::<T>(&double);
        let mut back = gaps.clone();
        for (d, &n) in shape.iter().enumerate() {
            gaps = gaps.slice(d, 1, n, 2);
            back = back.slice(d, n.saturating_sub(1), n, -1);
        }
        out.extend([gaps, back]);
        for d in 0..rank {
            let mut narrow = shape.to_vec();
            narrow[d] = 1;
            out.push(fresh::<T>(&narrow).expand(shape));
        }
        out
    }

    /// Every index of an array of this shape, in row-major order.
    pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
        shape.iter().fold(vec![Vec::new()], |all, &n| {
            all.iter().flat_map(|index| (0..n).map(move |k| [&index[..], &[k]].concat())).collect()
        })
    }

    /// The element at `index`.
    pub(crate) fn at(x: &Array, index: &[usize]) -> f64 {
        let offset = index.iter().zip(x.strides()).map(|(&i, &s)| i as isize * s).sum::<isize>();
        // SAFETY: `index` lies inside the shape.
        dispatch!(x.dtype(), "test", all, T => Ok(unsafe { *x.as_ptr::<T>().offset(offset) }.to_f64())).unwrap()
    }

    /// All elements in row-major order.
    pub(crate) fn read(x: &Array) -> Vec<f64> {
        indices(x.shape()).iter().map(|index| at(x, index)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_loops_merge_and_single_passes_vanish() {
        let nest = Nest::over(0..4, &[2, 1, 3, 4], [&[12, 99, 4, 1], &[24, 7, 8, 2]]);
        assert_eq!(nest.loops.as_slice(), [Loop { size: 24, steps: [1, 2] }]);
    }

    #[test]
    fn a_walk_over_a_part_continues_where_the_part_before_it_ended() {
        let nest = Nest::over(0..2, &[3, 4], [&[1, 10]]);
        let mut all = Vec::new();
        for range in [0..5, 5..6, 6..12] {
            nest.walk(range, |i, [at]| all.push((i, at)));
        }
        let expected: Vec<_> = (0..12).map(|i| (i, (i / 4 + 10 * (i % 4)) as isize)).collect();
        assert_eq!(all, expected);
    }
}
