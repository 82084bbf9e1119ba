//! The columns of images, and their sum.

use crate::array::Array;
use crate::error::bail;
use crate::kernels::conv::{Geometry, columns, sum_columns};
use crate::ops::family::{Linear, linear};
use crate::ops::reduce::to_float;
use crate::ops::table::{ErrorSample, Naive, Sample, ops, sample_tensor};
use crate::shape::{Shape, numel};
use crate::{ErrorKind, Result, Tensor};

use super::options::{Conv, spatial};
use super::{ConvPadding, PerDim};

/// The options of [`im2col`](Tensor::im2col) and [`col2im`](Tensor::col2im): which patches of an image there are.
///
/// ```
/// use pullback::{DType, Tensor, nn::Patches};
/// let x = Tensor::ones(&[1, 3, 6, 6], DType::F32)?;
/// assert_eq!(x.im2col(&Patches::new(2).stride(2))?.shape(), [1, 12, 9]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Patches {
    kernel: PerDim,
    conv: Conv,
}

impl Patches {
    /// Patches of this size, one from every place.
    pub fn new(kernel: impl Into<PerDim>) -> Patches {
        Patches { kernel: kernel.into(), conv: Conv::new() }
    }

    /// How far apart patches begin.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<PerDim>) -> Patches {
        self.conv = self.conv.stride(stride);
        self
    }

    /// How many zeros there are beyond each end of the image.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<PerDim>) -> Patches {
        self.conv = self.conv.padding(ConvPadding::Zeros(padding.into()));
        self
    }

    /// How far apart in the image the elements of a patch lie.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<PerDim>) -> Patches {
        self.conv = self.conv.dilation(dilation);
        self
    }

    fn geometry(&self, op: &str, input: [usize; 3]) -> Result<Geometry> {
        let found = self.conv.geometry(op, 2, input, self.kernel.positive(op, "kernel", 2)?)?;
        crate::tensor::checked_numel(op, &found.input)?;
        // The sizes of all columns of a channel.
        crate::tensor::checked_numel(op, &[&found.kernel[..], &found.output].concat())?;
        Ok(found)
    }
}

ops! { OPS;
    /// The patches of images as columns of a matrix: what a convolution multiplies with its weight. PyTorch's
    /// `nn.functional.unfold`.
    ///
    /// # Shapes
    /// `[.., channels, height, width]` to `[.., channels·kernel, patches]`, where the elements of a patch count in row-major order, and
    /// so do patches.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Tangents: their patches. Cotangents: [`col2im`](Tensor::col2im).
    ///
    /// # Errors
    /// `Shape` if there are too few dimensions, or if a patch does not fit into the padded image; `Value` for options that make no
    /// sense; `Arity` for a wrong number of them.
    ///
    /// # Example
    /// ```
    /// use pullback::{Tensor, nn::Patches};
    /// let x = Tensor::from([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]);
    /// assert_eq!(x.im2col(&Patches::new(2))?.to_vec::<f64>()?, [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn im2col(&self, patches: &Patches) -> Result<Tensor> = im2col {
        samples: im2col_samples, errors: im2col_errors,
        python: im2col(patches),
        python: nn::functional::unfold(patches)
    };

    /// The sum of the patches of images that are the columns of a matrix, each element where [`im2col`](Tensor::im2col) takes it from.
    /// PyTorch's `nn.functional.fold`.
    ///
    /// # Shapes
    /// `[.., channels·kernel, patches]` to `[.., channels, height, width]`, with the given height and width.
    ///
    /// # Dtypes
    /// Floats; integers become `f32`.
    ///
    /// # Derivative
    /// Tangents: their sum. Cotangents: their patches.
    ///
    /// # Errors
    /// `Shape` if the numbers of rows or columns are not those of patches of such images; `Value` for options that make no
    /// sense; `Arity` for a wrong number of them.
    ///
    /// # Example
    /// ```
    /// use pullback::{DType, Tensor, nn::Patches};
    /// let x = Tensor::ones(&[4, 2], DType::F64)?.col2im([2, 3], &Patches::new(2))?;
    /// assert_eq!(x.shape(), [1, 2, 3]);
    /// assert_eq!(x.to_vec::<f64>()?, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    fn col2im(&self, size: impl Into<PerDim>, patches: &Patches) -> Result<Tensor> = col2im {
        samples: col2im_samples, errors: col2im_errors,
        python: col2im(size as output_size, patches),
        python: nn::functional::fold(size as output_size, patches)
    };
}

/// The patches of `[.., height, width]` as `[.., taps, positions]`, or their sum.
#[derive(Clone, Copy)]
struct Columns {
    geometry: Geometry,
    sum: bool,
}

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Geometry { input, kernel, stride, padding, dilation, .. } = &self.geometry;
        let what = if self.sum { "sum" } else { "of" };
        write!(f, "{what} {:?}, kernel {:?}, stride {:?}", &input[1..], &kernel[1..], &stride[1..])?;
        write!(f, ", padding {:?}, dilation {:?}", &padding[1..], &dilation[1..])
    }
}

impl Linear for Columns {
    const NAME: &'static str = "im2col";
    fn kernel(&self, x: &Array) -> Result<Array> {
        let g = &self.geometry;
        let mut shape = x.to_shape();
        let (last, rank) = (if self.sum { [g.input[1], g.input[2]] } else { [g.taps(), g.positions()] }, shape.len());
        shape[rank - 2..].copy_from_slice(&last);
        if self.sum { sum_columns(g, x, shape) } else { columns(g, x, shape) }
    }
    fn transpose(&self, g: &Tensor, _: &[usize]) -> Result<Tensor> {
        linear(Columns { sum: !self.sum, ..*self }, g)
    }
    fn batched(&self, _: usize) -> Columns {
        *self
    }
}

fn im2col(x: &Tensor, patches: &Patches) -> Result<Tensor> {
    if x.rank() < 3 {
        bail!(Shape, "im2col: expected images [.., channels, height, width], got {}", x.ty());
    }
    let geometry = patches.geometry("im2col", spatial(&x.ty(), 2))?;
    let lead = x.rank() - 3;
    let mut shape = Shape::from_slice(&x.shape()[..lead]);
    shape.extend([x.shape()[lead].saturating_mul(geometry.taps()), geometry.positions()]);
    crate::tensor::checked_numel("im2col", &shape)?;
    linear(Columns { geometry, sum: false }, &to_float(x)?)?.reshape_to(&shape)
}

fn col2im(x: &Tensor, size: impl Into<PerDim>, patches: &Patches) -> Result<Tensor> {
    let size = size.into().spread("col2im", "size", 2, 1)?;
    let g = patches.geometry("col2im", size)?;
    let (taps, positions) = (g.taps(), g.positions());
    let Some((&rows, &columns)) = x.rank().checked_sub(2).and_then(|k| x.shape()[k..].first().zip(x.shape().last()))
    else {
        bail!(Shape, "col2im: expected columns [.., channels·kernel, patches], got {}", x.ty());
    };
    if !rows.is_multiple_of(taps) || columns != positions {
        bail!(
            Shape,
            "col2im: expected a multiple of {taps} rows, the elements of a patch, and {positions} columns, the patches of an \
            image of {} by {}, got {}",
            size[1],
            size[2],
            x.ty()
        );
    }
    let mut shape = Shape::from_slice(&x.shape()[..x.rank() - 2]);
    shape.push(rows / taps);
    let channels = shape.len();
    shape.extend([taps, positions]);
    let split = to_float(x)?.reshape_to(&shape)?;
    shape.truncate(channels);
    shape.extend([size[1], size[2]]);
    crate::tensor::checked_numel("col2im", &shape)?;
    linear(Columns { geometry: g, sum: true }, &split)
}

/// Stride, padding and dilation with a shape of images and a kernel.
type Case = (&'static [usize], [usize; 2], [usize; 3]);

const CASES: &[Case] = &[
    (&[2, 3, 4, 5], [2, 3], [1, 0, 1]),
    (&[2, 5, 4], [3, 2], [2, 1, 1]),
    (&[1, 1, 6, 5], [2, 2], [1, 1, 2]),
    (&[0, 2, 3, 3], [2, 2], [1, 0, 1]),
];

fn options(kernel: [usize; 2], [stride, padding, dilation]: [usize; 3]) -> Patches {
    Patches::new(kernel).stride(stride).padding(padding).dilation(dilation)
}

/// For each element of the columns of one channel, row by row, the place in its image.
fn places(
    size: [usize; 2],
    kernel: [usize; 2],
    [stride, padding, dilation]: [usize; 3],
) -> (usize, Vec<Option<usize>>) {
    let count = |d: usize| (size[d] + 2 * padding - dilation * (kernel[d] - 1) - 1) / stride + 1;
    let mut all = Vec::new();
    for tap in 0..kernel[0] * kernel[1] {
        for patch in 0..count(0) * count(1) {
            let at = |o: usize, k: usize, n: usize| (o * stride + k * dilation).checked_sub(padding).filter(|&i| i < n);
            let y = at(patch / count(1), tap / kernel[1], size[0]);
            let x = at(patch % count(1), tap % kernel[1], size[1]);
            all.push(y.zip(x).map(|(y, x)| y * size[1] + x));
        }
    }
    (count(0) * count(1), all)
}

fn im2col_samples() -> Vec<Sample> {
    let case = |&(shape, kernel, numbers): &Case| {
        let options = options(kernel, numbers);
        Sample::one(format!("{shape:?} {options:?}"), [sample_tensor(shape, -1.0, 1.0, 1)], move |x| {
            x[0].im2col(&options)
        })
        .reference(move |x| {
            let (lead, size) = shape.split_at(shape.len() - 2);
            let (patches, places) = places([size[0], size[1]], kernel, numbers);
            let planes = x[0].data.chunks(size[0] * size[1]);
            let data = planes.flat_map(|plane| places.iter().map(|p| p.map_or(0.0, |p| plane[p]))).collect();
            let (channels, images) = lead.split_last().expect("channels");
            vec![Naive { shape: [images, &[channels * places.len() / patches, patches]].concat(), data }]
        })
    };
    CASES.iter().map(case).collect()
}

fn col2im_samples() -> Vec<Sample> {
    let case = |&(shape, kernel, numbers): &Case| {
        let (lead, size) = shape.split_at(shape.len() - 2);
        let size = [size[0], size[1]];
        let (patches, places) = places(size, kernel, numbers);
        let (channels, images) = lead.split_last().expect("channels");
        let own = [images, &[channels * places.len() / patches, patches]].concat();
        let options = options(kernel, numbers);
        Sample::one(format!("to {shape:?} {options:?}"), [sample_tensor(&own, -1.0, 1.0, 1)], move |x| {
            x[0].col2im(size, &options)
        })
        .reference(move |x| {
            let mut sum = Naive { shape: shape.to_vec(), data: vec![0.0; numel(shape)] };
            for (plane, own) in sum.data.chunks_mut(size[0] * size[1]).zip(x[0].data.chunks(places.len())) {
                for (place, v) in places.iter().zip(own) {
                    if let Some(p) = place {
                        plane[*p] += v;
                    }
                }
            }
            vec![sum]
        })
    };
    CASES.iter().map(case).collect()
}

fn im2col_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[3, 3], 0.0, 1.0, 1);
    let y = sample_tensor(&[1, 3, 3], 0.0, 1.0, 1);
    vec![
        ErrorSample::new(
            "rank",
            ErrorKind::Shape,
            "im2col: expected images [.., channels, height, width], got f64[3,3]",
            move || x.im2col(&Patches::new(2)),
        ),
        ErrorSample::new(
            "fit",
            ErrorKind::Shape,
            "im2col: expected a kernel that fits into the padded input",
            move || y.im2col(&Patches::new(4)),
        ),
    ]
}

fn col2im_errors() -> Vec<ErrorSample> {
    let x = sample_tensor(&[4, 3], 0.0, 1.0, 1);
    let message = "col2im: expected a multiple of 4 rows, the elements of a patch, and 2 columns, the patches of an image of 2 by 3, \
        got f64[4,3]";
    vec![
        ErrorSample::new("columns", ErrorKind::Shape, message, move || x.col2im([2, 3], &Patches::new(2))),
        ErrorSample::new("rank", ErrorKind::Shape, "col2im: expected columns [.., channels·kernel, patches]", || {
            Tensor::from(1.0).col2im([2, 3], &Patches::new(2))
        }),
    ]
}
