//! Elements less their mean, over their standard deviation, and the differential of that.
//!
//! Arrays have four dimensions: statistics are taken over the second and the fourth, one for each place in the others.

use super::math::Float;
use super::reduce::{Neighbours, Source, Sum, Widen, run};
use super::simd::vectorize;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::copy::contiguous;
use crate::shape::Shape;

/// The shape of what there is one of for each set of elements.
pub(crate) fn statistics_shape(x: &[usize]) -> Shape {
    Shape::from_slice(&[x[0], 1, x[2], 1])
}

/// The elements less their mean if `center`, times the reciprocal of `sqrt(mean of their squares + eps)`, and that reciprocal. With
/// an `affine` map, a weight and perhaps a bias for each place in the last dimension, the elements are mapped by it.
pub(crate) fn normalize(
    x: &Array,
    eps: f64,
    center: bool,
    affine: Option<(&Array, Option<&Array>)>,
) -> Result<[Array; 2]> {
    let x = contiguous(x);
    let affine = affine.map(|(w, b)| (contiguous(w), b.map(contiguous)));
    dispatch!(x.dtype(), "normalize", float, T => {
        let slices = affine.as_ref().map(|(w, b)| {
            (w.as_slice::<T>().unwrap_or_default(), b.as_ref().and_then(|b| b.as_slice::<T>()))
        });
        Ok(normalized::<T>(&x, T::from_f64(eps), center, slices))
    })
}

/// `r·(d - mean(d) - y·mean(d·y))`, without the first mean unless `center`: the differential of [`normalize`] with the results `y`
/// and `r`, which is its own transpose.
pub(crate) fn differential(d: &Array, y: &Array, r: &Array, center: bool) -> Result<Array> {
    let [d, y, r] = [d, y, r].map(contiguous);
    dispatch!(d.dtype(), "normalize", float, T => Ok(differentiated::<T>(&d, &y, &r, center)))
}

/// What the sums need of an element.
pub(super) trait Real: Float + Widen<Wide = Self> {}
impl Real for f32 {}
impl Real for f64 {}

/// Squares of neighbours less a number.
#[derive(Clone, Copy)]
pub(super) struct Squares<T>(pub(super) *const T, pub(super) T);

impl<T: Real> Source<T> for Squares<T> {
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: by the contract.
        let mut values = unsafe { Neighbours(self.0).get::<N>(i) };
        for v in &mut values {
            *v = (*v - self.1) * (*v - self.1);
        }
        values
    }
}

/// Products of neighbours.
#[derive(Clone, Copy)]
struct Products<T>(*const T, *const T);

impl<T: Real> Source<T> for Products<T> {
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn get<const N: usize>(self, i: usize) -> [T; N] {
        // SAFETY: by the contract.
        let (mut values, others) = unsafe { (Neighbours(self.0).get::<N>(i), Neighbours(self.1).get::<N>(i)) };
        for l in 0..N {
            values[l] = values[l] * others[l];
        }
        values
    }
}

/// One set of elements: blocks of neighbours, equally far apart.
#[derive(Clone, Copy)]
struct Set {
    start: usize,
    blocks: usize,
    step: usize,
    len: usize,
}

impl Set {
    /// The set with number `k` of an array of this shape.
    fn of(shape: &[usize], k: usize) -> Set {
        let (outer, inner) = (k / shape[2], k % shape[2]);
        let step = shape[2] * shape[3];
        Set { start: outer * shape[1] * step + inner * shape[3], blocks: shape[1], step, len: shape[3] }
    }

    /// Where its blocks begin.
    #[inline(always)]
    fn starts(self) -> impl Iterator<Item = usize> {
        (0..self.blocks).map(move |b| self.start + b * self.step)
    }

    /// The mean of the elements of a source for each block, which begins at a place: of each block as it is, of blocks in `f64`.
    ///
    /// # Safety
    /// The sources must have the elements of the set.
    #[inline(always)]
    unsafe fn mean<T: Real, S: Source<T>>(self, source: impl Fn(usize) -> S) -> T {
        let mut total = 0.0;
        for start in self.starts() {
            // SAFETY: by the contract.
            total += unsafe { run::<T, Sum>(source(start), self.len) }.to_f64();
        }
        T::from_f64(total / (self.blocks * self.len) as f64)
    }
}

fn normalized<T: Real>(x: &Array, eps: T, center: bool, affine: Option<(&[T], Option<&[T]>)>) -> [Array; 2] {
    let shape = Shape::from_slice(x.shape());
    let sets = shape[0] * shape[2];
    let from = In::<T>::of(x);
    let write = |out: Out<T>, r: Out<T>| {
        split(sets, 1, x.numel() * size_of::<T>() / 4 + sets * 10, |range| {
            vectorize(
                #[inline(always)]
                || {
                    for k in range.clone() {
                        let set = Set::of(&shape, k);
                        // SAFETY: the places of a set lie inside of the array; every set is written once.
                        unsafe {
                            let at = |start: usize| from.at(start as isize);
                            let mean = if center { set.mean(|start| Neighbours(at(start))) } else { T::ZERO };
                            let variance: T = set.mean(|start| Squares(at(start), mean));
                            let scale = T::ONE / (variance + eps).sqrt();
                            *r.at(k) = scale;
                            for start in set.starts() {
                                let to = std::slice::from_raw_parts_mut(out.at(start), set.len);
                                let from = std::slice::from_raw_parts(at(start), set.len);
                                let pairs = to.iter_mut().zip(from);
                                match affine {
                                    None => pairs.for_each(
                                        #[inline(always)]
                                        |(t, &x)| *t = (x - mean) * scale,
                                    ),
                                    Some((w, None)) => pairs.zip(w).for_each(
                                        #[inline(always)]
                                        |((t, &x), &w)| *t = (x - mean) * scale * w,
                                    ),
                                    Some((w, Some(b))) => pairs.zip(w).zip(b).for_each(
                                        #[inline(always)]
                                        |(((t, &x), &w), &b)| *t = (x - mean) * scale * w + b,
                                    ),
                                }
                            }
                        }
                    }
                },
            );
        });
    };
    let mut scales = None;
    // SAFETY: both arrays are written as a whole.
    let y = unsafe { output(shape.clone(), |out| scales = Some(output(statistics_shape(&shape), |r| write(out, r)))) };
    let scales = scales.unwrap_or_else(|| Array::full(statistics_shape(&shape), T::ONE));
    [y, scales]
}

fn differentiated<T: Real>(d: &Array, y: &Array, r: &Array, center: bool) -> Array {
    let shape = Shape::from_slice(d.shape());
    let sets = shape[0] * shape[2];
    let numel = d.numel();
    let [d, y, r] = [d, y, r].map(In::<T>::of);
    // SAFETY: the places of a set lie inside of the arrays; every set is written once.
    unsafe {
        output(shape.clone(), |out| {
            split(sets, 1, numel * size_of::<T>() / 3 + sets * 10, |range| {
                vectorize(
                    #[inline(always)]
                    || {
                        for k in range.clone() {
                            let set = Set::of(&shape, k);
                            let at = |start: usize| (d.at(start as isize), y.at(start as isize));
                            let mean = if center { set.mean(|start| Neighbours(at(start).0)) } else { T::ZERO };
                            let product: T = set.mean(|start| Products(at(start).0, at(start).1));
                            let scale = *r.at(k as isize);
                            for start in set.starts() {
                                let to = std::slice::from_raw_parts_mut(out.at(start), set.len);
                                let d = std::slice::from_raw_parts(at(start).0, set.len);
                                let y = std::slice::from_raw_parts(at(start).1, set.len);
                                for ((t, &d), &y) in to.iter_mut().zip(d).zip(y) {
                                    *t = scale * (d - mean - y * product);
                                }
                            }
                        }
                    },
                );
            });
        })
    }
}
