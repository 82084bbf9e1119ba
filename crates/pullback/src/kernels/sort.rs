//! Sorting along a dimension, and the largest or smallest few.
//!
//! Elements become unsigned keys whose order is the one wanted, with the position appended: no two keys are equal,
//! so that any sort of them is stable and any selection is the one that a stable sort makes. NaN is above all.

use super::copy::contiguous;
use super::elements::pick;
use super::reduce::is_nan;
use super::simd::vectorize_floats;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Shape, contiguous_strides};

/// An element as an unsigned number of the same order.
pub(crate) trait Key: Element {
    type Order: Copy + Ord;
    type Packed: Packed<Order = Self::Order>;
    fn order(self, descending: bool) -> Self::Order;
    fn pack(self, descending: bool, position: usize) -> Self::Packed;
}

/// A key with the position of its element below it.
pub(crate) trait Packed: Copy + Ord + Send + Sync {
    type Order;
    fn order(self) -> Self::Order;
    fn position(self) -> usize;
}

impl Packed for u64 {
    type Order = u32;
    #[inline(always)]
    fn order(self) -> u32 {
        (self >> 32) as u32
    }
    #[inline(always)]
    fn position(self) -> usize {
        (self & 0xffff_ffff) as usize
    }
}

impl Packed for (u64, u32) {
    type Order = u64;
    #[inline(always)]
    fn order(self) -> u64 {
        self.0
    }
    #[inline(always)]
    fn position(self) -> usize {
        self.1 as usize
    }
}

macro_rules! key {
    ($order:ty, $packed:ty, $pack:expr; $($t:ty => $key:expr),*) => { $(
        impl Key for $t {
            type Order = $order;
            type Packed = $packed;
            #[inline(always)]
            fn order(self, descending: bool) -> $order {
                let key: $order = $key(self);
                if descending { !key } else { key }
            }
            #[inline(always)]
            fn pack(self, descending: bool, position: usize) -> $packed {
                $pack(self.order(descending), position)
            }
        }
    )* };
}

key!(u32, u64, |key: u32, position: usize| u64::from(key) << 32 | position as u64; bool => u32::from, u8 => u32::from, i32 => |x: i32| x as u32 ^ 1 << 31, f32 => |x: f32| {
    // Zeros of both signs are equal, and so are all NaNs; negative floats are ordered backwards by their bits.
    let bits = (x + 0.0).to_bits();
    if is_nan(x) { u32::MAX } else { bits ^ ((bits as i32 >> 31) as u32 | 1 << 31) }
});
key!(u64, (u64, u32), |key: u64, position: usize| (key, position as u32); i64 => |x: i64| x as u64 ^ 1 << 63, f64 => |x: f64| {
    let bits = (x + 0.0).to_bits();
    if is_nan(x) { u64::MAX } else { bits ^ ((bits as i64 >> 63) as u64 | 1 << 63) }
});

/// The elements in order along `dim`, equal ones as they came, and where they were, as `i64`. NaN is the largest.
pub(crate) fn sort(x: &Array, dim: usize, descending: bool) -> Result<(Array, Array)> {
    dispatch!(x.dtype(), "sort", all, T => Ok(ordered::<T>(x, dim, descending, x.shape()[dim], true)))
}

/// Where along `dim` the elements of the sorted array are, as `i64`.
pub(crate) fn argsort(x: &Array, dim: usize, descending: bool) -> Result<Array> {
    Ok(sort(x, dim, descending)?.1)
}

/// The `k` largest or smallest elements along `dim`, of equal ones the first, and where they were, as `i64`.
///
/// They come as a sort would give them, or in the order in which they were if not `sorted`. NaN is the largest.
pub(crate) fn topk(x: &Array, k: usize, dim: usize, largest: bool, sorted: bool) -> Result<(Array, Array)> {
    debug_assert!(k <= x.shape()[dim]);
    dispatch!(x.dtype(), "topk", all, T => Ok(ordered::<T>(x, dim, largest, k, sorted)))
}

/// How many keys are collected before all but the smallest are dropped, if few of a row are wanted. It is all of them
/// otherwise.
fn room(k: usize, size: usize) -> usize {
    let room = (4 * k).max(256);
    if room < size { room } else { size }
}

/// Elements that are looked at together.
const BLOCK: usize = 64;

/// Collects keys of a row of which the `k` smallest are wanted: once there are `room`, those that cannot be among them are
/// dropped, and later ones are only taken if they can.
fn collect<T: Key>(keys: &mut Vec<T::Packed>, row: &[T], descending: bool, k: usize, room: usize) {
    let mut limit = None;
    for (b, block) in row.chunks(BLOCK).enumerate() {
        if limit.is_some_and(|limit| !any_before(block, descending, limit)) {
            continue;
        }
        for (i, &x) in block.iter().enumerate() {
            // Of equal elements the first are wanted, so a later one is none.
            if limit.is_none_or(|limit| x.order(descending) < limit) {
                keys.push(x.pack(descending, b * BLOCK + i));
                if keys.len() == room {
                    arrange(keys, k, None);
                    limit = keys.last().map(|key| key.order());
                }
            }
        }
    }
}

/// Whether any element comes before a limit.
fn any_before<T: Key>(block: &[T], descending: bool, limit: T::Order) -> bool {
    vectorize_floats::<T, _>(
        #[inline(always)]
        || block.iter().fold(false, |any, x| any | (x.order(descending) < limit)),
    )
}

/// Keeps the `k` smallest keys, in order or as they came; with neither, the largest of them is the last. For keys instead of elements, so that few copies of the sort exist.
#[inline(never)]
fn arrange<P: Packed>(keys: &mut Vec<P>, k: usize, sorted: Option<bool>) {
    if k < keys.len() {
        keys.select_nth_unstable(k - 1);
        keys.truncate(k);
    }
    match sorted {
        Some(true) => keys.sort_unstable(),
        Some(false) => keys.sort_unstable_by_key(|key| key.position()),
        None => {}
    }
}

/// The same array with neighbours along `dim` side by side: reading each of them from another cache line takes longer than
/// the copy.
fn along_memory(x: &Array, dim: usize) -> Array {
    let mut order: Vec<usize> = (0..x.rank()).filter(|&d| d != dim).collect();
    order.push(dim);
    let mut back: Vec<usize> = (0..x.rank() - 1).collect();
    back.insert(dim, x.rank() - 1);
    contiguous(&x.permute(&order)).permute(&back)
}

fn ordered<T: Key>(x: &Array, dim: usize, descending: bool, k: usize, sorted: bool) -> (Array, Array) {
    let laid = (x.strides()[dim] != 1 && x.shape()[dim] >= 16).then(|| along_memory(x, dim));
    let x = laid.as_ref().unwrap_or(x);
    let mut shape = Shape::from_slice(x.shape());
    shape[dim] = k;
    let strides = contiguous_strides(&shape);
    let along = Loop { size: x.shape()[dim], steps: [x.strides()[dim], strides[dim]] };
    assert!(along.size <= u32::MAX as usize, "a dim to sort has more than 2^32 - 1 elements");
    let rows = Nest::over((0..x.rank()).filter(|&d| d != dim), x.shape(), [x.strides(), &strides]);
    let from = In::<T>::of(x);
    let nanos = x.numel() * (along.size.max(2).ilog2() as usize + 4);
    let write = |places: Out<i64>| {
        split(if k == 0 { 0 } else { rows.len() }, 1, nanos, |range| {
            let room = room(k, along.size);
            let mut keys: Vec<T::Packed> = Vec::with_capacity(room);
            rows.walk(range, |_, [a, b]| {
                keys.clear();
                // SAFETY: the row lies inside `x`.
                let at = |p: usize| unsafe { *from.at(a + p as isize * along.steps[0]) };
                if room < along.size {
                    debug_assert_eq!(along.steps[0], 1, "a long row has been laid side by side");
                    // SAFETY: as above.
                    let row = unsafe { std::slice::from_raw_parts(from.at(a), along.size) };
                    collect(&mut keys, row, descending, k, room);
                } else {
                    keys.extend((0..along.size).map(|p| at(p).pack(descending, p)));
                }
                arrange(&mut keys, k, Some(sorted));
                for (q, &key) in keys.iter().enumerate() {
                    // SAFETY: the row of the result is ours.
                    unsafe { *places.at(b as usize + q * along.steps[1] as usize) = key.position() as i64 };
                }
            });
        });
    };
    // SAFETY: every row of the result is written.
    let places = unsafe { output(shape, write) };
    let values = pick::<T>(x, dim, &places).expect("they are places along the dim");
    (values, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts, read, samples};

    /// The order of `f64::total_cmp`, but for zeros and NaNs of either sign, which are equal.
    fn compare(a: f64, b: f64) -> std::cmp::Ordering {
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    fn check<T: Element>(x: &Array) {
        for dim in 0..x.rank() {
            for descending in [false, true] {
                let (values, places) = sort(x, dim, descending).unwrap();
                assert_eq!(values.dtype(), T::DTYPE);
                let mut outer = x.shape().to_vec();
                let n = std::mem::replace(&mut outer[dim], 1);
                for index in indices(&outer) {
                    let at = |x: &Array, k: usize| {
                        let mut index = index.clone();
                        index[dim] = k;
                        at(x, &index)
                    };
                    let mut order: Vec<usize> = (0..n).collect();
                    order.sort_by(|&i, &j| {
                        let c = compare(at(x, i), at(x, j));
                        if descending { c.reverse() } else { c }
                    });
                    for (q, &p) in order.iter().enumerate() {
                        assert_eq!(at(&places, q), p as f64, "{} dim {dim}", x.ty());
                        assert_eq!(at(&values, q).to_bits(), at(x, p).to_bits());
                    }
                    for k in [0, 1, n / 2, n].into_iter().filter(|&k| k <= n) {
                        let (_, top) = topk(x, k, dim, descending, true).unwrap();
                        assert_eq!((0..k).map(|q| at(&top, q) as usize).collect::<Vec<_>>(), order[..k]);
                        let (_, top) = topk(x, k, dim, descending, false).unwrap();
                        let mut few = order[..k].to_vec();
                        few.sort();
                        assert_eq!((0..k).map(|q| at(&top, q) as usize).collect::<Vec<_>>(), few);
                    }
                }
            }
        }
    }

    #[test]
    fn sorting_is_stable_in_both_directions_for_every_layout_and_dtype() {
        for shape in [&[1][..], &[0], &[40], &[7, 9], &[3, 0], &[2, 3, 30]] {
            for x in layouts::<f32>(shape) {
                check::<f32>(&x);
            }
            layouts::<f64>(shape).iter().for_each(check::<f64>);
            layouts::<i32>(shape).iter().for_each(check::<i32>);
            layouts::<i64>(shape).iter().for_each(check::<i64>);
            layouts::<u8>(shape).iter().for_each(check::<u8>);
            layouts::<bool>(shape).iter().for_each(check::<bool>);
        }
    }

    #[test]
    fn nan_is_the_largest_and_zeros_are_equal() {
        let row = [f32::NAN, 0.0, -0.0, f32::INFINITY, -f32::NAN, f32::NEG_INFINITY, -1e-40, 1e-40, 0.0];
        let x = Array::from_slice(Shape::from_slice(&[row.len()]), &row);
        check::<f32>(&x);
        assert_eq!(read(&argsort(&x, 0, false).unwrap()), [5.0, 6.0, 1.0, 2.0, 8.0, 7.0, 3.0, 0.0, 4.0]);
        assert_eq!(read(&argsort(&x, 0, true).unwrap()), [0.0, 4.0, 3.0, 7.0, 1.0, 2.0, 8.0, 6.0, 5.0]);
        let row = row.map(f64::from);
        check::<f64>(&Array::from_slice(Shape::from_slice(&[row.len()]), &row));
        let ends = [i64::MAX, i64::MIN, 0, -1, i64::MAX - 1];
        let x = Array::from_slice(Shape::from_slice(&[5]), &ends);
        assert_eq!(read(&argsort(&x, 0, false).unwrap()), [1.0, 3.0, 2.0, 4.0, 0.0]);
    }

    #[test]
    fn a_long_row_is_in_order() {
        let data: Vec<f32> = samples(100_000).iter().map(|&v| v as f32).collect();
        let (values, _) = sort(&Array::from_slice(Shape::from_slice(&[data.len()]), &data), 0, false).unwrap();
        assert!(read(&values).is_sorted());
    }

    #[test]
    fn few_of_a_long_row_are_those_that_a_sort_puts_first() {
        let n = 5000;
        let ties: Vec<i64> = (0..n).map(|k| k * 7919 % 40 - k / 4000).collect();
        let data: Vec<f32> = samples(n as usize).iter().map(|&v| v as f32).collect();
        for x in [Array::from_slice([n as usize], &ties), Array::from_slice([n as usize], &data)] {
            for descending in [false, true] {
                let order = read(&argsort(&x, 0, descending).unwrap());
                for k in [0, 1, 2, 63, 64, 65, 300, 1249, 1250, 1251, 4999, 5000] {
                    let (values, places) = topk(&x, k, 0, descending, true).unwrap();
                    assert_eq!((read(&places), values.numel()), (order[..k].to_vec(), k));
                    let mut few = order[..k].to_vec();
                    few.sort_by(f64::total_cmp);
                    assert_eq!(read(&topk(&x, k, 0, descending, false).unwrap().1), few);
                }
            }
        }
    }
}
