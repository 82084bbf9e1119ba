//! Weighted sums of a few elements along one dimension: what averages over windows and interpolations are made of.

use super::matmul::Real;
use super::simd::vectorize;
use super::strided::{In, output};
use super::threads::split;
use crate::Result;
use crate::array::Array;
use crate::dtype::dispatch;
use crate::kernels::copy::contiguous;
use crate::shape::Shape;

/// For every element of the result, which elements it takes and with what weights: the rows of a sparse matrix.
#[derive(Clone, PartialEq)]
pub(crate) struct Taps {
    /// How many elements there are to take from.
    pub(crate) inputs: usize,
    /// Where the taps of each element of the result begin, and the end of the last.
    starts: Vec<usize>,
    index: Vec<usize>,
    weight: Vec<f64>,
}

/// The sizes; the taps are too many.
impl std::fmt::Debug for Taps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {} by {} weights", self.inputs, self.outputs(), self.index.len())
    }
}

impl Taps {
    /// The taps of each element of the result in turn.
    pub(crate) fn new<I: IntoIterator<Item = (usize, f64)>>(inputs: usize, rows: impl IntoIterator<Item = I>) -> Taps {
        let mut taps = Taps { inputs, starts: vec![0], index: Vec::new(), weight: Vec::new() };
        for row in rows {
            for (index, weight) in row {
                debug_assert!(index < inputs);
                taps.index.push(index);
                taps.weight.push(weight);
            }
            taps.starts.push(taps.index.len());
        }
        taps
    }

    pub(crate) fn outputs(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, k: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.starts[k]..self.starts[k + 1];
        self.index[range.clone()].iter().copied().zip(self.weight[range].iter().copied())
    }

    /// The transposed matrix.
    pub(crate) fn transposed(&self) -> Taps {
        let mut rows = vec![Vec::new(); self.inputs];
        for k in 0..self.outputs() {
            for (index, weight) in self.row(k) {
                rows[index].push((k, weight));
            }
        }
        Taps::new(self.outputs(), rows)
    }
}

/// The weighted sums along `dim`.
pub(crate) fn resample(x: &Array, dim: usize, taps: &Taps) -> Result<Array> {
    let mut shape = x.to_shape();
    shape[dim] = taps.outputs();
    let x = contiguous(x);
    dispatch!(x.dtype(), "resample", float, T => Ok(run::<T>(&x, dim, taps, shape)))
}

fn run<T: Real>(x: &Array, dim: usize, taps: &Taps, shape: Shape) -> Array {
    let inner: usize = shape[dim + 1..].iter().product();
    let outer: usize = shape[..dim].iter().product();
    let rows = taps.outputs();
    let weights: Vec<T> = taps.weight.iter().map(|&w| T::from_f64(w)).collect();
    let from = In::<T>::of(x);
    let nanos = outer.saturating_mul(taps.index.len() + rows).saturating_mul(inner) / 2;
    // SAFETY: every row of the result is written once, from elements of `x` at places below its size.
    unsafe {
        output(shape, |out| {
            split(outer * rows, 1, nanos, |range| {
                vectorize(
                    #[inline(always)]
                    || {
                        let (mut block, mut row) = (range.start / rows.max(1), range.start % rows.max(1));
                        for k in range.clone() {
                            let own = taps.starts[row]..taps.starts[row + 1];
                            let from = from.at((block * taps.inputs * inner) as isize);
                            if inner == 1 {
                                let mut sum = T::ZERO;
                                for t in own {
                                    sum += weights[t] * *from.add(taps.index[t]);
                                }
                                *out.at(k) = sum;
                            } else {
                                let to = out.at(k * inner);
                                to.write_bytes(0, inner);
                                let to = std::slice::from_raw_parts_mut(to, inner);
                                for t in own {
                                    let (w, from) = (weights[t], from.add(taps.index[t] * inner));
                                    let from = std::slice::from_raw_parts(from, inner);
                                    for (s, &f) in to.iter_mut().zip(from) {
                                        *s += w * f;
                                    }
                                }
                            }
                            row += 1;
                            if row == rows {
                                (block, row) = (block + 1, 0);
                            }
                        }
                    },
                );
            });
        })
    }
}
