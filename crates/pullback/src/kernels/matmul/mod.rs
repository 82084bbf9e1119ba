//! Matrix products, alone and in batches.
//!
//! [`contract`] finds the products in a contraction. By size and shape a product goes to one of four ways: [`small`]
//! keeps a tile of the result in registers and packs nothing it need not, [`vector`] has the products with a vector and
//! the outer products, the blocked engine of the `gemm` crates takes what is large, and [`plain`] does integers. All of
//! them take any strides.

mod contract;
mod plain;
mod small;
mod vector;

use std::ops::Range;

use fearless_simd::{Simd, SimdFloat, SimdFloatElement, f32x4, f32x8, f64x2, f64x4};
use gemm_common::Parallelism;

pub(crate) use contract::{Term, contract};
pub(crate) use small::{load, pack, store, transpose};

use super::reduce::Number;
use super::strided::{In, Nest, Out};
use super::threads::split;
use crate::dtype::Element;

/// A floating element: ours and fearless_simd's.
pub(crate) trait Real: Number + SimdFloatElement {
    /// A vector of 32 bytes.
    type Half<S: Simd>: SimdFloat<S, Element = Self>;
    /// A vector of 16 bytes.
    type Quarter<S: Simd>: SimdFloat<S, Element = Self>;

    /// The blocked engine for large products, in the fastest instruction set of this machine.
    fn blocked() -> Blocked<Self>;
}

impl Real for f32 {
    type Half<S: Simd> = f32x8<S>;
    type Quarter<S: Simd> = f32x4<S>;

    fn blocked() -> Blocked<f32> {
        gemm_f32::gemm::f32::get_gemm_fn()
    }
}

impl Real for f64 {
    type Half<S: Simd> = f64x4<S>;
    type Quarter<S: Simd> = f64x2<S>;

    fn blocked() -> Blocked<f64> {
        gemm_f64::gemm::f64::get_gemm_fn()
    }
}

/// `dst = alpha dst + beta lhs rhs`: rows, columns and depth; `dst` with the steps of its columns and rows, and whether
/// it is read; `lhs` and `rhs` with theirs; `alpha`, `beta`; which of the three are conjugated; threads.
type Blocked<T> = unsafe fn(
    usize,
    usize,
    usize,
    *mut T,
    isize,
    isize,
    bool,
    *const T,
    isize,
    isize,
    *const T,
    isize,
    isize,
    T,
    T,
    bool,
    bool,
    bool,
    Parallelism,
);

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

/// What a core does in a nanosecond with elements of one byte; wider elements take proportionally longer.
const FLOPS_PER_NANO_8: usize = 320;
/// Floating operations below which a product is not split.
const SPLIT: usize = 1_500_000;

/// Products of one shape: where the operands and results start, and the loops that step through the batch.
#[derive(Clone, Copy)]
struct Batch<'a, T> {
    product: Product,
    /// The steps of `a`, `b` and `c`.
    nest: &'a Nest<3>,
    a: In<T>,
    b: In<T>,
    c: Out<T>,
}

impl<T: Element> Batch<'_, T> {
    /// Calls `f` with the addresses of the operands and the result of each product in `range`.
    #[inline(always)]
    fn each(self, range: Range<usize>, mut f: impl FnMut(*const T, *const T, *mut T)) {
        // Inlined by force: a call here would leave the kernels outside the instruction set that they are built for.
        self.nest.walk(
            range,
            #[inline(always)]
            |_, [a, b, c]| f(self.a.at(a), self.b.at(b), self.c.at(c as usize)),
        );
    }
}

/// Computes a range of a batch on this thread.
type Kernel<T> = unsafe fn(Batch<'_, T>, Range<usize>);

/// All products of a batch.
///
/// # Safety
/// The operands must be valid for reading and the results for writing, with the steps of the batch.
unsafe fn run<T: Element>(all: Batch<'_, T>, flops_per_nano: usize, kernel: Kernel<T>) {
    let Product { m, k, n, .. } = all.product;
    let (count, flops) = (all.nest.len(), (2 * m * n).saturating_mul(k));
    if flops < SPLIT || count >= 8 {
        let nanos = count.saturating_mul(flops / flops_per_nano + 10);
        // SAFETY: the caller vouches for the operands; the results of the range are ours.
        return split(count, 1, nanos, |range| unsafe { kernel(all, range) });
    }
    let by_rows = m >= n;
    let (len, grain) = if by_rows { (m, 16) } else { (n, 64) };
    for i in 0..count {
        split(len, grain, flops / flops_per_nano, |range| {
            let start = range.start as isize;
            let mut part = all;
            if by_rows {
                part.product.m = range.len();
                part.a = all.a.plus(start * part.product.a[0]);
                part.c = all.c.plus(range.start * part.product.c_row);
            } else {
                part.product.n = range.len();
                part.b = all.b.plus(start * part.product.b[1]);
                part.c = all.c.plus(range.start);
            }
            // SAFETY: the part of the rows or columns of the operands that makes our part of result `i`.
            unsafe { kernel(part, i..i + 1) }
        });
    }
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

/// An operand of [`product`]: its address, and the steps between its rows and its columns.
pub(crate) type Matrix<T> = (*const T, [isize; 2]);

/// The product `c[m,n] = a[m,k] b[k,n]` on this thread, `c` with rows that begin `c_row` elements apart, for kernels that
/// are made of products. No size may be 0.
///
/// # Safety
/// The operands must be valid for reading and the result for writing.
pub(crate) unsafe fn product<T: Real>([m, k, n]: [usize; 3], a: Matrix<T>, b: Matrix<T>, c: *mut T, c_row: usize) {
    debug_assert!(m * k * n > 0);
    let product = Product { m, k, n, a: a.1, b: b.1, c_row };
    let nest = &Nest::default();
    // SAFETY: the caller vouches for the operands; a nest without loops is one pass.
    unsafe { floating(Batch { product, nest, a: In::new(a.0), b: In::new(b.0), c: Out::new(c) }, 0..1) }
}

/// What a core does in a nanosecond with elements of this type.
pub(crate) fn flops_per_nano<T>() -> usize {
    FLOPS_PER_NANO_8 / size_of::<T>()
}

/// One product by the blocked engine, on this thread.
///
/// # Safety
/// As for [`floating`].
unsafe fn large<T: Real>(p: Product, a: *const T, b: *const T, c: *mut T) {
    let ([a_row, a_col], [b_row, b_col], c_row) = (p.a, p.b, p.c_row as isize);
    let (zero, one) = (<T as Element>::ZERO, <T as Element>::ONE);
    // The engine writes along columns, so it is given the transposed product: cᵀ = bᵀ aᵀ.
    // SAFETY: the caller vouches for the operands.
    unsafe {
        T::blocked()(
            p.n,
            p.m,
            p.k,
            c,
            c_row,
            1,
            false,
            b,
            b_row,
            b_col,
            a,
            a_row,
            a_col,
            zero,
            one,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests;
