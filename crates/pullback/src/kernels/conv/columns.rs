//! The columns of an image: for every position of the result, the elements that lie under the kernel.

use std::ops::Range;

use super::{Geometry, scratch};
use crate::array::Array;
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
    if let Some(apart) = Apart::of(g, &positions) {
        // SAFETY: by the contract.
        return vectorize(
            #[inline(always)]
            || unsafe { apart.unfold(g, channels, x, to, row) },
        );
    }
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
    if let Some(apart) = Apart::of(g, &positions) {
        // SAFETY: by the contract.
        return vectorize(
            #[inline(always)]
            || unsafe { apart.fold(g, channels, from, row, x) },
        );
    }
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

/// A small plane image with its padding, whose rows are taken apart by the stride: elements that a tap meets at neighbouring positions
/// are neighbours, and none is missing. The runs of such images are too short for looking where each of them begins and ends.
struct Apart<T> {
    /// Elements between rows of the image, which are `phase` elements for each remainder of the stride.
    row: usize,
    phase: usize,
    plane: *mut T,
    len: usize,
    _memory: Array,
}

/// Elements that are copied at a time.
const STEP: usize = 8;
/// The longest row of a result whose image is taken apart.
const SHORT: usize = 32;

impl<T: Real> Apart<T> {
    /// Room for one channel of the image, if this suits it: all of its positions are asked for, and rows are short.
    fn of(g: &Geometry, positions: &Range<usize>) -> Option<Self> {
        let is_plane = (g.input[0], g.kernel[0], g.output[0], g.padding[0]) == (1, 1, 1, 0);
        if !is_plane || *positions != (0..g.positions()) || g.output[2] > SHORT || g.taps() < 4 {
            return None;
        }
        let reach = |d: usize| (g.output[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
        let phase = reach(2).div_ceil(g.stride[2]);
        let row = phase * g.stride[2];
        let len = reach(1) * row;
        // Rows are read in whole steps.
        let (memory, plane) = scratch::<T>(len + STEP);
        Some(Apart { row, phase, plane, len, _memory: memory })
    }

    /// Calls `f` for every element of a channel that is met, with its place in the image and here.
    #[inline(always)]
    fn each(&self, g: &Geometry, mut f: impl FnMut(usize, usize)) {
        let ([_, height, width], stride, padding) = (g.input, g.stride[2], g.padding[2]);
        let (above, rows) = (g.padding[1], self.len / self.row);
        for y in 0..height.min(rows.saturating_sub(above)) {
            for rest in 0..stride {
                // Column `at` of this part is column `at * stride + rest - padding` of the image.
                let start = (y + above) * self.row + rest * self.phase;
                let first = padding.saturating_sub(rest).div_ceil(stride);
                let end = (width + padding).saturating_sub(rest).div_ceil(stride).min(self.phase);
                for at in first..end {
                    f(y * width + at * stride + rest - padding, start + at);
                }
            }
        }
    }

    /// Calls `f` for every tap with its number and where its first position is here.
    #[inline(always)]
    fn taps(&self, g: &Geometry, mut f: impl FnMut(usize, usize)) {
        for ky in 0..g.kernel[1] {
            for kx in 0..g.kernel[2] {
                let x = kx * g.dilation[2];
                let first = ky * g.dilation[1] * self.row + x % g.stride[2] * self.phase + x / g.stride[2];
                f(ky * g.kernel[2] + kx, first);
            }
        }
    }

    /// [`unfold`] of all positions.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn unfold(&self, g: &Geometry, channels: usize, x: *const T, to: *mut T, row: usize) {
        let ([_, rows, n], down) = (g.output, g.stride[1] * self.row);
        // SAFETY: taps and positions lie in the plane, with a step behind it; writes end where the positions of this line do.
        unsafe {
            self.plane.write_bytes(0, self.len + STEP);
            for channel in 0..channels {
                let image = x.add(channel * g.volume());
                self.each(
                    g,
                    #[inline(always)]
                    |from, at| *self.plane.add(at) = *image.add(from),
                );
                self.taps(
                    g,
                    #[inline(always)]
                    |tap, first| {
                        let to = to.add((channel * g.taps() + tap) * row);
                        let from = self.plane.cast_const().add(first);
                        let whole = n.next_multiple_of(STEP);
                        // What is written beyond a row is written again with the next one.
                        let safe = if rows * n >= whole { (rows * n - whole) / n + 1 } else { 0 };
                        for y in 0..safe {
                            for k in (0..n).step_by(STEP) {
                                let values = from.add(y * down + k).cast::<[T; STEP]>().read_unaligned();
                                to.add(y * n + k).cast::<[T; STEP]>().write_unaligned(values);
                            }
                        }
                        for y in safe..rows {
                            std::ptr::copy_nonoverlapping(from.add(y * down), to.add(y * n), n);
                        }
                    },
                );
            }
        }
    }

    /// [`fold`] of all positions.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn fold(&self, g: &Geometry, channels: usize, from: *const T, row: usize, x: *mut T) {
        let ([_, rows, n], down) = (g.output, g.stride[1] * self.row);
        // SAFETY: as above.
        unsafe {
            for channel in 0..channels {
                self.plane.write_bytes(0, self.len);
                self.taps(
                    g,
                    #[inline(always)]
                    |tap, first| {
                        let from = from.add((channel * g.taps() + tap) * row);
                        for y in 0..rows {
                            let (from, to) = (from.add(y * n), self.plane.add(first + y * down));
                            for k in 0..n {
                                *to.add(k) = *to.add(k) + *from.add(k);
                            }
                        }
                    },
                );
                let image = x.add(channel * g.volume());
                self.each(
                    g,
                    #[inline(always)]
                    |to, at| *image.add(to) = *image.add(to) + *self.plane.add(at),
                );
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The columns by their definition.
    fn naive(g: &Geometry, channels: usize, x: &[f64]) -> Vec<f64> {
        let ([_, height, width], [_, rows, row]) = (g.input, g.output);
        let mut out = Vec::new();
        for channel in 0..channels {
            for (ky, kx) in (0..g.kernel[1]).flat_map(|ky| (0..g.kernel[2]).map(move |kx| (ky, kx))) {
                for (oy, ox) in (0..rows).flat_map(|oy| (0..row).map(move |ox| (oy, ox))) {
                    let y = (oy * g.stride[1] + ky * g.dilation[1]).wrapping_sub(g.padding[1]);
                    let x_at = (ox * g.stride[2] + kx * g.dilation[2]).wrapping_sub(g.padding[2]);
                    let inside = y < height && x_at < width;
                    out.push(if inside { x[(channel * height + y) * width + x_at] } else { 0.0 });
                }
            }
        }
        out
    }

    #[test]
    fn columns_of_small_images_and_their_transpose_agree_with_the_definition() {
        let mut seen = 0;
        for (size, kernel) in
            [([6, 7], [2, 2]), ([9, 5], [3, 4]), ([12, 28], [8, 8]), ([4, 40], [2, 3]), ([1, 3], [2, 2])]
        {
            for (stride, padding, dilation) in
                [([1, 1], [0, 0], [1, 1]), ([2, 2], [1, 3], [1, 1]), ([1, 3], [2, 1], [2, 1]), ([3, 2], [1, 2], [1, 2])]
            {
                let reach = |d: usize| (kernel[d] - 1) * dilation[d] + 1;
                let fits = |d: usize| usize::checked_sub(size[d] + 2 * padding[d], reach(d)).map(|n| n / stride[d] + 1);
                let (Some(rows), Some(row)) = (fits(0), fits(1)) else { continue };
                let whole = |a: [usize; 2], first: usize| [first, a[0], a[1]];
                let g = Geometry {
                    input: whole(size, 1),
                    kernel: whole(kernel, 1),
                    output: [1, rows, row],
                    stride: whole(stride, 1),
                    padding: whole(padding, 0),
                    dilation: whole(dilation, 1),
                };
                seen += usize::from(Apart::<f64>::of(&g, &(0..g.positions())).is_some());
                let x: Vec<f64> = (0..2 * g.volume()).map(|i| (i * 31 % 17) as f64 - 8.0).collect();
                let expected = naive(&g, 2, &x);
                // Two images side by side, whose parts of a row must not touch each other.
                let (n, line) = (g.positions(), 2 * g.positions());
                let mut got = vec![f64::NAN; 2 * expected.len()];
                // SAFETY: the sizes are those of the geometry.
                unsafe {
                    unfold(&g, 2, x.as_ptr(), 0..n, got.as_mut_ptr(), line);
                    unfold(&g, 2, x.as_ptr(), 0..n, got.as_mut_ptr().add(n), line);
                }
                for (k, rows) in got.chunks(line).enumerate() {
                    assert_eq!(rows[..n], expected[k * n..(k + 1) * n], "{g:?}");
                    assert_eq!(rows[n..], expected[k * n..(k + 1) * n], "{g:?}");
                }
                // The transpose: <unfold(x), c> = <x, fold(c)>, in whole numbers.
                let columns: Vec<f64> = (0..expected.len()).map(|i| (i * 13 % 7) as f64 - 3.0).collect();
                let mut image = vec![0.0; x.len()];
                // SAFETY: as above.
                unsafe { fold(&g, 2, columns.as_ptr(), n, 0..n, image.as_mut_ptr()) };
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                assert_eq!(dot(&expected, &columns), dot(&x, &image), "{g:?}");
            }
        }
        assert!(seen > 10, "{seen} of these are small");
    }
}
