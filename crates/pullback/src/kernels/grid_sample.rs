//! Elements of images at places between their elements, and the transpose of that.

use super::matmul::Real;
use super::strided::{In, Out, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::copy::contiguous;
use crate::shape::Shape;

/// What lies between the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    /// The nearest element; at the middle between two, the one with the even number.
    Nearest,
    /// Straight lines.
    Linear,
    /// Cubic curves with the parameter -0.75.
    Cubic,
}

/// What lies beyond the ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Zeros,
    /// The last element goes on.
    Border,
    /// Elements are mirrored: at the last element if `corners`, else at the end of its cell.
    Reflection {
        corners: bool,
    },
}

/// How places become weights of elements. Images have three dimensions, of which missing ones come first with size 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sampler {
    pub(crate) curve: Curve,
    pub(crate) edge: Edge,
    /// How many spatial dimensions there are.
    pub(crate) dims: usize,
    pub(crate) sizes: [usize; 3],
    /// Which derivative of the weights is meant along each coordinate. The first coordinate is that of the last dimension.
    pub(crate) order: [u8; 3],
}

/// The elements that a place takes along one dimension, and their weights.
struct Along {
    count: usize,
    index: [usize; 4],
    weight: [f64; 4],
}

impl Along {
    fn push(&mut self, index: usize, weight: f64) {
        (self.index[self.count], self.weight[self.count]) = (index, weight);
        self.count += 1;
    }
}

impl Sampler {
    /// The element that stands for number `i`, which may lie beyond the ends.
    fn resolve(&self, i: f64, size: usize) -> Option<usize> {
        let last = (size - 1) as f64;
        if (0.0..=last).contains(&i) {
            return Some(i as usize);
        }
        match self.edge {
            Edge::Zeros => None,
            Edge::Border => Some(i.clamp(0.0, last) as usize),
            Edge::Reflection { corners } => {
                let (low, span) = if corners { (0.0, last) } else { (-0.5, size as f64) };
                if span == 0.0 {
                    return Some(0);
                }
                let (turns, rest) = (((i - low).abs() / span).floor(), (i - low).abs() % span);
                let place = if turns % 2.0 == 0.0 { rest } else { span - rest } + low;
                Some(place.clamp(0.0, last) as usize)
            }
        }
    }

    /// The elements that place `u` takes, for derivative number `order`.
    fn along(&self, u: f64, size: usize, order: u8) -> Along {
        let mut all = Along { count: 0, index: [0; 4], weight: [0.0; 4] };
        if u.abs() >= 4e15 || u.is_nan() {
            // Far beyond the end numbers have no neighbours, and between them there is no slope. Mirrors send infinity nowhere.
            let lost = u.is_nan() || (u.is_infinite() && matches!(self.edge, Edge::Reflection { .. }));
            if lost {
                all.push(0, f64::NAN);
            } else if let Some(k) = self.resolve(u, size).filter(|_| order == 0) {
                all.push(k, 1.0);
            }
            return all;
        }
        let (below, t) = (u.floor(), u - u.floor());
        match (self.curve, order) {
            (Curve::Nearest, 0) => {
                if let Some(k) = self.resolve(u.round_ties_even(), size) {
                    all.push(k, 1.0);
                }
            }
            (Curve::Linear, 0 | 1) => {
                let weights = if order == 0 { [1.0 - t, t] } else { [-1.0, 1.0] };
                for (n, w) in weights.into_iter().enumerate() {
                    if let Some(k) = self.resolve(below + n as f64, size) {
                        all.push(k, w);
                    }
                }
            }
            (Curve::Cubic, 0..=3) => {
                const A: f64 = -0.75;
                let near = |s: f64| match order {
                    0 => ((A + 2.0) * s - (A + 3.0)) * s * s + 1.0,
                    1 => (3.0 * (A + 2.0) * s - 2.0 * (A + 3.0)) * s,
                    2 => 6.0 * (A + 2.0) * s - 2.0 * (A + 3.0),
                    _ => 6.0 * (A + 2.0),
                };
                let far = |s: f64| match order {
                    0 => ((A * s - 5.0 * A) * s + 8.0 * A) * s - 4.0 * A,
                    1 => (3.0 * A * s - 10.0 * A) * s + 8.0 * A,
                    2 => 6.0 * A * s - 10.0 * A,
                    _ => 6.0 * A,
                };
                let sign = if order.is_multiple_of(2) { 1.0 } else { -1.0 };
                let weights = [far(1.0 + t), near(t), sign * near(1.0 - t), sign * far(2.0 - t)];
                for (n, w) in weights.into_iter().enumerate() {
                    if let Some(k) = self.resolve(below + n as f64 - 1.0, size) {
                        all.push(k, w);
                    }
                }
            }
            _ => {}
        }
        all
    }
}

/// How many places are prepared at once: their elements stay in the first cache.
const BLOCK: usize = 64;

/// The elements of a block of places, and their weights.
struct Block<T> {
    starts: Vec<usize>,
    taps: Vec<(usize, T)>,
}

impl<T: Real> Block<T> {
    fn new() -> Block<T> {
        Block { starts: Vec::with_capacity(BLOCK + 1), taps: Vec::new() }
    }

    /// Those of places whose coordinates are given.
    fn fill(&mut self, sampler: &Sampler, coordinates: &[T]) {
        let [depth, height, width] = sampler.sizes;
        self.taps.clear();
        self.starts.clear();
        self.starts.push(0);
        for place in coordinates.chunks_exact(sampler.dims) {
            let along = |k: usize, size: usize| match place.get(k) {
                Some(u) => sampler.along(u.to_f64(), size, sampler.order[k]),
                None => Along { count: 1, index: [0; 4], weight: [1.0; 4] },
            };
            let (x, y, z) = (along(0, width), along(1, height), along(2, depth));
            for k in 0..z.count {
                for j in 0..y.count {
                    let (row, weight) = ((z.index[k] * height + y.index[j]) * width, z.weight[k] * y.weight[j]);
                    let taps = x.index[..x.count].iter().zip(&x.weight);
                    self.taps.extend(taps.map(|(i, w)| (row + i, T::from_f64(weight * w))));
                }
            }
            self.starts.push(self.taps.len());
        }
    }

    fn of(&self, place: usize) -> &[(usize, T)] {
        &self.taps[self.starts[place]..self.starts[place + 1]]
    }
}

/// The elements of images `[images, channels, ..]` at places `[images, places, dims]`: `[images, channels, places]`.
pub(crate) fn sample(x: &Array, places: &Array, sampler: &Sampler) -> Result<Array> {
    let (x, places) = (contiguous(x), contiguous(places));
    dispatch!(x.dtype(), "grid_sample", float, T => Ok(gather::<T>(&x, &places, sampler)))
}

/// The transpose: cotangents `[images, channels, places]` to images `[images, channels, ..]`.
pub(crate) fn spread(g: &Array, places: &Array, sampler: &Sampler) -> Result<Array> {
    let (g, places) = (contiguous(g), contiguous(places));
    dispatch!(g.dtype(), "grid_sample", float, T => Ok(scatter::<T>(&g, &places, sampler)))
}

/// The time for `work` places of a channel each.
fn nanos(sampler: &Sampler, work: usize) -> usize {
    let taps = match sampler.curve {
        Curve::Nearest => 1,
        Curve::Linear => 1 << sampler.dims,
        Curve::Cubic => 1 << (2 * sampler.dims),
    };
    work.saturating_mul(1 + taps)
}

fn gather<T: Real>(x: &Array, places: &Array, sampler: &Sampler) -> Array {
    let (images, channels, count) = (x.shape()[0], x.shape()[1], places.shape()[1]);
    let volume: usize = sampler.sizes.iter().product();
    let coordinates = places.as_slice::<T>().unwrap_or_default();
    let from = x.as_slice::<T>().unwrap_or_default();
    let blocks = count.div_ceil(BLOCK);
    let write = |out: Out<T>| {
        split(images * blocks, 1, nanos(sampler, images * (channels + 4) * count), |range| {
            let mut block = Block::new();
            for unit in range {
                let (image, start) = (unit / blocks, unit % blocks * BLOCK);
                let end = (start + BLOCK).min(count);
                block.fill(
                    sampler,
                    &coordinates[(image * count + start) * sampler.dims..][..(end - start) * sampler.dims],
                );
                for row in image * channels..(image + 1) * channels {
                    let from = &from[row * volume..][..volume];
                    for place in start..end {
                        let mut sum = T::ZERO;
                        for &(k, w) in block.of(place - start) {
                            sum += w * from[k];
                        }
                        // SAFETY: this place belongs to this unit alone.
                        unsafe { *out.at(row * count + place) = sum };
                    }
                }
            }
        });
    };
    // SAFETY: the units cover all places of all images, and each writes those of every channel.
    unsafe { output(Shape::from_slice(&[images, channels, count]), write) }
}

fn scatter<T: Real>(g: &Array, places: &Array, sampler: &Sampler) -> Array {
    let (images, channels, count) = (g.shape()[0], g.shape()[1], places.shape()[1]);
    let volume: usize = sampler.sizes.iter().product();
    let coordinates = In::<T>::of(places);
    let from = g.as_slice::<T>().unwrap_or_default();
    let mut shape = Shape::from_slice(&[images, channels]);
    shape.extend_from_slice(&sampler.sizes[3 - sampler.dims..]);
    let rows = images * channels;
    let write = |out: Out<T>| {
        split(rows, 1, nanos(sampler, rows.saturating_mul(count + volume / 4)), |range| {
            let mut block = Block::new();
            // SAFETY: the rows of this range are ours.
            let all = unsafe {
                let start = out.at(range.start * volume);
                start.write_bytes(0, range.len() * volume);
                std::slice::from_raw_parts_mut(start, range.len() * volume)
            };
            let mut row = range.start;
            while row < range.end {
                let image = row / channels;
                let last = range.end.min((image + 1) * channels);
                for start in (0..count).step_by(BLOCK) {
                    let end = (start + BLOCK).min(count);
                    // SAFETY: the coordinates of these places, which lie in a row.
                    let own = unsafe {
                        let first = coordinates.at(((image * count + start) * sampler.dims) as isize);
                        std::slice::from_raw_parts(first, (end - start) * sampler.dims)
                    };
                    block.fill(sampler, own);
                    for row in row..last {
                        let to = &mut all[(row - range.start) * volume..][..volume];
                        for (place, &g) in from[row * count..][start..end].iter().enumerate() {
                            for &(k, w) in block.of(place) {
                                to[k] += w * g;
                            }
                        }
                    }
                }
                row = last;
            }
        });
    };
    // SAFETY: every row is set to zero by the range that it lies in; zeros are numbers.
    unsafe { output(shape, write) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(curve: Curve, edge: Edge, order: u8) -> Sampler {
        Sampler { curve, edge, dims: 1, sizes: [1, 1, 5], order: [order, 0, 0] }
    }

    /// The weights of all elements.
    fn weights(s: &Sampler, u: f64) -> [f64; 5] {
        let along = s.along(u, 5, s.order[0]);
        let mut all = [0.0; 5];
        for (k, w) in along.index[..along.count].iter().zip(&along.weight) {
            all[*k] += w;
        }
        all
    }

    #[test]
    fn each_order_is_the_derivative_of_the_one_before() {
        let h = 1e-6;
        for (curve, orders) in [(Curve::Linear, 1), (Curve::Cubic, 4)] {
            for edge in [Edge::Zeros, Edge::Border, Edge::Reflection { corners: true }] {
                for order in 1..=orders {
                    for u in [-7.3, -0.6, 0.2, 1.7, 3.5, 4.4, 12.1] {
                        let (lower, this) = (sampler(curve, edge, order - 1), sampler(curve, edge, order));
                        let (a, b, d) = (weights(&lower, u - h), weights(&lower, u + h), weights(&this, u));
                        for k in 0..5 {
                            assert!(
                                ((b[k] - a[k]) / (2.0 * h) - d[k]).abs() < 1e-5,
                                "{curve:?} {edge:?} {order} {u} {k}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn weights_sum_to_one_unless_zeros_lie_beyond_the_ends() {
        for edge in [Edge::Border, Edge::Reflection { corners: true }, Edge::Reflection { corners: false }] {
            for curve in [Curve::Nearest, Curve::Linear, Curve::Cubic] {
                for u in [-40.0, -1.5, 0.0, 0.3, 4.0, 4.6, 9.0, 1e9] {
                    let sum: f64 = weights(&sampler(curve, edge, 0), u).iter().sum();
                    assert!((sum - 1.0).abs() < 1e-12, "{curve:?} {edge:?} {u}: {sum}");
                }
            }
        }
        assert_eq!(weights(&sampler(Curve::Linear, Edge::Zeros, 0), -0.25), [0.75, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(weights(&sampler(Curve::Cubic, Edge::Zeros, 0), f64::INFINITY), [0.0; 5]);
        assert!(weights(&sampler(Curve::Linear, Edge::Zeros, 0), f64::NAN)[0].is_nan());
        for curve in [Curve::Nearest, Curve::Linear, Curve::Cubic] {
            assert_eq!(weights(&sampler(curve, Edge::Border, 0), 1e18), [0.0, 0.0, 0.0, 0.0, 1.0], "{curve:?}");
            assert_eq!(
                weights(&sampler(curve, Edge::Border, 0), -f64::INFINITY),
                [1.0, 0.0, 0.0, 0.0, 0.0],
                "{curve:?}"
            );
            assert_eq!(weights(&sampler(curve, Edge::Border, 1), 1e18), [0.0; 5], "{curve:?}");
            // 10^18 is a multiple of 8, of a way there and back.
            let mirrored = Edge::Reflection { corners: true };
            assert_eq!(weights(&sampler(curve, mirrored, 0), 1e18), [1.0, 0.0, 0.0, 0.0, 0.0], "{curve:?}");
        }
    }

    #[test]
    fn reflections_turn_at_elements_or_at_the_ends_of_cells() {
        let at = |corners, i| sampler(Curve::Nearest, Edge::Reflection { corners }, 0).resolve(i, 5).unwrap();
        assert_eq!([-1.0, -4.0, -5.0, 5.0, 9.0].map(|i| at(true, i)), [1, 4, 3, 3, 1]);
        assert_eq!([-1.0, -5.0, -6.0, 5.0, 9.0].map(|i| at(false, i)), [0, 4, 4, 4, 0]);
    }
}
