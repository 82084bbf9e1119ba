//! Running sums along a dimension.

use std::mem::MaybeUninit;

use fearless_simd::{Simd, SimdBase};

use super::copy::contiguous;
use super::reduce::Number;
use super::simd::{vectorize_floats, wide};
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::{SendPtr, split};
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Shape, contiguous_strides};

/// What has running sums: of integers in `i64`, of floats in `f64`, because a running sum cannot be pairwise.
trait Summed: Element {
    type Acc: Number;
    type Out: Element;
    fn lift(self) -> Self::Acc;
    fn lower(sum: Self::Acc) -> Self::Out;

    /// Scans the beginning of a row in blocks, in a way of its own where there is one: how far it came, and the sum there.
    ///
    /// # Safety
    /// As for [`row`].
    unsafe fn blocks(_: *const Self, _: *mut Self::Out, _: Loop<2>, before: Self::Acc) -> (usize, Self::Acc) {
        (0, before)
    }
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Summed for $t {
            type Acc = i64;
            type Out = i64;
            #[inline(always)]
            fn lift(self) -> i64 { self as i64 }
            #[inline(always)]
            fn lower(sum: i64) -> i64 { sum }
        }
    )* };
}
integers!(bool, u8, i32, i64);

macro_rules! floats {
    ($($t:ty),*) => { $(
        impl Summed for $t {
            type Acc = f64;
            type Out = $t;
            #[inline(always)]
            fn lift(self) -> f64 { self as f64 }
            #[inline(always)]
            fn lower(sum: f64) -> $t { sum as $t }
            unsafe fn blocks(x: *const $t, out: *mut $t, along: Loop<2>, before: f64) -> (usize, f64) {
                // SAFETY: by the contract.
                wide!(simd => unsafe { blocks_of(simd, x, out, along, before) }, else (0, before))
            }
        }
    )* };
}
floats!(f32, f64);

/// The running sum along `dim`, from its end if `reverse`; bools and integers are summed as `i64`.
pub(crate) fn cumsum(x: &Array, dim: usize, reverse: bool) -> Result<Array> {
    dispatch!(x.dtype(), "cumsum", all, T => Ok(scan::<T>(x, dim, reverse)))
}

/// Columns that are scanned side by side.
const WIDTH: usize = 512;

/// Elements of a part of a row that threads share.
const PART: usize = 1 << 16;

/// The running sum of `x` along `dim`.
fn scan<T: Summed>(x: &Array, dim: usize, reverse: bool) -> Array {
    let strides = contiguous_strides(x.shape());
    let mut along = Loop { size: x.shape()[dim], steps: [x.strides()[dim], strides[dim]] };
    let others = Nest::over((0..x.rank()).filter(|&d| d != dim), x.shape(), [x.strides(), &strides]);
    let vector = others.loops.iter().position(|l| l.steps == [1, 1] && l.size >= 4);
    if along.steps[1] != 1 && vector.is_none() && !x.is_contiguous() {
        return scan::<T>(&contiguous(x), dim, reverse);
    }
    let from = In::<T>::of(x);
    let nanos = x.numel();
    let write = |out: Out<T::Out>| {
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
                            unsafe { columns(from.at(a), out.at(b as usize), w, along) };
                        });
                    }
                });
            }
            None if along.size >= 2 * PART => {
                others.walk(0..others.len(), |_, [a, b]| {
                    // SAFETY: a row of `x`, and that of the result is ours.
                    unsafe { long_row(from.at(a + start[0]), out.at((b + start[1]) as usize), along) };
                });
            }
            None => split(others.len(), 1, nanos, |range| {
                others.walk(range, |_, [a, b]| {
                    // SAFETY: as above.
                    unsafe { row(from.at(a + start[0]), out.at((b + start[1]) as usize), along, T::Acc::ZERO) };
                });
            }),
        }
    };
    // SAFETY: every row or column of the result is written.
    unsafe { output(Shape::from_slice(x.shape()), write) }
}

/// Scans a row in parts, which threads share: first the sums of all but the last, then each from the sum before it. The sums are
/// the same for any number of threads.
///
/// # Safety
/// As for [`row`].
unsafe fn long_row<T: Summed>(x: *const T, out: *mut T::Out, along: Loop<2>) {
    let (x, out) = (SendPtr(x.cast_mut()), SendPtr(out));
    let part = |p: usize| {
        let (first, end) = (p * PART, along.size.min((p + 1) * PART));
        let [from, to] = along.steps.map(|s| s * first as isize);
        let along = Loop { size: end - first, ..along };
        (x.get().cast_const().wrapping_offset(from), out.get().wrapping_offset(to), along)
    };
    let parts = along.size.div_ceil(PART);
    let mut before = vec![T::Acc::ZERO; parts];
    let sums = SendPtr(before.as_mut_ptr());
    split(parts - 1, 1, along.size / 4, |range| {
        for p in range {
            let (x, _, along) = part(p);
            // SAFETY: by the contract; each part has a sum of its own, that before the part after it.
            unsafe { *sums.get().add(p + 1) = total(x, along) };
        }
    });
    for p in 1..parts {
        before[p] = before[p - 1].plus(before[p]);
    }
    let before = &before[..];
    split(parts, 1, along.size, |range| {
        for p in range {
            let (x, out, along) = part(p);
            // SAFETY: by the contract; the parts are disjoint.
            unsafe { row(x, out, along, before[p]) };
        }
    });
}

/// Sums of neighbours that grow side by side.
const LANES: usize = 32;

/// The sum of a row.
///
/// # Safety
/// Every address on the way must be valid.
unsafe fn total<T: Summed>(x: *const T, along: Loop<2>) -> T::Acc {
    let mut sums = [T::Acc::ZERO; LANES];
    let whole = along.size / LANES * LANES;
    // SAFETY: by the contract.
    let get = |k: usize, step: isize| unsafe { (*x.wrapping_offset(k as isize * step)).lift() };
    let sum = |mut sums: [T::Acc; LANES], step: isize| {
        for k in (0..whole).step_by(LANES) {
            for (l, s) in sums.iter_mut().enumerate() {
                *s = s.plus(get(k + l, step));
            }
        }
        sums
    };
    sums = vectorize_floats::<T, _>(
        #[inline(always)]
        || match along.steps[0] {
            1 => sum(sums, 1),
            -1 => sum(sums, -1),
            step => sum(sums, step),
        },
    );
    let rest = (whole..along.size).map(|k| get(k, along.steps[0]));
    sums.into_iter().chain(rest).fold(T::Acc::ZERO, T::Acc::plus)
}

/// Scans one row, from the sum `before` it.
///
/// # Safety
/// Every address on the way must be valid.
unsafe fn row<T: Summed>(x: *const T, out: *mut T::Out, along: Loop<2>, before: T::Acc) {
    let [from, to] = along.steps;
    // SAFETY: by the contract.
    let (done, mut sum) = unsafe { T::blocks(x, out, along, before) };
    for k in done as isize..along.size as isize {
        // SAFETY: by the contract.
        unsafe {
            sum = sum.plus((*x.wrapping_offset(k * from)).lift());
            *out.wrapping_offset(k * to) = T::lower(sum);
        }
    }
}

/// Elements that are lifted, scanned and lowered in one go.
const BLOCK: usize = 64;

/// Scans the whole blocks of a row: each vector by itself in steps that double, then joined to what came before, which
/// is the only chain from one vector to the next.
///
/// # Safety
/// As for [`row`].
#[inline(always)]
unsafe fn blocks_of<S: Simd, T: Summed<Acc = f64>>(
    simd: S,
    x: *const T,
    out: *mut T::Out,
    along: Loop<2>,
    before: f64,
) -> (usize, f64) {
    let whole = along.size / BLOCK * BLOCK;
    let nothing = S::f64s::splat(simd, 0.0);
    let mut before = S::f64s::splat(simd, before);
    let mut block = [0.0; BLOCK];
    for start in (0..whole as isize).step_by(BLOCK) {
        // SAFETY: by the contract. The closures are copied for neighbours in both directions, whose steps are constants.
        let lift = |block: &mut [f64; BLOCK], step: isize| {
            for (l, v) in block.iter_mut().enumerate() {
                *v = unsafe { (*x.wrapping_offset((start + l as isize) * step)).lift() };
            }
        };
        let lower = |block: &[f64; BLOCK], step: isize| {
            for (l, &v) in block.iter().enumerate() {
                unsafe { *out.wrapping_offset((start + l as isize) * step) = T::lower(v) };
            }
        };
        match along.steps[0] {
            1 => lift(&mut block, 1),
            -1 => lift(&mut block, -1),
            step => lift(&mut block, step),
        }
        for part in block.chunks_exact_mut(S::f64s::LEN) {
            let mut v = S::f64s::from_slice(simd, part);
            // Joins to each element the one 1, 2 and 4 places before it.
            v = match S::f64s::LEN {
                2 => v + nothing.slide::<1>(v),
                4 => {
                    v = v + nothing.slide::<3>(v);
                    v + nothing.slide::<2>(v)
                }
                _ => {
                    v = v + nothing.slide::<7>(v);
                    v = v + nothing.slide::<6>(v);
                    v + nothing.slide::<4>(v)
                }
            };
            (before + v).store_slice(part);
            before += S::f64s::splat(simd, v.as_slice()[S::f64s::LEN - 1]);
        }
        match along.steps[1] {
            1 => lower(&block, 1),
            -1 => lower(&block, -1),
            step => lower(&block, step),
        }
    }
    (whole, before.as_slice()[0])
}

/// Scans `w` neighbouring columns.
///
/// # Safety
/// `w` elements must be valid at every step.
unsafe fn columns<T: Summed>(x: *const T, out: *mut T::Out, w: usize, along: Loop<2>) {
    let mut acc = [T::Acc::ZERO; WIDTH];
    vectorize_floats::<T, _>(
        #[inline(always)]
        || {
            for k in 0..along.size as isize {
                // SAFETY: by the contract.
                let (from, to) = unsafe {
                    (
                        std::slice::from_raw_parts(x.wrapping_offset(k * along.steps[0]), w),
                        std::slice::from_raw_parts_mut(
                            out.wrapping_offset(k * along.steps[1]).cast::<MaybeUninit<T::Out>>(),
                            w,
                        ),
                    )
                };
                for ((a, &v), o) in acc.iter_mut().zip(from).zip(to) {
                    *a = a.plus(v.lift());
                    o.write(T::lower(*a));
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::kernels::cast::cast;
    use crate::kernels::strided::testing::{at, indices, layouts, read};

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
        for shape in [&[1][..], &[0], &[9], &[3, 0, 2], &[4, 5], &[30, 3], &[2, 3, 4, 5], &[3, 40], &[3, 200]] {
            check::<f32>(shape);
            check::<f64>(shape);
            check::<i32>(shape);
            check::<bool>(shape);
            check::<u8>(shape);
        }
    }

    #[test]
    fn a_row_on_several_threads_has_the_sums_of_one() {
        for n in [2 * PART, 3 * PART + 70, 5 * PART - 1] {
            let values: Vec<i32> = (0..n).map(|k| (k * 7919 % 1000) as i32 - 500).collect();
            let x = Array::from_slice([n], &values);
            let mut sum = 0;
            let want: Vec<f64> = values
                .iter()
                .map(|&v| {
                    sum += v;
                    f64::from(sum)
                })
                .collect();
            for to in [DType::I32, DType::F32, DType::F64] {
                let x = cast(&x, to);
                assert!(read(&cumsum(&x, 0, false).unwrap()) == want, "{to}");
                let rest = want.iter().zip(&values).map(|(&s, &v)| f64::from(sum) - s + f64::from(v));
                assert!(read(&cumsum(&x, 0, true).unwrap()).into_iter().eq(rest), "{to} reversed");
            }
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
