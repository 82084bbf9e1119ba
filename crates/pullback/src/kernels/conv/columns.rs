//! The columns of an image: for every position of the result, the elements that lie under the kernel.

use std::ops::Range;

use super::Geometry;
use crate::kernels::matmul::Real;
use crate::kernels::simd::vectorize;

/// Calls `f` for every run of neighbouring positions with one tap, in the order channel, tap, position: the number of channel and tap
/// together, the positions counted from the first of `positions`, and where in the image of this channel the first of those
/// inside of it lies, with the range of them. Positions of a run that are not in that range lie outside.
#[inline(always)]
fn runs(
    g: &Geometry,
    channels: usize,
    positions: Range<usize>,
    mut f: impl FnMut(usize, usize, Range<usize>, Range<usize>, usize),
) {
    let ([depth, height, width], [_, rows, row]) = (g.input, g.output);
    let (volume, padding, stride) = (g.volume(), g.padding, g.stride);
    let (first, x) = (positions.start / row, positions.start % row);
    let start = [first / rows, first % rows, x];
    let mut line = 0;
    for channel in 0..channels {
        for kz in 0..g.kernel[0] {
            for ky in 0..g.kernel[1] {
                let above = [kz * g.dilation[0], ky * g.dilation[1]];
                for kx in 0..g.kernel[2] {
                    let inside = g.inside(2, kx);
                    let shift = kx * g.dilation[2];
                    let mut at = positions.start;
                    // Counted instead of divided: runs are short.
                    let [mut oz, mut oy, mut x] = start;
                    while at < positions.end {
                        let end = row.min(x + (positions.end - at));
                        // Outside of the image on the one side is far outside on the other.
                        let z = (oz * stride[0] + above[0]).wrapping_sub(padding[0]);
                        let y = (oy * stride[1] + above[1]).wrapping_sub(padding[1]);
                        let (own, start) = if z < depth && y < height {
                            let own = inside.start.clamp(x, end)..inside.end.clamp(x, end);
                            let start = channel * volume + (z * height + y) * width;
                            let first = (own.start * stride[2] + shift).saturating_sub(padding[2]);
                            (own, start + first)
                        } else {
                            (x..x, 0)
                        };
                        let offset = at - positions.start;
                        f(line, offset, x..end, own, start);
                        at += end - x;
                        (oy, x) = (oy + 1, 0);
                        if oy == rows {
                            (oz, oy) = (oz + 1, 0);
                        }
                    }
                    line += 1;
                }
            }
        }
    }
}

/// Writes the columns of the image at `x`: `positions` of them, in rows that begin `row` elements apart.
///
/// # Safety
/// The image must be valid, and there must be room at `to`.
pub(super) unsafe fn unfold<T: Real>(
    g: &Geometry,
    channels: usize,
    x: *const T,
    positions: Range<usize>,
    to: *mut T,
    row: usize,
) {
    let step = g.stride[2];
    vectorize(
        #[inline(always)]
        || {
            runs(
                g,
                channels,
                positions,
                #[inline(always)]
                |line, offset, run, own, start| {
                    // SAFETY: the run lies in the row of this line, and what lies inside of the image is valid.
                    unsafe {
                        let to = std::slice::from_raw_parts_mut(to.add(line * row + offset), run.len());
                        let (before, rest) = to.split_at_mut(own.start - run.start);
                        let (middle, after) = rest.split_at_mut(own.len());
                        before.fill(T::ZERO);
                        let from = x.wrapping_add(start);
                        if step == 1 {
                            for (k, t) in middle.iter_mut().enumerate() {
                                *t = *from.add(k);
                            }
                        } else {
                            for (k, t) in middle.iter_mut().enumerate() {
                                *t = *from.add(k * step);
                            }
                        }
                        after.fill(T::ZERO);
                    }
                },
            );
        },
    );
}

/// Adds columns to the image at `x`, each element where it came from: the transpose of [`unfold`].
///
/// # Safety
/// The columns and the image must be valid.
pub(super) unsafe fn fold<T: Real>(
    g: &Geometry,
    channels: usize,
    from: *const T,
    row: usize,
    positions: Range<usize>,
    x: *mut T,
) {
    let step = g.stride[2];
    vectorize(
        #[inline(always)]
        || {
            runs(
                g,
                channels,
                positions,
                #[inline(always)]
                |line, offset, run, own, start| {
                    // SAFETY: as above.
                    unsafe {
                        let skip = own.start - run.start;
                        let from = std::slice::from_raw_parts(from.add(line * row + offset + skip), own.len());
                        let to = x.wrapping_add(start);
                        if step == 1 {
                            for (k, &f) in from.iter().enumerate() {
                                *to.add(k) = *to.add(k) + f;
                            }
                        } else {
                            for (k, &f) in from.iter().enumerate() {
                                *to.add(k * step) = *to.add(k * step) + f;
                            }
                        }
                    }
                },
            );
        },
    );
}

/// Calls `f` for every run of positions that meets the image with one tap: the tap, the first position, the first
/// element of the image, and the length.
#[inline(always)]
pub(super) fn meetings(g: &Geometry, mut f: impl FnMut(usize, usize, usize, usize)) {
    runs(
        g,
        1,
        0..g.positions(),
        #[inline(always)]
        |tap, offset, run, own, start| {
            if !own.is_empty() {
                f(tap, offset + own.start - run.start, start, own.len());
            }
        },
    );
}
