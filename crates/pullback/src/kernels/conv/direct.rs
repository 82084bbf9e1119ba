//! Convolutions with many channels, without columns: [`gathered`](super::gathered) products read the image itself, or a copy
//! with its padding, which is as large as the image where columns are as many times larger as a kernel has taps.
//!
//! Channels of the result lie side by side in vectors, so every stride, dilation and size of an image is the same to it.
//! The transposed convolution is a convolution of `y` for each remainder of positions divided by the stride.

use super::gathered::{ROWS, multiply, pack_panels, spread, vector_len};
use super::{Geometry, Images, Role, Sizes, Work, block_elements, scratch};
use crate::kernels::matmul::Real;
use crate::kernels::strided::Out;
use crate::kernels::threads::split;

/// True where this is the faster way: enough channels to fill vectors, sums that are longer than a tile is wide, and a weight
/// that is used often enough to be worth turning around. The numbers are measured.
pub(super) fn suits<T: Real>(s: &Sizes, role: Role) -> bool {
    let Some(len) = vector_len::<T>() else { return false };
    let is_wide = match role {
        Role::Output => 2 * s.outputs > len && s.inputs * s.geometry.taps() >= 16,
        // There is a product for every remainder of the stride.
        Role::Input => 2 * s.inputs >= len && s.geometry.stride.iter().product::<usize>() <= 64,
        Role::Weight => 2 * s.outputs >= len,
    };
    // Far apart taps need a block around them that is much larger than what they meet.
    let volume = |size: [usize; 3]| size.iter().fold(1usize, |n, &d| n.saturating_mul(d));
    let (image, channels) =
        if role == Role::Input { (s.geometry.output, s.outputs) } else { (s.geometry.input, s.inputs) };
    let smallest = volume(block_size(&s.geometry, role != Role::Input, [1, 1])).saturating_mul(channels);
    let is_compact = smallest <= block_elements::<T>() + 4 * channels * volume(image);
    is_wide && is_compact && !s.geometry.is_plain() && 2 * s.images * s.geometry.positions() >= s.outputs
}

/// The size of the block of the image, or of the result in the transposed convolution, that so many rows of so many positions meet.
fn block_size(g: &Geometry, is_forward: bool, [rows, row]: [usize; 2]) -> [usize; 3] {
    let count = [1, rows, row];
    std::array::from_fn(|d| {
        let reach = (g.kernel[d] - 1) * g.dilation[d];
        if is_forward { (count[d] - 1) * g.stride[d] + reach + 1 } else { count[d] + reach / g.stride[d] }
    })
}

/// A part of an image with what surrounds it: where it begins in each dimension, which may be outside, and what is computed from it.
struct Block {
    start: [isize; 3],
    parts: Vec<Part>,
}

/// Positions of the result that meet the same taps.
struct Part {
    /// Where in the block the first tap of each position lies, repeated up to a multiple of [`ROWS`].
    from: Vec<isize>,
    /// Where in a channel of the result they lie.
    to: Vec<usize>,
    taps: usize,
}

/// What a position meets: in all channels, where in the block and where in the weight each element lies.
struct Taps {
    in_block: Vec<isize>,
    in_weight: Vec<usize>,
}

/// How an array is computed block by block from an image.
struct Plan {
    /// The sizes of a channel of the image, and of a block of it.
    image: [usize; 3],
    size: [usize; 3],
    channels: usize,
    blocks: Vec<Block>,
    taps: Vec<Taps>,
    /// Whether blocks are read where they are, because nothing outside of the image is met.
    in_place: bool,
}

/// Steps between the channels, planes and rows of something of this size.
fn steps(size: [usize; 3]) -> [isize; 3] {
    [(size[0] * size[1] * size[2]) as isize, (size[1] * size[2]) as isize, size[2] as isize]
}

/// How many rows of how many positions make a block that keeps to the cache with its results, of which there are `results` at
/// every position; as few as keep every thread busy, where `others` is how often there are as many blocks. Parts of rows
/// only if a block is one row.
fn extent<T>(
    all: [usize; 2],
    results: usize,
    elements: impl Fn([usize; 2]) -> usize,
    (threads, others): (usize, usize),
) -> [usize; 2] {
    let fits = |part: [usize; 2]| elements(part).max(part[0] * part[1] * results) <= block_elements::<T>();
    let [mut rows, mut row] = all;
    while rows > 1 && !fits([rows, row]) {
        rows -= 1;
    }
    while rows == 1 && row > 64 && !fits([rows, row]) {
        row = row.div_ceil(2);
    }
    let busy = threads.div_ceil(others * all[1].div_ceil(row));
    // Blocks of about the same size.
    rows = all[0].div_ceil(all[0].div_ceil(rows).max(busy.min(all[0])));
    if rows == 1 {
        let busy = threads.div_ceil(others * all[0]);
        row = all[1].div_ceil(all[1].div_ceil(row).max(busy.min(all[1])));
    }
    [rows, row]
}

/// Where blocks of so many rows and positions begin.
fn starts(all: [usize; 3], part: [usize; 2]) -> impl Iterator<Item = (usize, usize, usize)> {
    let rows = move |z| (0..all[1]).step_by(part[0]).map(move |y| (z, y));
    (0..all[0]).flat_map(rows).flat_map(move |(z, y)| (0..all[2]).step_by(part[1]).map(move |x| (z, y, x)))
}

/// Places of rows with the last one repeated until [`ROWS`] divides their number.
fn padded(mut from: Vec<isize>) -> Vec<isize> {
    let last = from.last().copied().unwrap_or(0);
    from.resize(from.len().next_multiple_of(ROWS), last);
    from
}

impl Plan {
    /// How `y` is computed from `x`, which is how `w` is computed, too.
    fn forward<T>(s: &Sizes, threads: (usize, usize)) -> Plan {
        let g = &s.geometry;
        let [planes, rows, row] = g.output;
        let elements = |part| s.inputs * block_size(g, true, part).iter().product::<usize>();
        let in_place = g.padding == [0; 3];
        let part = extent::<T>([rows, row], s.outputs, elements, (threads.0, threads.1 * planes));
        let size = block_size(g, true, part);
        let [channel, plane, line] = steps(if in_place { g.input } else { size });
        let depth = s.inputs * g.taps();
        let mut in_block = Vec::with_capacity(depth);
        for c in 0..s.inputs as isize {
            for k in 0..g.taps() {
                let k = tap(g, k);
                let [z, y, x]: [isize; 3] = std::array::from_fn(|d| (k[d] * g.dilation[d]) as isize);
                in_block.push(c * channel + z * plane + y * line + x);
            }
        }
        let mut blocks = Vec::new();
        for (z, y0, x0) in starts([planes, rows, row], part) {
            let ends = [(y0 + part[0]).min(rows), (x0 + part[1]).min(row)];
            let count = (ends[0] - y0) * (ends[1] - x0);
            let (mut from, mut to) = (Vec::with_capacity(count + ROWS), Vec::with_capacity(count));
            for y in y0..ends[0] {
                for x in x0..ends[1] {
                    from.push(((y - y0) * g.stride[1]) as isize * line + ((x - x0) * g.stride[2]) as isize);
                    to.push((z * rows + y) * row + x);
                }
            }
            let at = |d: usize, o: usize| (o * g.stride[d]) as isize - g.padding[d] as isize;
            let parts = vec![Part { from: padded(from), to, taps: 0 }];
            blocks.push(Block { start: [at(0, z), at(1, y0), at(2, x0)], parts });
        }
        let taps = vec![Taps { in_block, in_weight: (0..depth).collect() }];
        Plan { image: g.input, size, channels: s.inputs, blocks, taps, in_place }
    }

    /// How `x` is computed from `y`. Element `p` of `x` meets position `q - m` with the taps `rest + stride·m` that the dilation
    /// allows, where `p + padding = stride·q + rest`.
    fn transposed<T>(s: &Sizes, threads: (usize, usize)) -> Plan {
        let g = &s.geometry;
        let first: [usize; 3] = std::array::from_fn(|d| g.padding[d] / g.stride[d]);
        let count: [usize; 3] = std::array::from_fn(|d| (g.input[d] - 1 + g.padding[d]) / g.stride[d] + 1 - first[d]);
        let back = block_size(g, false, [1, 1]).map(|n| n - 1);
        let elements = |part| s.outputs * block_size(g, false, part).iter().product::<usize>();
        let results = s.inputs * g.stride.iter().product::<usize>();
        let part = extent::<T>([count[1], count[2]], results, elements, (threads.0, threads.1 * count[0]));
        let size = block_size(g, false, part);
        let [channel, plane, line] = steps(size);
        let rests: Vec<[usize; 3]> = (0..g.stride.iter().product::<usize>())
            .map(|k| [k / (g.stride[1] * g.stride[2]), k / g.stride[2] % g.stride[1], k % g.stride[2]])
            .collect();
        let taps = rests.iter().map(|rest| {
            let mut taps = Taps { in_block: Vec::new(), in_weight: Vec::new() };
            for o in 0..s.outputs {
                for k in 0..g.taps() {
                    let at = tap(g, k);
                    let reach: [usize; 3] = std::array::from_fn(|d| at[d] * g.dilation[d]);
                    if (0..3).all(|d| reach[d] % g.stride[d] == rest[d]) {
                        let m = |d: usize| (back[d] - reach[d] / g.stride[d]) as isize;
                        taps.in_block.push(o as isize * channel + m(0) * plane + m(1) * line + m(2));
                        taps.in_weight.push(o * s.inputs * g.taps() + k);
                    }
                }
            }
            taps
        });
        let place = |d: usize, q: usize, rest: usize| {
            ((first[d] + q) * g.stride[d] + rest).checked_sub(g.padding[d]).filter(|&p| p < g.input[d])
        };
        let mut blocks = Vec::new();
        for (qz, qy, qx) in starts(count, part) {
            let mut parts = Vec::new();
            for (k, rest) in rests.iter().enumerate() {
                let (mut from, mut to) = (Vec::new(), Vec::new());
                let Some(z) = place(0, qz, rest[0]) else { continue };
                for y in qy..(qy + part[0]).min(count[1]) {
                    let Some(to_y) = place(1, y, rest[1]) else { continue };
                    for x in qx..(qx + part[1]).min(count[2]) {
                        let Some(to_x) = place(2, x, rest[2]) else { continue };
                        from.push((y - qy) as isize * line + (x - qx) as isize);
                        to.push((z * g.input[1] + to_y) * g.input[2] + to_x);
                    }
                }
                parts.push(Part { from: padded(from), to, taps: k });
            }
            let at = |d: usize, q: usize| (first[d] + q) as isize - back[d] as isize;
            blocks.push(Block { start: [at(0, qz), at(1, qy), at(2, qx)], parts });
        }
        Plan { image: g.output, size, channels: s.outputs, blocks, taps: taps.collect(), in_place: false }
    }

    /// The elements of a block that is copied.
    fn copied(&self) -> usize {
        if self.in_place { 0 } else { self.channels * self.size.iter().product::<usize>() }
    }

    /// The address of a block of the image at `x`, or of its copy in `room`.
    ///
    /// # Safety
    /// The image must be valid, and there must be room.
    unsafe fn block<T: Real>(&self, x: *const T, start: [isize; 3], room: *mut T) -> *const T {
        let [channel, plane, line] = steps(self.image);
        if self.in_place {
            return x.wrapping_offset(start[0] * plane + start[1] * line + start[2]);
        }
        let width = self.image[2];
        let inside = |at: isize, d: usize| (0..self.image[d] as isize).contains(&at);
        // What of each row lies in the image.
        let before = (-start[2]).clamp(0, self.size[2] as isize) as usize;
        let after =
            (start[2] + self.size[2] as isize - width as isize).clamp(0, (self.size[2] - before) as isize) as usize;
        let len = self.size[2] - before - after;
        let mut to = room;
        for c in 0..self.channels {
            for z in 0..self.size[0] as isize {
                for y in 0..self.size[1] as isize {
                    let (z, y) = (start[0] + z, start[1] + y);
                    // SAFETY: by the contract; the part of the row lies inside of the image.
                    unsafe {
                        if inside(z, 0) && inside(y, 1) {
                            to.write_bytes(0, before);
                            let from = x.wrapping_offset(c as isize * channel + z * plane + y * line + start[2].max(0));
                            std::ptr::copy_nonoverlapping(from, to.add(before), len);
                            to.add(before + len).write_bytes(0, after);
                        } else {
                            to.write_bytes(0, self.size[2]);
                        }
                        to = to.add(self.size[2]);
                    }
                }
            }
        }
        room
    }
}

/// Tap `k` of a kernel by dimensions.
fn tap(g: &Geometry, k: usize) -> [usize; 3] {
    let [_, rows, row] = g.kernel;
    [k / (rows * row), k / row % rows, k % row]
}

/// The width of panels of `n` columns together.
fn panels<T: Real>(n: usize) -> usize {
    n.next_multiple_of(vector_len::<T>().unwrap_or(1))
}

impl<T: Real> Work<T> {
    /// The convolution and the transposed one.
    ///
    /// # Safety
    /// The operands must be valid, and `to` have room for the result.
    pub(super) unsafe fn directly(&self, role: Role, to: Out<T>) {
        let s = &self.s;
        let many = s.lanes * s.images * s.groups;
        let is_forward = role == Role::Output;
        let plan = if is_forward { Plan::forward::<T> } else { Plan::transposed::<T> }(s, (self.threads(), many));
        // What is read, the weight, the channels of the result with their size, and how far apart they are in the weight.
        let (from, w, n, volume, step) = match is_forward {
            true => (self.a, self.b, s.outputs, s.geometry.positions(), self.depth),
            false => (self.b, self.a, s.inputs, s.geometry.volume(), s.geometry.taps()),
        };
        let (width, image) = (panels::<T>(n), plan.channels * plan.image.iter().product::<usize>());
        let rows = plan.blocks.iter().flat_map(|b| &b.parts).map(|p| p.from.len()).max().unwrap_or(0);
        let starts: Vec<usize> = plan
            .taps
            .iter()
            .scan(0, |at, taps| Some(std::mem::replace(at, *at + taps.in_weight.len() * width)))
            .collect();
        let packed_len = plan.taps.iter().map(|t| t.in_weight.len()).sum::<usize>() * width;
        split(many * plan.blocks.len(), 1, self.nanos, |range| {
            let (_room, room) = scratch::<T>(plan.copied());
            let (_packed, packed) = scratch::<T>(packed_len);
            let (_result, result) = scratch::<T>(rows * width);
            let mut filter = usize::MAX;
            // SAFETY: the scratch memory has room for what is written there; every task has its own part of the result.
            unsafe {
                packed.write_bytes(0, packed_len);
                for task in range {
                    let (which, block) = (task / plan.blocks.len(), &plan.blocks[task % plan.blocks.len()]);
                    let (lane, group) = (which / s.groups / s.images, which % s.groups);
                    let own = self.filter(lane, group);
                    if own != filter {
                        filter = own;
                        for (taps, &start) in plan.taps.iter().zip(&starts) {
                            taps.pack(w.at(own as isize), step, n, packed.add(start));
                        }
                    }
                    let x = plan.block(from.at((which * image) as isize), block.start, room);
                    for part in &block.parts {
                        let taps = &plan.taps[part.taps];
                        let b = packed.add(starts[part.taps]);
                        multiply(x, (&part.from, &taps.in_block), b, width, result, false);
                        spread(result, part.from.len(), n, to.at(which * n * volume), volume, &part.to);
                    }
                }
            }
        });
    }

    /// The weight.
    ///
    /// # Safety
    /// The operands must be valid, and `w` have room for the result.
    pub(super) unsafe fn weight_directly(&self, w: Out<T>) {
        let s = &self.s;
        let plan = Plan::forward::<T>(s, (1, 1));
        let width = panels::<T>(s.outputs);
        let taps = padded(plan.taps[0].in_block.clone());
        let most = plan.blocks.iter().map(|b| b.parts[0].to.len()).max().unwrap_or(0);
        // SAFETY: as above.
        unsafe {
            self.over_images(w, 1, |tasks| {
                let (_room, room) = scratch::<T>(plan.copied());
                let (_packed, packed) = scratch::<T>(most * width);
                let (_sum, sum) = scratch::<T>(taps.len() * width);
                // What lies beside the last column only has to be initialised.
                packed.write_bytes(0, most * width);
                for (which, to) in tasks {
                    self.sum_images(&plan, &taps, which, (room, packed, sum));
                    spread(sum, taps.len(), s.outputs, to, self.depth, &plan.taps[0].in_weight);
                }
            });
        }
    }

    /// The weight of a group from some images, in panels.
    ///
    /// # Safety
    /// The operands must be valid, and there must be room for a block, its results and the sum.
    unsafe fn sum_images(
        &self,
        plan: &Plan,
        taps: &[isize],
        (lane, images, group): Images,
        (room, packed, sum): (*mut T, *mut T, *mut T),
    ) {
        let (s, width) = (&self.s, panels::<T>(self.s.outputs));
        let mut is_first = true;
        // SAFETY: by the contract.
        unsafe {
            if images.is_empty() {
                sum.write_bytes(0, taps.len() * width);
            }
            for image in images {
                for block in &plan.blocks {
                    let (from, to) = (&block.parts[0].from, &block.parts[0].to);
                    let x = plan.block(self.image(self.a, lane, image, group), block.start, room);
                    let y = self.b.at((self.result(lane, image, group) + to[0]) as isize);
                    pack_panels(y, [1, s.geometry.positions() as isize], (0, to.len(), to.len()), s.outputs, packed);
                    multiply(x, (taps, &from[..to.len()]), packed, width, sum, !is_first);
                    is_first = false;
                }
            }
        }
    }
}

impl Taps {
    /// The weight as the right operand: `n` columns, `step` elements apart.
    ///
    /// # Safety
    /// It must be valid, and there must be room for it.
    unsafe fn pack<T: Real>(&self, w: *const T, step: usize, n: usize, to: *mut T) {
        let all = self.in_weight.len();
        let mut at = 0;
        while at < all {
            // Neighbours are copied together.
            let run = (at + 1..all).take_while(|&k| self.in_weight[k] == self.in_weight[at] + (k - at)).count() + 1;
            // SAFETY: by the contract.
            unsafe { pack_panels(w.add(self.in_weight[at]), [1, step as isize], (at, run, all), n, to) };
            at += run;
        }
    }
}
