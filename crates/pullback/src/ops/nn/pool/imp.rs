//! Pooling in any number of dimensions. Where a largest element lies is a discrete function; taking it is `gather`, whose rules
//! are then all that is needed. Sums over windows are sums along one dimension after the other.

use super::options::Slide;
use super::{AvgPool, MaxPool, PerDim};
use crate::array::Array;
use crate::error::bail;
use crate::kernels::copy::contiguous;
use crate::kernels::resample::Taps;
use crate::kernels::windows::{Span, largest};
use crate::ops::discrete::{Discrete, discrete};
use crate::ops::index::elements::gather_at;
use crate::ops::nn::resample;
use crate::ops::reduce::to_float;
use crate::shape::Shape;
use crate::{DType, Result, Tensor};

pub(super) fn max_pool1d(x: &Tensor, options: &MaxPool) -> Result<Tensor> {
    Ok(max_pool("max_pool1d", 1, x, options)?.0)
}
pub(super) fn max_pool1d_with_indices(x: &Tensor, options: &MaxPool) -> Result<(Tensor, Tensor)> {
    max_pool("max_pool1d_with_indices", 1, x, options)
}
pub(super) fn avg_pool1d(x: &Tensor, options: &AvgPool) -> Result<Tensor> {
    avg_pool("avg_pool1d", 1, x, options)
}
pub(super) fn adaptive_avg_pool1d(x: &Tensor, size: impl Into<PerDim>) -> Result<Tensor> {
    adaptive_avg_pool("adaptive_avg_pool1d", 1, x, &size.into())
}
pub(super) fn adaptive_max_pool1d(x: &Tensor, size: impl Into<PerDim>) -> Result<Tensor> {
    adaptive_max_pool("adaptive_max_pool1d", 1, x, &size.into())
}

pub(super) fn max_pool2d(x: &Tensor, options: &MaxPool) -> Result<Tensor> {
    Ok(max_pool("max_pool2d", 2, x, options)?.0)
}
pub(super) fn max_pool2d_with_indices(x: &Tensor, options: &MaxPool) -> Result<(Tensor, Tensor)> {
    max_pool("max_pool2d_with_indices", 2, x, options)
}
pub(super) fn avg_pool2d(x: &Tensor, options: &AvgPool) -> Result<Tensor> {
    avg_pool("avg_pool2d", 2, x, options)
}
pub(super) fn adaptive_avg_pool2d(x: &Tensor, size: impl Into<PerDim>) -> Result<Tensor> {
    adaptive_avg_pool("adaptive_avg_pool2d", 2, x, &size.into())
}
pub(super) fn adaptive_max_pool2d(x: &Tensor, size: impl Into<PerDim>) -> Result<Tensor> {
    adaptive_max_pool("adaptive_max_pool2d", 2, x, &size.into())
}

pub(super) fn max_pool3d(x: &Tensor, options: &MaxPool) -> Result<Tensor> {
    Ok(max_pool("max_pool3d", 3, x, options)?.0)
}
pub(super) fn max_pool3d_with_indices(x: &Tensor, options: &MaxPool) -> Result<(Tensor, Tensor)> {
    max_pool("max_pool3d_with_indices", 3, x, options)
}
pub(super) fn avg_pool3d(x: &Tensor, options: &AvgPool) -> Result<Tensor> {
    avg_pool("avg_pool3d", 3, x, options)
}
pub(super) fn adaptive_avg_pool3d(x: &Tensor, size: impl Into<PerDim>) -> Result<Tensor> {
    adaptive_avg_pool("adaptive_avg_pool3d", 3, x, &size.into())
}
pub(super) fn adaptive_max_pool3d(x: &Tensor, size: impl Into<PerDim>) -> Result<Tensor> {
    adaptive_max_pool("adaptive_max_pool3d", 3, x, &size.into())
}

/// The tensor as floats, and the sizes of its last `dims` dimensions.
fn images(op: &str, dims: usize, x: &Tensor) -> Result<(Tensor, Shape)> {
    let Some(lead) = x.rank().checked_sub(dims) else {
        bail!(Shape, "{op}: expected at least {dims} spatial dimensions, got {}", x.ty());
    };
    Ok((to_float(x)?, Shape::from_slice(&x.shape()[lead..])))
}

/// Where the largest elements of windows over the last dimensions lie.
#[derive(Clone)]
struct Largest {
    /// The windows along each of the dimensions.
    spans: Vec<Vec<Span>>,
}

/// The numbers of windows, and the first one.
impl std::fmt::Debug for Largest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count: Vec<usize> = self.spans.iter().map(Vec::len).collect();
        let first: Vec<_> = self.spans.iter().filter_map(|s| s.first()).map(|s| (s.count, s.step)).collect();
        write!(f, "{count:?} windows, the first of {first:?}")
    }
}

impl Discrete for Largest {
    const NAME: &'static str = "max_pool_places";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let (lead, sizes) = x.shape().split_at(x.rank() - self.spans.len());
        let one = [Span { start: 0, count: 1, step: 1 }];
        let mut spans: [&[Span]; 3] = [&one; 3];
        let missing = 3 - self.spans.len();
        for (s, own) in spans[missing..].iter_mut().zip(&self.spans) {
            *s = own;
        }
        let whole: Shape =
            lead.iter().copied().chain([1; 3].into_iter().take(missing)).chain(sizes.iter().copied()).collect();
        let shape: Shape = lead.iter().copied().chain(self.spans.iter().map(Vec::len)).collect();
        let x = contiguous(x);
        let view = |x: &Array, shape: &[usize]| match x.reshape_view(shape) {
            Some(view) => Ok(view),
            None => bail!(Internal, "max_pool: a contiguous array has no view of shape {shape:?}"),
        };
        view(&largest(&view(&x, &whole)?, spans)?, &shape)
    }
    fn batched(&self) -> Largest {
        self.clone()
    }
}

/// True if there are no images of `dims` dimensions, so that a list of windows, of which there may be any number, is not needed.
fn no_images(x: &Tensor, dims: usize) -> bool {
    x.shape()[..x.rank() - dims].contains(&0)
}

/// The results of [`take_largest`] of this shape without images.
fn largest_of_nothing(x: &Tensor, dims: usize, shape: &[usize]) -> Result<(Tensor, Tensor)> {
    Ok((resample::of_nothing(x, x.rank() - dims, shape)?, Tensor::zeros(shape, DType::I64)?))
}

/// The shape of the result of a pooling: as many elements along each of the last dimensions as there are windows.
fn pooled(op: &str, x: &Tensor, sizes: &[usize], slides: &[Slide]) -> Result<Shape> {
    let mut shape = Shape::from_slice(&x.shape()[..x.rank() - sizes.len()]);
    for (d, (&size, slide)) in sizes.iter().zip(slides).enumerate() {
        shape.push(slide.count(op, size, d)?);
    }
    crate::tensor::checked_numel(op, &shape)?;
    Ok(shape)
}

/// The largest elements of windows, and their places.
fn take_largest(x: &Tensor, spans: Vec<Vec<Span>>) -> Result<(Tensor, Tensor)> {
    let lead = &x.shape()[..x.rank() - spans.len()];
    let flat = |t: &Tensor| {
        let n = t.shape()[lead.len()..].iter().product();
        t.reshape_to(&[lead, &[n]].concat())
    };
    let shape: Shape = lead.iter().copied().chain(spans.iter().map(Vec::len)).collect();
    let places = discrete(Largest { spans }, x)?;
    let values = gather_at(&flat(x)?, lead.len(), &flat(&places)?)?.reshape_to(&shape)?;
    Ok((values, places))
}

fn max_pool(op: &str, dims: usize, x: &Tensor, options: &MaxPool) -> Result<(Tensor, Tensor)> {
    let (x, sizes) = images(op, dims, x)?;
    let slides = options.slides(op, dims)?;
    let slides = &slides[3 - dims..];
    let shape = pooled(op, &x, &sizes, slides)?;
    let own = |d: usize, size: usize, slide: &Slide| {
        let slide = *slide;
        (0..shape[x.rank() - dims + d]).map(move |k| slide.span(size, k))
    };
    for (d, (&size, slide)) in sizes.iter().zip(slides).enumerate() {
        // A window is never between elements that are closer than the gaps in it, and not unless it begins before them.
        let before = slide.padding.div_ceil(slide.stride);
        if slide.dilation > size && own(d, size, slide).take(before).any(|s| s.count == 0) {
            bail!(
                Value,
                "{op}: expected windows with at least one element each, got one between the elements of spatial \
                dimension {d}, which has {size}"
            );
        }
    }
    if no_images(&x, dims) {
        return largest_of_nothing(&x, dims, &shape);
    }
    let spans = sizes.iter().zip(slides).enumerate().map(|(d, (&size, slide))| own(d, size, slide).collect()).collect();
    take_largest(&x, spans)
}

/// The sums over windows along each dimension in turn, divided by the product of their counts.
fn mean(x: &Tensor, windows: Vec<(Vec<Span>, Vec<f64>)>, divisor: Option<usize>) -> Result<Tensor> {
    let lead = x.rank() - windows.len();
    let mut sum = x.clone();
    for (d, (spans, _)) in windows.iter().enumerate() {
        let rows = spans.iter().map(|s| (s.start..s.start + s.count).map(|i| (i, 1.0)));
        sum = resample::apply(&sum, lead + d, Taps::new(x.shape()[lead + d], rows))?;
    }
    if let Some(divisor) = divisor {
        return sum.div(divisor as f64);
    }
    for (d, (_, counts)) in windows.iter().enumerate() {
        match counts.first() {
            Some(&first) if counts.iter().all(|&n| n == first) => {
                if first != 1.0 {
                    sum = sum.div(first)?;
                }
            }
            _ => {
                let mut shape = Shape::from_elem(1, windows.len() - d);
                shape[0] = counts.len();
                sum = sum.div(&Tensor::from_slice(counts, &shape)?.to_dtype(x.dtype())?)?;
            }
        }
    }
    Ok(sum)
}

fn avg_pool(op: &str, dims: usize, x: &Tensor, options: &AvgPool) -> Result<Tensor> {
    let (x, sizes) = images(op, dims, x)?;
    if options.divisor == Some(0) {
        bail!(Value, "{op}: expected a divisor_override that is not 0");
    }
    let slides = options.slides(op, dims)?;
    let slides = &slides[3 - dims..];
    let shape = pooled(op, &x, &sizes, slides)?;
    if no_images(&x, dims) {
        return resample::of_nothing(&x, x.rank() - dims, &shape);
    }
    let mut windows = Vec::new();
    for (d, (&size, &slide)) in sizes.iter().zip(slides).enumerate() {
        let spans: Vec<Span> = (0..shape[x.rank() - dims + d]).map(|k| slide.span(size, k)).collect();
        let Slide { kernel, stride, padding, .. } = slide;
        let counts = spans.iter().enumerate().map(|(k, s)| match options.count_include_pad {
            // Up to the end of the padding, which only windows of `ceil_mode` pass.
            true => kernel.min(size + 2 * padding - k * stride) as f64,
            false => s.count as f64,
        });
        let counts = counts.collect();
        windows.push((spans, counts));
    }
    mean(&x, windows, options.divisor)
}

/// The shape of the result of a pooling into parts.
fn parted(op: &str, x: &Tensor, sizes: &[usize], parts: &PerDim) -> Result<Shape> {
    let dims = sizes.len();
    let parts = parts.positive(op, "size", dims)?;
    if let Some(d) = sizes.iter().position(|&size| size == 0) {
        bail!(Shape, "{op}: expected elements in spatial dimension {d}, got none");
    }
    let mut shape = Shape::from_slice(&x.shape()[..x.rank() - dims]);
    shape.extend_from_slice(&parts[3 - dims..]);
    crate::tensor::checked_numel(op, &shape)?;
    for (&size, &n) in sizes.iter().zip(&shape[x.rank() - dims..]) {
        crate::tensor::checked_numel(op, &[n, size])?;
    }
    Ok(shape)
}

/// The windows that cut each of the dimensions into parts.
fn parts(sizes: &[usize], parts: &[usize]) -> Vec<Vec<Span>> {
    let windows = |(&size, &n): (&usize, &usize)| {
        let span = |k: usize| {
            let (start, end) = (k * size / n, ((k + 1) * size).div_ceil(n));
            Span { start, count: end - start, step: 1 }
        };
        (0..n).map(span).collect()
    };
    sizes.iter().zip(parts).map(windows).collect()
}

fn adaptive_avg_pool(op: &str, dims: usize, x: &Tensor, size: &PerDim) -> Result<Tensor> {
    let (x, sizes) = images(op, dims, x)?;
    let shape = parted(op, &x, &sizes, size)?;
    let lead = x.rank() - dims;
    if no_images(&x, dims) {
        return resample::of_nothing(&x, lead, &shape);
    }
    let windows = parts(&sizes, &shape[lead..]).into_iter().map(|spans| {
        let counts = spans.iter().map(|s| s.count as f64).collect();
        (spans, counts)
    });
    mean(&x, windows.collect(), None)
}

fn adaptive_max_pool(op: &str, dims: usize, x: &Tensor, size: &PerDim) -> Result<Tensor> {
    let (x, sizes) = images(op, dims, x)?;
    let shape = parted(op, &x, &sizes, size)?;
    if no_images(&x, dims) {
        return Ok(largest_of_nothing(&x, dims, &shape)?.0);
    }
    Ok(take_largest(&x, parts(&sizes, &shape[x.rank() - dims..]))?.0)
}

/// [`adaptive_avg_pool`] for what has other names.
pub(in crate::ops::nn) fn area(op: &str, x: &Tensor, sizes: &[usize]) -> Result<Tensor> {
    adaptive_avg_pool(op, sizes.len(), x, &sizes.into())
}
