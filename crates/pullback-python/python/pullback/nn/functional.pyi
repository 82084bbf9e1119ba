"""What layers compute: activations, convolutions, pooling, normalization, losses."""

# Written by stubs/write.py.

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from .. import return_types
from .._core import Tensor, _DTypeLike, _Number

__all__ = [
    "pdist",
    "one_hot",
    "linear",
    "celu",
    "hardtanh",
    "hardshrink",
    "softshrink",
    "tanhshrink",
    "threshold",
    "glu",
    "prelu",
    "softmin",
    "scaled_dot_product_attention",
    "cross_entropy",
    "nll_loss",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "ctc_loss",
    "embedding",
    "im2col",
    "unfold",
    "col2im",
    "fold",
    "grid_sample",
    "affine_grid",
    "interpolate",
    "binary_cross_entropy",
    "poisson_nll_loss",
    "gaussian_nll_loss",
    "soft_margin_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "cosine_embedding_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "cosine_similarity",
    "pairwise_distance",
    "cdist",
    "normalize",
    "local_response_norm",
    "layer_norm",
    "rms_norm",
    "group_norm",
    "instance_norm",
    "batch_norm",
    "batch_norm_training",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "pixel_shuffle",
    "pixel_unshuffle",
    "channel_shuffle",
    "mse_loss",
    "l1_loss",
    "huber_loss",
    "smooth_l1_loss",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "pad",
    "softmax",
    "log_softmax",
    "logsumexp",
    "sigmoid",
    "softplus",
    "erf",
    "erfc",
    "silu",
    "leaky_relu",
    "elu",
    "hardswish",
    "selu",
    "log_sigmoid",
    "logsigmoid",
    "hardsigmoid",
    "relu6",
    "gelu",
    "gelu_tanh",
    "mish",
    "softsign",
    "relu",
    "tanh",
]

def pdist(input: Tensor, p: SupportsFloat = 2.0) -> Tensor:
    """The distances of all pairs of different rows, the `p`-norms of their differences: those above the diagonal of
    `x.cdist(x, p)`, row after row.
    """

def one_hot(input: Tensor, num_classes: SupportsIndex = -1, dtype: _DTypeLike | None = 'int64') -> Tensor:
    """One at the position that each element names and zero elsewhere, along a new last dimension of size `num_classes`."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The linear layer `self @ weightᵀ + bias`."""

def celu(input: Tensor, alpha: SupportsFloat = 1.0) -> Tensor:
    """`x` where it is positive, else `alpha·(exp(x/alpha) - 1)`."""

def hardtanh(input: Tensor, min_val: SupportsFloat = -1.0, max_val: SupportsFloat = 1.0) -> Tensor:
    """`x`, at least `min_val` and at most `max_val`."""

def hardshrink(input: Tensor, lambd: SupportsFloat = 0.5) -> Tensor:
    """`x` where it is larger than `lambd` in size, else 0."""

def softshrink(input: Tensor, lambd: SupportsFloat = 0.5) -> Tensor:
    """`x` moved towards 0 by `lambd`, and 0 where it is smaller than that in size."""

def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`, elementwise."""

def threshold(input: Tensor, threshold: SupportsFloat, value: SupportsFloat) -> Tensor:
    """`x` where it is larger than `threshold`, else `value`."""

def glu(input: Tensor, dim: SupportsIndex = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where it is positive, else `weight·x`, with one weight or one for each channel."""

def softmin(input: Tensor, dim: SupportsIndex) -> Tensor:
    """`softmax` of the negative."""

def scaled_dot_product_attention(
    input: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: SupportsFloat = 0.0,
    is_causal: bool = False,
    scale: SupportsFloat | None = None,
    enable_gqa: bool = False,
    seed: SupportsIndex | None = None,
) -> Tensor:
    """The mean of the values, for each query by the weights `softmax(scale·queries @ keysᵀ + mask)`."""

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: SupportsIndex = -100,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
    label_smoothing: SupportsFloat = 0.0,
) -> Tensor:
    """The cross entropy of logits and classes, `log(Σ exp(x)) - x[target]` for each example, with weights of the classes, targets that are
    left out, smoothed targets, and a choice of what becomes of the losses.
    """

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: SupportsIndex = -100,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """The losses `-x[target]` of logarithms of probabilities, with weights of the classes, targets that are left out, and a choice of what
    becomes of the losses.
    """

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] | Literal['same', 'valid'] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    groups: SupportsIndex = 1,
) -> Tensor:
    """The convolution of sequences: `y[n, o, l] = bias[o] + Σ x[n, c, stride·l + dilation·k - padding] weight[o, c, k]` over
    channels `c` and taps `k`, where elements beyond the ends of the input are zero. The kernel is not reversed.
    """

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] | Literal['same', 'valid'] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    groups: SupportsIndex = 1,
) -> Tensor:
    """The convolution of images: `conv1d` over two dimensions."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] | Literal['same', 'valid'] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    groups: SupportsIndex = 1,
) -> Tensor:
    """The convolution of volumes: `conv1d` over three dimensions."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    output_padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    groups: SupportsIndex = 1,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The transpose of the convolution of sequences: each element of the input adds the kernel, times itself, to the result."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    output_padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    groups: SupportsIndex = 1,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The transpose of the convolution of images: `conv_transpose1d` over two dimensions."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    output_padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    groups: SupportsIndex = 1,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The transpose of the convolution of volumes: `conv_transpose1d` over three dimensions."""

def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: SupportsIndex = 0,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of sequences of labels, where the tensor holds logarithms of the probabilities of classes at each
    time step: connectionist temporal classification.
    """

def embedding(input: Tensor, weight: Tensor, padding_idx: SupportsIndex | None = None) -> Tensor:
    """The rows of the table `weight` that the elements name."""

def im2col(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The patches of images as columns of a matrix: what a convolution multiplies with its weight. PyTorch's
    `nn.functional.unfold`.
    """

def unfold(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The patches of images as columns of a matrix: what a convolution multiplies with its weight. PyTorch's
    `nn.functional.unfold`.
    """

def col2im(
    input: Tensor,
    output_size: SupportsIndex | Iterable[SupportsIndex],
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The sum of the patches of images that are the columns of a matrix, each element where `im2col` takes it from.
    PyTorch's `nn.functional.fold`.
    """

def fold(
    input: Tensor,
    output_size: SupportsIndex | Iterable[SupportsIndex],
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    stride: SupportsIndex | Iterable[SupportsIndex] = 1,
) -> Tensor:
    """The sum of the patches of images that are the columns of a matrix, each element where `im2col` takes it from.
    PyTorch's `nn.functional.fold`.
    """

def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: Literal['bilinear', 'nearest', 'bicubic'] = 'bilinear',
    padding_mode: Literal['zeros', 'border', 'reflection'] = 'zeros',
    align_corners: bool | None = None,
) -> Tensor:
    """The elements of images at the places of a grid, which need not be those of elements."""

def affine_grid(theta: Tensor, size: SupportsIndex | Iterable[SupportsIndex], align_corners: bool = False) -> Tensor:
    """The grid for `grid_sample` that affine maps make: place `p` of the result is at `A p + b` of the image, where
    the tensor holds `[A, b]` for each image.
    """

def interpolate(
    input: Tensor,
    size: SupportsIndex | Iterable[SupportsIndex] | None = None,
    scale_factor: SupportsFloat | Iterable[SupportsFloat] | None = None,
    mode: Literal['nearest', 'nearest-exact', 'linear', 'bilinear', 'trilinear', 'bicubic', 'area'] = 'nearest',
    align_corners: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images of another size."""

def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """The cross entropy of probabilities and the probabilities `target`: `-t·log(x) - (1 - t)·log(1 - x)`, where logarithms are at least
    -100. For logits see `binary_cross_entropy_with_logits`, which loses no digits.
    """

def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """The negative logarithm of the probability that the Poisson distribution with the mean `exp(x)` (if `log_input`), or `x`, gives to
    the counts `target`, less a term that does not depend on `x`: `exp(x) - t·x`, or `x - t·log(x + 1e-8)`.
    """

def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor,
    eps: SupportsFloat = 1e-6,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """The negative logarithm of the density that the normal distribution with mean `x` and variance `var` has at `target`, less a
    constant: `(log(v) + (x - t)²/v)/2` where `v` is the variance, at least `eps`.
    """

def soft_margin_loss(input: Tensor, target: Tensor, reduction: Literal['none', 'mean', 'sum'] = 'mean') -> Tensor:
    """`log(1 + exp(-t·x))`, for targets of 1 and -1, without overflow."""

def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: SupportsFloat = 1.0,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """Distances where the target is 1, and how far they lie below `margin` where it is -1: `x`, or `max(0, margin - x)`."""

def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: SupportsFloat = 0.0,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """`max(0, -t·(x - other) + margin)`: how far `x` is from being larger (for a target of 1) or smaller (for -1) than `input2` by the margin."""

def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: SupportsFloat = 0.0,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """`1 - cos` of the angle between the rows of two tensors where the target is 1, and `max(0, cos - margin)` where it is -1."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: SupportsFloat = 1.0,
    p: SupportsFloat = 2.0,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """`max(0, |x - positive| - |x - negative| + margin)`: how far the distance to `negative` is from being larger than that to `positive` by
    the margin. Distances are those of `pairwise_distance`.
    """

def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    margin: SupportsFloat = 1.0,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
) -> Tensor:
    """`Σ max(0, margin - x[target] + x[k])/classes` over all classes `k` but the target, for scores `x`."""

def cosine_similarity(x1: Tensor, x2: Tensor, dim: SupportsIndex = 1, eps: SupportsFloat = 1e-8) -> Tensor:
    """The cosine of the angle between two tensors along `dim`: `Σ x·y / (max(|x|, eps)·max(|y|, eps))`."""

def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: SupportsFloat = 2.0,
    eps: SupportsFloat = 1e-6,
    keepdim: bool = False,
) -> Tensor:
    """The distances of the rows of two tensors: the `p`-norm of `x - y + eps` along the last dimension, where `eps` keeps the derivative
    finite.
    """

def cdist(x1: Tensor, x2: Tensor, p: SupportsFloat = 2.0) -> Tensor:
    """The distances of all pairs of rows of two tensors: the `p`-norms of their differences."""

def normalize(input: Tensor, p: SupportsFloat = 2.0, dim: SupportsIndex = 1, eps: SupportsFloat = 1e-12) -> Tensor:
    """The tensor over its `p`-norms along `dim`, or over `eps` where they are smaller."""

def local_response_norm(
    input: Tensor,
    size: SupportsIndex,
    alpha: SupportsFloat = 0.0001,
    beta: SupportsFloat = 0.75,
    k: SupportsFloat = 1.0,
) -> Tensor:
    """Each element over `(k + alpha·mean(x²))^beta`, where the mean is over `size` neighbouring channels, zeros beyond the ends."""

def layer_norm(
    input: Tensor,
    normalized_shape: SupportsIndex | Iterable[SupportsIndex],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: SupportsFloat = 1e-5,
) -> Tensor:
    """The elements of each layer less their mean, over their standard deviation: `(x - mean)/sqrt(variance + eps)·weight + bias`. The
    variance is that of the elements themselves, divided by their number.
    """

def rms_norm(
    input: Tensor,
    normalized_shape: SupportsIndex | Iterable[SupportsIndex],
    weight: Tensor | None = None,
    eps: SupportsFloat = 1.1920928955078125e-7,
) -> Tensor:
    """The elements of each layer over the root of the mean of their squares: `x/sqrt(mean(x²) + eps)·weight`."""

def group_norm(
    input: Tensor,
    num_groups: SupportsIndex,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: SupportsFloat = 1e-5,
) -> Tensor:
    """The elements of each of `num_groups` equal groups of channels of each image less their mean, over their standard deviation, times the
    weight of their channel, plus its bias.
    """

def instance_norm(
    input: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: SupportsFloat = 1e-5,
) -> Tensor:
    """The elements of each channel of each image less their mean, over their standard deviation, times the weight of their channel, plus
    its bias.
    """

def batch_norm(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: SupportsFloat = 1e-5,
) -> Tensor:
    """The elements of each channel less a given mean, over the root of a given variance: batch normalisation when a model is used."""

def batch_norm_training(
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    momentum: SupportsFloat = 0.1,
    eps: SupportsFloat = 1e-5,
) -> return_types.batch_norm_training:
    """Batch normalisation while a model is trained: the elements of each channel less their mean over the batch, over their standard
    deviation, times the weight of the channel, plus its bias. With it come the new running mean and variance,
    `(1 - momentum)·running + momentum·batch`, where the variance of the batch is divided by one less than its number of
    elements.
    """

def max_pool1d(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window over sequences. NaN is larger than all numbers."""

def max_pool2d(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window over images: `max_pool1d` over the last 2 dimensions. NaN is larger than all numbers."""

def max_pool3d(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window over volumes: `max_pool1d` over the last 3 dimensions. NaN is larger than all numbers."""

def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ceil_mode: bool = False,
) -> return_types.max_pool1d_with_indices:
    """`max_pool1d`, and where in its sequence each element was, as `int64` in row-major order."""

def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ceil_mode: bool = False,
) -> return_types.max_pool2d_with_indices:
    """`max_pool2d`, and where in its image each element was, as `int64` in row-major order."""

def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ceil_mode: bool = False,
) -> return_types.max_pool3d_with_indices:
    """`max_pool3d`, and where in its volume each element was, as `int64` in row-major order."""

def avg_pool1d(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: SupportsIndex | None = None,
) -> Tensor:
    """The mean of each window over sequences."""

def avg_pool2d(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: SupportsIndex | None = None,
) -> Tensor:
    """The mean of each window over images: `avg_pool1d` over the last 2 dimensions."""

def avg_pool3d(
    input: Tensor,
    kernel_size: SupportsIndex | Iterable[SupportsIndex],
    stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
    padding: SupportsIndex | Iterable[SupportsIndex] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: SupportsIndex | None = None,
) -> Tensor:
    """The mean of each window over volumes: `avg_pool1d` over the last 3 dimensions."""

def adaptive_avg_pool1d(input: Tensor, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """The means of windows that cut sequences into the given number of parts. Window `k` of `n` over `output_size` elements
    goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
    """

def adaptive_avg_pool2d(input: Tensor, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """The means of windows that cut images into the given numbers of parts. Window `k` of `n` over `output_size` elements
    goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
    """

def adaptive_avg_pool3d(input: Tensor, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """The means of windows that cut volumes into the given numbers of parts. Window `k` of `n` over `output_size` elements
    goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
    """

def adaptive_max_pool1d(input: Tensor, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """The largest elements of windows that cut sequences into the given number of parts, which are those of
    `adaptive_avg_pool1d`.
    """

def adaptive_max_pool2d(input: Tensor, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """The largest elements of windows that cut images into the given numbers of parts, which are those of
    `adaptive_avg_pool2d`.
    """

def adaptive_max_pool3d(input: Tensor, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """The largest elements of windows that cut volumes into the given numbers of parts, which are those of
    `adaptive_avg_pool3d`.
    """

def pixel_shuffle(input: Tensor, upscale_factor: SupportsIndex) -> Tensor:
    """Images that are `upscale_factor` times as high and wide, each square of `factor²` pixels taken from as many channels."""

def pixel_unshuffle(input: Tensor, downscale_factor: SupportsIndex) -> Tensor:
    """Undoes `pixel_shuffle`: each pixel of a square of `factor²` goes to a channel of its own."""

def channel_shuffle(input: Tensor, groups: SupportsIndex) -> Tensor:
    """The channels in another order: those of `groups` equal groups in turn, the first of each, then the second of each."""

def mse_loss(input: Tensor, target: Tensor, reduction: Literal['none', 'mean', 'sum'] = 'mean') -> Tensor:
    """`mse_loss` with another reduction than the mean."""

def l1_loss(input: Tensor, target: Tensor, reduction: Literal['none', 'mean', 'sum'] = 'mean') -> Tensor:
    """The absolute differences from `target`."""

def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
    delta: SupportsFloat = 1.0,
) -> Tensor:
    """Half the square of the difference from `target` where that is at most `delta` in size, else
    `delta·(|x - target| - delta/2)`.
    """

def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
    beta: SupportsFloat = 1.0,
) -> Tensor:
    """`huber_loss` divided by its parameter: half the square of the difference over `beta` where that is at
    most `beta` in size, else `|x - target| - beta/2`. For `beta` 0 it is `l1_loss`.
    """

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The cross entropy of the probabilities `target` and `sigmoid` of this tensor, `-t·log(p) - (1 - t)·log(1 - p)`, computed
    without overflow.
    """

def kl_div(
    input: Tensor,
    target: Tensor,
    reduction: Literal['none', 'mean', 'sum'] = 'mean',
    log_target: bool = False,
) -> Tensor:
    """The divergence `t·(log(t) - x)` of logarithms of probabilities from the probabilities `t`, which are `target`, or its
    exponential with `log_target`. It is 0 where `t` is 0.
    """

def pad(
    input: Tensor,
    pad: SupportsIndex | Iterable[SupportsIndex],
    mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: SupportsFloat = 0.0,
) -> Tensor:
    """The tensor with elements put around it."""

def softmax(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """`exp(x) / Σ exp(x)` along `dim`: positive numbers that add up to 1."""

def log_softmax(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """`x - log(Σ exp(x))` along `dim`, the logarithm of `softmax` without its rounding."""

def logsumexp(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex], keepdim: bool = False) -> Tensor:
    """`log(Σ exp(x))` over `dim`, all of them if the list is empty."""

def sigmoid(input: Tensor) -> Tensor:
    """`1/(1 + exp(-x))`, elementwise, without overflow."""

def softplus(input: Tensor) -> Tensor:
    """`log(1 + exp(x))`, elementwise, without overflow."""

def erf(input: Tensor) -> Tensor:
    """The error function, elementwise: `2/sqrt(π)` times the integral of `exp(-t²)` from 0 to `x`."""

def erfc(input: Tensor) -> Tensor:
    """`1 - erf(x)`, elementwise, exact also where `erf` is close to 1."""

def silu(input: Tensor) -> Tensor:
    """`x·sigmoid(x)`, elementwise, with the limit 0 at minus infinity. Also known as swish."""

def leaky_relu(input: Tensor, negative_slope: SupportsFloat = 0.01) -> Tensor:
    """`x` where it is positive, else `negative_slope·x`."""

def elu(input: Tensor, alpha: SupportsFloat = 1.0) -> Tensor:
    """`x` where it is positive, else `alpha·(exp(x) - 1)`, exact also near 0."""

def hardswish(input: Tensor) -> Tensor:
    """`x·clamp(x + 3, 0, 6)/6`, elementwise."""

def selu(input: Tensor) -> Tensor:
    """`1.0507…·elu(x, 1.67326…)`, elementwise, with the constants of Klambauer et al. (2017)."""

def log_sigmoid(input: Tensor) -> Tensor:
    """The logarithm of `sigmoid`, elementwise, without underflow."""

def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of `sigmoid`, elementwise, without underflow."""

def hardsigmoid(input: Tensor) -> Tensor:
    """`clamp(x/6 + 1/2, 0, 1)`, elementwise."""

def relu6(input: Tensor) -> Tensor:
    """`clamp(x, 0, 6)`, elementwise."""

def gelu(input: Tensor, approximate: Literal['none', 'tanh'] = 'none') -> Tensor:
    """`gelu`, exact or by the formula of `gelu_tanh`."""

def gelu_tanh(input: Tensor) -> Tensor:
    """`x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³)))`, elementwise: the approximation of `gelu` that
    PyTorch has as `approximate=\\"tanh\\"`.
    """

def mish(input: Tensor) -> Tensor:
    """`x·tanh(softplus(x))`, elementwise; 0 at minus infinity."""

def softsign(input: Tensor) -> Tensor:
    """`x/(1 + |x|)`, elementwise, -1 and 1 at the infinities."""

def relu(input: Tensor) -> Tensor:
    """`x` where it is positive, else 0; NaN for NaN."""

def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent, elementwise."""
