//! Running reductions along a dimension.

use std::mem::MaybeUninit;

use super::copy::contiguous;
use super::reduce::Number;
use super::simd::vectorize_floats;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Shape, contiguous_strides};

/// A running reduction: how elements enter, are joined, and leave again.
pub(crate) trait Running<T>: 'static {
    type Acc: Copy + Send + Sync;
    type Out: Element;
    const EMPTY: Self::Acc;
    fn lift(x: T) -> Self::Acc;
    fn join(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn lower(a: Self::Acc) -> Self::Out;
}

/// A running sum: of integers in `i64`, of floats in `f64`, because a running sum cannot be pairwise.
struct CumSum;

macro_rules! cumsum {
    ($($t:ty => $acc:ty => $out:ty),*) => { $(
        impl Running<$t> for CumSum {
            type Acc = $acc;
            type Out = $out;
            const EMPTY: $acc = 0 as $acc;
            #[inline(always)]
            fn lift(x: $t) -> $acc { x as $acc }
            #[inline(always)]
            fn join(a: $acc, b: $acc) -> $acc { a.plus(b) }
            #[inline(always)]
            fn lower(a: $acc) -> $out { a as $out }
        }
    )* };
}
cumsum!(bool => i64 => i64, u8 => i64 => i64, i32 => i64 => i64, i64 => i64 => i64, f32 => f64 => f32, f64 => f64 => f64);

/// The running sum along `dim`, from its end if `reverse`; bools and integers are summed as `i64`.
pub(crate) fn cumsum(x: &Array, dim: usize, reverse: bool) -> Result<Array> {
    dispatch!(x.dtype(), "cumsum", all, T => Ok(scan::<T, CumSum>(x, dim, reverse)))
}

/// Columns that are scanned side by side.
const WIDTH: usize = 512;

/// The running reduction of `x` along `dim`.
pub(crate) fn scan<T: Element, R: Running<T>>(x: &Array, dim: usize, reverse: bool) -> Array {
    let strides = contiguous_strides(x.shape());
    let mut along = Loop { size: x.shape()[dim], steps: [x.strides()[dim], strides[dim]] };
    let others = Nest::over((0..x.rank()).filter(|&d| d != dim), x.shape(), [x.strides(), &strides]);
    let vector = others.loops.iter().position(|l| l.steps == [1, 1] && l.size >= 4);
    if along.steps[1] != 1 && vector.is_none() && !x.is_contiguous() {
        return scan::<T, R>(&contiguous(x), dim, reverse);
    }
    let from = In::<T>::of(x);
    let nanos = x.numel();
    let write = |out: Out<R::Out>| {
        if x.numel() == 0 {
            return;
        }
        // A reversed scan starts at the other end and steps backwards.
        let last = along.size as isize - 1;
        let start = if reverse { [last * along.steps[0], last * along.steps[1]] } else { [0; 2] };
        if reverse {
            along.steps = along.steps.map(|s| -s);
        }
        match vector {
            Some(v) => {
                let mut outer = others.clone();
                let width = outer.loops.remove(v).size;
                let chunks = width.div_ceil(WIDTH);
                split(outer.len() * chunks, 1, nanos, |range| {
                    for unit in range {
                        let (group, first) = (unit / chunks, unit % chunks * WIDTH);
                        let w = WIDTH.min(width - first);
                        outer.walk(group..group + 1, |_, [a, b]| {
                            let (a, b) = (a + start[0] + first as isize, b + start[1] + first as isize);
                            // SAFETY: `w` columns of `x` from here on, and those of the result are ours.
                            unsafe { columns::<T, R>(from.at(a), out.at(b as usize), w, along) };
                        });
                    }
                });
            }
            None => split(others.len(), 1, nanos, |range| {
                vectorize_floats::<T, _>(
                    #[inline(always)]
                    || {
                        others.walk(
                            range.clone(),
                            #[inline(always)]
                            // SAFETY: a row of `x`, and that of the result is ours.
                            |_, [a, b]| unsafe {
                                let (from, to) = (from.at(a + start[0]), out.at((b + start[1]) as usize));
                                if along.steps == [1, 1] {
                                    row::<T, R>(from, to, Loop { size: along.size, steps: [1, 1] });
                                } else {
                                    row::<T, R>(from, to, along);
                                }
                            },
                        );
                    },
                );
            }),
        }
    };
    // SAFETY: every row or column of the result is written.
    unsafe { output(Shape::from_slice(x.shape()), write) }
}

/// Elements of a row that are scanned at once.
const LANES: usize = 8;

/// Scans one row: eight elements by themselves in three steps, then all are joined to what came before, which is the
/// only chain from one eight to the next.
///
/// # Safety
/// Every address on the way must be valid.
#[inline(always)]
unsafe fn row<T: Element, R: Running<T>>(x: *const T, out: *mut R::Out, along: Loop<2>) {
    let [from, to] = along.steps;
    let mut before = R::EMPTY;
    let mut k = 0;
    while k + LANES <= along.size {
        let mut v = [R::EMPTY; LANES];
        for (l, v) in v.iter_mut().enumerate() {
            // SAFETY: by the contract.
            *v = R::lift(unsafe { *x.wrapping_offset((k + l) as isize * from) });
        }
        v = spread::<T, R, 4>(spread::<T, R, 2>(spread::<T, R, 1>(v)));
        for (l, v) in v.into_iter().enumerate() {
            // SAFETY: by the contract.
            unsafe { *out.wrapping_offset((k + l) as isize * to) = R::lower(R::join(before, v)) };
        }
        before = R::join(before, v[LANES - 1]);
        k += LANES;
    }
    while k < along.size {
        // SAFETY: by the contract.
        unsafe {
            before = R::join(before, R::lift(*x.wrapping_offset(k as isize * from)));
            *out.wrapping_offset(k as isize * to) = R::lower(before);
        }
        k += 1;
    }
}

/// Joins to each element the one `BY` places before it.
#[inline(always)]
fn spread<T, R: Running<T>, const BY: usize>(v: [R::Acc; LANES]) -> [R::Acc; LANES] {
    let mut out = v;
    for l in BY..LANES {
        out[l] = R::join(v[l - BY], v[l]);
    }
    out
}

/// Scans `w` neighbouring columns.
///
/// # Safety
/// `w` elements must be valid at every step.
unsafe fn columns<T: Element, R: Running<T>>(x: *const T, out: *mut R::Out, w: usize, along: Loop<2>) {
    let mut acc = [R::EMPTY; WIDTH];
    vectorize_floats::<T, _>(
        #[inline(always)]
        || {
            for k in 0..along.size as isize {
                // SAFETY: by the contract.
                let (from, to) = unsafe {
                    (
                        std::slice::from_raw_parts(x.wrapping_offset(k * along.steps[0]), w),
                        std::slice::from_raw_parts_mut(
                            out.wrapping_offset(k * along.steps[1]).cast::<MaybeUninit<R::Out>>(),
                            w,
                        ),
                    )
                };
                for ((a, &v), o) in acc.iter_mut().zip(from).zip(to) {
                    *a = R::join(*a, R::lift(v));
                    o.write(R::lower(*a));
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::kernels::strided::testing::{at, indices, layouts};

    fn check<T: Element>(shape: &[usize]) {
        for x in layouts::<T>(shape) {
            for dim in 0..shape.len() {
                for reverse in [false, true] {
                    let got = cumsum(&x, dim, reverse).unwrap();
                    assert_eq!(got.shape(), shape);
                    assert_eq!(got.dtype(), if T::DTYPE.is_float() { T::DTYPE } else { DType::I64 });
                    for index in indices(shape) {
                        let range = if reverse { index[dim]..shape[dim] } else { 0..index[dim] + 1 };
                        let e: f64 = range
                            .map(|k| {
                                let mut index = index.clone();
                                index[dim] = k;
                                at(&x, &index)
                            })
                            .sum();
                        let g = at(&got, &index);
                        assert!((g - e).abs() <= 1e-6 * (1.0 + e.abs()), "{} dim {dim} {index:?}: {g} {e}", x.ty());
                    }
                }
            }
        }
    }

    #[test]
    fn running_sums_agree_with_loops() {
        for shape in [&[1][..], &[0], &[9], &[3, 0, 2], &[4, 5], &[30, 3], &[2, 3, 4, 5], &[3, 40]] {
            check::<f32>(shape);
            check::<f64>(shape);
            check::<i32>(shape);
            check::<bool>(shape);
            check::<u8>(shape);
        }
    }

    #[test]
    fn a_long_running_sum_of_f32_is_accurate() {
        let x = Array::full(Shape::from_slice(&[1 << 20]), 0.1f32);
        let got = cumsum(&x, 0, false).unwrap();
        let (g, e) = (at(&got, &[(1 << 20) - 1]), 0.1f32 as f64 * (1 << 20) as f64);
        assert!((g - e).abs() <= 1e-7 * e);
    }
}
