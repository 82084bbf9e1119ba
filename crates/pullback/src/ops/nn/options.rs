//! The options of convolutions and of what else slides a window over an image.

use smallvec::SmallVec;

use crate::error::bail;
use crate::kernels::conv::Geometry;
use crate::{Result, TensorType};

/// A number for each spatial dimension of an image, or one for all.
///
/// ```
/// use pullback::nn::PerDim;
/// assert_eq!(PerDim::from(3), PerDim::from([3]));
/// assert_ne!(PerDim::from([3, 2]), PerDim::from([2, 3]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PerDim(SmallVec<[usize; 3]>);

impl From<usize> for PerDim {
    fn from(n: usize) -> PerDim {
        PerDim(SmallVec::from_slice(&[n]))
    }
}

impl<const N: usize> From<[usize; N]> for PerDim {
    fn from(sizes: [usize; N]) -> PerDim {
        PerDim(SmallVec::from_slice(&sizes))
    }
}

impl From<&[usize]> for PerDim {
    fn from(sizes: &[usize]) -> PerDim {
        PerDim(SmallVec::from_slice(sizes))
    }
}

impl PerDim {
    /// The number of each of `dims` dimensions, behind as many of `missing` as three dimensions lack.
    pub(super) fn spread(&self, op: &str, what: &str, dims: usize, missing: usize) -> Result<[usize; 3]> {
        let mut all = [missing; 3];
        match self.0.len() {
            1 => all[3 - dims..].fill(self.0[0]),
            n if n == dims => all[3 - dims..].copy_from_slice(&self.0),
            n => bail!(Arity, "{op}: expected one number or {dims} for `{what}`, got {n}"),
        }
        Ok(all)
    }

    /// [`spread`](PerDim::spread), with an error for a number that is 0.
    pub(super) fn positive(&self, op: &str, what: &str, dims: usize) -> Result<[usize; 3]> {
        let all = self.spread(op, what, dims, 1)?;
        if all.contains(&0) {
            bail!(Value, "{op}: expected `{what}` of at least 1, got 0");
        }
        Ok(all)
    }
}

/// How far a convolution looks beyond the ends of its input, where it finds zeros.
///
/// ```
/// use pullback::{DType, Tensor, nn::{Conv, ConvPadding}};
/// let (x, w) = (Tensor::ones(&[1, 1, 5], DType::F32)?, Tensor::ones(&[1, 1, 4], DType::F32)?);
/// let y = x.conv1d(&w, None, &Conv::new().padding(ConvPadding::Same))?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 4.0, 4.0, 3.0, 2.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConvPadding {
    /// This many zeros at both ends of each spatial dimension.
    Zeros(PerDim),
    /// As many zeros as it takes for the result to be as large as the input, for stride 1. If their number is odd, the end has
    /// one more than the beginning.
    Same,
}

impl From<usize> for ConvPadding {
    fn from(n: usize) -> ConvPadding {
        ConvPadding::Zeros(n.into())
    }
}

impl From<PerDim> for ConvPadding {
    fn from(sizes: PerDim) -> ConvPadding {
        ConvPadding::Zeros(sizes)
    }
}

impl<const N: usize> From<[usize; N]> for ConvPadding {
    fn from(sizes: [usize; N]) -> ConvPadding {
        ConvPadding::Zeros(sizes.into())
    }
}

/// The options of a convolution: [`conv1d`](crate::Tensor::conv1d), [`conv2d`](crate::Tensor::conv2d),
/// [`conv3d`](crate::Tensor::conv3d).
///
/// ```
/// use pullback::{DType, Tensor, nn::Conv};
/// let (x, w) = (Tensor::ones(&[2, 4, 9, 9], DType::F32)?, Tensor::ones(&[8, 2, 3, 3], DType::F32)?);
/// let y = x.conv2d(&w, None, &Conv::new().stride(2).padding([1, 0]).groups(2))?;
/// assert_eq!(y.shape(), [2, 8, 5, 4]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    stride: PerDim,
    padding: ConvPadding,
    dilation: PerDim,
    pub(super) groups: usize,
}

impl Default for Conv {
    fn default() -> Conv {
        Conv { stride: 1.into(), padding: 0.into(), dilation: 1.into(), groups: 1 }
    }
}

impl Conv {
    /// Stride 1, no padding, dilation 1, one group.
    pub fn new() -> Conv {
        Conv::default()
    }

    /// How far the kernel moves from one element of the result to the next.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<PerDim>) -> Conv {
        self.stride = stride.into();
        self
    }

    /// How many zeros there are beyond the ends of the input: a number for both ends, or [`ConvPadding::Same`].
    #[must_use]
    pub fn padding(mut self, padding: impl Into<ConvPadding>) -> Conv {
        self.padding = padding.into();
        self
    }

    /// How far apart in the input the elements of the kernel lie.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<PerDim>) -> Conv {
        self.dilation = dilation.into();
        self
    }

    /// Splits input and output channels into this many groups; each group of the result sees its group of the input only.
    #[must_use]
    pub fn groups(mut self, groups: usize) -> Conv {
        self.groups = groups;
        self
    }

    /// How kernel and input meet; `input` and `kernel` are sizes of `dims` dimensions behind ones.
    pub(super) fn geometry(&self, op: &str, dims: usize, input: [usize; 3], kernel: [usize; 3]) -> Result<Geometry> {
        let stride = self.stride.positive(op, "stride", dims)?;
        let dilation = self.dilation.positive(op, "dilation", dims)?;
        let mut padding = [0; 3];
        let mut total = [0usize; 3];
        let reach: [usize; 3] = std::array::from_fn(|d| kernel[d].saturating_sub(1).saturating_mul(dilation[d]));
        match &self.padding {
            ConvPadding::Zeros(sizes) => {
                padding = sizes.spread(op, "padding", dims, 0)?;
                total = padding.map(|n| n.saturating_mul(2));
            }
            ConvPadding::Same => {
                if stride != [1; 3] {
                    bail!(Value, "{op}: expected stride 1 with `ConvPadding::Same`, got {:?}", &stride[3 - dims..];
                        help = "the result cannot be as large as the input; give the padding as numbers");
                }
                for d in 3 - dims..3 {
                    (padding[d], total[d]) = (reach[d] / 2, reach[d]);
                }
            }
        }
        let mut output = [1; 3];
        for d in 3 - dims..3 {
            let Some(room) = input[d].saturating_add(total[d]).checked_sub(reach[d].saturating_add(1)) else {
                bail!(
                    Shape,
                    "{op}: expected a kernel that fits into the padded input, got size {} with dilation {} for \
                    {} + {} elements in spatial dimension {}",
                    kernel[d],
                    dilation[d],
                    input[d],
                    total[d],
                    d + dims - 3
                );
            };
            output[d] = room / stride[d] + 1;
        }
        check_range(op, &[input, total, reach, stride])?;
        Ok(Geometry { input, kernel, output, stride, padding, dilation })
    }
}

/// An error for sizes with which places in an image could not be computed.
fn check_range(op: &str, sizes: &[[usize; 3]]) -> Result<()> {
    match sizes.iter().flatten().find(|&&n| n > 1 << 40) {
        Some(n) => bail!(Value, "{op}: expected sizes, strides and paddings up to 2^40, got {n}"),
        None => Ok(()),
    }
}

/// The options of a transposed convolution: [`conv_transpose1d`](crate::Tensor::conv_transpose1d),
/// [`conv_transpose2d`](crate::Tensor::conv_transpose2d), [`conv_transpose3d`](crate::Tensor::conv_transpose3d). They are
/// those of the convolution that it is the transpose of.
///
/// ```
/// use pullback::{DType, Tensor, nn::ConvTranspose};
/// let (x, w) = (Tensor::ones(&[2, 4, 5, 5], DType::F32)?, Tensor::ones(&[4, 3, 3, 3], DType::F32)?);
/// let y = x.conv_transpose2d(&w, None, &ConvTranspose::new().stride(2).padding(1).output_padding(1))?;
/// assert_eq!(y.shape(), [2, 3, 10, 10]);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConvTranspose {
    stride: PerDim,
    padding: PerDim,
    output_padding: PerDim,
    dilation: PerDim,
    pub(super) groups: usize,
}

impl Default for ConvTranspose {
    fn default() -> ConvTranspose {
        let [stride, padding, output_padding, dilation] = [1, 0, 0, 1].map(PerDim::from);
        ConvTranspose { stride, padding, output_padding, dilation, groups: 1 }
    }
}

impl ConvTranspose {
    /// Stride 1, no padding, dilation 1, one group.
    pub fn new() -> ConvTranspose {
        ConvTranspose::default()
    }

    /// How far apart in the result two neighbours of the input lie.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<PerDim>) -> ConvTranspose {
        self.stride = stride.into();
        self
    }

    /// How many elements are taken off both ends of the result.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<PerDim>) -> ConvTranspose {
        self.padding = padding.into();
        self
    }

    /// How much larger the result is at its end: with a stride, convolutions of several sizes give the same size, and this says
    /// which of them is meant.
    #[must_use]
    pub fn output_padding(mut self, padding: impl Into<PerDim>) -> ConvTranspose {
        self.output_padding = padding.into();
        self
    }

    /// How far apart in the result the elements of the kernel lie.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<PerDim>) -> ConvTranspose {
        self.dilation = dilation.into();
        self
    }

    /// Splits input and output channels into this many groups; each group of the result sees its group of the input only.
    #[must_use]
    pub fn groups(mut self, groups: usize) -> ConvTranspose {
        self.groups = groups;
        self
    }

    /// The geometry of the convolution whose result is this input, of size `output`.
    pub(super) fn geometry(&self, op: &str, dims: usize, output: [usize; 3], kernel: [usize; 3]) -> Result<Geometry> {
        let stride = self.stride.positive(op, "stride", dims)?;
        let dilation = self.dilation.positive(op, "dilation", dims)?;
        let padding = self.padding.spread(op, "padding", dims, 0)?;
        let extra = self.output_padding.spread(op, "output_padding", dims, 0)?;
        check_range(op, &[output, kernel, stride, dilation, padding, extra])?;
        let mut input = [1; 3];
        for d in 3 - dims..3 {
            if extra[d] >= stride[d].max(dilation[d]) {
                bail!(
                    Value,
                    "{op}: expected an output_padding below the stride or the dilation, got {} with stride {} and \
                    dilation {}",
                    extra[d],
                    stride[d],
                    dilation[d]
                );
            }
            // The last element of the result is the last that the last element of the input reaches.
            let all = output[d]
                .saturating_sub(1)
                .saturating_mul(stride[d])
                .saturating_add(kernel[d].saturating_sub(1).saturating_mul(dilation[d]));
            match all.saturating_add(extra[d] + 1).checked_sub(2 * padding[d]) {
                Some(n) if n > 0 && output[d] > 0 => input[d] = n,
                _ => bail!(
                    Shape,
                    "{op}: expected a result with elements, got none in spatial dimension {} from an input of \
                    size {}, a kernel of {} and padding {}",
                    d + dims - 3,
                    output[d],
                    kernel[d],
                    padding[d]
                ),
            }
        }
        check_range(op, &[input])?;
        Ok(Geometry { input, kernel, output, stride, padding, dilation })
    }
}

/// The sizes of the last `dims` dimensions behind ones.
pub(super) fn spatial(ty: &TensorType, dims: usize) -> [usize; 3] {
    let mut sizes = [1; 3];
    sizes[3 - dims..].copy_from_slice(&ty.shape[ty.shape.len() - dims..]);
    sizes
}
