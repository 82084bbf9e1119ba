//! Windows: weights that fade a piece of a signal in and out.

use std::f64::consts::TAU;

use super::table::{ErrorSample, Naive, Sample, ops};
use crate::error::bail;
use crate::tensor::checked_numel;
use crate::{DType, ErrorKind, Result, Tensor};

ops! { OPS;
    /// The Hann window of `n` weights: `1/2 - cos(2πk/N)/2`.
    ///
    /// # Shapes
    /// A vector of `n`. `N` is `n` if the window is `periodic`, as spectra of pieces want it, else `n - 1`, which makes it symmetric.
    ///
    /// # Dtypes
    /// A float.
    ///
    /// # Errors
    /// `Dtype` unless the dtype is a float; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, hann_window};
    /// let w = hann_window(4, true, DType::F64)?;
    /// assert!(w.allclose(&pullback::Tensor::from([0.0, 0.5, 1.0, 0.5]), 0.0, 1e-15)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn hann_window(n: usize, periodic: bool, dtype: DType) -> Result<Tensor> = hann {
        samples: hann_samples, errors: hann_errors,
        python: hann_window(n as window_length, periodic = true, dtype = F32)
    };

    /// The Hamming window of `n` weights: `alpha - beta·cos(2πk/N)`.
    ///
    /// # Shapes
    /// A vector of `n`. `N` is `n` if the window is `periodic`, as spectra of pieces want it, else `n - 1`, which makes it symmetric.
    ///
    /// # Dtypes
    /// A float.
    ///
    /// # Errors
    /// `Dtype` unless the dtype is a float; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, hamming_window};
    /// let w = hamming_window(3, false, 0.54, 0.46, DType::F64)?;
    /// assert!(w.allclose(&pullback::Tensor::from([0.08, 1.0, 0.08]), 0.0, 1e-15)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn hamming_window(n: usize, periodic: bool, alpha: f64, beta: f64, dtype: DType) -> Result<Tensor> = hamming {
        samples: hamming_samples, errors: hamming_errors,
        python: hamming_window(n as window_length, periodic = true, alpha = 0.54, beta = 0.46, dtype = F32)
    };

    /// The Blackman window of `n` weights: `0.42 - cos(2πk/N)/2 + 0.08·cos(4πk/N)`.
    ///
    /// # Shapes
    /// A vector of `n`. `N` is `n` if the window is `periodic`, as spectra of pieces want it, else `n - 1`, which makes it symmetric.
    ///
    /// # Dtypes
    /// A float.
    ///
    /// # Errors
    /// `Dtype` unless the dtype is a float; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, blackman_window};
    /// let w = blackman_window(3, false, DType::F64)?;
    /// assert!(w.allclose(&pullback::Tensor::from([0.0, 1.0, 0.0]), 0.0, 1e-15)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn blackman_window(n: usize, periodic: bool, dtype: DType) -> Result<Tensor> = blackman {
        samples: blackman_samples, errors: blackman_errors,
        python: blackman_window(n as window_length, periodic = true, dtype = F32)
    };
}

/// Weights that are a function of the phase, from 0 to a whole turn.
fn window(op: &str, n: usize, periodic: bool, dtype: DType, weight: impl Fn(f64) -> f64) -> Result<Tensor> {
    if !dtype.is_float() {
        bail!(Dtype, "{op}: expected a floating dtype, got {dtype}");
    }
    checked_numel(op, &[n])?;
    if n == 1 {
        return Tensor::ones(&[1], dtype);
    }
    let period = (if periodic { n } else { n.saturating_sub(1) }) as f64;
    Tensor::from((0..n).map(|k| weight(TAU * k as f64 / period)).collect::<Vec<f64>>()).to_dtype(dtype)
}

fn hann(n: usize, periodic: bool, dtype: DType) -> Result<Tensor> {
    window("hann_window", n, periodic, dtype, |phase| 0.5 - 0.5 * phase.cos())
}

fn hamming(n: usize, periodic: bool, alpha: f64, beta: f64, dtype: DType) -> Result<Tensor> {
    window("hamming_window", n, periodic, dtype, |phase| alpha - beta * phase.cos())
}

fn blackman(n: usize, periodic: bool, dtype: DType) -> Result<Tensor> {
    window("blackman_window", n, periodic, dtype, |phase| 0.42 - 0.5 * phase.cos() + 0.08 * (2.0 * phase).cos())
}

type Window = fn(usize, bool, DType) -> Result<Tensor>;

/// Samples with weights that are known.
fn samples(call: Window, cases: &[(usize, bool, &'static [f64])]) -> Vec<Sample> {
    let sample = |&(n, periodic, weights): &(usize, bool, &'static [f64])| {
        // Times a number, for there to be an input.
        let x = Tensor::from(2i64);
        Sample::one(format!("{n}, periodic {periodic}"), [x], move |x| x[0].mul(call(n, periodic, DType::F64)?))
            .reference(move |x| {
                let data = weights.iter().map(|w| x[0].data[0] * w).collect();
                vec![Naive { shape: vec![n], data }]
            })
            // Weights that are 0 come of a difference.
            .tolerance(1e-11)
    };
    cases.iter().map(sample).collect()
}

fn hann_samples() -> Vec<Sample> {
    let cases: &[(usize, bool, &'static [f64])] =
        &[(4, true, &[0.0, 0.5, 1.0, 0.5]), (5, false, &[0.0, 0.5, 1.0, 0.5, 0.0]), (1, true, &[1.0]), (0, false, &[])];
    samples(hann_window, cases)
}

fn hamming_samples() -> Vec<Sample> {
    let call: Window = |n, periodic, dtype| hamming_window(n, periodic, 0.54, 0.46, dtype);
    samples(call, &[(4, true, &[0.08, 0.54, 1.0, 0.54]), (3, false, &[0.08, 1.0, 0.08]), (1, false, &[1.0])])
}

fn blackman_samples() -> Vec<Sample> {
    samples(blackman_window, &[(4, true, &[0.0, 0.34, 1.0, 0.34]), (3, false, &[0.0, 1.0, 0.0]), (1, true, &[1.0])])
}

fn dtype_error(message: &'static str, call: Window) -> Vec<ErrorSample> {
    vec![ErrorSample::new("dtype", ErrorKind::Dtype, message, move || call(4, true, DType::I64))]
}

fn hann_errors() -> Vec<ErrorSample> {
    dtype_error("hann_window: expected a floating dtype, got i64", hann_window)
}

fn hamming_errors() -> Vec<ErrorSample> {
    dtype_error("hamming_window: expected a floating dtype, got i64", |n, p, d| hamming_window(n, p, 0.54, 0.46, d))
}

fn blackman_errors() -> Vec<ErrorSample> {
    dtype_error("blackman_window: expected a floating dtype, got i64", blackman_window)
}
