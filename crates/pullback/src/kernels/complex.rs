//! Complex arrays: as two real ones that share their memory, and loops that call one function for each element.
//!
//! What is linear with real coefficients works on the parts; nothing is compiled for complex numbers to do so.

use std::mem::MaybeUninit;

use super::copy::copy_into;
use super::map;
pub(crate) use super::math::complex::divide;
use super::matmul::{Term, contract};
use crate::array::Array;
use crate::dtype::dispatch;
use crate::{Complex, Complex32, Complex64, DType, Result};

/// Real and imaginary part, as views.
pub(crate) fn parts(x: &Array) -> [Array; 2] {
    let (all, rank) = (x.as_reals(), x.rank());
    [all.select(rank, 0), all.select(rank, 1)]
}

/// The complex array of two real parts of one shape and dtype.
pub(crate) fn join(re: &Array, im: &Array, shape: &[usize]) -> Result<Array> {
    dispatch!(re.dtype(), "complex", float, T => {
        Ok(map::zip::<T, T, Complex<T>>(re, im, shape, #[inline(always)] |re, im| Complex { re, im }))
    })
}

/// A last dim of two reals as complex numbers: a view where the pairs lie in a row.
pub(crate) fn from_pairs(x: &Array) -> Result<Array> {
    if let Some(view) = x.as_complexes() {
        return Ok(view);
    }

    let mut shape = x.to_shape();
    shape.pop();
    // Also of what lies in a row, but not at an even place.
    // SAFETY: a complex number is its two parts in a row, all of which are written.
    dispatch!(x.dtype(), "view_as_complex", float, T => Ok(unsafe {
        Array::build::<Complex<T>>(&shape, |out| {
            let parts = std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<MaybeUninit<T>>(), 2 * out.len());
            copy_into(x, parts);
        })
    }))
}

/// A kernel that is linear with real coefficients, on both parts.
pub(crate) fn by_parts<const N: usize>(
    inputs: [&Array; N],
    kernel: impl Fn([&Array; N]) -> Result<Array>,
) -> Result<Array> {
    let parts = inputs.map(parts);
    let part = |k: usize| kernel(std::array::from_fn(|i| &parts[i][k]));
    let (re, im) = (part(0)?, part(1)?);
    join(&re, &im, re.shape())
}

#[inline(always)]
pub(crate) fn narrow(x: Complex64) -> Complex32 {
    Complex { re: x.re as f32, im: x.im as f32 }
}

#[inline(always)]
pub(crate) fn wide(x: Complex32) -> Complex64 {
    Complex { re: x.re.into(), im: x.im.into() }
}

/// A function of one element, in `f64`.
pub(crate) type Function<'a> = &'a (dyn Fn(Complex64) -> Complex64 + Send + Sync);
/// A function of two elements, in `f64`.
pub(crate) type Function2 = fn(Complex64, Complex64) -> Complex64;

/// `f` of every element.
pub(crate) fn map(x: &Array, f: Function<'_>) -> Array {
    match x.dtype() {
        DType::C64 => map::map::<Complex32, Complex32>(x, |v| narrow(f(wide(v)))),
        _ => map::map::<Complex64, Complex64>(x, f),
    }
}

/// A real function of every element.
pub(crate) fn map_real(x: &Array, f: fn(Complex64) -> f64) -> Array {
    match x.dtype() {
        DType::C64 => map::map::<Complex32, f32>(x, |v| f(wide(v)) as f32),
        _ => map::map::<Complex64, f64>(x, f),
    }
}

/// `f` of corresponding elements, which broadcast to `shape`.
pub(crate) fn zip(a: &Array, b: &Array, shape: &[usize], f: Function2) -> Array {
    match a.dtype() {
        DType::C64 => map::zip::<Complex32, Complex32, Complex32>(a, b, shape, |a, b| narrow(f(wide(a), wide(b)))),
        _ => map::zip::<Complex64, Complex64, Complex64>(a, b, shape, f),
    }
}

/// A contraction of complex arrays by four of their parts.
pub(crate) fn product(name: &str, a: Term<'_>, b: Term<'_>, out: &[u8]) -> Result<Array> {
    let ([a_re, a_im], [b_re, b_im]) = (parts(a.array), parts(b.array));
    let of = |x: &Array, y: &Array| {
        contract(name, Term { array: x, labels: a.labels }, Term { array: y, labels: b.labels }, out)
    };
    let (rr, ii, ri, ir) = (of(&a_re, &b_re)?, of(&a_im, &b_im)?, of(&a_re, &b_im)?, of(&a_im, &b_re)?);
    let shape = rr.shape();
    dispatch!(rr.dtype(), name, float, T => {
        let re = map::zip::<T, T, T>(&rr, &ii, shape, #[inline(always)] |x, y| x - y);
        let im = map::zip::<T, T, T>(&ri, &ir, shape, #[inline(always)] |x, y| x + y);
        join(&re, &im, shape)
    })
}
