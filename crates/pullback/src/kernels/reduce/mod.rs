//! Reductions over any set of dimensions: sum, prod, max, min, any, all, argmax, argmin.
//!
//! A reduction is cut into pieces by its shape alone and joined in a fixed order, pairwise above blocks, so that
//! results do not depend on the number of threads.

mod arg;
mod columns;
mod monoid;
mod run;
mod short;

use smallvec::SmallVec;

pub(crate) use arg::{argmax, argmin};
pub(super) use columns::line;
use columns::{columns, worth_columns};
pub(crate) use monoid::{All, Any, Bounds, Max, Min, Monoid, Number, Prod, Squares, Sum, Widen, is_nan};
pub(super) use run::{Neighbours, Source, run};
use run::{Tower, strided_run};

use super::cast::cast;
use super::simd::vectorize_narrow;
use super::strided::{In, Loop, Nest, Out, Turn, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{DType, Element, dispatch};
use crate::shape::{Shape, contiguous_strides};

/// Elements from which a reduction to few results is cut into pieces.
const PIECE: usize = 1 << 15;

/// The sum over `dims` (ascending), which vanish; bools and integers are summed as `i64`.
pub(crate) fn sum(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "sum", all, T => Ok(reduce::<T, Sum>(x, dims)))
}

/// The sum of the squares of floats over `dims` (ascending), which vanish.
pub(crate) fn sum_of_squares(x: &Array, dims: &[usize]) -> Result<Array> {
    dispatch!(x.dtype(), "sum", float, T => Ok(reduce::<T, Squares>(x, dims)))
}

/// The product over `dims` (ascending), which vanish; bools and integers are multiplied as `i64`.
pub(crate) fn prod(x: &Array, dims: &[usize]) -> Result<Array> {
    let x = if x.dtype().is_float() { x } else { &cast(x, DType::I64) };
    dispatch!(x.dtype(), "prod", [I64, F32, F64], T => Ok(reduce::<T, Prod>(x, dims)))
}

/// The largest element over `dims` (ascending); NaN if there is one.
pub(crate) fn max(x: &Array, dims: &[usize]) -> Result<Array> {
    if x.dtype() == DType::Bool {
        return any(x, dims);
    }
    dispatch!(x.dtype(), "max", number, T => Ok(reduce::<T, Max>(x, dims)))
}

/// The smallest element over `dims` (ascending); NaN if there is one.
pub(crate) fn min(x: &Array, dims: &[usize]) -> Result<Array> {
    if x.dtype() == DType::Bool {
        return all(x, dims);
    }
    dispatch!(x.dtype(), "min", number, T => Ok(reduce::<T, Min>(x, dims)))
}

/// Whether any element over `dims` (ascending) is non-zero; NaN counts as non-zero.
pub(crate) fn any(x: &Array, dims: &[usize]) -> Result<Array> {
    // Elements of other dtypes become bools first, which is a loop that exists.
    Ok(reduce::<bool, Any>(&cast(x, DType::Bool), dims))
}

/// Whether all elements over `dims` (ascending) are non-zero; NaN counts as non-zero.
pub(crate) fn all(x: &Array, dims: &[usize]) -> Result<Array> {
    // Elements of other dtypes become bools first, which is a loop that exists.
    Ok(reduce::<bool, All>(&cast(x, DType::Bool), dims))
}

/// The loops of a reduction.
struct Plan<T> {
    x: In<T>,
    /// Over the results, in their order: the steps in the input and in the result.
    kept: Nest<2>,
    /// Over what is joined to one result, long steps outside.
    reduced: Nest<1>,
    results: usize,
    /// How many parts the outermost reduced loop is cut into, none of them empty; by shape alone.
    pieces: usize,
    nanos: usize,
}

impl<T: Element> Plan<T> {
    /// How many pieces suit the reduced loops: more than one if there are few results of many elements.
    fn pieces(reduced: &Nest<1>, results: usize) -> usize {
        let n = reduced.len();
        if results >= 64 || n < 2 * PIECE {
            return 1;
        }
        let size = reduced.loops[0].size;
        size.div_ceil(size.div_ceil(n.div_ceil(PIECE)))
    }

    /// The loops of piece `k`, and the offset at which they start.
    fn piece(&self, k: usize) -> (Nest<1>, isize) {
        let mut nest = self.reduced.clone();
        let Some(outer) = nest.loops.first_mut() else { return (nest, 0) };
        let per = outer.size.div_ceil(self.pieces);
        let start = k * per;
        outer.size = per.min(outer.size - start);
        let offset = start as isize * outer.steps[0];
        (nest, offset)
    }
}

/// The reduction of `x` over `dims` by `M`.
pub(crate) fn reduce<T: Element, M: Monoid<T>>(x: &Array, dims: &[usize]) -> Array {
    // The most common reduction of all, and often a small one: everything to a scalar.
    if dims.len() == x.rank()
        && x.numel() < 2 * PIECE
        && let Some(all) = x.as_slice::<T>()
    {
        let total = vectorize_narrow::<T, _>(
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

    let pieces = Plan::<T>::pieces(&reduced, results);
    let nanos = x.numel() * size_of::<T>() / 16 + results * 4;
    let plan = Plan { x: In::<T>::of(x), kept, reduced, results, pieces, nanos };
    let write = |out: Out<M::Acc>| {
        let inner_step = plan.reduced.loops.last().map_or(1, |l| l.steps[0]);
        let vector = plan.kept.loops.iter().position(|l| l.steps[0] == 1);
        match vector {
            Some(v) if inner_step != 1 && worth_columns(&plan.reduced, plan.kept.loops[v].size) => {
                columns::<T, M>(&plan, v, out);
            }
            _ => match short::row_len::<T, M>(&plan) {
                Some(n) => short::rows::<T, M>(&plan, n, out),
                None => rows::<T, M>(&plan, out),
            },
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

/// One result after the other, each from its own runs.
fn rows<T: Element, M: Monoid<T>>(plan: &Plan<T>, out: Out<M::Acc>) {
    let Plan { x, kept, results, pieces, .. } = plan;
    split(results * pieces, 1, plan.nanos, |range| {
        let mut start = range.start;
        while start < range.end {
            let piece = start / results;
            let end = range.end.min((piece + 1) * results);
            let (mut outer, base) = plan.piece(piece);
            let inner = outer.pop();
            let part = start - piece * results..end - piece * results;
            let (passes, outer) = (outer.len(), &outer.loops[..]);
            let out = out.plus(piece * results);
            vectorize_narrow::<T, _>(
                #[inline(always)]
                || {
                    // Copies, which the compiler need not read again after every write. Short runs take no longer than making
                    // the last two.
                    let (x, out, passes, inner, outer) = (x.plus(base), out, passes, inner, outer);
                    let (mut turn, mut tower) = (Turn::new(outer), Tower::new());
                    kept.walk(
                        part.clone(),
                        #[inline(always)]
                        |i, [at, _]| {
                            for pass in 1..=passes {
                                // SAFETY: the offsets are those of elements of `x`; result `i` of this piece is ours.
                                unsafe {
                                    let joined = strided_run::<T, M>(x.at(at + turn.at[0]), inner);
                                    if passes == 1 {
                                        *out.at(i) = joined;
                                        break;
                                    }
                                    tower.push(joined, M::join);
                                    turn.next(outer);
                                    if pass == passes {
                                        *out.at(i) = tower.finish(M::EMPTY, M::join);
                                    }
                                }
                            }
                        },
                    )
                },
            );
            start = end;
        }
    });
}

#[cfg(test)]
mod tests;
