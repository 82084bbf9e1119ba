//! Pooling: the mean or the largest element of each of many windows.

pub(in crate::ops::nn) mod imp;
mod options;
mod samples;

pub use options::{AvgPool, MaxPool};

use super::PerDim;
use crate::ops::table::ops;
use crate::{Result, Tensor};

ops! { OPS;
    /// The largest element of each window over sequences. NaN is larger than all numbers.
    ///
    /// # Shapes
    /// `[.., length]` to the same leading dimensions with
    /// `(size + 2·padding - dilation·(kernel - 1) - 1)/stride + 1` windows along each, rounded down, or up in `ceil_mode`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Cotangents go to the element that was taken, the first of equal ones.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions, or if a window does not fit into the padded input; `Value` for options that
    /// make no sense; `Arity` for a wrong number of them.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, grad, nn::MaxPool};
    /// let x = Tensor::from([1.0, 3.0, 2.0, 2.0]);
    /// assert_eq!(x.max_pool1d(&MaxPool::new(2))?.to_vec::<f64>()?, [3.0, 2.0]);
    /// let g = grad(|x: &Tensor| x.max_pool1d(&MaxPool::new(2))?.sum())(&x)?;
    /// assert_eq!(g.to_vec::<f64>()?, [0.0, 1.0, 1.0, 0.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_pool1d(&self, options: &MaxPool) -> Result<Tensor> = imp::max_pool1d {
        samples: samples::max_pool1d, errors: samples::max_errors, kinks: samples::max_kinks1
    };

    /// The largest element of each window over images: [`max_pool1d`](Tensor::max_pool1d) over the last 2 dimensions. NaN is larger than all numbers.
    ///
    /// # Shapes
    /// `[.., height, width]` to the same leading dimensions and sizes as for `max_pool1d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `max_pool1d`.
    ///
    /// # Errors
    /// As for `max_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::MaxPool};
    /// let x = Tensor::from([[1.0, 3.0, 0.0], [4.0, 2.0, 5.0]]);
    /// assert_eq!(x.max_pool2d(&MaxPool::new(2).stride(1))?.to_vec::<f64>()?, [4.0, 5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_pool2d(&self, options: &MaxPool) -> Result<Tensor> = imp::max_pool2d {
        samples: samples::max_pool2d, errors: samples::max_errors, kinks: samples::max_kinks2
    };

    /// The largest element of each window over volumes: [`max_pool1d`](Tensor::max_pool1d) over the last 3 dimensions. NaN is larger than all numbers.
    ///
    /// # Shapes
    /// `[.., depth, height, width]` to the same leading dimensions and sizes as for `max_pool1d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `max_pool1d`.
    ///
    /// # Errors
    /// As for `max_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::MaxPool};
    /// let x = Tensor::ones(&[1, 2, 4, 4, 4], DType::F32)?;
    /// assert_eq!(x.max_pool3d(&MaxPool::new([1, 2, 4]))?.shape(), [1, 2, 4, 2, 1]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_pool3d(&self, options: &MaxPool) -> Result<Tensor> = imp::max_pool3d {
        samples: samples::max_pool3d, errors: samples::max_errors, kinks: samples::max_kinks3
    };

    /// [`max_pool1d`](Tensor::max_pool1d), and where in its sequence each element was, as `i64` in row-major order.
    ///
    /// # Shapes
    /// Both results are as for `max_pool1d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `max_pool1d`.
    ///
    /// # Errors
    /// As for `max_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::MaxPool};
    /// let x = Tensor::from([1.0, 3.0, 2.0, 2.0]);
    /// let (values, places) = x.max_pool1d_with_indices(&MaxPool::new(2))?;
    /// assert_eq!(values.to_vec::<f64>()?, [3.0, 2.0]);
    /// assert_eq!(places.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_pool1d_with_indices(&self, options: &MaxPool) -> Result<(Tensor, Tensor)> = imp::max_pool1d_with_indices {
        samples: samples::max_pool1d_with_indices, errors: samples::indices_errors,
        python: max_pool1d_with_indices(options) -> (output, indices)
    };

    /// [`max_pool2d`](Tensor::max_pool2d), and where in its image each element was, as `i64` in row-major order.
    ///
    /// # Shapes
    /// Both results are as for `max_pool2d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `max_pool2d`.
    ///
    /// # Errors
    /// As for `max_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::MaxPool};
    /// let x = Tensor::from([[1.0, 3.0, 0.0], [4.0, 2.0, 5.0]]);
    /// let (_, places) = x.max_pool2d_with_indices(&MaxPool::new(2).stride(1))?;
    /// assert_eq!(places.to_vec::<i64>()?, [3, 5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_pool2d_with_indices(&self, options: &MaxPool) -> Result<(Tensor, Tensor)> = imp::max_pool2d_with_indices {
        samples: samples::max_pool2d_with_indices, errors: samples::indices_errors,
        python: max_pool2d_with_indices(options) -> (output, indices)
    };

    /// [`max_pool3d`](Tensor::max_pool3d), and where in its volume each element was, as `i64` in row-major order.
    ///
    /// # Shapes
    /// Both results are as for `max_pool3d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `max_pool3d`.
    ///
    /// # Errors
    /// As for `max_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::MaxPool};
    /// let x = Tensor::ones(&[2, 2, 2, 2], DType::F32)?;
    /// let (_, places) = x.max_pool3d_with_indices(&MaxPool::new([1, 2, 2]))?;
    /// assert_eq!(places.to_vec::<i64>()?, [0, 4, 0, 4]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn max_pool3d_with_indices(&self, options: &MaxPool) -> Result<(Tensor, Tensor)> = imp::max_pool3d_with_indices {
        samples: samples::max_pool3d_with_indices, errors: samples::indices_errors,
        python: max_pool3d_with_indices(options) -> (output, indices)
    };

    /// The mean of each window over sequences.
    ///
    /// # Shapes
    /// `[.., length]` to the same leading dimensions with
    /// `(size + 2·padding - kernel)/stride + 1` windows along each, rounded down, or up in `ceil_mode`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Each element of a window gets the cotangent, divided like the sum.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions, or if a window does not fit into the padded input; `Value` for options that
    /// make no sense; `Arity` for a wrong number of them.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::AvgPool};
    /// let x = Tensor::from([1.0, 3.0, 2.0, 4.0]);
    /// assert_eq!(x.avg_pool1d(&AvgPool::new(2))?.to_vec::<f64>()?, [2.0, 3.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn avg_pool1d(&self, options: &AvgPool) -> Result<Tensor> = imp::avg_pool1d {
        samples: samples::avg_pool1d, errors: samples::avg_errors
    };

    /// The mean of each window over images: [`avg_pool1d`](Tensor::avg_pool1d) over the last 2 dimensions.
    ///
    /// # Shapes
    /// `[.., height, width]` to the same leading dimensions and sizes as for `avg_pool1d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `avg_pool1d`.
    ///
    /// # Errors
    /// As for `avg_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::AvgPool};
    /// let x = Tensor::from([[1.0, 3.0, 0.0], [4.0, 2.0, 5.0]]);
    /// assert_eq!(x.avg_pool2d(&AvgPool::new(2).stride(1))?.to_vec::<f64>()?, [2.5, 2.5]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn avg_pool2d(&self, options: &AvgPool) -> Result<Tensor> = imp::avg_pool2d {
        samples: samples::avg_pool2d, errors: samples::avg_errors
    };

    /// The mean of each window over volumes: [`avg_pool1d`](Tensor::avg_pool1d) over the last 3 dimensions.
    ///
    /// # Shapes
    /// `[.., depth, height, width]` to the same leading dimensions and sizes as for `avg_pool1d`.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// As for `avg_pool1d`.
    ///
    /// # Errors
    /// As for `avg_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::AvgPool};
    /// let x = Tensor::ones(&[1, 2, 2, 2], DType::F64)?;
    /// assert_eq!(x.avg_pool3d(&AvgPool::new(2))?.to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn avg_pool3d(&self, options: &AvgPool) -> Result<Tensor> = imp::avg_pool3d {
        samples: samples::avg_pool3d, errors: samples::avg_errors
    };

    /// The means of windows that cut sequences into the given number of parts. Window `k` of `n` over `size` elements
    /// goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
    ///
    /// # Shapes
    /// `[.., length]` to the same leading dimensions and the given size.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Each element of a window gets the cotangent, divided by their number.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions or no elements to take; `Value` for a size of 0; `Arity` for a wrong number of
    /// sizes.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 3.0, 5.0]);
    /// assert_eq!(x.adaptive_avg_pool1d(2)?.to_vec::<f64>()?, [2.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn adaptive_avg_pool1d(&self, size: impl Into<PerDim>) -> Result<Tensor> = imp::adaptive_avg_pool1d {
        samples: samples::adaptive_avg_pool1d, errors: samples::adaptive_errors,
        python: adaptive_avg_pool1d(size as output_size)
    };

    /// The means of windows that cut images into the given numbers of parts. Window `k` of `n` over `size` elements
    /// goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
    ///
    /// # Shapes
    /// `[.., height, width]` to the same leading dimensions and the given sizes.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Each element of a window gets the cotangent, divided by their number.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions or no elements to take; `Value` for a size of 0; `Arity` for a wrong number of
    /// sizes.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 3.0, 2.0], [4.0, 2.0, 6.0]]);
    /// assert_eq!(x.adaptive_avg_pool2d([2, 1])?.to_vec::<f64>()?, [2.0, 4.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn adaptive_avg_pool2d(&self, size: impl Into<PerDim>) -> Result<Tensor> = imp::adaptive_avg_pool2d {
        samples: samples::adaptive_avg_pool2d, errors: samples::adaptive_errors,
        python: adaptive_avg_pool2d(size as output_size)
    };

    /// The means of windows that cut volumes into the given numbers of parts. Window `k` of `n` over `size` elements
    /// goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
    ///
    /// # Shapes
    /// `[.., depth, height, width]` to the same leading dimensions and the given sizes.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Each element of a window gets the cotangent, divided by their number.
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions or no elements to take; `Value` for a size of 0; `Arity` for a wrong number of
    /// sizes.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::ones(&[1, 4, 4, 4], DType::F64)?;
    /// assert_eq!(x.adaptive_avg_pool3d(1)?.to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn adaptive_avg_pool3d(&self, size: impl Into<PerDim>) -> Result<Tensor> = imp::adaptive_avg_pool3d {
        samples: samples::adaptive_avg_pool3d, errors: samples::adaptive_errors,
        python: adaptive_avg_pool3d(size as output_size)
    };

    /// The largest elements of windows that cut sequences into the given number of parts, which are those of
    /// [`adaptive_avg_pool1d`](Tensor::adaptive_avg_pool1d).
    ///
    /// # Shapes
    /// `[.., length]` to the same leading dimensions and the given size.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Cotangents go to the element that was taken, the first of equal ones.
    ///
    /// # Errors
    /// As for `adaptive_avg_pool1d`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([1.0, 3.0, 5.0]);
    /// assert_eq!(x.adaptive_max_pool1d(2)?.to_vec::<f64>()?, [3.0, 5.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn adaptive_max_pool1d(&self, size: impl Into<PerDim>) -> Result<Tensor> = imp::adaptive_max_pool1d {
        samples: samples::adaptive_max_pool1d, errors: samples::adaptive_max_errors,
        python: adaptive_max_pool1d(size as output_size)
    };

    /// The largest elements of windows that cut images into the given numbers of parts, which are those of
    /// [`adaptive_avg_pool2d`](Tensor::adaptive_avg_pool2d).
    ///
    /// # Shapes
    /// `[.., height, width]` to the same leading dimensions and the given sizes.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Cotangents go to the element that was taken, the first of equal ones.
    ///
    /// # Errors
    /// As for `adaptive_avg_pool2d`.
    ///
    /// # Example
    /// ```
    /// use pullback::Tensor;
    /// let x = Tensor::from([[1.0, 3.0, 2.0], [4.0, 2.0, 6.0]]);
    /// assert_eq!(x.adaptive_max_pool2d([2, 1])?.to_vec::<f64>()?, [3.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn adaptive_max_pool2d(&self, size: impl Into<PerDim>) -> Result<Tensor> = imp::adaptive_max_pool2d {
        samples: samples::adaptive_max_pool2d, errors: samples::adaptive_max_errors,
        python: adaptive_max_pool2d(size as output_size)
    };

    /// The largest elements of windows that cut volumes into the given numbers of parts, which are those of
    /// [`adaptive_avg_pool3d`](Tensor::adaptive_avg_pool3d).
    ///
    /// # Shapes
    /// `[.., depth, height, width]` to the same leading dimensions and the given sizes.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Cotangents go to the element that was taken, the first of equal ones.
    ///
    /// # Errors
    /// As for `adaptive_avg_pool3d`.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor};
    /// let x = Tensor::ones(&[1, 4, 4, 4], DType::F64)?;
    /// assert_eq!(x.adaptive_max_pool3d(1)?.to_vec::<f64>()?, [1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn adaptive_max_pool3d(&self, size: impl Into<PerDim>) -> Result<Tensor> = imp::adaptive_max_pool3d {
        samples: samples::adaptive_max_pool3d, errors: samples::adaptive_max_errors,
        python: adaptive_max_pool3d(size as output_size)
    };
}
