//! Fourier transforms of real and complex tensors, as in `torch.fft`. With the feature `fft`.
//!
//! Every transform is linear, and its transpose is another one, so that derivatives of every order, lanes of a
//! [`vmap`](crate::vmap()) and graphs cost transforms and nothing else. Any length will do, primes too.
//!
//! ```
//! use pullback::fft::{self, Norm};
//! use pullback::Tensor;
//!
//! let x = Tensor::from([1.0, 2.0, 0.0, 0.0]);
//! let spectrum = fft::rfft(&x, None, -1, Norm::Backward)?;
//! assert_eq!(spectrum.ty().to_string(), "c128[3]");
//! let back = fft::irfft(&spectrum, Some(4), -1, Norm::Backward)?;
//! assert!(back.allclose(&x, 0.0, 1e-15)?);
//! # Ok::<(), pullback::Error>(())
//! ```

mod calls;
mod samples;
mod transform;

use self::calls::*;
use self::samples::*;
use super::table::ops;
use crate::error::bail;
use crate::tensor::checked_numel;
use crate::{DType, Result, Tensor};

/// Which of a transform and its inverse is divided by the number of elements `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Norm {
    /// The inverse.
    #[default]
    Backward,
    /// Both, by the root of `n`: lengths of vectors stay.
    Ortho,
    /// The transform.
    Forward,
}

impl Norm {
    fn scale(self, n: usize, inverse: bool) -> f64 {
        match (self, inverse) {
            (Norm::Ortho, _) => 1.0 / (n as f64).sqrt(),
            (Norm::Backward, true) | (Norm::Forward, false) => 1.0 / n as f64,
            _ => 1.0,
        }
    }

    /// The norm under which an inverse is scaled as a transform is under this one.
    fn swapped(self) -> Norm {
        match self {
            Norm::Backward => Norm::Forward,
            Norm::Ortho => Norm::Ortho,
            Norm::Forward => Norm::Backward,
        }
    }
}

ops! { OPS;
    /// The Fourier transform along `dim`: `y[k] = Σ x[j]·exp(-2πi·jk/n)`.
    ///
    /// # Shapes
    /// That of the tensor, with `n` elements along `dim`: more are cut off, and fewer filled up with zeros.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform; `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::fft(&Tensor::from([1.0, 0.0, 0.0]), None, 0, Norm::Backward)?;
    /// assert_eq!(y.real()?.to_vec::<f64>()?, [1.0; 3]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn fft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> = fft_of {
        samples: fft_samples, errors: fft_errors,
        python: fft(x as input, n, dim = -1, norm)
    };

    /// The inverse of [`fft`]: `x[j] = Σ y[k]·exp(2πi·jk/n)/n`.
    ///
    /// # Shapes
    /// That of the tensor, with `n` elements along `dim`: more are cut off, and fewer filled up with zeros.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform; `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::ifft(&Tensor::from([1.0, 1.0]), None, 0, Norm::Backward)?;
    /// assert_eq!(x.real()?.to_vec::<f64>()?, [1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn ifft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> = ifft_of {
        samples: ifft_samples, errors: ifft_errors,
        python: ifft(x as input, n, dim = -1, norm)
    };

    /// The first half of the [Fourier transform](fft) of real numbers along `dim`; the other half is its conjugate.
    ///
    /// # Shapes
    /// That of the tensor, with `n/2 + 1` elements along `dim` for its `n`, to which the tensor is cut or filled up with zeros.
    ///
    /// # Dtypes
    /// Real numbers; what is no float becomes `f32`, and so does half precision. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform; `Dim` if `dim` is out of range; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::rfft(&Tensor::from([1.0, 1.0, 1.0, 1.0]), None, 0, Norm::Backward)?;
    /// assert_eq!(y.real()?.to_vec::<f64>()?, [4.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn rfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> = rfft_of {
        samples: rfft_samples, errors: rfft_errors,
        python: rfft(x as input, n, dim = -1, norm)
    };

    /// The inverse of [`rfft`]: the real numbers whose transform begins with these.
    ///
    /// The imaginary parts of what stands for itself alone, the first value and for even `n` the last, are not read.
    ///
    /// # Shapes
    /// That of the tensor, with `n` elements along `dim`, by default `2(m - 1)` of `m`; `n/2 + 1` of them are read.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is real.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform; `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::irfft(&Tensor::from([4.0, 0.0, 0.0]), None, 0, Norm::Backward)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0; 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn irfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> = irfft_of {
        samples: irfft_samples, errors: irfft_errors,
        python: irfft(x as input, n, dim = -1, norm)
    };

    /// The Fourier transform along `dim` of numbers of which the first half is given, and the other half is its conjugate. It is
    /// real.
    ///
    /// # Shapes
    /// That of the tensor, with `n` elements along `dim`, by default `2(m - 1)` of `m`; `n/2 + 1` of them are read.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is real.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform; `Dim` if `dim` is out of range.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::hfft(&Tensor::from([1.0, 1.0]), Some(3), 0, Norm::Backward)?;
    /// assert!(y.allclose(&Tensor::from([3.0, 0.0, 0.0]), 0.0, 1e-15)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn hfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> = hfft_of {
        samples: hfft_samples, errors: hfft_errors,
        python: hfft(x as input, n, dim = -1, norm)
    };

    /// The inverse of [`hfft`]: the first half of numbers whose transform these real ones are.
    ///
    /// # Shapes
    /// That of the tensor, with `n/2 + 1` elements along `dim` for its `n`, to which the tensor is cut or filled up with zeros.
    ///
    /// # Dtypes
    /// Real numbers; what is no float becomes `f32`, and so does half precision. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform; `Dim` if `dim` is out of range; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::ihfft(&Tensor::from([3.0, 0.0, 0.0]), None, 0, Norm::Backward)?;
    /// assert!(x.real()?.allclose(&Tensor::from([1.0, 1.0]), 0.0, 1e-15)?);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn ihfft(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> = ihfft_of {
        samples: ihfft_samples, errors: ihfft_errors,
        python: ihfft(x as input, n, dim = -1, norm)
    };

    /// The Fourier transform along two dimensions.
    ///
    /// # Shapes
    /// That of the tensor, with the sizes `s` along `dims`: more are cut off, and fewer filled up with zeros. `dims` are by
    /// default the last ones that `s` has sizes for, or all.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::fft2(&Tensor::from([[1.0, 0.0], [0.0, 0.0]]), None, [-2, -1], Norm::Backward)?;
    /// assert_eq!(y.real()?.to_vec::<f64>()?, [1.0; 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn fft2(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> = fft2_of {
        samples: fft2_samples, errors: fft2_errors,
        python: fft2(x as input, s, dims = [-2, -1], norm)
    };

    /// The inverse of [`fft2`].
    ///
    /// # Shapes
    /// That of the tensor, with the sizes `s` along `dims`: more are cut off, and fewer filled up with zeros. `dims` are by
    /// default the last ones that `s` has sizes for, or all.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::ifft2(&Tensor::from([[1.0, 1.0], [1.0, 1.0]]), None, [-2, -1], Norm::Backward)?;
    /// assert_eq!(x.real()?.to_vec::<f64>()?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn ifft2(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> = ifft2_of {
        samples: ifft2_samples, errors: ifft2_errors,
        python: ifft2(x as input, s, dims = [-2, -1], norm)
    };

    /// The first half, along the second dimension, of the Fourier transform of real numbers along two.
    ///
    /// # Shapes
    /// As for [`fftn`], and `n/2 + 1` elements along the last of the dimensions for its `n`.
    ///
    /// # Dtypes
    /// Real numbers; what is no float becomes `f32`, and so does half precision. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::rfft2(&Tensor::from([[1.0, 1.0], [1.0, 1.0]]), None, [-2, -1], Norm::Backward)?;
    /// assert_eq!(y.real()?.to_vec::<f64>()?, [4.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn rfft2(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> = rfft2_of {
        samples: rfft2_samples, errors: rfft2_errors,
        python: rfft2(x as input, s, dims = [-2, -1], norm)
    };

    /// The inverse of [`rfft2`].
    ///
    /// # Shapes
    /// As for [`fftn`], with `n` elements along the last of the dimensions, by default `2(m - 1)` of `m`.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is real.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::irfft2(&Tensor::from([[4.0, 0.0], [0.0, 0.0]]), None, [-2, -1], Norm::Backward)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0; 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn irfft2(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> = irfft2_of {
        samples: irfft2_samples, errors: irfft2_errors,
        python: irfft2(x as input, s, dims = [-2, -1], norm)
    };

    /// The Fourier transform along several dimensions.
    ///
    /// # Shapes
    /// That of the tensor, with the sizes `s` along `dims`: more are cut off, and fewer filled up with zeros. `dims` are by
    /// default the last ones that `s` has sizes for, or all.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::fftn(&Tensor::from([[1.0, 0.0], [0.0, 0.0]]), None, None, Norm::Backward)?;
    /// assert_eq!(y.real()?.to_vec::<f64>()?, [1.0; 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn fftn(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> = fftn_of {
        samples: fftn_samples, errors: fftn_errors,
        python: fftn(x as input, s, dims, norm)
    };

    /// The inverse of [`fftn`].
    ///
    /// # Shapes
    /// That of the tensor, with the sizes `s` along `dims`: more are cut off, and fewer filled up with zeros. `dims` are by
    /// default the last ones that `s` has sizes for, or all.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::ifftn(&Tensor::from([[1.0, 1.0], [1.0, 1.0]]), None, None, Norm::Backward)?;
    /// assert_eq!(x.real()?.to_vec::<f64>()?, [1.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn ifftn(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> = ifftn_of {
        samples: ifftn_samples, errors: ifftn_errors,
        python: ifftn(x as input, s, dims, norm)
    };

    /// The first half, along the last of the dimensions, of the Fourier transform of real numbers along several.
    ///
    /// # Shapes
    /// As for [`fftn`], and `n/2 + 1` elements along the last of the dimensions for its `n`.
    ///
    /// # Dtypes
    /// Real numbers; what is no float becomes `f32`, and so does half precision. The result is complex.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice; `Dtype` for complex numbers.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let y = fft::rfftn(&Tensor::from([[1.0, 1.0], [1.0, 1.0]]), None, None, Norm::Backward)?;
    /// assert_eq!(y.real()?.to_vec::<f64>()?, [4.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn rfftn(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> = rfftn_of {
        samples: rfftn_samples, errors: rfftn_errors,
        python: rfftn(x as input, s, dims, norm)
    };

    /// The inverse of [`rfftn`].
    ///
    /// # Shapes
    /// As for [`fftn`], with `n` elements along the last of the dimensions, by default `2(m - 1)` of `m`.
    ///
    /// # Dtypes
    /// Numbers; real ones are taken as complex, and what is no float as `f32`. The result is real.
    ///
    /// # Derivative
    /// It is linear: tangents are transformed as the numbers are, cotangents by the conjugate transpose, which is a transform.
    ///
    /// # Errors
    /// `Shape` if there are no elements to transform, or `s` has another length than `dims`; `Dim` if a dimension is out of
    /// range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::fft::{self, Norm};
    /// use pullback::Tensor;
    /// let x = fft::irfftn(&Tensor::from([[4.0, 0.0], [0.0, 0.0]]), None, None, Norm::Backward)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1.0; 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn irfftn(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> = irfftn_of {
        samples: irfftn_samples, errors: irfftn_errors,
        python: irfftn(x as input, s, dims, norm)
    };

    /// The elements moved so that frequency 0 is in the middle: `n/2` places along each of the dimensions, by default all.
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent, moved back.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, fft};
    /// let f = fft::fftshift(&fft::fftfreq(5, 0.2, DType::F64)?, None)?;
    /// assert_eq!(f.to_vec::<f64>()?, [-2.0, -1.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn fftshift(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor> = fftshift_of {
        samples: fftshift_samples, errors: fftshift_errors,
        python: fftshift(x as input, dims)
    };

    /// The inverse of [`fftshift`].
    ///
    /// # Shapes
    /// That of the tensor.
    ///
    /// # Dtypes
    /// All.
    ///
    /// # Derivative
    /// The cotangent, moved back.
    ///
    /// # Errors
    /// `Dim` if a dimension is out of range or given twice.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, fft};
    /// let f = fft::ifftshift(&Tensor::from([-1.0, 0.0, 1.0]), None)?;
    /// assert_eq!(f.to_vec::<f64>()?, [0.0, 1.0, -1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn ifftshift(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor> = ifftshift_of {
        samples: ifftshift_samples, errors: ifftshift_errors,
        python: ifftshift(x as input, dims)
    };

    /// The frequencies of the values of [`fft`] of `n` numbers, `d` apart: `0, 1, …, -2, -1`, divided by `n·d`.
    ///
    /// # Shapes
    /// A vector of `n`.
    ///
    /// # Dtypes
    /// A float.
    ///
    /// # Errors
    /// `Dtype` unless the dtype is a float; `Value` if `d` is 0 or NaN; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, fft};
    /// assert_eq!(fft::fftfreq(4, 0.5, DType::F64)?.to_vec::<f64>()?, [0.0, 0.5, -1.0, -0.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn fftfreq(n: usize, d: f64, dtype: DType) -> Result<Tensor> = fftfreq_of {
        samples: fftfreq_samples, errors: fftfreq_errors,
        python: fftfreq(n, d = 1.0, dtype = F32)
    };

    /// The frequencies of the values of [`rfft`] of `n` numbers, `d` apart: `0, 1, …, n/2`, divided by `n·d`.
    ///
    /// # Shapes
    /// A vector of `n/2 + 1`.
    ///
    /// # Dtypes
    /// A float.
    ///
    /// # Errors
    /// `Dtype` unless the dtype is a float; `Value` if `d` is 0 or NaN; `Shape` if the size overflows.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, fft};
    /// assert_eq!(fft::rfftfreq(4, 0.5, DType::F64)?.to_vec::<f64>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    free fn rfftfreq(n: usize, d: f64, dtype: DType) -> Result<Tensor> = rfftfreq_of {
        samples: rfftfreq_samples, errors: rfftfreq_errors,
        python: rfftfreq(n, d = 1.0, dtype = F32)
    };
}

fn fftfreq_of(n: usize, d: f64, dtype: DType) -> Result<Tensor> {
    frequencies("fftfreq", n, n, d, dtype)
}

fn rfftfreq_of(n: usize, d: f64, dtype: DType) -> Result<Tensor> {
    frequencies("rfftfreq", n, if n == 0 { 0 } else { n / 2 + 1 }, d, dtype)
}

fn frequencies(op: &str, n: usize, count: usize, d: f64, dtype: DType) -> Result<Tensor> {
    if !dtype.is_float() {
        bail!(Dtype, "{op}: expected a floating dtype, got {dtype}");
    }
    if d == 0.0 || d.is_nan() {
        bail!(Value, "{op}: expected a distance of numbers that is not 0, got {d}");
    }
    checked_numel(op, &[n])?;
    let signed = |k: usize| if count == n && 2 * k >= n.max(2) { k as f64 - n as f64 } else { k as f64 };
    let all: Vec<f64> = (0..count).map(|k| signed(k) / (n as f64 * d)).collect();
    Tensor::from(all).to_dtype(dtype)
}
