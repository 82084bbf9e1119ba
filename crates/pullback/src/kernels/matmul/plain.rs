//! Products of integer matrices: row by row, wrapping.

use std::ops::Range;

use super::{Batch, Product};
use crate::kernels::reduce::Number;
use crate::kernels::simd::vectorize;

/// Products on this thread.
///
/// # Safety
/// The operands must be valid for reading and the results for writing, with the steps of the batch.
pub(super) unsafe fn products<T: Number>(batch: Batch<'_, T>, range: Range<usize>) {
    // SAFETY: the caller vouches for the operands.
    batch.each(range, |a, b, c| unsafe { product(batch.product, a, b, c) });
}

/// One product.
///
/// # Safety
/// As for [`products`].
unsafe fn product<T: Number>(p: Product, a: *const T, b: *const T, c: *mut T) {
    vectorize(
        #[inline(always)]
        || {
            for i in 0..p.m {
                // SAFETY: row `i` of the result is ours; the offsets stay inside the operands.
                let row = unsafe {
                    let row = c.add(i * p.c_row);
                    row.write_bytes(0, p.n);
                    std::slice::from_raw_parts_mut(row, p.n)
                };
                for q in 0..p.k {
                    // SAFETY: as above.
                    unsafe {
                        let x = *a.wrapping_offset(i as isize * p.a[0] + q as isize * p.a[1]);
                        let from = b.wrapping_offset(q as isize * p.b[0]);
                        if p.b[1] == 1 {
                            for (y, &z) in row.iter_mut().zip(std::slice::from_raw_parts(from, p.n)) {
                                *y = y.plus(x.times(z));
                            }
                        } else {
                            for (j, y) in row.iter_mut().enumerate() {
                                *y = y.plus(x.times(*from.wrapping_offset(j as isize * p.b[1])));
                            }
                        }
                    }
                }
            }
        },
    );
}
