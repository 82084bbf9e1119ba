//! Writing into a rectangular part of an array.

use std::mem::MaybeUninit;

use super::cast::full;
use super::copy::{copy_into, copy_into_strided};
use crate::array::{Array, Cut};
use crate::dtype::{Scalar, Word, any_word};
use crate::shape::{Strides, contiguous_strides};

/// Zeros of `shape` with the elements of `x` at the places that `cuts` select.
pub(crate) fn place(x: &Array, shape: &[usize], cuts: &[Cut]) -> Array {
    let mut out = full(shape, Scalar::Int(0), x.dtype());
    let written = replace_in_place(&mut out, x, cuts);
    debug_assert!(written, "a fresh array is contiguous and has one owner");
    out
}

/// A copy of `x` with the elements that `cuts` select replaced by those of `value`.
pub(crate) fn replace(x: &Array, value: &Array, cuts: &[Cut]) -> Array {
    assert_eq!(value.dtype(), x.dtype());
    any_word!(x.dtype(), W => {
        // SAFETY: `copy_into` writes every element.
        unsafe {
            Array::build_words::<W>(x.to_shape(), x.dtype(), |out| {
                copy_into(x, out);
                write(out, x.shape(), value, cuts);
            })
        }
    })
}

/// Replaces the elements of `x` that `cuts` select by those of `value`. False, and nothing done, if `x` is not
/// contiguous or not the only owner.
pub(crate) fn replace_in_place(x: &mut Array, value: &Array, cuts: &[Cut]) -> bool {
    let shape = x.to_shape();
    assert_eq!(value.dtype(), x.dtype());
    any_word!(x.dtype(), W => {
        let Some(data) = x.as_mut_words::<W>() else { return false };
        // SAFETY: what is written stays initialised.
        write::<W>(unsafe { &mut *(std::ptr::from_mut(data) as *mut [MaybeUninit<W>]) }, &shape, value, cuts);
    });
    true
}

/// Writes `value` to the places that `cuts` select of the row-major elements `out` of `shape`.
fn write<W: Word>(out: &mut [MaybeUninit<W>], shape: &[usize], value: &Array, cuts: &[Cut]) {
    assert!(cuts.iter().filter(|c| c.keep).map(|c| c.len).eq(value.shape().iter().copied()));
    if value.numel() == 0 {
        return;
    }
    let (mut first, mut strides) = (0, Strides::new());
    for (cut, stride) in cuts.iter().zip(contiguous_strides(shape)) {
        first += cut.start * stride as usize;
        if cut.keep {
            strides.push(stride * cut.step);
        }
    }
    let start = out.as_mut_ptr().cast::<W>().wrapping_add(first);
    // SAFETY: cuts lie inside their dimensions, so every place is inside `out` and no two coincide. `out` is borrowed
    // for writing, so it is no part of `value`.
    unsafe { copy_into_strided::<W>(value, start, &strides) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::Shape;

    fn iota(shape: &[usize]) -> Array {
        let data: Vec<i32> = (0..shape.iter().product::<usize>() as i32).collect();
        Array::from_slice(Shape::from_slice(shape), &data)
    }

    #[test]
    fn regions_are_written_where_they_are_read() {
        let cut = |start, len, step, keep| Cut { start, len, step, keep };
        for cuts in [
            [cut(1, 1, 1, false), cut(3, 2, -2, true)],
            [Cut::all(3), cut(0, 2, 3, true)],
            [cut(2, 3, -1, true), cut(2, 1, 1, false)],
            [cut(0, 1, 1, false), cut(3, 1, 1, false)],
            [cut(0, 0, 1, true), Cut::all(4)],
        ] {
            let x = iota(&[3, 4]);
            let shape: Vec<usize> = cuts.iter().filter(|c| c.keep).map(|c| c.len).collect();
            let value = Array::from_slice(
                Shape::from_slice(&shape),
                &(0..shape.iter().product::<usize>()).map(|k| -1 - k as i32).collect::<Vec<_>>(),
            );
            let out = replace(&x, &value, &cuts);
            let read = |x: &Array| super::super::copy::contiguous(x).as_slice::<i32>().unwrap().to_vec();
            assert_eq!(read(&out.region(&cuts)), read(&value));
            let kept = read(&out).iter().zip(read(&x)).filter(|(a, b)| *a == b).count();
            assert_eq!(kept, 12 - value.numel());
            let mut same = x.clone();
            assert!(!replace_in_place(&mut same, &value, &cuts));
            drop(x);
            assert!(replace_in_place(&mut same, &value, &cuts));
            assert_eq!(read(&same), read(&out));
            let placed = place(&value, &[3, 4], &cuts);
            assert_eq!(read(&placed).iter().sum::<i32>(), read(&value).iter().sum::<i32>());
            assert_eq!(read(&placed.region(&cuts)), read(&value));
        }
    }
}
