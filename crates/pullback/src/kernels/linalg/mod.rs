//! Decompositions of matrices and what is computed with them, for batches of row-major matrices.
//!
//! What is here works on slices and is chosen by size alone: many small matrices go through vectors that hold one element of
//! several matrices ([`lanes`]), larger ones are cut into blocks whose bulk is matrix products. Failures are numbers, the
//! matrix and the step; the operations make messages of them.

pub(crate) mod cholesky;
pub(crate) mod complex;
pub(crate) mod complex_jacobi;
pub(crate) mod exponential;
#[cfg(feature = "linalg")]
pub(crate) mod external;
mod jacobi;
mod lanes;
pub(crate) mod lu;
pub(crate) mod minors;
pub(crate) mod qr;
pub(crate) mod spectral;
pub(crate) mod triangular;

use std::ops::Range;
use std::sync::Mutex;

use gemm_common::Parallelism;

use super::math::Float;
use super::matmul::Real;
use super::threads::split;
use crate::array::Array;
use crate::dtype::Element;
use crate::shape::{broadcast, numel};

/// A floating element that matrices are made of.
pub(crate) trait Scalar: Float + Real {
    /// The distance from 1 to the next number.
    const EPSILON: Self;
}

impl Scalar for f32 {
    const EPSILON: f32 = f32::EPSILON;
}

impl Scalar for f64 {
    const EPSILON: f64 = f64::EPSILON;
}

/// Where a computation ended: the matrix among those of the batch, and the step within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stop {
    pub(crate) matrix: usize,
    pub(crate) step: usize,
}

/// Calls `f` on ranges of a batch, on several threads if it is worth it, and returns the first matrix that failed.
pub(super) fn ranges(
    count: usize,
    grain: usize,
    nanos: usize,
    f: &(dyn Fn(Range<usize>) -> Option<Stop> + Sync),
) -> Result<(), Stop> {
    let first = Mutex::new(None::<Stop>);
    split(count, grain, count.saturating_mul(nanos), |range| {
        if let Some(stop) = f(range) {
            let mut first = first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *first = Some(first.map_or(stop, |old| old.min(stop)));
        }
    });
    first.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).map_or(Ok(()), Err)
}

/// [`ranges`] for work that knows one matrix at a time, and returns the step at which it failed.
pub(super) fn each(count: usize, nanos: usize, f: &(dyn Fn(usize) -> Result<(), usize> + Sync)) -> Result<(), Stop> {
    ranges(count, 1, nanos, &|range| {
        let mut first = None;
        for matrix in range {
            if let Err(step) = f(matrix) {
                first.get_or_insert(Stop { matrix, step });
            }
        }
        first
    })
}

/// The matrices (or vectors) of one operand, whose leading dimensions broadcast to those of the batch.
pub(super) struct Stack<'a, T> {
    data: &'a [T],
    size: usize,
    own: &'a [usize],
    whole: &'a [usize],
}

impl<'a, T: Element> Stack<'a, T> {
    /// Of a contiguous array whose last `core` dimensions are one matrix.
    pub(super) fn new(x: &'a Array, core: usize, whole: &'a [usize]) -> Stack<'a, T> {
        let (own, shape) = x.shape().split_at(x.rank() - core);
        Stack { data: x.as_slice::<T>().unwrap_or_default(), size: numel(shape), own, whole }
    }

    #[inline]
    pub(super) fn at(&self, k: usize) -> &'a [T] {
        let place = if self.own == self.whole { k } else { element_of(self.own, self.whole, k) };
        &self.data[place * self.size..(place + 1) * self.size]
    }
}

/// Where element `k` of a shape lies in one that broadcasts to it.
pub(crate) fn element_of(own: &[usize], whole: &[usize], mut k: usize) -> usize {
    let (mut place, mut stride) = (0, 1);
    for (d, &size) in whole.iter().enumerate().rev() {
        let Some(&own) = (d + own.len()).checked_sub(whole.len()).and_then(|d| own.get(d)) else { break };
        if own != 1 {
            place += k % size * stride;
        }
        k /= size;
        stride *= own;
    }
    place
}

/// The leading dimensions of two operands, which the caller has checked to broadcast.
pub(super) fn leads(a: &Array, a_core: usize, b: &Array, b_core: usize) -> crate::Shape {
    broadcast(&a.shape()[..a.rank() - a_core], &b.shape()[..b.rank() - b_core]).unwrap_or_default()
}

/// Results that threads write matrix by matrix.
pub(super) struct Results<T>(super::threads::SendPtr<T>, usize);

impl<T: Element> Results<T> {
    /// Of an array with `size` elements per matrix.
    pub(super) fn new(out: &mut Array, size: usize) -> Results<T> {
        let start = out.as_mut_slice::<T>().map_or(std::ptr::null_mut(), <[T]>::as_mut_ptr);
        Results(super::threads::SendPtr(start), size)
    }

    /// Matrix `k`.
    ///
    /// # Safety
    /// `k` must be one of the array, which must be alive, and nobody else may hold this matrix.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn at(&self, k: usize) -> &mut [T] {
        if self.1 == 0 {
            return &mut [];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.get().add(k * self.1), self.1) }
    }
}

/// A matrix inside of a larger one: the address of its first element, and the steps of rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Part<T> {
    pub(super) start: *const T,
    pub(super) steps: [isize; 2],
}

impl<T> Part<T> {
    pub(super) fn transposed(self) -> Part<T> {
        Part { steps: [self.steps[1], self.steps[0]], ..self }
    }
    /// The part from an element on.
    pub(super) fn from(self, row: usize, column: usize) -> Part<T> {
        let offset = row as isize * self.steps[0] + column as isize * self.steps[1];
        Part { start: self.start.wrapping_offset(offset), ..self }
    }
}

/// `c -= a b` for `a` of size `[m, k]` and `b` of size `[k, n]`; rows of `c` lie `c_row` apart.
///
/// # Safety
/// The parts must be valid, and `c` must not overlap the others.
pub(super) unsafe fn subtract_product<T: Scalar>(
    [m, k, n]: [usize; 3],
    c: *mut T,
    c_row: usize,
    a: Part<T>,
    b: Part<T>,
) {
    if m == 0 || k == 0 || n == 0 {
        return;
    }
    let (one, minus) = (<T as Element>::ONE, -<T as Element>::ONE);
    // The engine writes along columns, so it is given the transposed product.
    // SAFETY: the caller vouches for the operands.
    unsafe {
        T::blocked()(
            n,
            m,
            k,
            c,
            c_row as isize,
            1,
            true,
            b.start,
            b.steps[0],
            b.steps[1],
            a.start,
            a.steps[0],
            a.steps[1],
            one,
            minus,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// `c = a b` for square matrices.
pub(super) fn multiply<T: Scalar>(n: usize, a: &[T], b: &[T], c: &mut [T]) {
    c.fill(<T as Element>::ZERO);
    if n <= 16 {
        for i in 0..n {
            for k in 0..n {
                let f = a[i * n + k];
                for j in 0..n {
                    c[i * n + j] = f.mul_add(b[k * n + j], c[i * n + j]);
                }
            }
        }
        return;
    }
    let steps = [n as isize, 1];
    // SAFETY: the slices are matrices of that size.
    unsafe {
        subtract_product(
            [n, n, n],
            c.as_mut_ptr(),
            n,
            Part { start: a.as_ptr(), steps },
            Part { start: b.as_ptr(), steps },
        );
    }
    c.iter_mut().for_each(|v| *v = -*v);
}

/// A number of nanoseconds for work of this many multiplications on elements of type `T`.
pub(super) fn nanos<T>(multiplications: usize) -> usize {
    multiplications * size_of::<T>() / 32 + 20
}
