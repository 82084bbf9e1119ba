//! The product of all elements but one, for each, and products of complex numbers.

use std::mem::MaybeUninit;
use std::ops::Mul;

use smallvec::SmallVec;

use super::cast::cast;
use super::copy::contiguous;
use super::simd::vectorize;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::Shape;
use crate::{Complex64, DType, Result};

/// For every element the product of the others along `dim`: those before it times those after it, so that nothing
/// is divided.
pub(crate) fn others(x: &Array, dim: usize) -> Result<Array> {
    if x.dtype().is_complex() {
        return Ok(cast(&run::<Complex64>(&cast(x, DType::C128), dim), x.dtype()));
    }
    dispatch!(x.dtype(), "prod", float, T => Ok(run::<T>(x, dim)))
}

/// The product of complex numbers over `dims` (ascending), which vanish.
pub(crate) fn complex_product(x: &Array, dims: &[usize]) -> Array {
    let kept: SmallVec<[usize; 6]> = (0..x.rank()).filter(|d| !dims.contains(d)).collect();
    let order: SmallVec<[usize; 6]> = kept.iter().chain(dims).copied().collect();
    let rows = contiguous(&cast(x, DType::C128).permute(&order));
    let shape: Shape = kept.iter().map(|&d| x.shape()[d]).collect();
    let count: usize = dims.iter().map(|&d| x.shape()[d]).product();
    let of = |row: &[Complex64]| row.iter().fold(Complex64::ONE, |p, v| p * v);
    let products: Vec<Complex64> = match count {
        0 => vec![Complex64::ONE; shape.iter().product()],
        count => rows.as_slice::<Complex64>().unwrap_or_default().chunks_exact(count).map(of).collect(),
    };
    cast(&Array::from_slice(shape, &products), x.dtype())
}

fn run<T: Element + Mul<Output = T>>(x: &Array, dim: usize) -> Array {
    let x = contiguous(x);
    let from = x.as_slice::<T>().unwrap_or_default();
    let n = x.shape()[dim];
    let width: usize = x.shape()[dim + 1..].iter().product();
    let fill = |out: &mut [MaybeUninit<T>]| {
        if from.is_empty() {
            return;
        }
        let mut acc = vec![T::ONE; width];
        for (from, out) in from.chunks_exact(n * width).zip(out.chunks_exact_mut(n * width)) {
            vectorize(
                #[inline(always)]
                || {
                    acc.fill(T::ONE);
                    for (row, to) in from.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
                        for ((a, &v), o) in acc.iter_mut().zip(row).zip(to) {
                            o.write(*a);
                            *a = *a * v;
                        }
                    }
                    acc.fill(T::ONE);
                    for (row, to) in from.chunks_exact(width).zip(out.chunks_exact_mut(width)).rev() {
                        for ((a, &v), o) in acc.iter_mut().zip(row).zip(to) {
                            // SAFETY: the loop above has written every element.
                            unsafe { *o.assume_init_mut() = *o.assume_init_ref() * *a };
                            *a = *a * v;
                        }
                    }
                },
            );
        }
    };
    // SAFETY: the chunks cover the whole of `out`, and every element of each is written.
    unsafe { Array::build(x.to_shape(), fill) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::strided::testing::{at, indices, layouts};

    #[test]
    fn others_agree_with_loops_in_every_layout() {
        for shape in [&[1][..], &[5], &[0], &[4, 3], &[2, 3, 4], &[2, 0, 3]] {
            for x in layouts::<f64>(shape) {
                for dim in 0..shape.len() {
                    let y = others(&x, dim).unwrap();
                    for index in indices(shape) {
                        let mut expected = 1.0;
                        for k in (0..shape[dim]).filter(|&k| k != index[dim]) {
                            let mut other = index.clone();
                            other[dim] = k;
                            expected *= at(&x, &other);
                        }
                        assert!((at(&y, &index) - expected).abs() <= 1e-12 * (1.0 + expected.abs()));
                    }
                }
            }
        }
    }
}
