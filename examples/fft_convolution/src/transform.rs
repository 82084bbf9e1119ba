//! What rustfft does: convolutions of rows of raw slices.

use std::cell::RefCell;
use std::sync::Arc;

use pullback::{Element, Result, Tensor};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};

/// A number that there are transforms of.
pub trait Real: Element + FftNum {
    /// The plan of a transform. Planning is costly, so each thread keeps what it has planned.
    fn plan(n: usize, direction: FftDirection) -> Arc<dyn Fft<Self>>;
}

/// Writes `Real` for a float: a static cannot be generic, so each has a planner of its own.
macro_rules! real {
    ($($t:ty),*) => { $(
        impl Real for $t {
            fn plan(n: usize, direction: FftDirection) -> Arc<dyn Fft<$t>> {
                thread_local! {
                    static PLANNER: RefCell<FftPlanner<$t>> = RefCell::new(FftPlanner::new());
                }
                PLANNER.with_borrow_mut(|planner| planner.plan_fft(n, direction))
            }
        }
    )* };
}
real!(f32, f64);

/// The circular convolution or correlation along the last dimension. Leading dimensions broadcast to those of `shape`.
pub fn convolve<T: Real>(x: &Tensor, k: &Tensor, shape: &[usize], correlate: bool) -> Result<Tensor> {
    let n = shape[shape.len() - 1];
    let rows: usize = shape[..shape.len() - 1].iter().product();
    if n * rows == 0 {
        return Tensor::zeros(shape, T::DTYPE);
    }
    let (x_hat, k_hat) = (spectra::<T>(x, n)?, spectra::<T>(k, n)?);
    let mut product = Vec::with_capacity(n * rows);
    for row in 0..rows {
        let (a, b) = (source(row, x.shape(), shape), source(row, k.shape(), shape));
        let pairs = x_hat[a * n..][..n].iter().zip(&k_hat[b * n..][..n]);
        product.extend(pairs.map(|(x, k)| x * if correlate { k.conj() } else { *k }));
    }
    T::plan(n, FftDirection::Inverse).process(&mut product);
    // The transforms are not normalised.
    let scale = <T as Element>::from_f64(1.0 / n as f64);
    let y: Vec<T> = product.iter().map(|c| c.re * scale).collect();
    Tensor::from_slice(&y, shape)
}

/// The transform of every row.
fn spectra<T: Real>(x: &Tensor, n: usize) -> Result<Vec<Complex<T>>> {
    let mut rows: Vec<Complex<T>> = x.to_vec::<T>()?.into_iter().map(|re| Complex { re, im: T::ZERO }).collect();
    // It transforms one chunk of length `n` after the other.
    T::plan(n, FftDirection::Forward).process(&mut rows);
    Ok(rows)
}

/// The number of the row of a tensor of shape `from` that row `row` of its broadcast to `to` shows.
fn source(mut row: usize, from: &[usize], to: &[usize]) -> usize {
    let (mut index, mut step) = (0, 1);
    let lead = |shape: &[usize]| shape.len() - 1;
    for back in 1..=lead(to) {
        let size = to[lead(to) - back];
        let position = row % size;
        row /= size;
        if let Some(&own) = lead(from).checked_sub(back).and_then(|k| from.get(k)) {
            index += step * if own == 1 { 0 } else { position };
            step *= own;
        }
    }
    index
}
