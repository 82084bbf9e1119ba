//! Putting a small array at its place in a larger one.

use super::copy::copy_into_strided;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::cast::full;
use crate::shape::{Shape, contiguous_strides};
use crate::{Result, dtype::Scalar};

/// Zeros of `shape` with the elements of `x` at `start, start + step, …` along `dim`.
pub(crate) fn place(x: &Array, shape: &[usize], dim: usize, start: usize, step: isize) -> Result<Array> {
    fn run<T: Element>(x: &Array, shape: &[usize], dim: usize, start: usize, step: isize) -> Array {
        let mut out = full(shape, Scalar::Int(0), T::DTYPE);
        if x.numel() == 0 {
            return out;
        }
        let mut strides = contiguous_strides(&Shape::from_slice(shape));
        let first = start * strides[dim] as usize;
        strides[dim] *= step;
        let data = out.as_mut_slice::<T>().expect("a fresh array is contiguous and has one owner");
        // SAFETY: the caller's slice lies inside `shape`, so every place is inside `data`, and no two coincide.
        unsafe { copy_into_strided::<T>(x, data.as_mut_ptr().wrapping_add(first), &strides) };
        out
    }
    dispatch!(x.dtype(), "slice", all, T => Ok(run::<T>(x, shape, dim, start, step)))
}
