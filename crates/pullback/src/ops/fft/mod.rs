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

mod samples;
mod transform;

use self::samples::*;
use self::transform::{Fourier, FromReal, ToReal};
use super::family::linear;
use super::table::ops;
use crate::error::bail;
use crate::shape::{Dims, Shape, resolve_dim, with_dim, without_dim};
use crate::tensor::checked_numel;
use crate::{DType, Result, Tensor, cat};

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

/// Complex numbers, of whatever numbers are given.
fn to_complex(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(x.dtype().to_complex())
}

/// Real numbers whose parts can be transformed.
fn to_real(op: &str, x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_complex() {
        bail!(Dtype, "{op}: expected real numbers, got {}", x.ty(); help = "transform complex numbers by `fft`");
    }
    x.to_dtype(x.dtype().to_complex().to_real())
}

/// A dim and how many elements are transformed along it.
type Along = (usize, usize);

fn check_size(op: &str, x: &Tensor, (dim, n): Along) -> Result<()> {
    if n == 0 {
        bail!(Shape, "{op}: expected at least one element along dim {dim} of {}, got 0", x.ty());
    }
    Ok(())
}

/// The dim of a transform of one, and its length.
fn along(op: &str, x: &Tensor, n: Option<usize>, dim: isize) -> Result<Along> {
    let dim = resolve_dim(op, dim, x.rank(), x.ty())?;
    let along = (dim, n.unwrap_or(x.shape()[dim]));
    check_size(op, x, along)?;
    Ok(along)
}

/// The dims of a transform of several, and their lengths.
fn along_all(op: &str, x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>) -> Result<Vec<Along>> {
    let places: Dims = match (dims, s) {
        (Some(dims), _) => {
            let mut places = Dims::new();
            for &d in dims {
                let place = resolve_dim(op, d, x.rank(), x.ty())?;
                if places.contains(&place) {
                    bail!(Dim, "{op}: dim {d} is given twice for {}", x.ty());
                }
                places.push(place);
            }
            places
        }
        (None, Some(s)) if s.len() <= x.rank() => (x.rank() - s.len()..x.rank()).collect(),
        (None, Some(s)) => bail!(Shape, "{op}: expected at most {} sizes for {}, got {}", x.rank(), x.ty(), s.len()),
        (None, None) => (0..x.rank()).collect(),
    };
    if let Some(s) = s
        && s.len() != places.len()
    {
        bail!(Shape, "{op}: expected a size for each of {} dims, got {}", places.len(), s.len());
    }
    let all: Vec<Along> = places.iter().enumerate().map(|(k, &d)| (d, s.map_or(x.shape()[d], |s| s[k]))).collect();
    for &along in &all {
        check_size(op, x, along)?;
    }
    Ok(all)
}

/// `x` with `n` elements along `dim`: cut off, or filled up with zeros.
fn fit(x: &Tensor, (dim, n): Along) -> Result<Tensor> {
    let size = x.shape()[dim];
    if n <= size {
        return if n == size { Ok(x.clone()) } else { x.narrow(dim as isize, 0, n) };
    }
    let zeros = Tensor::zeros(&with_dim(&without_dim(x.shape(), dim), dim, n - size), x.dtype())?;
    cat(&[x, &zeros], dim as isize)
}

/// An error if the sizes together are too large, before any of them is made.
fn check_all(op: &str, x: &Tensor, all: &[Along]) -> Result<()> {
    let mut shape = Shape::from_slice(x.shape());
    for &(dim, n) in all {
        shape[dim] = n;
    }
    checked_numel(op, &shape).map(|_| ())
}

/// The transform of complex numbers along all of the dims.
fn transform(op: &str, x: &Tensor, all: &[Along], inverse: bool, norm: Norm) -> Result<Tensor> {
    check_all(op, x, all)?;
    let mut x = to_complex(x)?;
    for &along in all {
        x = fit(&x, along)?;
    }
    if all.is_empty() {
        return Ok(x);
    }
    let scale = norm.scale(all.iter().map(|a| a.1).product(), inverse);
    linear(Fourier { dims: all.iter().map(|a| a.0).collect(), inverse, scale }, &x)
}

/// The half of the transform of real numbers along all of the dims, by halves along the last one.
fn half(op: &str, x: &Tensor, all: &[Along], norm: Norm) -> Result<Tensor> {
    let x = to_real(op, x)?;
    check_all(op, &x, all)?;
    let Some((&(dim, n), others)) = all.split_last() else {
        bail!(Dim, "{op}: expected at least one dimension of {}, got none", x.ty());
    };
    let y = linear(FromReal { dim, doubled: false, scale: norm.scale(n, false) }, &fit(&x, (dim, n))?)?;
    transform(op, &y, others, false, norm)
}

/// The inverse of [`half`].
fn whole(op: &str, x: &Tensor, all: &[Along], norm: Norm) -> Result<Tensor> {
    let Some((&(dim, n), others)) = all.split_last() else {
        bail!(Dim, "{op}: expected at least one dimension of {}, got none", x.ty());
    };
    check_all(op, x, all)?;
    let x = transform(op, &fit(x, (dim, n / 2 + 1))?, others, true, norm)?;
    linear(ToReal { dim, n, halved: false, scale: norm.scale(n, true) }, &x)
}

/// How many numbers a half of `m` values stands for, unless it is said.
fn length(op: &str, x: &Tensor, n: Option<usize>, dim: isize) -> Result<Along> {
    let (dim, m) = along(op, x, None, dim)?;
    let along = (dim, n.unwrap_or(2 * (m - 1)));
    check_size(op, x, along)?;
    Ok(along)
}

fn lengths(op: &str, x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>) -> Result<Vec<Along>> {
    let mut all = along_all(op, x, s, dims)?;
    if let (None, Some(last)) = (s, all.last_mut()) {
        last.1 = 2 * (last.1 - 1);
        check_size(op, x, *last)?;
    }
    Ok(all)
}

fn fft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    transform("fft", x, &[along("fft", x, n, dim)?], false, norm)
}

fn ifft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    transform("ifft", x, &[along("ifft", x, n, dim)?], true, norm)
}

fn rfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    half("rfft", x, &[along("rfft", x, n, dim)?], norm)
}

fn irfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    whole("irfft", x, &[length("irfft", x, n, dim)?], norm)
}

fn hfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    whole("hfft", &x.conj()?, &[length("hfft", x, n, dim)?], norm.swapped())
}

fn ihfft_of(x: &Tensor, n: Option<usize>, dim: isize, norm: Norm) -> Result<Tensor> {
    half("ihfft", x, &[along("ihfft", x, n, dim)?], norm.swapped())?.conj()
}

fn fftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    transform("fftn", x, &along_all("fftn", x, s, dims)?, false, norm)
}

fn ifftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    transform("ifftn", x, &along_all("ifftn", x, s, dims)?, true, norm)
}

fn rfftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    half("rfftn", x, &along_all("rfftn", x, s, dims)?, norm)
}

fn irfftn_of(x: &Tensor, s: Option<&[usize]>, dims: Option<&[isize]>, norm: Norm) -> Result<Tensor> {
    whole("irfftn", x, &lengths("irfftn", x, s, dims)?, norm)
}

fn fft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    transform("fft2", x, &along_all("fft2", x, s, Some(&dims))?, false, norm)
}

fn ifft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    transform("ifft2", x, &along_all("ifft2", x, s, Some(&dims))?, true, norm)
}

fn rfft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    half("rfft2", x, &along_all("rfft2", x, s, Some(&dims))?, norm)
}

fn irfft2_of(x: &Tensor, s: Option<&[usize]>, dims: [isize; 2], norm: Norm) -> Result<Tensor> {
    whole("irfft2", x, &lengths("irfft2", x, s, Some(&dims))?, norm)
}

/// The elements moved by a part of the size of each dim.
fn shift(op: &str, x: &Tensor, dims: Option<&[isize]>, by: fn(usize) -> usize) -> Result<Tensor> {
    let all: Vec<isize> = (0..x.rank() as isize).collect();
    let dims = dims.unwrap_or(&all);
    let mut shifts = Vec::with_capacity(dims.len());
    for &d in dims {
        shifts.push(by(x.shape()[resolve_dim(op, d, x.rank(), x.ty())?]) as isize);
    }
    if dims.is_empty() { x.unchanged(op) } else { x.roll(&shifts, dims) }
}

fn fftshift_of(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor> {
    shift("fftshift", x, dims, |n| n / 2)
}

fn ifftshift_of(x: &Tensor, dims: Option<&[isize]>) -> Result<Tensor> {
    shift("ifftshift", x, dims, |n| n.div_ceil(2))
}
