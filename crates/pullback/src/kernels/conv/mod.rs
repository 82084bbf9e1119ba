//! Convolutions over up to three dimensions, in all three roles: the result, and what the transposes give.
//!
//! A convolution is the sum of `x·w·y` over all elements that meet: with the image `x`, the weight `w` and the result `y`, leaving
//! out one of them gives the operation that computes it. With many channels, [`direct`] reads the elements under the kernel where
//! they are. Otherwise each is a matrix product with the *columns* of an image, the copy of it that holds, for every position of
//! the result, the elements under the kernel; only a block of columns exists at a time, small enough to stay in the cache. Where a
//! group has one channel, products would be too thin, and [`thin`] adds up shifted rows instead.

mod columns;
mod direct;
mod gathered;
mod thin;

use std::ops::Range;

use columns::{fold, unfold};

use super::matmul::{Real, flops_per_nano, product};
use super::strided::{In, Out, output};
use super::threads::{num_threads, split};
use crate::Result;
use crate::array::Array;
use crate::dtype::{Element, dispatch};
use crate::kernels::copy::contiguous;
use crate::shape::Shape;

/// The sizes of image, kernel and result, and how they meet: position `o` of the result meets, with tap `k` of the
/// kernel, element `stride·o + dilation·k - padding` of the image. Dimensions that are missing come first, with size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) input: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) padding: [usize; 3],
    pub(crate) dilation: [usize; 3],
}

impl Geometry {
    /// The number of elements of an image of one channel.
    pub(crate) fn volume(&self) -> usize {
        self.input.iter().product()
    }
    /// The number of elements of a kernel.
    pub(crate) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }
    /// The number of positions of the result.
    pub(crate) fn positions(&self) -> usize {
        self.output.iter().product()
    }

    /// The positions along dimension `d` at which tap `k` lies inside of the image.
    fn inside(&self, d: usize, k: usize) -> Range<usize> {
        let (shift, stride) = ((k * self.dilation[d]) as isize - self.padding[d] as isize, self.stride[d] as isize);
        // Rounded up: the first position that is not before the image, and the first behind it.
        let up = |x: isize| if x <= 0 { 0 } else { ((x + stride - 1) / stride) as usize };
        let start = up(-shift).min(self.output[d]);
        start..up(self.input[d] as isize - shift).clamp(start, self.output[d])
    }

    /// True if the columns of an image are the image.
    fn is_plain(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.padding == [0; 3]
    }
}

/// How many convolutions of what there are. The arrays are `x[lanes, images, groups, inputs, ..]`,
/// `w[lanes, groups, outputs, inputs, ..]` and `y[lanes, images, groups, outputs, ..]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) lanes: usize,
    pub(crate) images: usize,
    pub(crate) groups: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) geometry: Geometry,
}

/// Which of the three arrays is computed from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `x`, the transposed convolution.
    Input,
    /// `w`.
    Weight,
    /// `y`, the convolution.
    Output,
}

/// The array of `role` and `shape` from the two others, in the order `x`, `w`, `y`.
pub(crate) fn convolve(s: &Sizes, role: Role, a: &Array, b: &Array, shape: Shape) -> Result<Array> {
    let (a, b) = (contiguous(a), contiguous(b));
    dispatch!(a.dtype(), "conv", float, T => Ok(run::<T>(s, role, &a, &b, shape)))
}

/// Elements of a block of columns: half of a usual cache of the second level.
fn block_elements<T>() -> usize {
    (256 << 10) / size_of::<T>()
}

/// Positions that make a product wide enough; images with fewer are computed several at a time.
const WIDE: usize = 192;

fn run<T: Real>(s: &Sizes, role: Role, a: &Array, b: &Array, shape: Shape) -> Array {
    let (lanes, groups) = (s.lanes, s.groups);
    let depth = s.inputs * s.geometry.taps();
    if a.numel() == 0 || b.numel() == 0 || shape.contains(&0) || s.geometry.positions() == 0 {
        return Array::full(shape, T::ZERO);
    }
    let flops = (2 * lanes * s.images * groups * s.outputs).saturating_mul(depth * s.geometry.positions());
    let nanos = flops / flops_per_nano::<T>() + 2 * (a.numel() + b.numel());
    let work = Work::<T> { s: *s, depth, a: In::of(a), b: In::of(b), nanos };
    let is_thin = s.inputs == 1 && s.outputs == 1;
    let is_direct = !is_thin && direct::suits::<T>(s, role);
    // SAFETY: each of the functions writes the whole array of its role, from arrays of the sizes in `s`.
    unsafe {
        output(shape, |c| match (role, is_thin) {
            (Role::Weight, _) if is_direct => work.weight_directly(c),
            (_, _) if is_direct => work.directly(role, c),
            (Role::Output, false) => work.output(c),
            (Role::Input, false) => work.input(c),
            (Role::Weight, false) => work.weight(c),
            (Role::Output, true) => thin::output(&work, c),
            (Role::Input, true) => thin::input(&work, c),
            (Role::Weight, true) => thin::weight(&work, c),
        })
    }
}

/// One convolution with its operands, in the order `x`, `w`, `y`.
struct Work<T> {
    s: Sizes,
    /// The rows of the columns: channels of the image times taps.
    depth: usize,
    a: In<T>,
    b: In<T>,
    nanos: usize,
}

/// Some images of a lane and a group.
type Images = (usize, Range<usize>, usize);

/// How images and positions are taken together: several images whole, or a range of the positions of one.
#[derive(Clone, Copy)]
struct Blocks {
    images: usize,
    positions: usize,
}

/// Memory for `n` elements, and its address.
pub(crate) fn scratch<T: Element>(n: usize) -> (Array, *mut T) {
    let mut start = std::ptr::null_mut();
    // SAFETY: elements are written before they are read, and only through the address.
    let array = unsafe { Array::build::<T>([n], |out| start = out.as_mut_ptr().cast()) };
    (array, start)
}

impl<T: Real> Work<T> {
    /// How many images, or positions of one, make a block whose columns fit in the cache.
    fn blocks(&self) -> Blocks {
        let (all, most) = (self.s.geometry.positions(), (block_elements::<T>() / self.depth).max(1));
        if all < WIDE && 2 * all <= most {
            return Blocks { images: (WIDE / all + 1).min(most / all).min(self.s.images), positions: all };
        }
        // Whole vectors of positions, in blocks of about the same size.
        let most = most.max(64);
        let count = all.div_ceil(most);
        Blocks { images: 1, positions: all.div_ceil(count).next_multiple_of(16).min(all) }
    }

    /// How many threads the work is worth.
    fn threads(&self) -> usize {
        if self.nanos < 100_000 { 1 } else { num_threads() }
    }

    /// The address of a group of the image `x`, whose address is `x`.
    fn image(&self, x: In<T>, lane: usize, image: usize, group: usize) -> *const T {
        x.at((((lane * self.s.images + image) * self.s.groups + group) * self.s.inputs * self.s.geometry.volume())
            as isize)
    }
    /// Where a group of a weight begins.
    fn filter(&self, lane: usize, group: usize) -> usize {
        (lane * self.s.groups + group) * self.s.outputs * self.depth
    }
    /// Where a group of a result begins.
    fn result(&self, lane: usize, image: usize, group: usize) -> usize {
        ((lane * self.s.images + image) * self.s.groups + group) * self.s.outputs * self.s.geometry.positions()
    }

    /// The columns of some images side by side, as a matrix of [`Work::depth`] rows: those of `positions`, in `room` unless the
    /// image has them itself.
    ///
    /// # Safety
    /// `room` must have room for them.
    unsafe fn columns(
        &self,
        x: In<T>,
        (lane, images, group): Images,
        positions: Range<usize>,
        room: *mut T,
    ) -> (*const T, isize) {
        let g = &self.s.geometry;
        if images.len() == 1 && g.is_plain() {
            let start = self.image(x, lane, images.start, group);
            return (start.wrapping_add(positions.start), g.positions() as isize);
        }
        let row = images.len() * positions.len();
        for (k, image) in images.enumerate() {
            // SAFETY: by the contract; image `k` has its own part of each row.
            unsafe {
                let to = room.add(k * positions.len());
                unfold(g, self.s.inputs, self.image(x, lane, image, group), positions.clone(), to, row);
            }
        }
        (room, row as isize)
    }

    /// Results of some images side by side, as a matrix of as many rows as there are output channels.
    ///
    /// # Safety
    /// `room` must have room for them if there are several images.
    unsafe fn results(
        &self,
        y: In<T>,
        (lane, images, group): Images,
        positions: Range<usize>,
        room: *mut T,
    ) -> (*const T, isize) {
        let all = self.s.geometry.positions();
        if images.len() == 1 {
            return (y.at((self.result(lane, images.start, group) + positions.start) as isize), all as isize);
        }
        let row = images.len() * all;
        for (k, image) in images.enumerate() {
            let from = y.at(self.result(lane, image, group) as isize);
            for channel in 0..self.s.outputs {
                // SAFETY: by the contract; several images are whole.
                unsafe {
                    std::ptr::copy_nonoverlapping(from.add(channel * all), room.add(channel * row + k * all), all)
                };
            }
        }
        (room, row as isize)
    }

    /// The convolution: `w` times the columns of `x`.
    ///
    /// # Safety
    /// The operands must be valid, and `y` have room for the result.
    unsafe fn output(&self, y: Out<T>) {
        let (s, blocks) = (&self.s, self.blocks());
        let (all, depth) = (s.geometry.positions(), self.depth);
        let (of_images, of_positions) = (s.images.div_ceil(blocks.images), all.div_ceil(blocks.positions));
        split(s.lanes * of_images * s.groups * of_positions, 1, self.nanos, |range| {
            let width = blocks.images * blocks.positions;
            let (_columns, columns) = scratch::<T>(width * depth);
            let (_apart, apart) = scratch::<T>(if blocks.images > 1 { width * s.outputs } else { 0 });
            for task in range {
                let (rest, block) = (task / of_positions, task % of_positions);
                let (rest, group) = (rest / s.groups, rest % s.groups);
                let (lane, first) = (rest / of_images, rest % of_images * blocks.images);
                let images = first..(first + blocks.images).min(s.images);
                let positions = block * blocks.positions..((block + 1) * blocks.positions).min(all);
                let width = images.len() * positions.len();
                // SAFETY: the scratch memory has room for a block; every task has its own part of the result.
                unsafe {
                    let (x, row) = self.columns(self.a, (lane, images.clone(), group), positions.clone(), columns);
                    let w = self.b.at(self.filter(lane, group) as isize);
                    let several = images.len() > 1;
                    let to = y.at(self.result(lane, first, group) + positions.start);
                    let (c, c_row) = if several { (apart, width) } else { (to, all) };
                    product([s.outputs, depth, width], (w, [depth as isize, 1]), (x, [row, 1]), c, c_row);
                    for (k, image) in images.enumerate().filter(|_| several) {
                        for channel in 0..s.outputs {
                            let to = y.at(self.result(lane, image, group) + channel * all);
                            std::ptr::copy_nonoverlapping(apart.add(channel * width + k * all), to, all);
                        }
                    }
                }
            }
        });
    }

    /// The transposed convolution: `w` transposed times `y`, whose columns add up to the image.
    ///
    /// # Safety
    /// The operands must be valid, and `x` have room for the result.
    unsafe fn input(&self, x: Out<T>) {
        let (s, blocks) = (&self.s, self.blocks());
        let g = &s.geometry;
        let (all, volume, taps) = (g.positions(), g.volume(), g.taps());
        let of_images = s.images.div_ceil(blocks.images);
        let tasks = s.lanes * of_images * s.groups;
        // With few images, threads take some of the channels each.
        let parts = self.threads().div_ceil(tasks).min(s.inputs);
        let each = s.inputs.div_ceil(parts);
        split(tasks * parts, 1, self.nanos, |range| {
            let width = blocks.images * blocks.positions;
            let (_columns, columns) = scratch::<T>(width * each * taps);
            let (_beside, beside) = scratch::<T>(if blocks.images > 1 { width * s.outputs } else { 0 });
            for task in range {
                let (rest, part) = (task / parts, task % parts);
                let channels = (part * each).min(s.inputs)..((part + 1) * each).min(s.inputs);
                if channels.is_empty() {
                    continue;
                }
                let (rest, group) = (rest / s.groups, rest % s.groups);
                let (lane, first) = (rest / of_images, rest % of_images * blocks.images);
                let images = first..(first + blocks.images).min(s.images);
                let place = |image: usize| {
                    let group = (lane * s.images + image) * s.groups + group;
                    x.at((group * s.inputs + channels.start) * volume)
                };
                let depth = channels.len() * taps;
                // SAFETY: as above; the image is zero before columns are added to it.
                unsafe {
                    let w = self.a.at((self.filter(lane, group) + channels.start * taps) as isize);
                    let w = (w, [1, self.depth as isize]);
                    let plain = images.len() == 1 && g.is_plain();
                    for image in images.clone().filter(|_| !plain) {
                        place(image).write_bytes(0, channels.len() * volume);
                    }
                    for start in (0..all).step_by(blocks.positions) {
                        let positions = start..(start + blocks.positions).min(all);
                        let width = images.len() * positions.len();
                        let (y, row) = self.results(self.b, (lane, images.clone(), group), positions.clone(), beside);
                        if plain {
                            let to = place(first).wrapping_add(start);
                            product([depth, s.outputs, width], w, (y, [row, 1]), to, all);
                            continue;
                        }
                        product([depth, s.outputs, width], w, (y, [row, 1]), columns, width);
                        for (k, image) in images.clone().enumerate() {
                            let from = columns.add(k * positions.len());
                            fold(g, channels.len(), from, width, positions.clone(), place(image));
                        }
                    }
                }
            }
        });
    }

    /// Computes a weight for each lane and group, as a sum over images. With few weights, threads take some of the images each, in
    /// multiples of `grain`, and their sums are added in the end. `work` is given images with the address of their sum.
    ///
    /// # Safety
    /// `w` must have room for the weights, and `work` write all sums that it is given.
    unsafe fn over_images(
        &self,
        w: Out<T>,
        grain: usize,
        work: impl Fn(&mut dyn Iterator<Item = (Images, *mut T)>) + Sync,
    ) {
        let s = &self.s;
        let (size, filters) = (s.outputs * self.depth, s.lanes * s.groups);
        let of_images = s.images.div_ceil(grain);
        let parts = self.threads().div_ceil(filters).min(of_images);
        let each = of_images.div_ceil(parts) * grain;
        let (_sums, sums) = scratch::<T>((parts - 1) * filters * size);
        let sums = Out::new(sums);
        let place = |part: usize, filter: usize| match part {
            0 => w.at(filter * size),
            _ => sums.at(((part - 1) * filters + filter) * size),
        };
        split(filters * parts, 1, self.nanos, |range| {
            work(&mut range.map(|task| {
                let (filter, part) = (task / parts, task % parts);
                let own = (part * each).min(s.images)..((part + 1) * each).min(s.images);
                ((filter / s.groups, own, filter % s.groups), place(part, filter))
            }));
        });
        for part in 1..parts {
            // SAFETY: all threads are done.
            unsafe { add(w.at(0), place(part, 0), filters * size) };
        }
    }

    /// The weight: `y` times the columns of `x`, transposed, summed over the images.
    ///
    /// # Safety
    /// The operands must be valid, and `w` have room for the result.
    unsafe fn weight(&self, w: Out<T>) {
        let (s, blocks) = (&self.s, self.blocks());
        let (all, depth) = (s.geometry.positions(), self.depth);
        let size = s.outputs * depth;
        // SAFETY: as above; every task has its own sum.
        unsafe {
            self.over_images(w, blocks.images, |tasks| {
                let width = blocks.images * blocks.positions;
                let (_columns, columns) = scratch::<T>(width * depth);
                let (_beside, beside) = scratch::<T>(if blocks.images > 1 { width * s.outputs } else { 0 });
                let (_term, term) = scratch::<T>(size);
                for ((lane, own, group), to) in tasks {
                    let mut is_first = true;
                    for first in own.clone().step_by(blocks.images) {
                        let images = first..(first + blocks.images).min(own.end);
                        for start in (0..all).step_by(blocks.positions) {
                            let positions = start..(start + blocks.positions).min(all);
                            let width = images.len() * positions.len();
                            let which = (lane, images.clone(), group);
                            let (x, x_row) = self.columns(self.a, which.clone(), positions.clone(), columns);
                            let (y, y_row) = self.results(self.b, which, positions, beside);
                            let c = if is_first { to } else { term };
                            product([s.outputs, width, depth], (y, [y_row, 1]), (x, [1, x_row]), c, depth);
                            if !is_first {
                                add(to, term, size);
                            }
                            is_first = false;
                        }
                    }
                    if is_first {
                        // No image fell to this part.
                        to.write_bytes(0, size);
                    }
                }
            });
        }
    }
}

/// The columns of each image `x[.., height, width]`, `[.., taps, positions]`, where `geometry` has the sizes of the image in its last
/// dimensions; `shape` is that of the result.
pub(crate) fn columns(g: &Geometry, x: &Array, shape: Shape) -> Result<Array> {
    let x = contiguous(x);
    dispatch!(x.dtype(), "im2col", float, T => Ok(per_image::<T>(g, &x, shape, g.volume(), g.taps() * g.positions(),
    |x, to| {
        // SAFETY: the image and the room for its columns are those of this call.
        unsafe { unfold(g, 1, x, 0..g.positions(), to, g.positions()) }
    })))
}

/// The sum of columns, each element where it came from: the transpose of [`columns`].
pub(crate) fn sum_columns(g: &Geometry, columns: &Array, shape: Shape) -> Result<Array> {
    let columns = contiguous(columns);
    dispatch!(columns.dtype(), "col2im", float, T => Ok(per_image::<T>(g, &columns, shape, g.taps() * g.positions(), g.volume(),
    |from, x| {
        // SAFETY: as above.
        unsafe {
            x.write_bytes(0, g.volume());
            fold(g, 1, from, g.positions(), 0..g.positions(), x);
        }
    })))
}

/// An array of `shape` made of parts of `to` elements, one from each part of `from` elements of `x`.
fn per_image<T: Real>(
    g: &Geometry,
    x: &Array,
    shape: Shape,
    from: usize,
    to: usize,
    f: impl Fn(*const T, *mut T) + Sync,
) -> Array {
    let x = In::<T>::of(x);
    let count = shape.iter().product::<usize>() / to.max(1);
    // SAFETY: every part of the result is written by its own call.
    unsafe {
        output(shape, |out| {
            split(count, 1, count.saturating_mul(g.taps() * g.positions()), |range| {
                for k in range {
                    f(x.at((k * from) as isize), out.at(k * to));
                }
            });
        })
    }
}

/// Adds `n` elements to others.
///
/// # Safety
/// They must be valid and must not overlap.
unsafe fn add<T: Real>(to: *mut T, from: *const T, n: usize) {
    // SAFETY: by the contract.
    let (to, from) = unsafe { (std::slice::from_raw_parts_mut(to, n), std::slice::from_raw_parts(from, n)) };
    super::simd::vectorize(
        #[inline(always)]
        || {
            for (t, &f) in to.iter_mut().zip(from) {
                *t += f;
            }
        },
    );
}

#[cfg(test)]
mod tests;
