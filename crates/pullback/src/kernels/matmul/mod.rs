//! Matrix products, alone and in batches.
//!
//! [`contract`] finds the products in a contraction. By size and shape a product goes to one of four ways: [`small`] keeps a tile of the result in registers and packs
//! nothing it need not, [`vector`] has the products with a vector and the outer products, faer's blocked engine takes
//! what is large, and [`plain`] does integers. All of them take any strides.

mod contract;
mod plain;
mod small;
mod vector;

use faer::linalg::matmul::matmul as faer_matmul;
use faer::{Accum, MatMut, MatRef, Par};
use fearless_simd::SimdFloatElement;

pub(crate) use contract::{Term, contract};

use super::reduce::Number;
use super::strided::{In, Nest, Out};
use super::threads::split;
use crate::dtype::Element;

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

/// What a core does in a nanosecond with elements of one byte; wider elements take proportionally longer.
const FLOPS_PER_NANO_8: usize = 320;
/// Floating operations below which a product is not split.
const SPLIT: usize = 1_500_000;

type Kernel<T> = unsafe fn(Product, *const T, *const T, *mut T);

/// One product for each pass of `nest`, which steps through the operands and the result.
///
/// Without `unsafe` in its type, because only [`contract`] calls it, with loops that it has made for these operands.
fn run<T: Element>(
    nest: &Nest<3>,
    product: Product,
    [a, b]: [In<T>; 2],
    c: Out<T>,
    flops_per_nano: usize,
    kernel: Kernel<T>,
) {
    let count = nest.len();
    let flops = 2 * product.m * product.n * product.k;
    if count > 1 && (count >= 8 || flops < SPLIT) {
        split(count, 1, count * (flops / flops_per_nano + 10), |range| {
            nest.walk(range, |_, [at_a, at_b, at_c]| {
                // SAFETY: the offsets are those of matrices of `a` and `b`; the result at `at_c` is ours.
                unsafe { kernel(product, a.at(at_a), b.at(at_b), c.at(at_c as usize)) }
            });
        });
        return;
    }
    nest.walk(0..count, |_, [at_a, at_b, at_c]| {
        let c = Out::new(c.at(at_c as usize));
        if flops < SPLIT {
            // SAFETY: as above.
            return unsafe { kernel(product, a.at(at_a), b.at(at_b), c.at(0)) };
        }
        let by_rows = product.m >= product.n;
        let (len, grain) = if by_rows { (product.m, 16) } else { (product.n, 64) };
        split(len, grain, flops / flops_per_nano, |range| {
            let (start, len) = (range.start as isize, range.len());
            let mut part = product;
            // SAFETY: the part of the rows or columns of the operands that makes our part of the result.
            unsafe {
                if by_rows {
                    part.m = len;
                    kernel(part, a.at(at_a + start * product.a[0]), b.at(at_b), c.at(range.start * product.c_row));
                } else {
                    part.n = len;
                    kernel(part, a.at(at_a), b.at(at_b + start * product.b[1]), c.at(range.start));
                }
            }
        });
    });
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
