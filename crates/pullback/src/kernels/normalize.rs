//! Elements less their mean, over their standard deviation, and the differential of that.
//!
//! Arrays have four dimensions: statistics are taken over the second and the fourth, one for each place in the others.

use super::math::Float;
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

/// Element `k`.
///
/// # Safety
/// There must be one.
#[inline(always)]
unsafe fn read<T: Float>(x: In<T>, k: usize) -> T {
    // SAFETY: by the contract.
    unsafe { *x.at(k as isize) }
}

/// How many sums run side by side.
const WIDTH: usize = 16;

/// The sum of `f` of the numbers below `n`.
#[inline(always)]
fn sum<T: Float>(n: usize, f: impl Fn(usize) -> T) -> T {
    let mut sums = [T::ZERO; WIDTH];
    let whole = n / WIDTH * WIDTH;
    for k in (0..whole).step_by(WIDTH) {
        for (l, s) in sums.iter_mut().enumerate() {
            *s = *s + f(k + l);
        }
    }
    for k in whole..n {
        sums[k - whole] = sums[k - whole] + f(k);
    }
    let mut width = WIDTH / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] = sums[l] + sums[l + width];
        }
        width /= 2;
    }
    sums[0]
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

    /// The sum of `f` of the places of all elements: of each block as it is, of blocks in `f64`.
    #[inline(always)]
    fn sum<T: Float>(self, f: impl Fn(usize) -> T) -> f64 {
        if self.blocks == 1 {
            return sum(
                self.len,
                #[inline(always)]
                |k| f(self.start + k),
            )
            .to_f64();
        }
        self.starts()
            .map(|start| {
                sum(
                    self.len,
                    #[inline(always)]
                    |k| f(start + k),
                )
                .to_f64()
            })
            .sum()
    }
}

fn normalized<T: Float>(x: &Array, eps: T, center: bool, affine: Option<(&[T], Option<&[T]>)>) -> [Array; 2] {
    let shape = Shape::from_slice(x.shape());
    let (sets, n) = (shape[0] * shape[2], (shape[1] * shape[3]) as f64);
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
                            let mean = match center {
                                true => T::from_f64(
                                    set.sum(
                                        #[inline(always)]
                                        |k| read(from, k),
                                    ) / n,
                                ),
                                false => T::ZERO,
                            };
                            let squares = set.sum(
                                #[inline(always)]
                                |k| {
                                    let d = read(from, k) - mean;
                                    d * d
                                },
                            );
                            let scale = T::ONE / (T::from_f64(squares / n) + eps).sqrt();
                            *r.at(k) = scale;
                            for start in set.starts() {
                                let to = std::slice::from_raw_parts_mut(out.at(start), set.len);
                                match affine {
                                    None => {
                                        for (j, t) in to.iter_mut().enumerate() {
                                            *t = (read(from, start + j) - mean) * scale;
                                        }
                                    }
                                    Some((w, None)) => {
                                        for (j, (t, &w)) in to.iter_mut().zip(w).enumerate() {
                                            *t = (read(from, start + j) - mean) * scale * w;
                                        }
                                    }
                                    Some((w, Some(b))) => {
                                        for (j, ((t, &w), &b)) in to.iter_mut().zip(w).zip(b).enumerate() {
                                            *t = (read(from, start + j) - mean) * scale * w + b;
                                        }
                                    }
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

fn differentiated<T: Float>(d: &Array, y: &Array, r: &Array, center: bool) -> Array {
    let shape = Shape::from_slice(d.shape());
    let (sets, n) = (shape[0] * shape[2], (shape[1] * shape[3]) as f64);
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
                            let mean = match center {
                                true => T::from_f64(
                                    set.sum(
                                        #[inline(always)]
                                        |k| read(d, k),
                                    ) / n,
                                ),
                                false => T::ZERO,
                            };
                            let product = set.sum(
                                #[inline(always)]
                                |k| read(d, k) * read(y, k),
                            );
                            let (product, scale) = (T::from_f64(product / n), read(r, k));
                            for start in set.starts() {
                                let to = std::slice::from_raw_parts_mut(out.at(start), set.len);
                                for (j, t) in to.iter_mut().enumerate() {
                                    *t = scale * (read(d, start + j) - mean - read(y, start + j) * product);
                                }
                            }
                        }
                    },
                );
            });
        })
    }
}
