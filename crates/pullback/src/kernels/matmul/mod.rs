//! Batched matrix products.
//!
//! By size and shape a product goes to one of four ways: [`small`] keeps a tile of the result in registers and packs
//! nothing it need not, [`vector`] has the products with a vector and the outer products, faer's blocked engine takes
//! what is large, and [`plain`] does integers. All of them take any strides.

mod plain;
mod small;
mod vector;

use std::ops::Range;

use faer::linalg::matmul::matmul as faer_matmul;
use faer::{Accum, MatMut, MatRef, Par};
use fearless_simd::{Simd, SimdFloat, SimdFloatElement, f32x4, f32x8, f64x2, f64x4};

use super::reduce::Number;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Shape, broadcast};
use crate::{Result, error::bail};

/// A floating element: ours, fearless_simd's and faer's.
pub(crate) trait Real: Number + SimdFloatElement + faer::traits::ComplexField {
    /// A vector of 32 bytes.
    type Half<S: Simd>: SimdFloat<S, Element = Self>;
    /// A vector of 16 bytes.
    type Quarter<S: Simd>: SimdFloat<S, Element = Self>;
}

impl Real for f32 {
    type Half<S: Simd> = f32x8<S>;
    type Quarter<S: Simd> = f32x4<S>;
}

impl Real for f64 {
    type Half<S: Simd> = f64x4<S>;
    type Quarter<S: Simd> = f64x2<S>;
}

/// One product `c[m,n] = a[m,k] b[k,n]` with the steps of rows and columns; those of `c` are `c_row` and 1.
#[derive(Clone, Copy, Debug)]
struct Product {
    m: usize,
    k: usize,
    n: usize,
    a: [isize; 2],
    b: [isize; 2],
    c_row: usize,
}

/// The matrix products of `a: [.., m, k]` and `b: [.., k, n]` of one dtype, whose leading dims broadcast.
pub(crate) fn matmul(a: &Array, b: &Array) -> Result<Array> {
    let (ra, rb) = (a.rank(), b.rank());
    debug_assert!(ra >= 2 && rb >= 2 && a.dtype() == b.dtype() && a.shape()[ra - 1] == b.shape()[rb - 2]);
    let Some(batch) = broadcast(&a.shape()[..ra - 2], &b.shape()[..rb - 2]) else {
        bail!(Shape, "matmul: the leading dimensions do not broadcast, got lhs {} and rhs {}", a.ty(), b.ty());
    };
    if a.dtype().is_float() {
        dispatch!(a.dtype(), "matmul", float, T => Ok(batched::<T>(a, b, batch, FLOPS_PER_NANO_8 / size_of::<T>(), floating::<T>)))
    } else {
        dispatch!(a.dtype(), "matmul", integer, T => Ok(batched::<T>(a, b, batch, 1, plain::products::<T>)))
    }
}

/// What a core does in a nanosecond with elements of one byte; wider elements take proportionally longer.
const FLOPS_PER_NANO_8: usize = 320;
/// Floating operations below which a product is not split.
const SPLIT: usize = 1_500_000;

/// Products of one shape: where the operands start, and the loops that step through the batch.
#[derive(Clone, Copy)]
struct Batch<'a, T> {
    product: Product,
    nest: &'a Nest<2>,
    a: In<T>,
    b: In<T>,
    c: Out<T>,
    /// How far the results lie apart.
    c_step: usize,
}

impl<T: Element> Batch<'_, T> {
    /// Calls `f` with the addresses of the operands and the result of each product in `range`.
    #[inline(always)]
    fn each(self, range: Range<usize>, mut f: impl FnMut(*const T, *const T, *mut T)) {
        self.nest.walk(
            range,
            #[inline(always)]
            |i, [a, b]| f(self.a.at(a), self.b.at(b), self.c.at(i * self.c_step)),
        );
    }
}

/// Computes a range of a batch on this thread.
type Kernel<T> = unsafe fn(Batch<'_, T>, Range<usize>);

fn batched<T: Element>(a: &Array, b: &Array, batch: Shape, flops_per_nano: usize, kernel: Kernel<T>) -> Array {
    let (ra, rb) = (a.rank(), b.rank());
    let (m, k, n) = (a.shape()[ra - 2], a.shape()[ra - 1], b.shape()[rb - 1]);
    let mut shape = batch.clone();
    shape.extend([m, n]);
    if k == 0 || shape.contains(&0) {
        return Array::full(shape, T::ZERO);
    }
    let (sa, sb) = (a.strides(), b.strides());
    let mut product = Product { m, k, n, a: [sa[ra - 2], sa[ra - 1]], b: [sb[rb - 2], sb[rb - 1]], c_row: n };

    // The step of a leading dim of an operand that may have fewer of them, or a single one to broadcast.
    let step = |x: &Array, d: usize| match (d + x.rank()).checked_sub(batch.len() + 2) {
        Some(k) if x.shape()[k] != 1 => x.strides()[k],
        _ => 0,
    };
    let mut nest = Nest::new((0..batch.len()).map(|d| Loop { size: batch[d], steps: [step(a, d), step(b, d)] }));
    // A batch that only `a` has is more rows of one product.
    while let Some(&Loop { size, steps: [step_a, 0] }) = nest.loops.last() {
        if product.m == 1 {
            product.a[0] = step_a;
        } else if product.a[0] * product.m as isize != step_a {
            break;
        }
        product.m *= size;
        nest.loops.pop();
    }

    let (m, count) = (product.m, nest.len());
    let flops = 2 * m * n * k;
    let write = |c: Out<T>| {
        let all = Batch { product, nest: &nest, a: In::of(a), b: In::of(b), c, c_step: m * n };
        if flops < SPLIT || count >= 8 {
            let nanos = count * (flops / flops_per_nano + 10);
            // SAFETY: the addresses are those of matrices of `a` and `b`; the results of the range are ours.
            return split(count, 1, nanos, |range| unsafe { kernel(all, range) });
        }
        for i in 0..count {
            let by_rows = m >= n;
            let (len, grain) = if by_rows { (m, 16) } else { (n, 64) };
            split(len, grain, flops / flops_per_nano, |range| {
                let start = range.start as isize;
                let mut part = all;
                if by_rows {
                    part.product.m = range.len();
                    part.a = all.a.plus(start * product.a[0]);
                    part.c = all.c.plus(range.start * n);
                } else {
                    part.product.n = range.len();
                    part.b = all.b.plus(start * product.b[1]);
                    part.c = all.c.plus(range.start);
                }
                // SAFETY: the part of the rows or columns of the operands that makes our part of result `i`.
                unsafe { kernel(part, i..i + 1) }
            });
        }
    };
    // SAFETY: every product writes its whole part of the result, and the parts cover it.
    unsafe { output(shape, write) }
}

/// Products of up to this many multiplications keep to the small kernel.
const SMALL: usize = 64 * 64 * 64;

/// Floating products on this thread.
///
/// # Safety
/// The operands must be valid for reading and the results for writing, with the steps of the batch.
unsafe fn floating<T: Real>(batch: Batch<'_, T>, range: Range<usize>) {
    let p = batch.product;
    // SAFETY: the caller vouches for the operands.
    unsafe {
        if p.k == 1 {
            vector::outers(batch, range);
        } else if p.m == 1 || (p.n == 1 && p.c_row == 1) {
            vector::products(batch, range);
        } else if p.m * p.k * p.n <= SMALL {
            small::products(batch, range);
        } else {
            batch.each(range, |a, b, c| large(p, a, b, c));
        }
    }
}

/// One product by faer, on this thread.
///
/// # Safety
/// As for [`floating`].
unsafe fn large<T: Real>(p: Product, a: *const T, b: *const T, c: *mut T) {
    // SAFETY: the caller vouches for the operands.
    let (a, b, c) = unsafe {
        (
            MatRef::from_raw_parts(a, p.m, p.k, p.a[0], p.a[1]),
            MatRef::from_raw_parts(b, p.k, p.n, p.b[0], p.b[1]),
            MatMut::from_raw_parts_mut(c, p.m, p.n, p.c_row as isize, 1),
        )
    };
    faer_matmul(c, Accum::Replace, a, b, <T as Element>::ONE, Par::Seq);
}

#[cfg(test)]
mod tests;
