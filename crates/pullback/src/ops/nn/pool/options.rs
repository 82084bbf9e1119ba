//! The options of pooling.

use super::PerDim;
use crate::Result;
use crate::error::bail;
use crate::kernels::windows::Span;

/// How windows lie along one dimension.
#[derive(Clone, Copy)]
pub(super) struct Slide {
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) padding: usize,
    pub(super) dilation: usize,
    pub(super) ceil: bool,
}

impl Slide {
    /// The number of windows over `size` elements; `dim` is named in messages.
    pub(super) fn count(self, op: &str, size: usize, dim: usize) -> Result<usize> {
        let Slide { kernel, stride, padding, dilation, ceil } = self;
        let reach = (kernel - 1).saturating_mul(dilation);
        if size > 1 << 40 || reach > 1 << 40 || stride > 1 << 40 {
            bail!(Value, "{op}: expected sizes, strides and dilations up to 2^40, got {size}, {stride} and {reach}");
        }
        if padding > kernel / 2 {
            bail!(Value, "{op}: expected a padding of at most half of the kernel, got {padding} and kernel {kernel}");
        }
        let Some(room) = (size + 2 * padding).checked_sub(reach + 1) else {
            bail!(
                Shape,
                "{op}: expected a window that fits into the padded input, got size {kernel} with dilation \
                {dilation} for {size} + {} elements in spatial dimension {dim}",
                2 * padding
            );
        };
        let mut count = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
        // The last window begins inside of the input or before it.
        if ceil && (count - 1) * stride >= size + padding {
            count -= 1;
        }
        Ok(count)
    }

    /// What window `k` holds of `size` elements.
    pub(super) fn span(self, size: usize, k: usize) -> Span {
        let Slide { kernel, stride, padding, dilation, .. } = self;
        let begin = k * stride;
        // Taps that lie before the input are skipped.
        let skip = padding.saturating_sub(begin).div_ceil(dilation);
        let start = begin + skip * dilation - padding;
        let count = if start < size { ((size - start).div_ceil(dilation)).min(kernel.saturating_sub(skip)) } else { 0 };
        Span { start: if count == 0 { 0 } else { start }, count, step: dilation }
    }
}

/// The options of the maximum over windows: [`max_pool2d`](crate::Tensor::max_pool2d) and the others.
///
/// ```
/// use pullback::{Tensor, nn::MaxPool};
/// let x = Tensor::from([1.0, 5.0, 2.0, 4.0, 3.0]);
/// assert_eq!(x.max_pool1d(&MaxPool::new(2))?.to_vec::<f64>()?, [5.0, 4.0]);
/// assert_eq!(x.max_pool1d(&MaxPool::new(2).ceil_mode(true))?.to_vec::<f64>()?, [5.0, 4.0, 3.0]);
/// assert_eq!(x.max_pool1d(&MaxPool::new(3).stride(1).padding(1))?.to_vec::<f64>()?, [5.0, 5.0, 5.0, 4.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaxPool {
    kernel: PerDim,
    stride: Option<PerDim>,
    padding: PerDim,
    dilation: PerDim,
    ceil_mode: bool,
}

impl MaxPool {
    /// Windows of this size beside each other, without padding.
    pub fn new(kernel: impl Into<PerDim>) -> MaxPool {
        MaxPool { kernel: kernel.into(), stride: None, padding: 0.into(), dilation: 1.into(), ceil_mode: false }
    }

    /// How far apart windows begin; their size unless set.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<PerDim>) -> MaxPool {
        self.stride = Some(stride.into());
        self
    }

    /// How far windows reach beyond the ends of the input, where nothing counts; at most half of their size.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<PerDim>) -> MaxPool {
        self.padding = padding.into();
        self
    }

    /// How far apart the elements of a window lie.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<PerDim>) -> MaxPool {
        self.dilation = dilation.into();
        self
    }

    /// Whether there is another window at the end for elements that no whole window reaches.
    #[must_use]
    pub fn ceil_mode(mut self, ceil_mode: bool) -> MaxPool {
        self.ceil_mode = ceil_mode;
        self
    }

    /// The windows in each of three dimensions.
    pub(super) fn slides(&self, op: &str, dims: usize) -> Result<[Slide; 3]> {
        let kernel = self.kernel.positive(op, "kernel", dims)?;
        let stride = self.stride.as_ref().unwrap_or(&self.kernel).positive(op, "stride", dims)?;
        let padding = self.padding.spread(op, "padding", dims, 0)?;
        let dilation = self.dilation.positive(op, "dilation", dims)?;
        Ok(std::array::from_fn(|d| Slide {
            kernel: kernel[d],
            stride: stride[d],
            padding: padding[d],
            dilation: dilation[d],
            ceil: self.ceil_mode,
        }))
    }
}

/// The options of the mean over windows: [`avg_pool2d`](crate::Tensor::avg_pool2d) and the others.
///
/// ```
/// use pullback::{Tensor, nn::AvgPool};
/// let x = Tensor::from([2.0, 4.0, 6.0]);
/// let window = AvgPool::new(2).stride(1).padding(1);
/// assert_eq!(x.avg_pool1d(&window)?.to_vec::<f64>()?, [1.0, 3.0, 5.0, 3.0]);
/// assert_eq!(x.avg_pool1d(&window.count_include_pad(false))?.to_vec::<f64>()?, [2.0, 3.0, 5.0, 6.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AvgPool {
    kernel: PerDim,
    stride: Option<PerDim>,
    padding: PerDim,
    ceil_mode: bool,
    pub(super) count_include_pad: bool,
    pub(super) divisor: Option<usize>,
}

impl AvgPool {
    /// Windows of this size beside each other, without padding.
    pub fn new(kernel: impl Into<PerDim>) -> AvgPool {
        AvgPool {
            kernel: kernel.into(),
            stride: None,
            padding: 0.into(),
            ceil_mode: false,
            count_include_pad: true,
            divisor: None,
        }
    }

    /// How far apart windows begin; their size unless set.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<PerDim>) -> AvgPool {
        self.stride = Some(stride.into());
        self
    }

    /// How far windows reach beyond the ends of the input, where they find zeros; at most half of their size.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<PerDim>) -> AvgPool {
        self.padding = padding.into();
        self
    }

    /// Whether there is another window at the end for elements that no whole window reaches.
    #[must_use]
    pub fn ceil_mode(mut self, ceil_mode: bool) -> AvgPool {
        self.ceil_mode = ceil_mode;
        self
    }

    /// Whether the zeros of the padding count as elements; they do unless set. What `ceil_mode` adds beyond the padding never
    /// counts.
    #[must_use]
    pub fn count_include_pad(mut self, count_include_pad: bool) -> AvgPool {
        self.count_include_pad = count_include_pad;
        self
    }

    /// What sums are divided by, instead of the number of elements.
    #[must_use]
    pub fn divisor_override(mut self, divisor: usize) -> AvgPool {
        self.divisor = Some(divisor);
        self
    }

    /// The windows in each of three dimensions.
    pub(super) fn slides(&self, op: &str, dims: usize) -> Result<[Slide; 3]> {
        let kernel = self.kernel.positive(op, "kernel", dims)?;
        let stride = self.stride.as_ref().unwrap_or(&self.kernel).positive(op, "stride", dims)?;
        let padding = self.padding.spread(op, "padding", dims, 0)?;
        Ok(std::array::from_fn(|d| Slide {
            kernel: kernel[d],
            stride: stride[d],
            padding: padding[d],
            dilation: 1,
            ceil: self.ceil_mode,
        }))
    }
}
