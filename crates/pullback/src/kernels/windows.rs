//! Where the largest element of each of many windows lies.

use super::math::Float;
use super::reduce::is_nan;
use super::simd::vectorize_floats;
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
    let volume = depth * height * width;
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
                vectorize_floats::<T, _>(
                    #[inline(always)]
                    || {
                        for line in range.clone() {
                            let (plane, rest) = (line / lines, line % lines);
                            let (z, y) = (spans[0][rest / spans[1].len()], spans[1][rest % spans[1].len()]);
                            let from = from.at((plane * volume) as isize);
                            for g in &groups {
                                let window = [z, y, spans[2][g.first]];
                                let place = line * spans[2].len() + g.first;
                                let out = Places { at: out.at(place), room: range.end * spans[2].len() - place };
                                let room = (planes - plane) * volume;
                                if volume <= u32::MAX as usize {
                                    search::<T, u32>(from, room, [height, width], window, g, out);
                                } else {
                                    search::<T, usize>(from, room, [height, width], window, g, out);
                                }
                            }
                        }
                    },
                );
            });
        })
    }
}

/// A number of elements: as narrow as an image allows, so that it takes no more of a vector than an element does.
trait Count: Copy {
    fn of(n: usize) -> Self;
    /// The place this far from that of the first window in the window with number `l` of a group.
    fn place(self, first: usize, l: usize, step: usize) -> i64;
}

impl Count for u32 {
    #[inline(always)]
    fn of(n: usize) -> u32 {
        n as u32
    }
    #[inline(always)]
    fn place(self, first: usize, l: usize, step: usize) -> i64 {
        i64::from((first as u32).wrapping_add(self).wrapping_add((l as u32).wrapping_mul(step as u32)))
    }
}

impl Count for usize {
    #[inline(always)]
    fn of(n: usize) -> usize {
        n
    }
    #[inline(always)]
    fn place(self, first: usize, l: usize, step: usize) -> i64 {
        (first + self + l * step) as i64
    }
}

/// Where the places of a group of windows go. What lies behind them is written later, as far as there is room.
struct Places {
    at: *mut i64,
    room: usize,
}

/// Writes the places of the largest elements of a group of windows, of which `window` is the first.
///
/// # Safety
/// The windows must lie inside of the image at `x`, from which on `room` elements are valid and which is small enough for `C`, and
/// the places at `out` must be valid.
#[inline(always)]
unsafe fn search<T: Float, C: Count>(
    x: *const T,
    room: usize,
    [height, width]: [usize; 2],
    window: [Span; 3],
    g: &Group,
    out: Places,
) {
    let [z, y, w] = window;
    let last = |s: Span| s.start + (s.count - 1) * s.step;
    let end = (last(z) * height + last(y)) * width + last(w) + LANES;
    // SAFETY: by the contract. Lanes behind the last window read what that reads, or elements that are there.
    unsafe {
        if g.step == 1 && end <= room {
            let read = |at: usize| x.add(at).cast::<[T; LANES]>().read_unaligned();
            return among::<T, C>(read, [height, width], window, g, out);
        }
        let mut shift = [0usize; LANES];
        for (l, s) in shift.iter_mut().enumerate() {
            *s = l.min(g.count - 1) * g.step;
        }
        let read = |at: usize| {
            let mut values = [T::ZERO; LANES];
            for l in 0..LANES {
                values[l] = *x.add(at + shift[l]);
            }
            values
        };
        among::<T, C>(read, [height, width], window, g, out);
    }
}

/// [`search`] among what `read` gives for the first window's elements: one of each window.
///
/// # Safety
/// The places at `out` must be valid.
#[inline(always)]
unsafe fn among<T: Float, C: Count>(
    read: impl Fn(usize) -> [T; LANES],
    [height, width]: [usize; 2],
    [z, y, w]: [Span; 3],
    g: &Group,
    out: Places,
) {
    let place = |z: usize, y: usize| (z * height + y) * width + w.start;
    let first = place(z.start, y.start);
    let (mut best, mut largest) = ([C::of(0); LANES], read(first));
    for z in (0..z.count).map(|k| z.start + k * z.step) {
        for y in (0..y.count).map(|k| y.start + k * y.step) {
            let row = place(z, y);
            for at in (0..w.count).map(|k| row + k * w.step) {
                let (values, at) = (read(at), C::of(at - first));
                for l in 0..LANES {
                    let value = values[l];
                    // Not for a NaN if one has been found already.
                    let take = (value > largest[l]) | (is_nan(value) & !is_nan(largest[l]));
                    largest[l] = if take { value } else { largest[l] };
                    best[l] = if take { at } else { best[l] };
                }
            }
        }
    }
    let mut places = [0; LANES];
    for l in 0..LANES {
        places[l] = best[l].place(first, l, g.step);
    }
    // SAFETY: by the contract.
    unsafe {
        if out.room >= LANES {
            out.at.cast::<[i64; LANES]>().write_unaligned(places);
        } else {
            std::ptr::copy_nonoverlapping(places.as_ptr(), out.at, g.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first largest element of each window, looked for one after the other.
    fn naive(x: &[f64], [height, width]: [usize; 2], spans: [&[Span]; 3]) -> Vec<i64> {
        let mut places = Vec::new();
        let along = |s: &Span| (0..s.count).map(|k| s.start + k * s.step).collect::<Vec<_>>();
        for z in spans[0] {
            for y in spans[1] {
                for w in spans[2] {
                    let mut best: Option<usize> = None;
                    for (z, y) in along(z).into_iter().flat_map(|z| along(y).into_iter().map(move |y| (z, y))) {
                        for w in along(w) {
                            let at = (z * height + y) * width + w;
                            let better = |b: usize| !x[b].is_nan() && (x[at].is_nan() || x[at] > x[b]);
                            if best.is_none_or(better) {
                                best = Some(at);
                            }
                        }
                    }
                    places.push(best.expect("a window has elements") as i64);
                }
            }
        }
        places
    }

    #[test]
    fn windows_side_by_side_and_apart_agree_with_a_search_of_each() {
        for width in [3usize, 14, 17, 18, 40] {
            for (count, step, stride) in [(1, 1, 1), (2, 1, 1), (3, 1, 2), (2, 2, 1)] {
                let reach = (count - 1) * step + 1;
                let spans = |size: usize, count: usize| -> Vec<Span> {
                    (0..=size.saturating_sub(reach) / stride).map(|k| Span { start: k * stride, count, step }).collect()
                };
                if width < reach {
                    continue;
                }
                let (height, depth) = (5, 2);
                let mut data: Vec<f64> = (0..depth * height * width).map(|i| ((i * 7919) % 11) as f64).collect();
                data[width + 2] = f64::NAN;
                let x = Array::from_slice([depth, height, width], &data);
                let one =
                    |size: usize| -> Vec<Span> { (0..size).map(|start| Span { start, count: 1, step: 1 }).collect() };
                let (z, y, w) = (one(depth), spans(height, count), spans(width, count));
                let got = largest(&x, [&z, &y, &w]).unwrap();
                let expected = naive(&data, [height, width], [&z, &y, &w]);
                assert_eq!(got.as_slice::<i64>().unwrap(), expected, "{width} {count} {step} {stride}");
                // Places that take a whole word to count.
                let mut wide = vec![0i64; w.len()];
                for g in groups(&w) {
                    let window = [z[0], y[0], w[g.first]];
                    let out = Places { at: wide[g.first..].as_mut_ptr(), room: wide.len() - g.first };
                    // SAFETY: the windows are those of the image above.
                    unsafe { search::<f64, usize>(data.as_ptr(), data.len(), [height, width], window, &g, out) };
                }
                assert_eq!(wide, expected[..w.len()]);
            }
        }
    }
}
