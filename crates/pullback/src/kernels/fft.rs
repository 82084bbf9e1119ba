//! Fourier transforms of the rows of arrays, by the `rustfft` and `realfft` crates.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

use super::copy::copy_into;
use super::math::Float;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::Complex;
use crate::array::Array;
use crate::dtype::Element;
use crate::shape::{Dims, Shape, with_dim, without_dim};

/// The transform of rows of one length.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Forward,
    Inverse,
    FromReal,
    ToReal,
}

/// Plans that were made, by type, kind and length; forgotten when there are many.
static PLANS: LazyLock<Mutex<HashMap<(TypeId, Kind, usize), Box<dyn Any + Send>>>> = LazyLock::new(Mutex::default);

const MOST_PLANS: usize = 128;

/// The plan that `make` makes, or the one that was made before.
fn plan<T: 'static, P: ?Sized + Send + Sync + 'static>(kind: Kind, n: usize, make: impl FnOnce() -> Arc<P>) -> Arc<P> {
    let key = (TypeId::of::<T>(), kind, n);
    let find = || {
        let plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        plans.get(&key).and_then(|p| p.downcast_ref::<Arc<P>>()).cloned()
    };
    find().unwrap_or_else(|| {
        let made = make();
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(key, Box::new(made.clone()));
        made
    })
}

/// A floating element that is transformed.
pub(crate) trait Sample: Float + FftNum {}
impl Sample for f32 {}
impl Sample for f64 {}

/// A guess at the time of the transforms of `rows` rows of `n`, in ns.
fn nanos(rows: usize, n: usize) -> usize {
    rows * n * (1 + n.max(1).ilog2() as usize) / 2
}

/// The order of dims with `dim` last, and the one that undoes it.
fn last(rank: usize, dim: usize) -> (Dims, Dims) {
    let order: Dims = (0..rank).filter(|&d| d != dim).chain([dim]).collect();
    let mut back: Dims = (0..rank).collect();
    for (k, &d) in order.iter().enumerate() {
        back[d] = k;
    }
    (order, back)
}

/// The shape of `x` with `n` elements along `dim`.
fn resized(x: &Array, dim: usize, n: usize) -> Shape {
    let mut shape = x.to_shape();
    shape[dim] = n;
    shape
}

/// The transform along `dim`, which is not empty, times `scale`.
pub(crate) fn complex<T: Sample>(x: &Array, dim: usize, inverse: bool, scale: f64) -> Array
where
    Complex<T>: Element,
{
    let n = x.shape()[dim];
    if x.numel() == 0 {
        return x.clone();
    }
    let (kind, direction) = match inverse {
        false => (Kind::Forward, FftDirection::Forward),
        true => (Kind::Inverse, FftDirection::Inverse),
    };
    let plan: Arc<dyn Fft<T>> = plan::<T, dyn Fft<T>>(kind, n, || FftPlanner::new().plan_fft(n, direction));
    let (order, back) = last(x.rank(), dim);
    let x = x.permute(&order);
    let zero = Complex { re: T::ZERO, im: T::ZERO };
    let scale = <T as Element>::from_f64(scale);
    // SAFETY: `copy_into` writes every element, and rows are disjoint.
    let result = unsafe {
        Array::build(x.shape(), |out: &mut [MaybeUninit<Complex<T>>]| {
            let rows = out.len() / n;
            copy_into(&x, out);
            let out = Out::new(out.as_mut_ptr().cast::<Complex<T>>());
            split(rows, 1, nanos(rows, n), |range| {
                let mut scratch = vec![zero; plan.get_inplace_scratch_len()];
                for row in range {
                    let row = std::slice::from_raw_parts_mut(out.at(row * n), n);
                    // One number is its own transform, and products with zero would make infinity NaN.
                    if n > 1 {
                        plan.process_with_scratch(row, &mut scratch);
                    }
                    if scale != T::ONE {
                        row.iter_mut().for_each(|z| *z = Complex { re: z.re * scale, im: z.im * scale });
                    }
                }
            });
        })
    };
    result.permute(&back)
}

/// Whether the value at place `k` of the first half of a spectrum stands for two of the whole, of `n` values.
fn is_pair(k: usize, n: usize) -> bool {
    k > 0 && 2 * k < n
}

/// The first half of the transform of real numbers along `dim`, which is not empty, times `scale`; with `doubled`, values
/// that stand for two count twice.
pub(crate) fn from_real<T: Sample>(x: &Array, dim: usize, doubled: bool, scale: f64) -> Array
where
    Complex<T>: Element,
{
    let n = x.shape()[dim];
    if x.numel() == 0 {
        return Array::full(resized(x, dim, n / 2 + 1), <Complex<T> as Element>::ZERO);
    }
    let plan = plan::<T, dyn RealToComplex<T>>(Kind::FromReal, n, || RealFftPlanner::new().plan_fft_forward(n));
    let (order, back) = last(x.rank(), dim);
    let x = super::copy::contiguous(&x.permute(&order));
    let (rows, half) = (x.numel() / n, n / 2 + 1);
    let shape: Shape = with_dim(&without_dim(x.shape(), x.rank() - 1), x.rank() - 1, half);
    let (from, scale) = (In::<T>::of(&x), <T as Element>::from_f64(scale));
    let write = |out: Out<Complex<T>>| {
        split(rows, 1, nanos(rows, n) / 2, |range| {
            let (mut input, mut scratch) = (plan.make_input_vec(), plan.make_scratch_vec());
            let mut spectrum = plan.make_output_vec();
            for row in range {
                // SAFETY: row `row` of each; that of the result is ours.
                unsafe {
                    input.copy_from_slice(std::slice::from_raw_parts(from.at((row * n) as isize), n));
                    // It can only fail for slices of other lengths than its own.
                    let _ = plan.process_with_scratch(&mut input, &mut spectrum, &mut scratch);
                    for (k, z) in spectrum.iter().enumerate() {
                        let scale = if doubled && is_pair(k, n) { scale + scale } else { scale };
                        out.at(row * half + k).write(Complex { re: z.re * scale, im: z.im * scale });
                    }
                }
            }
        });
    };
    // SAFETY: every row is written.
    unsafe { output(shape, write) }.permute(&back)
}

/// The real numbers whose transform along `dim` has the given first half, of `n`, times `scale`; with `halved`, values that stand
/// for two count half.
pub(crate) fn to_real<T: Sample>(x: &Array, dim: usize, n: usize, halved: bool, scale: f64) -> Array
where
    Complex<T>: Element,
{
    let half = x.shape()[dim];
    debug_assert_eq!(half, n / 2 + 1);
    if x.numel() == 0 {
        return Array::full(resized(x, dim, n), <T as Element>::ZERO);
    }
    let plan = plan::<T, dyn ComplexToReal<T>>(Kind::ToReal, n, || RealFftPlanner::new().plan_fft_inverse(n));
    let (order, back) = last(x.rank(), dim);
    let x = super::copy::contiguous(&x.permute(&order));
    let rows = x.numel() / half;
    let shape: Shape = with_dim(&without_dim(x.shape(), x.rank() - 1), x.rank() - 1, n);
    let (from, scale) = (In::<Complex<T>>::of(&x), <T as Element>::from_f64(scale));
    let write = |out: Out<T>| {
        split(rows, 1, nanos(rows, n) / 2, |range| {
            let (mut input, mut scratch) = (plan.make_input_vec(), plan.make_scratch_vec());
            let mut numbers = plan.make_output_vec();
            for row in range {
                // SAFETY: row `row` of each; that of the result is ours.
                unsafe {
                    for (k, z) in input.iter_mut().enumerate() {
                        let own = if halved && is_pair(k, n) { scale * T::HALF } else { scale };
                        let value = *from.at((row * half + k) as isize);
                        // What stands for itself alone is real in the spectrum of real numbers.
                        let im = if is_pair(k, n) { value.im * own } else { T::ZERO };
                        *z = Complex { re: value.re * own, im };
                    }
                    let _ = plan.process_with_scratch(&mut input, &mut numbers, &mut scratch);
                    std::ptr::copy_nonoverlapping(numbers.as_ptr(), out.at(row * n), n);
                }
            }
        });
    };
    // SAFETY: every row is written.
    unsafe { output(shape, write) }.permute(&back)
}
