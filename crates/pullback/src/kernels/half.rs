//! Half precision: kernels that compute get `f32`, and what they make is rounded once.

use std::sync::OnceLock;

use super::cast::cast;
use super::copy::contiguous;
use super::strided::{Out, output_words};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{any_word, bf16, f16};
use crate::{DType, Result};

// Without branches and calls, so that loops over them are vectorised; the functions of the `half` crate ask for the
// processor's features at every call.

/// Exact.
#[inline(always)]
pub(super) fn f32_of_f16(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let magnitude = bits & 0x7fff;
    // The exponents differ by 112. A product also puts numbers below the normal ones right.
    let value = (f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(value | special | (bits & 0x8000) << 16)
}

/// Rounded to nearest, halves to even.
#[inline(always)]
pub(super) fn f16_of_f32(x: f32) -> f16 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let normal = (magnitude.wrapping_add(0xfff + (magnitude >> 13 & 1)).wrapping_sub(112 << 23)) >> 13;
    // Beside 0.5, the last digit of an f32 is that of the smallest f16.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    let finite = if magnitude < 0x3880_0000 { small } else { normal };
    // From 65520 on, numbers round to infinity.
    let real = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    let out = if magnitude > 0x7f80_0000 { nan } else { real };
    f16::from_bits((out | (bits >> 16 & 0x8000)) as u16)
}

/// Exact.
#[inline(always)]
pub(super) fn f32_of_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Rounded to nearest, halves to even.
#[inline(always)]
pub(super) fn bf16_of_f32(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let nan = bits >> 16 | 0x40;
    bf16::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded } as u16)
}

/// What a kernel makes.
pub(crate) trait Results {
    /// The same with all `f32` rounded to `half`.
    fn rounded(self, half: DType) -> Self;
}

impl Results for Array {
    fn rounded(self, half: DType) -> Array {
        if self.dtype() == DType::F32 { cast(&self, half) } else { self }
    }
}

/// Several results alike.
impl Results for [Array; 2] {
    fn rounded(self, half: DType) -> [Array; 2] {
        self.map(|x| x.rounded(half))
    }
}

/// Values and their places.
impl Results for (Array, Array) {
    fn rounded(self, half: DType) -> (Array, Array) {
        (self.0.rounded(half), self.1)
    }
}

#[inline(always)]
fn half_among<const N: usize>(inputs: [&Array; N]) -> Option<DType> {
    inputs.iter().map(|x| x.dtype()).find(|d| d.is_half())
}

/// Calls a kernel that computes: for inputs of half precision with `f32`, and rounds what it makes.
#[inline(always)]
pub(crate) fn widened<const N: usize, R: Results>(
    inputs: [&Array; N],
    kernel: impl Fn([&Array; N]) -> Result<R>,
) -> Result<R> {
    match half_among(inputs) {
        None => kernel(inputs),
        Some(half) => through_single(inputs, half, &kernel),
    }
}

/// [`widened`] for a kernel whose result of `shape` is made element by element.
#[inline(always)]
pub(crate) fn widened_elementwise<const N: usize>(
    inputs: [&Array; N],
    shape: &[usize],
    kernel: impl Fn([&Array; N], &[usize]) -> Result<Array> + Sync,
) -> Result<Array> {
    match half_among(inputs) {
        None => kernel(inputs, shape),
        Some(half) => in_blocks(inputs, shape, half, &kernel),
    }
}

// These do not know the kernel, so that there are few copies.

#[inline(never)]
fn through_single<const N: usize, R: Results>(
    inputs: [&Array; N],
    half: DType,
    kernel: &dyn Fn([&Array; N]) -> Result<R>,
) -> Result<R> {
    let wide = inputs.map(|x| if x.dtype().is_half() { cast(x, DType::F32) } else { x.clone() });
    Ok(kernel(wide.each_ref())?.rounded(half))
}

/// Elements that are worked on at once: in `f32` they stay in the second cache.
const BLOCK: usize = 1 << 14;

/// [`through_single`], block by block if that is simple.
#[inline(never)]
fn in_blocks<const N: usize>(
    inputs: [&Array; N],
    shape: &[usize],
    half: DType,
    kernel: &(dyn Fn([&Array; N], &[usize]) -> Result<Array> + Sync),
) -> Result<Array> {
    let n = shape.iter().product();
    // A number is the same for every block.
    let flat = inputs.map(|x| match x.rank() {
        0 => Some(x.clone()),
        _ if x.shape() == shape && x.is_contiguous() => x.reshape_view(&[n]),
        _ => None,
    });
    if n < 2 * BLOCK || flat.iter().any(Option::is_none) {
        return through_single(inputs, half, &|inputs| kernel(inputs, shape));
    }
    let flat = flat.map(|x| x.expect("there is a view of each"));
    let block = |start: usize| {
        let len = BLOCK.min(n - start);
        let parts = flat.each_ref().map(|x| if x.rank() == 0 { x.clone() } else { x.slice(0, start, len, 1) });
        through_single(parts.each_ref(), half, &|parts| kernel(parts, &[len]))
    };
    // The first block tells the dtype.
    let first = block(0)?;
    let failed = OnceLock::new();
    let y = any_word!(first.dtype(), W => {
        let write = |out: Out<W>| {
            split(n, BLOCK, n, |range| {
                for start in range.step_by(BLOCK) {
                    let part = if start == 0 { Ok(first.clone()) } else { block(start) };
                    match part {
                        Ok(part) => {
                            let part = contiguous(&part);
                            let words = part.as_words::<W>().unwrap_or_default();
                            assert_eq!(words.len(), BLOCK.min(n - start));
                            // SAFETY: this block of the result is ours.
                            unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), out.at(start), words.len()) }
                        }
                        Err(e) => {
                            let _ = failed.set(e);
                            // SAFETY: as above; bytes of zeros are a value of every dtype.
                            unsafe { out.at(start).write_bytes(0, BLOCK.min(n - start)) }
                        }
                    }
                }
            });
        };
        // SAFETY: the blocks cover the result.
        unsafe { output_words::<W>(shape.into(), first.dtype(), write) }
    });
    match failed.into_inner() {
        Some(e) => Err(e),
        None => Ok(y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_those_of_the_half_crate() {
        for bits in 0..=u16::MAX {
            let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(f32_of_f16(x).to_bits() == x.to_f32().to_bits() || x.is_nan() && f32_of_f16(x).is_nan());
            assert!(f32_of_bf16(y).to_bits() == y.to_f32().to_bits() || y.is_nan() && f32_of_bf16(y).is_nan());
        }
        // All exponents and signs, with mantissas at and around the halves.
        for top in 0..=u16::MAX {
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let x = f32::from_bits(u32::from(top) << 16 | low);
                let (a, b) = (f16_of_f32(x), f16::from_f32(x));
                assert!(a.to_bits() == b.to_bits() || x.is_nan() && a.is_nan(), "{x}: {a} {b}");
                let (a, b) = (bf16_of_f32(x), bf16::from_f32(x));
                assert!(a.to_bits() == b.to_bits() || x.is_nan() && a.is_nan(), "{x}: {a} {b}");
            }
        }
    }

    #[test]
    fn an_error_of_any_block_is_returned() {
        let x = Array::full([5 * BLOCK + 3], f16::ONE);
        let y = widened_elementwise([&x, &x], x.shape(), |[a, b], shape| {
            assert_eq!((a.dtype(), a.shape(), b.shape()), (DType::F32, shape, shape));
            Ok(a.clone())
        });
        assert_eq!(y.unwrap().as_slice::<f16>(), x.as_slice::<f16>());
        let y = widened_elementwise([&x], x.shape(), |[x], shape| match shape {
            [3] => crate::error::bail!(Value, "the last block"),
            _ => Ok(x.clone()),
        });
        assert!(y.is_err());
    }
}
