//! Where the largest element of each of many windows lies.

use super::math::Float;
use super::reduce::is_nan;
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
    let nanos = planes.saturating_mul(lines * spans[2].len()).saturating_mul(area + 2);
    let from = In::<T>::of(x);
    // SAFETY: every element of the result is written once; spans lie inside of the image.
    unsafe {
        output(shape, |out| {
            split(planes * lines, 1, nanos, |range| {
                for line in range {
                    let (plane, rest) = (line / lines, line % lines);
                    let (z, y) = (spans[0][rest / spans[1].len()], spans[1][rest % spans[1].len()]);
                    let from = from.at((plane * depth * height * width) as isize);
                    for (k, x) in spans[2].iter().enumerate() {
                        let mut best = (z.start * height + y.start) * width + x.start;
                        let mut largest = *from.add(best);
                        for z in (0..z.count).map(|k| z.start + k * z.step) {
                            for y in (0..y.count).map(|k| y.start + k * y.step) {
                                let row = (z * height + y) * width + x.start;
                                for at in (0..x.count).map(|k| row + k * x.step) {
                                    let value = *from.add(at);
                                    // Not for a NaN if one has been found already.
                                    if value > largest || (is_nan(value) && !is_nan(largest)) {
                                        (best, largest) = (at, value);
                                    }
                                }
                            }
                        }
                        *out.at(line * spans[2].len() + k) = best as i64;
                    }
                }
            });
        })
    }
}
