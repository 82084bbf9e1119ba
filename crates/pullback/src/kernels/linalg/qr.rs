//! Orthogonal factors by reflections.

use super::{Results, Scalar, each, nanos};
use crate::array::Array;
use crate::dtype::Element;
use crate::kernels::copy::contiguous;
use crate::kernels::simd::vectorize;
use crate::shape::{Shape, numel};

/// The factors of the matrices `[.., m, n]`: `[.., m, k]` with orthonormal columns, and `[.., k, n]`, an upper triangle. The
/// signs are LAPACK's: each reflection turns a column to the side away from where it points.
pub(crate) fn factor<T: Scalar>(a: &Array, k: usize) -> (Array, Array) {
    let a = contiguous(a);
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let lead = &a.shape()[..a.rank() - 2];
    let shape = |r: usize, c: usize| lead.iter().copied().chain([r, c]).collect::<Shape>();
    let mut q = Array::full(shape(m, k), <T as Element>::ZERO);
    let mut r = Array::full(shape(k, n), <T as Element>::ZERO);
    let data = a.as_slice::<T>().unwrap_or_default();
    let (of_q, of_r) = (Results::<T>::new(&mut q, m * k), Results::<T>::new(&mut r, k * n));
    let steps = m.min(n);
    let done = each(numel(lead), nanos::<T>(2 * m * steps * (n + k)), &|matrix| {
        let mut work = data[matrix * m * n..(matrix + 1) * m * n].to_vec();
        let mut scales = vec![<T as Element>::ZERO; steps];
        // SAFETY: each matrix is written by one call.
        let (q, r) = unsafe { (of_q.at(matrix), of_r.at(matrix)) };
        vectorize(
            #[inline(always)]
            || {
                let mut v = vec![<T as Element>::ZERO; m];
                let mut sums = vec![<T as Element>::ZERO; n.max(k)];
                for j in 0..steps {
                    scales[j] = reflector(m, n, j, &mut work, &mut v);
                    reflect(m, n, [j, j + 1], scales[j], &v, &mut work, &mut sums);
                }
                for i in 0..k.min(steps) {
                    r[i * n + i..(i + 1) * n].copy_from_slice(&work[i * n + i..(i + 1) * n]);
                }
                for i in 0..k {
                    q[i * k + i] = <T as Element>::ONE;
                }
                for j in (0..steps).rev() {
                    v[j] = <T as Element>::ONE;
                    for i in j + 1..m {
                        v[i] = work[i * n + j];
                    }
                    reflect(m, k, [j, j], scales[j], &v, q, &mut sums);
                }
            },
        );
        Ok(())
    });
    debug_assert!(done.is_ok());
    (q, r)
}

/// The reflection `1 - scale v vᵀ` that clears column `j` below the diagonal: `v` is left there and in `v`, and the
/// result of the reflection on the diagonal.
#[inline(always)]
fn reflector<T: Scalar>(m: usize, n: usize, j: usize, a: &mut [T], v: &mut [T]) -> T {
    let alpha = a[j * n + j];
    let unit = (j..m).fold(<T as Element>::ZERO, |u, i| u.maximum(a[i * n + j].abs()));
    v[j] = <T as Element>::ONE;
    let below = (j + 1..m).any(|i| a[i * n + j] != <T as Element>::ZERO);
    if !below {
        v[j + 1..].fill(<T as Element>::ZERO);
        return <T as Element>::ZERO;
    }
    let squares = (j..m).fold(<T as Element>::ZERO, |s, i| {
        let x = a[i * n + j] / unit;
        x.mul_add(x, s)
    });
    let beta = -(unit * squares.sqrt()).copysign(alpha);
    let divisor = alpha - beta;
    for i in j + 1..m {
        v[i] = a[i * n + j] / divisor;
        a[i * n + j] = v[i];
    }
    a[j * n + j] = beta;
    (beta - alpha) / beta
}

/// Applies a reflection to rows and columns from `row` and `column` on of a matrix with `n` columns.
#[inline(always)]
fn reflect<T: Scalar>(m: usize, n: usize, [row, column]: [usize; 2], scale: T, v: &[T], a: &mut [T], sums: &mut [T]) {
    if scale == <T as Element>::ZERO || column >= n {
        return;
    }
    let sums = &mut sums[..n - column];
    sums.fill(<T as Element>::ZERO);
    for i in row..m {
        for (s, &x) in sums.iter_mut().zip(&a[i * n + column..(i + 1) * n]) {
            *s = v[i].mul_add(x, *s);
        }
    }
    for i in row..m {
        let factor = -(scale * v[i]);
        for (x, &s) in a[i * n + column..(i + 1) * n].iter_mut().zip(sums.iter()) {
            *x = factor.mul_add(s, *x);
        }
    }
}
