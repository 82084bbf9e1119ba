//! Convolutions of groups with one channel on each side (depthwise): rows of the image, shifted and scaled, without columns.

use super::{Work, add, scratch};
use crate::kernels::matmul::Real;
use crate::kernels::simd::vectorize;
use crate::kernels::strided::Out;
use crate::kernels::threads::split;

/// The convolution.
///
/// # Safety
/// The operands must be valid, and `y` have room for the result.
pub(super) unsafe fn output<T: Real>(work: &Work<T>, y: Out<T>) {
    let (s, g) = (&work.s, &work.s.geometry);
    let (positions, step) = (g.positions(), g.stride[2]);
    split(s.lanes * s.images * s.groups, 1, work.nanos, |range| {
        for task in range {
            let (rest, group) = (task / s.groups, task % s.groups);
            let x = work.a.at((task * g.volume()) as isize);
            let w = work.b.at(work.filter(rest / s.images, group) as isize);
            let y = y.at(task * positions);
            // SAFETY: the runs lie inside of the image and of the result, of which every task has its own.
            unsafe {
                y.write_bytes(0, positions);
                vectorize(
                    #[inline(always)]
                    || {
                        super::columns::meetings(
                            g,
                            #[inline(always)]
                            |tap, first, start, len| {
                                let (factor, x) = (*w.add(tap), x.add(start));
                                let y = std::slice::from_raw_parts_mut(y.add(first), len);
                                if step == 1 {
                                    for (k, y) in y.iter_mut().enumerate() {
                                        *y += factor * *x.add(k);
                                    }
                                } else {
                                    for (k, y) in y.iter_mut().enumerate() {
                                        *y += factor * *x.add(k * step);
                                    }
                                }
                            },
                        );
                    },
                );
            }
        }
    });
}

/// The transposed convolution.
///
/// # Safety
/// The operands must be valid, and `x` have room for the result.
pub(super) unsafe fn input<T: Real>(work: &Work<T>, x: Out<T>) {
    let (s, g) = (&work.s, &work.s.geometry);
    let (volume, step) = (g.volume(), g.stride[2]);
    split(s.lanes * s.images * s.groups, 1, work.nanos, |range| {
        for task in range {
            let (rest, group) = (task / s.groups, task % s.groups);
            let w = work.a.at(work.filter(rest / s.images, group) as isize);
            let y = work.b.at((task * g.positions()) as isize);
            let x = x.at(task * volume);
            // SAFETY: as above.
            unsafe {
                x.write_bytes(0, volume);
                vectorize(
                    #[inline(always)]
                    || {
                        super::columns::meetings(
                            g,
                            #[inline(always)]
                            |tap, first, start, len| {
                                let (factor, x) = (*w.add(tap), x.add(start));
                                let y = std::slice::from_raw_parts(y.add(first), len);
                                for (k, &y) in y.iter().enumerate() {
                                    *x.add(k * step) = *x.add(k * step) + factor * y;
                                }
                            },
                        );
                    },
                );
            }
        }
    });
}

/// The weight.
///
/// # Safety
/// The operands must be valid, and `w` have room for the result.
pub(super) unsafe fn weight<T: Real>(work: &Work<T>, w: Out<T>) {
    let (s, g) = (&work.s, &work.s.geometry);
    let (volume, positions, taps, step) = (g.volume(), g.positions(), g.taps(), g.stride[2]);
    split(s.lanes * s.groups, 1, work.nanos, |range| {
        let (_term, term) = scratch::<T>(taps);
        for task in range {
            let (lane, group) = (task / s.groups, task % s.groups);
            let w = w.at(task * taps);
            // SAFETY: as above.
            unsafe {
                w.write_bytes(0, taps);
                for image in 0..s.images {
                    let place = (lane * s.images + image) * s.groups + group;
                    let (x, y) = (work.a.at((place * volume) as isize), work.b.at((place * positions) as isize));
                    term.write_bytes(0, taps);
                    vectorize(
                        #[inline(always)]
                        || {
                            super::columns::meetings(
                                g,
                                #[inline(always)]
                                |tap, first, start, len| {
                                    // Several sums, so that the compiler may keep them in a vector.
                                    let (x, y) = (x.add(start), y.add(first));
                                    let mut sums = [T::ZERO; 16];
                                    let whole = len / 16 * 16;
                                    for k in (0..whole).step_by(16) {
                                        for (l, sum) in sums.iter_mut().enumerate() {
                                            *sum += *x.add((k + l) * step) * *y.add(k + l);
                                        }
                                    }
                                    for k in whole..len {
                                        sums[k - whole] += *x.add(k * step) * *y.add(k);
                                    }
                                    let sum = sums.iter().fold(T::ZERO, |a, &b| a + b);
                                    *term.add(tap) = *term.add(tap) + sum;
                                },
                            );
                        },
                    );
                    add(w, term, taps);
                }
            }
        }
    });
}
