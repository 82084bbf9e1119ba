//! Batched matrix products.
//!
//! By size and shape a product goes to one of four ways: [`small`] keeps a tile of the result in registers and packs
//! nothing it need not, [`vector`] has the products with a vector and the outer products, faer's blocked engine takes
//! what is large, and [`plain`] does integers. All of them take any strides.

mod plain;
mod small;
mod vector;

use faer::linalg::matmul::matmul as faer_matmul;
use faer::{Accum, MatMut, MatRef, Par};
use fearless_simd::SimdFloatElement;

use super::reduce::Number;
use super::strided::{In, Loop, Nest, Out, output};
use super::threads::split;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::shape::{Shape, broadcast};
use crate::{Result, error::bail};

/// A floating element: ours, fearless_simd's and faer's.
pub(crate) trait Real: Number + SimdFloatElement + faer::traits::ComplexField {}
impl Real for f32 {}
impl Real for f64 {}

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
        dispatch!(a.dtype(), "matmul", float, T => Ok(batched::<T>(a, b, batch, FLOPS_PER_NANO_8 / size_of::<T>(), one::<T>)))
    } else {
        dispatch!(a.dtype(), "matmul", integer, T => Ok(batched::<T>(a, b, batch, 1, plain::product::<T>)))
    }
}

/// What a core does in a nanosecond with elements of one byte; wider elements take proportionally longer.
const FLOPS_PER_NANO_8: usize = 320;
/// Floating operations below which a product is not split.
const SPLIT: usize = 1_500_000;

type Kernel<T> = unsafe fn(Product, *const T, *const T, *mut T);

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
    let loops: Vec<_> = (0..batch.len()).map(|d| Loop { size: batch[d], steps: [step(a, d), step(b, d)] }).collect();
    let mut nest = Nest::new(loops);
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

    let (a, b) = (In::<T>::of(a), In::<T>::of(b));
    let count = nest.len();
    let size = product.m * n;
    let flops = 2 * product.m * n * k;
    let write = |c: Out<T>| {
        if count > 1 && (count >= 8 || flops < SPLIT) {
            split(count, 1, count * (flops / flops_per_nano + 10), |range| {
                nest.walk(range, |i, [at_a, at_b]| {
                    // SAFETY: the offsets are those of matrices of `a` and `b`; result `i` is ours.
                    unsafe { kernel(product, a.at(at_a), b.at(at_b), c.at(i * size)) }
                });
            });
            return;
        }
        nest.walk(0..count, |i, [at_a, at_b]| {
            if flops < SPLIT {
                // SAFETY: as above.
                return unsafe { kernel(product, a.at(at_a), b.at(at_b), c.at(i * size)) };
            }
            let by_rows = product.m >= n;
            let (len, grain) = if by_rows { (product.m, 16) } else { (n, 64) };
            split(len, grain, flops / flops_per_nano, |range| {
                let (start, step) = (range.start as isize, range.len());
                let mut part = product;
                // SAFETY: the part of the rows or columns of the operands that makes our part of result `i`.
                unsafe {
                    if by_rows {
                        part.m = step;
                        let c = c.at(i * size + range.start * n);
                        kernel(part, a.at(at_a + start * product.a[0]), b.at(at_b), c);
                    } else {
                        part.n = step;
                        let c = c.at(i * size + range.start);
                        kernel(part, a.at(at_a), b.at(at_b + start * product.b[1]), c);
                    }
                }
            });
        });
    };
    // SAFETY: every product writes its whole part of the result, and the parts cover it.
    unsafe { output(shape, write) }
}

/// Products of up to this many multiplications keep to the small kernel.
const SMALL: usize = 64 * 64 * 64;

/// One floating product on this thread.
///
/// # Safety
/// The operands must be valid for reading and the result for writing, with the steps of `p`.
unsafe fn one<T: Real>(p: Product, a: *const T, b: *const T, c: *mut T) {
    // SAFETY: the caller vouches for the operands.
    unsafe {
        if p.k == 1 {
            vector::outer(p, a, b, c);
        } else if p.m == 1 || (p.n == 1 && p.c_row == 1) {
            vector::product(p, a, b, c);
        } else if p.m * p.k * p.n <= SMALL {
            small::product(p, a, b, c);
        } else {
            large(p, a, b, c);
        }
    }
}

/// One product by faer, on this thread.
///
/// # Safety
/// As for [`one`].
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
