//! Where the largest element of each of many windows lies.

use super::math::Float;
use super::reduce::is_nan;
use super::simd::vectorize_narrow;
use super::strided::{In, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::copy::contiguous;
use crate::shape::Shape;

/// The elements of a window along one dimension: `count` of them from `start` on, `step` apart; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) count: usize,
    pub(crate) step: usize,
}

/// The place, counted in row-major order over the last three dimensions of `x`, of the first largest element of every window; a
/// NaN counts as larger than all numbers. `spans` are those of each of the three dimensions.
pub(crate) fn largest(x: &Array, spans: [&[Span]; 3]) -> Result<Array> {
    let x = contiguous(x);
    dispatch!(x.dtype(), "max_pool", float, T => Ok(run::<T>(&x, spans)))
}

/// Windows side by side that are searched together.
const LANES: usize = 16;

/// Windows alike, equally far apart: the number of the first, how many, and how far.
struct Group {
    first: usize,
    count: usize,
    step: usize,
}

/// The groups of [`LANES`] among the windows along a dimension, and alone those that are left.
fn groups(spans: &[Span]) -> Vec<Group> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < spans.len() {
        let alike = |k: usize| {
            let (a, b, step) = (spans[first], spans[k], spans[first + 1].start.wrapping_sub(spans[first].start));
            (a.count, a.step) == (b.count, b.step) && b.start == a.start.wrapping_add((k - first).wrapping_mul(step))
        };
        let most = spans.len().min(first + LANES);
        let count = (first + 1..most).take_while(|&k| alike(k)).count() + 1;
        let step = if count > 1 { spans[first + 1].start.wrapping_sub(spans[first].start) } else { 0 };
        found.push(Group { first, count, step });
        first += count;
    }
    found
}

fn run<T: Float>(x: &Array, spans: [&[Span]; 3]) -> Array {
    let rank = x.rank();
    let mut shape = Shape::from_slice(x.shape());
    for (size, spans) in shape[rank - 3..].iter_mut().zip(spans) {
        *size = spans.len();
    }
    let [depth, height, width] = [x.shape()[rank - 3], x.shape()[rank - 2], x.shape()[rank - 1]];
    let planes: usize = x.shape()[..rank - 3].iter().product();
    let lines = spans[0].len() * spans[1].len();
    let area = spans.map(|s| s.first().map_or(0, |s| s.count)).iter().product::<usize>();
    let nanos = planes.saturating_mul(lines * spans[2].len()).saturating_mul(area + 2) / 4;
    let from = In::<T>::of(x);
    let groups = groups(spans[2]);
    // SAFETY: every element of the result is written once; spans lie inside of the image.
    unsafe {
        output(shape, |out| {
            split(planes * lines, 1, nanos, |range| {
                vectorize_narrow::<T, _>(
                    #[inline(always)]
                    || {
                        for line in range.clone() {
                            let (plane, rest) = (line / lines, line % lines);
                            let (z, y) = (spans[0][rest / spans[1].len()], spans[1][rest % spans[1].len()]);
                            let from = from.at((plane * depth * height * width) as isize);
                            for g in &groups {
                                let window = [z, y, spans[2][g.first]];
                                let out = out.at(line * spans[2].len() + g.first);
                                search(from, [height, width], window, g, out);
                            }
                        }
                    },
                );
            });
        })
    }
}

/// Writes the places of the largest elements of a group of windows, of which `window` is the first.
///
/// # Safety
/// The windows must lie inside of the image at `x`, and there must be room for the places at `out`.
#[inline(always)]
unsafe fn search<T: Float>(x: *const T, [height, width]: [usize; 2], window: [Span; 3], g: &Group, out: *mut i64) {
    let [z, y, w] = window;
    let place = |z: usize, y: usize| (z * height + y) * width + w.start;
    // SAFETY: by the contract. Lanes behind the last window read what that reads.
    unsafe {
        let mut shift = [0usize; LANES];
        for (l, s) in shift.iter_mut().enumerate() {
            *s = l.min(g.count - 1) * g.step;
        }
        let first = place(z.start, y.start);
        let (mut best, mut largest) = ([first; LANES], [T::ZERO; LANES]);
        for l in 0..LANES {
            largest[l] = *x.add(first + shift[l]);
        }
        for z in (0..z.count).map(|k| z.start + k * z.step) {
            for y in (0..y.count).map(|k| y.start + k * y.step) {
                let row = place(z, y);
                for at in (0..w.count).map(|k| row + k * w.step) {
                    for l in 0..LANES {
                        let value = *x.add(at + shift[l]);
                        // Not for a NaN if one has been found already.
                        let take = (value > largest[l]) | (is_nan(value) & !is_nan(largest[l]));
                        largest[l] = if take { value } else { largest[l] };
                        best[l] = if take { at } else { best[l] };
                    }
                }
            }
        }
        for l in 0..g.count {
            *out.add(l) = (best[l] + shift[l]) as i64;
        }
    }
}
