//! Putting a small array at its place in a larger one.

use super::copy::copy_into_strided;
use crate::array::Array;
use crate::dtype::{Scalar, any_word};
use crate::kernels::cast::full;
use crate::shape::Strides;

/// Zeros of `shape` with the elements of `x` where `view` looks: the transpose of a view that looks at no element
/// twice.
pub(crate) fn place(x: &Array, shape: &[usize], view: impl FnOnce(&Array) -> Array) -> Array {
    let mut out = full(shape, Scalar::Int(0), x.dtype());
    let (first, strides) = {
        let target = view(&out);
        assert_eq!(target.shape(), x.shape());
        (target.offset(), Strides::from_slice(target.strides()))
    };
    if x.numel() == 0 {
        return out;
    }
    any_word!(x.dtype(), W => {
        let data = out.as_mut_words::<W>().expect("a fresh array is contiguous and has one owner");
        if x.numel() == 1 {
            // SAFETY: an array has its only element where it begins.
            data[first] = unsafe { *x.start::<W>() };
            return out;
        }
        // SAFETY: a view of `out` has its elements inside `data`, and no two of this one coincide.
        unsafe { copy_into_strided::<W>(x, data.as_mut_ptr().wrapping_add(first), &strides) };
    });
    out
}
