"""The operations that are functions of `pullback` itself."""

# Written by stubs/write.py.

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from . import return_types
from ._core import Tensor, _DTypeLike, _Number

__all__ = [
    "add",
    "sub",
    "subtract",
    "mul",
    "multiply",
    "div",
    "divide",
    "true_divide",
    "searchsorted",
    "bucketize",
    "bincount",
    "histogram",
    "histc",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "bitwise_not",
    "to_dtype",
    "detach",
    "clamp",
    "clip",
    "clamp_min",
    "clamp_max",
    "where",
    "maximum",
    "max",
    "minimum",
    "min",
    "isclose",
    "allclose",
    "equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "eq",
    "ne",
    "not_equal",
    "lt",
    "less",
    "le",
    "less_equal",
    "gt",
    "greater",
    "ge",
    "greater_equal",
    "addcmul",
    "addcdiv",
    "complex",
    "polar",
    "real",
    "imag",
    "conj",
    "angle",
    "sgn",
    "view_as_real",
    "view_as_complex",
    "diagonal",
    "diag_embed",
    "diag",
    "trace",
    "tril",
    "triu",
    "dist",
    "pdist",
    "renorm",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "aminmax",
    "masked_fill",
    "lerp",
    "nan_to_num",
    "vander",
    "meshgrid",
    "broadcast_tensors",
    "cartesian_prod",
    "block_diag",
    "combinations",
    "gather",
    "take_along_dim",
    "scatter_add",
    "scatter",
    "take",
    "put",
    "index_fill",
    "nonzero",
    "argwhere",
    "masked_select",
    "masked_scatter",
    "scatter_reduce",
    "index_reduce",
    "index_select",
    "index_add",
    "index_copy",
    "dynamic_slice",
    "cat",
    "concat",
    "concatenate",
    "stack",
    "cholesky",
    "cholesky_solve",
    "solve_triangular",
    "lu",
    "lu_factor",
    "lu_solve",
    "solve",
    "inv",
    "inverse",
    "det",
    "slogdet",
    "logdet",
    "eig",
    "eigvals",
    "eigh",
    "eigvalsh",
    "matrix_norm",
    "cond",
    "matrix_exp",
    "matrix_power",
    "multi_dot",
    "kron",
    "cross",
    "qr",
    "lstsq",
    "svd",
    "svdvals",
    "pinv",
    "pinverse",
    "matrix_rank",
    "one_hot",
    "matmul",
    "dot",
    "outer",
    "ger",
    "linear",
    "einsum",
    "mm",
    "bmm",
    "mv",
    "addmm",
    "addmv",
    "baddbmm",
    "inner",
    "vdot",
    "tensordot",
    "median",
    "nanmedian",
    "mode",
    "fmod",
    "remainder",
    "floor_divide",
    "var",
    "std",
    "var_mean",
    "std_mean",
    "nansum",
    "nanmean",
    "count_nonzero",
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
    "col2im",
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
    "norm",
    "hypot",
    "atan2",
    "arctan2",
    "logaddexp",
    "xlogy",
    "select_scatter",
    "slice_scatter",
    "diagonal_scatter",
    "pow",
    "float_power",
    "prod",
    "quantile",
    "nanquantile",
    "sum",
    "sum_to_size",
    "mean",
    "any",
    "all",
    "index_put",
    "mse_loss",
    "l1_loss",
    "huber_loss",
    "smooth_l1_loss",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "cumprod",
    "logcumsumexp",
    "cummax",
    "cummin",
    "copysign",
    "logaddexp2",
    "ldexp",
    "frexp",
    "cumsum",
    "diff",
    "ravel",
    "fliplr",
    "flipud",
    "pad",
    "permute",
    "transpose",
    "swapaxes",
    "swapdims",
    "t",
    "movedim",
    "moveaxis",
    "rot90",
    "flip",
    "roll",
    "broadcast_to",
    "expand",
    "repeat",
    "tile",
    "repeat_interleave",
    "reshape",
    "view",
    "unsqueeze",
    "squeeze",
    "flatten",
    "unflatten",
    "select",
    "narrow",
    "slice",
    "split",
    "chunk",
    "tensor_split",
    "unbind",
    "unfold",
    "heaviside",
    "fmax",
    "fmin",
    "isin",
    "softmax",
    "log_softmax",
    "logsumexp",
    "sort",
    "argsort",
    "topk",
    "kthvalue",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "hstack",
    "vstack",
    "row_stack",
    "dstack",
    "column_stack",
    "cov",
    "corrcoef",
    "trapezoid",
    "trapz",
    "cumulative_trapezoid",
    "gradient",
    "sigmoid",
    "softplus",
    "erf",
    "erfc",
    "silu",
    "leaky_relu",
    "elu",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "cbrt",
    "reciprocal",
    "hardswish",
    "selu",
    "log_sigmoid",
    "hardsigmoid",
    "relu6",
    "gelu",
    "gelu_tanh",
    "mish",
    "softsign",
    "ndtr",
    "ndtri",
    "log_ndtr",
    "entr",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fix",
    "isnan",
    "isinf",
    "isfinite",
    "frac",
    "neg",
    "negative",
    "abs",
    "absolute",
    "sign",
    "signbit",
    "square",
    "relu",
    "logit",
    "lgamma",
    "erfinv",
    "digamma",
    "polygamma",
    "i0",
    "i1",
    "i0e",
    "i1e",
    "sin",
    "cos",
    "tan",
    "asin",
    "arcsin",
    "acos",
    "arccos",
    "atan",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "arcsinh",
    "acosh",
    "arccosh",
    "atanh",
    "arctanh",
    "sinc",
    "deg2rad",
    "rad2deg",
    "unique",
    "unique_consecutive",
    "hann_window",
    "hamming_window",
    "blackman_window",
]

@overload
def add(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def add(input: Tensor, other: Tensor | _Number, alpha: Tensor | _Number) -> Tensor: ...

@overload
def sub(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def sub(input: Tensor, other: Tensor | _Number, alpha: Tensor | _Number) -> Tensor: ...

def subtract(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Subtracts `other`, elementwise."""

def mul(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Multiplies by `other`, elementwise."""

def multiply(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Multiplies by `other`, elementwise."""

@overload
def div(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def div(input: Tensor, other: Tensor | _Number, rounding_mode: Literal['trunc', 'floor'] | None = None) -> Tensor: ...

@overload
def divide(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...
@overload
def divide(input: Tensor, other: Tensor | _Number, rounding_mode: Literal['trunc', 'floor'] | None = None) -> Tensor: ...

def true_divide(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """Divides by `other`, elementwise; integers are divided as floats."""

def searchsorted(sorted_sequence: Tensor, input: Tensor | _Number, right: bool = False) -> Tensor:
    """For each of `input`, how many elements of this sorted sequence come before it: the place, as `int64`, where it is
    inserted to keep the order. With `right` it is inserted behind the elements equal to it, else before them.
    """

def bucketize(input: Tensor, boundaries: Tensor, right: bool = False) -> Tensor:
    """The bin of each element, as `int64`: bin `k` lies between `boundaries[k - 1]` and `boundaries[k]`. A boundary belongs
    to the bin below, with `right` to the bin above.
    """

@overload
def bincount(input: Tensor, length: SupportsIndex, weights: Tensor | None = None) -> Tensor: ...
@overload
def bincount(input: Tensor, weights: Tensor | None = None, minlength: SupportsIndex = 0) -> Tensor: ...

def histogram(input: Tensor, bins: Tensor, weight: Tensor | None = None, density: bool = False) -> Tensor:
    """How many elements fall into each of the bins between neighbouring `bins`, or the sum of their weights."""

def histc(input: Tensor, bins: SupportsIndex = 100, min: SupportsFloat = 0.0, max: SupportsFloat = 0.0) -> Tensor:
    """How many elements fall into each of `bins` bins of equal width between `min` and `max`, or, if these are equal, between the
    smallest and the largest element; where those are equal too, the range goes on for 1 to both sides.
    """

def bitwise_and(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The bits that are set in both operands; of bools, whether both are true."""

def bitwise_or(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The bits that are set in at least one operand; of bools, whether one is true."""

def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The bits that are set in exactly one operand; of bools, whether they differ."""

def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The integers with their bits moved up by as many places as the right operand says, which multiplies by powers of 2 and wraps."""

def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The integers with their bits moved down by as many places as the right operand says, which divides by powers of 2 and
    rounds down.
    """

def bitwise_not(input: Tensor) -> Tensor:
    """The integers with all bits inverted: `-x - 1` of those with a sign. Of bools, whether they are false."""

def to_dtype(input: Tensor, dtype: _DTypeLike) -> Tensor:
    """The elements converted to another dtype."""

def detach(input: Tensor) -> Tensor:
    """The same values as a constant: whatever is being differentiated, this tensor does not depend on it."""

@overload
def clamp(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
@overload
def clamp(input: Tensor, min: SupportsFloat | None = None, max: SupportsFloat | None = None) -> Tensor: ...

@overload
def clip(input: Tensor, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
@overload
def clip(input: Tensor, min: SupportsFloat | None = None, max: SupportsFloat | None = None) -> Tensor: ...

def clamp_min(input: Tensor | _Number, min: Tensor | _Number) -> Tensor:
    """The elements, with those below `min` replaced by it: `clamp` with one bound, a number or a tensor."""

def clamp_max(input: Tensor | _Number, max: Tensor | _Number) -> Tensor:
    """The elements, with those above `max` replaced by it: `clamp` with one bound, a number or a tensor."""

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...

def maximum(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The larger of two elements; NaN if either is NaN."""

@overload
def max(input: Tensor, dim: SupportsIndex, keepdim: bool = False) -> return_types.max: ...
@overload
def max(input: Tensor) -> Tensor: ...
@overload
def max(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...

def minimum(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The smaller of two elements; NaN if either is NaN."""

@overload
def min(input: Tensor, dim: SupportsIndex, keepdim: bool = False) -> return_types.min: ...
@overload
def min(input: Tensor) -> Tensor: ...
@overload
def min(input: Tensor | _Number, other: Tensor | _Number) -> Tensor: ...

def isclose(
    input: Tensor,
    other: Tensor,
    rtol: SupportsFloat = 1e-5,
    atol: SupportsFloat = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    """True where `|x - y| <= atol + rtol·|y|`; infinities are close to themselves, NaN to nothing unless `equal_nan`."""

def allclose(
    input: Tensor,
    other: Tensor,
    rtol: SupportsFloat = 1e-5,
    atol: SupportsFloat = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Whether `isclose` holds for all elements."""

def equal(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same dtype, shape and elements; NaN equals nothing."""

def logical_and(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where both elements are true."""

def logical_or(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where at least one element is true."""

def logical_xor(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where exactly one element is true."""

def logical_not(input: Tensor) -> Tensor:
    """True where an element is false or zero."""

def eq(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the elements are equal."""

def ne(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the elements differ."""

def not_equal(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the elements differ."""

def lt(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is smaller."""

def less(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is smaller."""

def le(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is smaller or equal."""

def less_equal(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is smaller or equal."""

def gt(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is larger."""

def greater(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is larger."""

def ge(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is larger or equal."""

def greater_equal(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """True where the left element is larger or equal."""

def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Tensor | _Number = 1) -> Tensor:
    """The tensor plus `value·tensor1·tensor2`, elementwise."""

def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Tensor | _Number = 1) -> Tensor:
    """The tensor plus `value·tensor1/tensor2`, elementwise."""

def complex(re: Tensor, im: Tensor) -> Tensor:
    """The complex numbers with these real and imaginary parts."""

def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex numbers with these absolute values and angles: `abs·exp(i·angle)`."""

def real(input: Tensor) -> Tensor:
    """The real part; a real tensor is its own."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""

def angle(input: Tensor) -> Tensor:
    """The angle of each number from the positive real axis, from -π to π: 0 or π for real ones, NaN for NaN."""

def sgn(input: Tensor) -> Tensor:
    """Each number divided by its absolute value, and 0 for 0: the sign of real numbers."""

def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary part along one more dimension, the last one."""

def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers whose real and imaginary parts lie along the last dimension, of size 2."""

def diagonal(input: Tensor, offset: SupportsIndex = 0, dim1: SupportsIndex = 0, dim2: SupportsIndex = 1) -> Tensor:
    """The diagonal of dimensions `dim1` and `dim2`, as a view."""

def diag_embed(input: Tensor, offset: SupportsIndex = 0, dim1: SupportsIndex = -2, dim2: SupportsIndex = -1) -> Tensor:
    """Square matrices of zeros with the vectors along the last dimension on a diagonal: the transpose of
    `diagonal`.
    """

def diag(input: Tensor, diagonal: SupportsIndex = 0) -> Tensor:
    """The matrix with a vector on diagonal number `diagonal`, or the diagonal of a matrix."""

def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""

def tril(input: Tensor, diagonal: SupportsIndex = 0) -> Tensor:
    """The lower triangle of the matrices in the last two dimensions: zeros above diagonal number `diagonal`."""

def triu(input: Tensor, diagonal: SupportsIndex = 0) -> Tensor:
    """The upper triangle of the matrices in the last two dimensions: zeros below diagonal number `diagonal`."""

def dist(input: Tensor, other: Tensor, p: SupportsFloat = 2.0) -> Tensor:
    """The `p`-norm of the difference of two tensors as one vector, a 0-d tensor; see `norm`."""

def pdist(input: Tensor, p: SupportsFloat = 2.0) -> Tensor:
    """The distances of all pairs of different rows, the `p`-norms of their differences: those above the diagonal of
    `x.cdist(x, p)`, row after row.
    """

def renorm(input: Tensor, p: SupportsFloat, dim: SupportsIndex, maxnorm: SupportsFloat) -> Tensor:
    """The tensor with its slices along `dim` scaled so that their `p`-norms are at most `maxnorm`."""

def amax(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: bool = False) -> Tensor:
    """The largest elements over `dim`, all of them if the list is empty; NaN where there is one."""

def amin(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: bool = False) -> Tensor:
    """The smallest elements over `dim`, all of them if the list is empty; NaN where there is one."""

def argmax(input: Tensor, dim: SupportsIndex | None = None, keepdim: bool = False) -> Tensor:
    """The position of the largest element along `dim`, or for `None` of all elements in row-major order, as `int64`."""

def argmin(input: Tensor, dim: SupportsIndex | None = None, keepdim: bool = False) -> Tensor:
    """The position of the smallest element along `dim`, or for `None` of all elements in row-major order, as `int64`."""

def aminmax(input: Tensor, dim: SupportsIndex | None = None, keepdim: bool = False) -> return_types.aminmax:
    """The smallest and the largest elements along `dim`, or for `None` of all elements; NaN where there is one."""

def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """The elements, with those where `mask` holds replaced by `value`."""

def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number) -> Tensor:
    """The point between this tensor, for weight 0, and `end`, for weight 1: `x + weight·(end - x)`, which is exact at both
    ends. Other weights go beyond.
    """

def nan_to_num(
    input: Tensor,
    nan: SupportsFloat = 0.0,
    posinf: SupportsFloat | None = None,
    neginf: SupportsFloat | None = None,
) -> Tensor:
    """The elements, with NaN replaced by `nan`, infinity by `posinf` and minus infinity by `neginf`; `None` stands for the
    largest and the smallest finite number of the dtype.
    """

def vander(x: Tensor, N: SupportsIndex | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector, one after the other as columns: those of `n - 1` down to 0, or up if `increasing`."""

@overload
def meshgrid(*tensors: Tensor, indexing: Literal['ij', 'xy'] = 'ij') -> tuple[Tensor, ...]:
    """The coordinates of all points of a grid: result `k` has the elements of vector `k`, repeated along the dimensions
    of the others, as views.
    """
@overload
def meshgrid(tensors: Iterable[Tensor], *, indexing: Literal['ij', 'xy'] = 'ij') -> tuple[Tensor, ...]: ...

@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors repeated along dimensions of size 1 and new leading ones to the shape that they have in common, as views."""
@overload
def broadcast_tensors(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]: ...

@overload
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All ways to take one element of each vector: one way in each row, the last element changing fastest."""
@overload
def cartesian_prod(tensors: Iterable[Tensor]) -> Tensor: ...

@overload
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrix with the given ones along its diagonal, and zeros elsewhere."""
@overload
def block_diag(tensors: Iterable[Tensor]) -> Tensor: ...

def combinations(input: Tensor, r: SupportsIndex = 2, with_replacement: bool = False) -> Tensor:
    """All ways to take `r` elements of a vector, in their order: one way in each row. An element is taken once, or any
    number of times if `with_replacement`.
    """

def gather(input: Tensor, dim: SupportsIndex, index: Tensor) -> Tensor:
    """The elements along `dim` at the places that `index` gives, one by one:
    `out[.., i, ..] = x[.., index[.., i, ..], ..]`.
    """

def take_along_dim(input: Tensor, indices: Tensor, dim: SupportsIndex) -> Tensor:
    """The elements along `dim` at the places that `indices` gives, where tensor and index broadcast against each other
    in the other dimensions.
    """

def scatter_add(input: Tensor, dim: SupportsIndex, index: Tensor, src: Tensor | _Number) -> Tensor:
    """The tensor with elements of `src` added at the places that `index` gives along `dim`:
    `out[.., index[.., i, ..], ..] += src[.., i, ..]`, those that meet in row-major order of the index.
    """

@overload
def scatter(input: Tensor, dim: SupportsIndex, index: Tensor, src: Tensor | _Number) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor: ...
@overload
def scatter(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    src: Tensor | _Number,
    reduce: Literal['add', 'multiply'],
) -> Tensor: ...
@overload
def scatter(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    value: Tensor | _Number,
    reduce: Literal['add', 'multiply'],
) -> Tensor: ...

def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements with the numbers that `index` gives, counted through in row-major order."""

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The tensor with the elements of `source` written at the places with the numbers that `index` gives, counted through
    in row-major order, or added there if `accumulate`.
    """

def index_fill(input: Tensor, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor:
    """The tensor with the slices along `dim` at the places that `index` gives filled with one value."""

@overload
def nonzero(input: Tensor, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...

def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not zero, in row-major order, as `int64`; those of `True` in a mask."""

def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements at which a mask is true, in row-major order, as a vector."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The tensor with the elements at which a mask is true replaced by those of `source`, in turn."""

def scatter_reduce(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    src: Tensor,
    reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'],
    include_self: bool = True,
) -> Tensor:
    """The tensor with elements of `src` joined to those at the places that `index` gives along `dim`:
    `out[.., index[.., i, ..], ..]` is the reduction of all `src[.., i, ..]` with this place, and of the element that
    was there if `include_self`.
    """

def index_reduce(
    input: Tensor,
    dim: SupportsIndex,
    index: Tensor,
    source: Tensor,
    reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'],
    include_self: bool = True,
) -> Tensor:
    """The tensor with slices of `source` joined to those along `dim` at the places that `index` gives; the slices that were
    there take part if `include_self`.
    """

def index_select(input: Tensor, dim: SupportsIndex, index: Tensor) -> Tensor:
    """The slices along `dim` at the places that `index` gives."""

@overload
def index_add(input: Tensor, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor: ...
@overload
def index_add(input: Tensor, dim: SupportsIndex, index: Tensor, source: Tensor, alpha: Tensor | _Number) -> Tensor: ...

def index_copy(input: Tensor, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor:
    """The tensor with slices of `source` written along `dim` at the places that `index` gives; of several writes to one
    place the last one stays.
    """

def dynamic_slice(input: Tensor, dim: SupportsIndex, start: Tensor, length: SupportsIndex) -> Tensor:
    """`length` elements along `dim` from `start` on, where the start is a tensor and may differ between lanes."""

def cat(tensors: Iterable[Tensor], dim: SupportsIndex = 0) -> Tensor:
    """The tensors one after the other along `dim`."""

def concat(tensors: Iterable[Tensor], dim: SupportsIndex = 0) -> Tensor:
    """The tensors one after the other along `dim`."""

def concatenate(tensors: Iterable[Tensor], dim: SupportsIndex = 0) -> Tensor:
    """The tensors one after the other along `dim`."""

def stack(tensors: Iterable[Tensor], dim: SupportsIndex = 0) -> Tensor:
    """The tensors along a new dimension `dim`."""

def cholesky(input: Tensor) -> Tensor:
    """The lower triangle `L` with a positive diagonal for which `L Lᵀ` is the symmetric positive definite matrix."""

def cholesky_solve(input: Tensor, L: Tensor) -> Tensor:
    """The solutions `X` of `(L Lᵀ) X = B` from a `cholesky` factor, this tensor being `L`."""

def solve_triangular(input: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """The solutions `X` of `A X = B`, this tensor being the triangular matrices `A`; of `X A = B` unless `left`."""

def lu(input: Tensor) -> return_types.lu:
    """The factors of `A = P L U` by elimination with partial pivoting: a permutation, a lower triangle with ones on the
    diagonal, and an upper triangle.
    """

def lu_factor(input: Tensor) -> return_types.lu_factor:
    """The factors of `lu` in one matrix, and the order of the rows as `int64`."""

def lu_solve(LU: Tensor, order: Tensor, B: Tensor) -> Tensor:
    """The solutions `X` of `A X = B` from what `lu_factor` made of `A`, this tensor being the factors."""

def solve(input: Tensor, B: Tensor) -> Tensor:
    """The solutions `X` of `A X = B`, this tensor being the matrices `A`."""

def inv(input: Tensor) -> Tensor:
    """The inverses of matrices. To solve a system, `solve` is faster and more accurate."""

def inverse(input: Tensor) -> Tensor:
    """The inverses of matrices. To solve a system, `solve` is faster and more accurate."""

def det(input: Tensor) -> Tensor:
    """The determinants of matrices."""

def slogdet(input: Tensor) -> return_types.slogdet:
    """The signs of the determinants of matrices, for complex ones `det / |det|`, and the natural logarithms of their magnitudes."""

def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants of matrices: NaN where they are negative, -∞ where they are 0. Complex ones have an imaginary
    part between -π and π.
    """

def eig(input: Tensor) -> return_types.eig:
    """The eigenvalues `w` of matrices in rising order, if all are real, and eigenvectors of length 1 as the columns of `V`:
    `A V = V diag(w)`. Needs the cargo feature `linalg`.
    """

def eigvals(input: Tensor) -> Tensor:
    """The eigenvalues of matrices in rising order, if all are real. Needs the cargo feature `linalg`."""

def eigh(input: Tensor) -> return_types.eigh:
    """The eigenvalues `w` of symmetric matrices in rising order, and orthonormal eigenvectors as the columns of `V`:
    `A = V diag(w) Vᵀ`.
    """

def eigvalsh(input: Tensor) -> Tensor:
    """The eigenvalues of symmetric matrices in rising order."""

def matrix_norm(input: Tensor, ord: SupportsFloat | Literal['fro', 'nuc'] = 'fro', keepdim: bool = False) -> Tensor:
    """A norm of the matrices in the last two dimensions."""

def cond(input: Tensor, ord: SupportsFloat | Literal['fro', 'nuc'] = 2) -> Tensor:
    """The condition numbers of matrices: a norm times that of the inverse."""

def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of matrices: `1 + A + A²/2 + A³/6 + …`."""

def matrix_power(input: Tensor, n: SupportsIndex) -> Tensor:
    """Whole powers of matrices, by repeated squaring. Power 0 is the identity, negative ones are powers of the inverse."""

def multi_dot(tensors: Iterable[Tensor]) -> Tensor:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""

def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product: every element of this tensor times the whole other one, as a block in its place."""

def cross(input: Tensor, other: Tensor, dim: SupportsIndex = -1) -> Tensor:
    """The cross products of vectors of three elements along `dim`."""

def qr(input: Tensor, complete: bool = False) -> return_types.qr:
    """The factors of `A = Q R`: orthonormal columns and an upper triangle."""

def lstsq(input: Tensor, B: Tensor) -> return_types.lstsq:
    """The solutions `X` for which `A X` is nearest to `B`, this tensor being the matrices `A` of full rank; of many solutions the
    shortest.
    """

def svd(input: Tensor, full_matrices: bool = True) -> return_types.svd:
    """The singular values `S` of matrices in falling order, with orthonormal vectors as the columns of `U` and the rows of `Vᵀ`:
    `A = U diag(S) Vᵀ`.
    """

def svdvals(input: Tensor) -> Tensor:
    """The singular values of matrices in falling order."""

def pinv(input: Tensor, rtol: SupportsFloat | None = None) -> Tensor:
    """The pseudoinverses of matrices: what takes `b` to the shortest `x` for which `A x` is nearest to it."""

def pinverse(input: Tensor, rtol: SupportsFloat | None = None) -> Tensor:
    """The pseudoinverses of matrices: what takes `b` to the shortest `x` for which `A x` is nearest to it."""

def matrix_rank(input: Tensor, rtol: SupportsFloat | None = None) -> Tensor:
    """The numbers of singular values above `rtol` times the largest, as `int64`. By default `rtol` is the larger size of the matrix
    times the distance from 1 to the next number.
    """

def one_hot(input: Tensor, num_classes: SupportsIndex = -1, dtype: _DTypeLike | None = 'int64') -> Tensor:
    """One at the position that each element names and zero elsewhere, along a new last dimension of size `num_classes`."""

def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product."""

def dot(input: Tensor, other: Tensor) -> Tensor:
    """The scalar product of two vectors."""

def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of an element of one vector with an element of another."""

def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of all products of an element of one vector with an element of another."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The linear layer `self @ weightᵀ + bias`."""

@overload
def einsum(equation: str, *operands: Tensor) -> Tensor:
    """The sum of products that an equation of letters describes."""
@overload
def einsum(equation: str, operands: Iterable[Tensor]) -> Tensor: ...

def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: `matmul` of nothing else."""

def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices: `matmul` of nothing else."""

def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector: `matmul` of nothing else."""

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: SupportsFloat = 1.0, alpha: SupportsFloat = 1.0) -> Tensor:
    """`beta·self + alpha·(mat1 @ mat2)`. If `beta` is 0 this tensor does not count, whatever it holds."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: SupportsFloat = 1.0, alpha: SupportsFloat = 1.0) -> Tensor:
    """`beta·self + alpha·(mat @ vec)`. If `beta` is 0 this tensor does not count, whatever it holds."""

def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    beta: SupportsFloat = 1.0,
    alpha: SupportsFloat = 1.0,
) -> Tensor:
    """`beta·self + alpha·(batch1 @ batch2)` for batches of matrices. If `beta` is 0 this tensor does not count, whatever it
    holds.
    """

def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions: every vector of this tensor with every one of the other."""

def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The scalar product of two vectors, the first of which is conjugated if it is complex."""

def tensordot(
    input: Tensor,
    other: Tensor,
    dims: SupportsIndex | Sequence[SupportsIndex | Iterable[SupportsIndex]] = 2,
) -> Tensor:
    """The sums of products over pairs of dimensions: those of `dims`, or with a number `n` the last `n` dimensions of this tensor
    and the first `n` of the other one.
    """

@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: SupportsIndex, keepdim: bool = False) -> return_types.median: ...

@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: SupportsIndex, keepdim: bool = False) -> return_types.nanmedian: ...

def mode(input: Tensor, dim: SupportsIndex = -1, keepdim: bool = False) -> return_types.mode:
    """The elements that occur most often along `dim`, of several the smallest, and where each is for the last time, as `int64`."""

def fmod(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """What is left of each element after a division by `other` whose quotient is rounded towards zero: it has the
    sign of the element. Rust's `%`.
    """

def remainder(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """What is left of each element after a division by `other` whose quotient is rounded down: it has the sign of
    the divisor. Python's `%`.
    """

def floor_divide(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The quotient of each element and `other`, rounded down. Python's `//`."""

@overload
def var(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    correction: SupportsIndex = 1,
    keepdim: bool = False,
) -> Tensor: ...
@overload
def var(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex], unbiased: bool, keepdim: bool = False) -> Tensor: ...
@overload
def var(
    input: Tensor,
    unbiased: bool,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
) -> Tensor: ...

@overload
def std(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    correction: SupportsIndex = 1,
    keepdim: bool = False,
) -> Tensor: ...
@overload
def std(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex], unbiased: bool, keepdim: bool = False) -> Tensor: ...
@overload
def std(
    input: Tensor,
    unbiased: bool,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
) -> Tensor: ...

@overload
def var_mean(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    correction: SupportsIndex = 1,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex],
    unbiased: bool,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    input: Tensor,
    unbiased: bool,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...

@overload
def std_mean(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    correction: SupportsIndex = 1,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex],
    unbiased: bool,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    input: Tensor,
    unbiased: bool,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]: ...

def nansum(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """The sum over `dim` of the elements that are not NaN, over all dimensions if the list is empty."""

def nanmean(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """The mean over `dim` of the elements that are not NaN, over all dimensions if the list is empty."""

def count_nonzero(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """How many elements along `dim` are not zero, all dimensions if the list is empty, as `int64`."""

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

@overload
def norm(
    input: Tensor,
    p: SupportsFloat = 2.0,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor: ...
@overload
def norm(
    input: Tensor,
    p: Literal['fro', 'nuc'],
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor: ...

def hypot(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """`sqrt(x² + y²)`, elementwise, without overflow."""

def atan2(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The angle in radians, from `-π` to `π`, of the point whose ordinate is this tensor and whose abscissa is `other`."""

def arctan2(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The angle in radians, from `-π` to `π`, of the point whose ordinate is this tensor and whose abscissa is `other`."""

def logaddexp(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """`log(exp(x) + exp(y))`, elementwise, without overflow: the sum of two numbers given by their logarithms."""

def xlogy(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """`x·log(y)`, elementwise, and 0 where `x` is 0, unless `y` is NaN."""

def select_scatter(input: Tensor, src: Tensor, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
    """The tensor with the slice at `index` along `dim` replaced by `src`."""

def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: SupportsIndex = 0,
    start: SupportsIndex | None = None,
    end: SupportsIndex | None = None,
    step: SupportsIndex = 1,
) -> Tensor:
    """The tensor with `start..end` in steps of `step` along `dim` replaced by `src`."""

def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: SupportsIndex = 0,
    dim1: SupportsIndex = 0,
    dim2: SupportsIndex = 1,
) -> Tensor:
    """The tensor with a diagonal of dimensions `dim1` and `dim2` replaced by `src`."""

def pow(input: Tensor | _Number, exponent: Tensor | _Number) -> Tensor:
    """The elements to the power of those of `exponent`, which may also be a number."""

def float_power(input: Tensor | _Number, exponent: Tensor | _Number) -> Tensor:
    """`pow` in double precision: of anything, also of integers by negative ones."""

def prod(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """The product over `dim`, all of them if the list is empty."""

def quantile(
    input: Tensor,
    q: Tensor | _Number,
    dim: SupportsIndex | None = None,
    keepdim: bool = False,
    interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear',
) -> Tensor:
    """The quantiles `q` of the elements along `dim`, or for `None` of all elements; NaN where there is one."""

def nanquantile(
    input: Tensor,
    q: Tensor | _Number,
    dim: SupportsIndex | None = None,
    keepdim: bool = False,
    interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear',
) -> Tensor:
    """The `quantile`s of the elements that are not NaN; NaN where all are."""

def sum(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """The sum over `dim`, all of them if the list is empty."""

@overload
def sum_to_size(input: Tensor, *size: SupportsIndex) -> Tensor:
    """The sum over everything that broadcasting repeated: the inverse of `broadcast_to` for cotangents."""
@overload
def sum_to_size(input: Tensor, size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

def mean(
    input: Tensor,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    keepdim: bool = False,
    dtype: _DTypeLike | None = None,
) -> Tensor:
    """The mean over `dim`, all of them if the list is empty."""

def any(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: bool = False) -> Tensor:
    """Whether any element is non-zero along `dim`, all of them if the list is empty."""

def all(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are non-zero along `dim`, all of them if the list is empty."""

def index_put(input: Tensor, indices: Iterable[Tensor], values: Tensor | _Number, accumulate: bool = False) -> Tensor:
    """The tensor with `values` in the part that an index selects, or added to it if `accumulate`: then several values
    for one position add up, in row-major order.
    """

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

def cumprod(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """The running product along `dim`: element `k` is the product of the elements up to and including `k`."""

def logcumsumexp(input: Tensor, dim: SupportsIndex) -> Tensor:
    """The logarithm of the running sum of exponentials along `dim`: element `k` is `log(exp(x[0]) + … + exp(x[k]))`."""

def cummax(input: Tensor, dim: SupportsIndex) -> return_types.cummax:
    """The largest element up to each one along `dim`, and its position, as `int64`; NaN from the first NaN on."""

def cummin(input: Tensor, dim: SupportsIndex) -> return_types.cummin:
    """The smallest element up to each one along `dim`, and its position, as `int64`; NaN from the first NaN on."""

def copysign(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The magnitudes of the elements with the signs of those of `other`, which zeros have too."""

def logaddexp2(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """`log2(2^x + 2^y)`, elementwise, without overflow: the sum of two numbers given by their logarithms to base 2."""

def ldexp(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The elements times 2 to the power of those of `other`, exact for whole ones, also where that power overflows."""

def frexp(input: Tensor) -> return_types.frexp:
    """Each element as a number from one half up to, but not including, 1, or its negative, and the whole power of 2 to
    multiply it with, as `int32`. Zeros, infinities and NaN have the power 0.
    """

def cumsum(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """The running sum along `dim`: element `k` is the sum of the elements up to and including `k`."""

def diff(
    input: Tensor,
    n: SupportsIndex = 1,
    dim: SupportsIndex = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along `dim`, taken `n` times, of the tensor with others before and behind it."""

def ravel(input: Tensor) -> Tensor:
    """All elements in row-major order, as a vector."""

def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order: a matrix turned over from left to right."""

def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order: a matrix turned upside down."""

def pad(
    input: Tensor,
    pad: SupportsIndex | Iterable[SupportsIndex],
    mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
    value: SupportsFloat = 0.0,
) -> Tensor:
    """The tensor with elements put around it."""

@overload
def permute(input: Tensor, *dims: SupportsIndex) -> Tensor:
    """The dimensions in another order."""
@overload
def permute(input: Tensor, dims: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

def transpose(input: Tensor, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
    """Two dimensions exchanged."""

def swapaxes(input: Tensor, axis0: SupportsIndex, axis1: SupportsIndex) -> Tensor:
    """Two dimensions exchanged."""

def swapdims(input: Tensor, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
    """Two dimensions exchanged."""

def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""

def movedim(
    input: Tensor,
    source: SupportsIndex | Iterable[SupportsIndex],
    destination: SupportsIndex | Iterable[SupportsIndex],
) -> Tensor:
    """Dimensions moved to other places, the others keeping their order."""

def moveaxis(
    input: Tensor,
    source: SupportsIndex | Iterable[SupportsIndex],
    destination: SupportsIndex | Iterable[SupportsIndex],
) -> Tensor:
    """Dimensions moved to other places, the others keeping their order."""

def rot90(input: Tensor, k: SupportsIndex = 1, dims: SupportsIndex | Iterable[SupportsIndex] = (0, 1)) -> Tensor:
    """The tensor turned by `k` quarters from dimension `dims[0]` towards `dims[1]`, without copying; negative numbers turn
    the other way.
    """

@overload
def flip(input: Tensor, *dims: SupportsIndex) -> Tensor:
    """The elements in reverse order along `dims`, without copying."""
@overload
def flip(input: Tensor, dims: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

def roll(
    input: Tensor,
    shifts: SupportsIndex | Iterable[SupportsIndex],
    dims: SupportsIndex | Iterable[SupportsIndex] | None = None,
) -> Tensor:
    """The elements moved on by `shifts[k]` places along `dims[k]`; those that leave at one end enter at the other."""

@overload
def broadcast_to(input: Tensor, *shape: SupportsIndex) -> Tensor:
    """The tensor repeated along dimensions of size 1, and along new leading ones, without copying."""
@overload
def broadcast_to(input: Tensor, shape: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

@overload
def expand(input: Tensor, *sizes: SupportsIndex) -> Tensor:
    """`broadcast_to` to `sizes`, in which -1 stands for the size that the dimension has."""
@overload
def expand(input: Tensor, sizes: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

@overload
def repeat(input: Tensor, *repeats: SupportsIndex) -> Tensor:
    """Copies of the whole tensor side by side, `repeats[k]` of them along dimension `k`."""
@overload
def repeat(input: Tensor, repeats: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

@overload
def tile(input: Tensor, *dims: SupportsIndex) -> Tensor:
    """Copies of the whole tensor side by side, `repeats[k]` of them along dimension `k`, counted so that the last entry
    speaks of the last dimension.
    """
@overload
def tile(input: Tensor, dims: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

@overload
def repeat_interleave(input: Tensor, repeats: SupportsIndex, dim: SupportsIndex) -> Tensor: ...
@overload
def repeat_interleave(input: Tensor, repeats: SupportsIndex) -> Tensor: ...
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: SupportsIndex | None = None) -> Tensor: ...
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: SupportsIndex, output_size: SupportsIndex) -> Tensor: ...
@overload
def repeat_interleave(
    input: Tensor,
    repeats: Tensor,
    output_size: SupportsIndex,
    dim: SupportsIndex | None = None,
) -> Tensor: ...

@overload
def reshape(input: Tensor, *shape: SupportsIndex) -> Tensor:
    """The same elements in row-major order under another shape."""
@overload
def reshape(input: Tensor, shape: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

@overload
def view(input: Tensor, *shape: SupportsIndex) -> Tensor:
    """The same elements in row-major order under another shape."""
@overload
def view(input: Tensor, shape: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...

def unsqueeze(input: Tensor, dim: SupportsIndex) -> Tensor:
    """A dimension of size 1 put in at `dim`."""

@overload
def squeeze(input: Tensor, dim: SupportsIndex) -> Tensor: ...
@overload
def squeeze(input: Tensor) -> Tensor: ...

def flatten(input: Tensor, start_dim: SupportsIndex = 0, end_dim: SupportsIndex = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim`, both included, merged into one."""

def unflatten(input: Tensor, dim: SupportsIndex, sizes: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
    """Dimension `dim` split into several: the inverse of `flatten`."""

def select(input: Tensor, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
    """The slice at `index` along `dim`, without that dimension."""

def narrow(input: Tensor, dim: SupportsIndex, start: SupportsIndex, length: SupportsIndex) -> Tensor:
    """`length` elements along `dim` from `start` on, as a view."""

def slice(
    input: Tensor,
    dim: SupportsIndex = 0,
    start: SupportsIndex | None = None,
    end: SupportsIndex | None = None,
    step: SupportsIndex = 1,
) -> Tensor:
    """The elements `start`, `start + step`, … before `end` along `dim`, as a view: `x[start:end:step]` in Python."""

@overload
def split(input: Tensor, split_size_or_sections: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]: ...
@overload
def split(
    input: Tensor,
    split_size_or_sections: SupportsIndex | Iterable[SupportsIndex],
    dim: SupportsIndex = 0,
) -> tuple[Tensor, ...]: ...

def chunk(input: Tensor, chunks: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """The tensor cut along `dim` into at most `chunks` parts of equal size, the last of which may be smaller. The parts
    are views.
    """

def tensor_split(input: Tensor, indices_or_sections: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """The tensor cut along `dim` into exactly `indices_or_sections` parts whose sizes differ by at most 1, larger ones first. The
    parts are views.
    """

def unbind(input: Tensor, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, each without that dimension. They are views."""

def unfold(input: Tensor, dimension: SupportsIndex, size: SupportsIndex, step: SupportsIndex) -> Tensor:
    """All windows of `size` elements along `dimension`, one every `step` elements, as a view: element `k` of window `i` is element
    `i * step + k` of the tensor.
    """

def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, and at 0 what `values` says; NaN for NaN."""

def fmax(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The larger of two elements, or the other one if one is NaN."""

def fmin(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """The smaller of two elements, or the other one if one is NaN."""

def isin(elements: Tensor, test_elements: Tensor, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of those of another tensor, or none of them if `invert`."""

def softmax(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """`exp(x) / Σ exp(x)` along `dim`: positive numbers that add up to 1."""

def log_softmax(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """`x - log(Σ exp(x))` along `dim`, the logarithm of `softmax` without its rounding."""

def logsumexp(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex], keepdim: bool = False) -> Tensor:
    """`log(Σ exp(x))` over `dim`, all of them if the list is empty."""

def sort(input: Tensor, dim: SupportsIndex = -1, descending: bool = False, stable: bool = False) -> return_types.sort:
    """The elements in order along `dim`, and the positions where they were, as `int64`."""

def argsort(input: Tensor, dim: SupportsIndex = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions of the elements in order along `dim`, as `int64`: the second result of `sort`."""

def topk(
    input: Tensor,
    k: SupportsIndex,
    dim: SupportsIndex = -1,
    largest: bool = True,
    sorted: bool = True,
) -> return_types.topk:
    """The `k` largest (or smallest) elements along `dim`, and the positions where they were, as `int64`."""

def kthvalue(input: Tensor, k: SupportsIndex, dim: SupportsIndex = -1, keepdim: bool = False) -> return_types.kthvalue:
    """The element that comes at place `k`, counted from 1, if those along `dim` are put in rising order, and the position where it
    was, as `int64`.
    """

def atleast_1d(input: Tensor) -> Tensor:
    """The tensor with at least one dimension: a 0-d tensor becomes a vector."""

def atleast_2d(input: Tensor) -> Tensor:
    """The tensor with at least two dimensions: a vector becomes a row."""

def atleast_3d(input: Tensor) -> Tensor:
    """The tensor with at least three dimensions: a matrix becomes a layer of thickness 1."""

def hstack(tensors: Iterable[Tensor]) -> Tensor:
    """The tensors side by side: vectors one after the other, others along dimension 1."""

def vstack(tensors: Iterable[Tensor]) -> Tensor:
    """The tensors below each other, along dimension 0; vectors are rows."""

def row_stack(tensors: Iterable[Tensor]) -> Tensor:
    """The tensors below each other, along dimension 0; vectors are rows."""

def dstack(tensors: Iterable[Tensor]) -> Tensor:
    """The tensors behind each other, along dimension 2; see `atleast_3d`."""

def column_stack(tensors: Iterable[Tensor]) -> Tensor:
    """The tensors side by side along dimension 1; vectors are columns."""

def cov(
    input: Tensor,
    correction: SupportsIndex = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables, which are the rows, from observations, which are the columns."""

def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables, which are the rows, from observations, which are the columns: covariances divided by both
    standard deviations.
    """

def trapezoid(y: Tensor, x: Tensor | None = None, dx: SupportsFloat | None = None, dim: SupportsIndex = -1) -> Tensor:
    """The integral along `dim` of the function that joins the elements by straight lines. They are `dx` apart, or lie at `x`."""

def trapz(y: Tensor, x: Tensor | None = None, dx: SupportsFloat | None = None, dim: SupportsIndex = -1) -> Tensor:
    """The integral along `dim` of the function that joins the elements by straight lines. They are `dx` apart, or lie at `x`."""

def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    dx: SupportsFloat | None = None,
    dim: SupportsIndex = -1,
) -> Tensor:
    """The integrals along `dim` up to each element but the first; see `trapezoid`."""

def gradient(
    input: Tensor,
    spacing: SupportsFloat = 1.0,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
) -> tuple[Tensor, ...]:
    """The derivatives along `dim`, all of them if the list is empty, of a function whose values `spacing` apart are the elements: half
    the difference of both neighbours, and at the ends the difference to the one there is.
    """

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

def exp(input: Tensor) -> Tensor:
    """The exponential function, elementwise."""

def exp2(input: Tensor) -> Tensor:
    """Two to the power of each element."""

def expm1(input: Tensor) -> Tensor:
    """`exp(x) - 1`, elementwise, exact also for small `x`."""

def log(input: Tensor) -> Tensor:
    """The natural logarithm, elementwise; NaN below 0."""

def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2, elementwise; NaN below 0."""

def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10, elementwise; NaN below 0."""

def log1p(input: Tensor) -> Tensor:
    """`log(1 + x)`, elementwise, exact also for small `x`."""

def sqrt(input: Tensor) -> Tensor:
    """The square root, elementwise; NaN below 0."""

def rsqrt(input: Tensor) -> Tensor:
    """One over the square root, elementwise; NaN below 0."""

def cbrt(input: Tensor) -> Tensor:
    """The cube root, elementwise, also of negative numbers."""

def reciprocal(input: Tensor) -> Tensor:
    """One over each element."""

def hardswish(input: Tensor) -> Tensor:
    """`x·clamp(x + 3, 0, 6)/6`, elementwise."""

def selu(input: Tensor) -> Tensor:
    """`1.0507…·elu(x, 1.67326…)`, elementwise, with the constants of Klambauer et al. (2017)."""

def log_sigmoid(input: Tensor) -> Tensor:
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

def ndtr(input: Tensor) -> Tensor:
    """The distribution function of the standard normal distribution, elementwise, exact also far below 0."""

def ndtri(input: Tensor) -> Tensor:
    """The inverse of `ndtr`, elementwise: the number that one of the standard normal distribution is below
    with this probability. It is infinite at 0 and 1, and NaN beyond.
    """

def log_ndtr(input: Tensor) -> Tensor:
    """The logarithm of `ndtr`, elementwise, also where that is too small for a float."""

def entr(input: Tensor) -> Tensor:
    """`-x·log(x)`, elementwise, the share of a probability in an entropy: 0 at 0, and minus infinity below."""

def floor(input: Tensor) -> Tensor:
    """The largest whole number not above each element."""

def ceil(input: Tensor) -> Tensor:
    """The smallest whole number not below each element."""

def round(input: Tensor, decimals: SupportsIndex = 0) -> Tensor:
    """The nearest number with so many decimals; halves go to the even neighbour. Negative `decimals` are places before the point."""

def trunc(input: Tensor) -> Tensor:
    """The whole part: each element without its fraction."""

def fix(input: Tensor) -> Tensor:
    """The whole part: each element without its fraction."""

def isnan(input: Tensor) -> Tensor:
    """True where an element is NaN."""

def isinf(input: Tensor) -> Tensor:
    """True where an element is infinite."""

def isfinite(input: Tensor) -> Tensor:
    """True where an element is neither infinite nor NaN."""

def frac(input: Tensor) -> Tensor:
    """What `trunc` takes off: the part behind the point, with the sign of the element."""

def neg(input: Tensor) -> Tensor:
    """The negative, elementwise."""

def negative(input: Tensor) -> Tensor:
    """The negative, elementwise."""

def abs(input: Tensor) -> Tensor:
    """The magnitude, elementwise."""

def absolute(input: Tensor) -> Tensor:
    """The magnitude, elementwise."""

def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1 for negative, zero and positive elements; NaN for NaN, where PyTorch gives 0."""

def signbit(input: Tensor) -> Tensor:
    """True where an element has a minus sign: also for -0, and for a NaN that has one."""

def square(input: Tensor) -> Tensor:
    """The square, elementwise."""

def relu(input: Tensor) -> Tensor:
    """`x` where it is positive, else 0; NaN for NaN."""

def logit(input: Tensor, eps: SupportsFloat | None = None) -> Tensor:
    """The logarithm of the odds, see `logit`, of elements that are first clamped to `eps` and `1 - eps`."""

def lgamma(input: Tensor) -> Tensor:
    """The natural logarithm of the absolute value of the gamma function, elementwise; infinite at 0 and the negative
    whole numbers.
    """

def erfinv(input: Tensor) -> Tensor:
    """The inverse of `erf`, elementwise; infinite at -1 and 1, NaN beyond."""

def digamma(input: Tensor) -> Tensor:
    """The derivative of `lgamma`, elementwise: minus infinity at 0, NaN at the negative whole numbers."""

def polygamma(n: SupportsIndex, input: Tensor) -> Tensor:
    """The derivative of order `n` of `digamma`, elementwise, which is that itself for 0. At 0 and the
    negative whole numbers it is infinite for odd `n` and NaN for even ones from 2 on.
    """

def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0, elementwise."""

def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1, elementwise."""

def i0e(input: Tensor) -> Tensor:
    """`exp(-|x|)·i0(x)`, elementwise, which does not overflow."""

def i1e(input: Tensor) -> Tensor:
    """`exp(-|x|)·i1(x)`, elementwise, which does not overflow."""

def sin(input: Tensor) -> Tensor:
    """The sine, elementwise, of an angle in radians."""

def cos(input: Tensor) -> Tensor:
    """The cosine, elementwise, of an angle in radians."""

def tan(input: Tensor) -> Tensor:
    """The tangent, elementwise, of an angle in radians."""

def asin(input: Tensor) -> Tensor:
    """The angle in radians, from `-π/2` to `π/2`, whose sine each element is; NaN outside `-1..=1`."""

def arcsin(input: Tensor) -> Tensor:
    """The angle in radians, from `-π/2` to `π/2`, whose sine each element is; NaN outside `-1..=1`."""

def acos(input: Tensor) -> Tensor:
    """The angle in radians, from `0` to `π`, whose cosine each element is; NaN outside `-1..=1`."""

def arccos(input: Tensor) -> Tensor:
    """The angle in radians, from `0` to `π`, whose cosine each element is; NaN outside `-1..=1`."""

def atan(input: Tensor) -> Tensor:
    """The angle in radians, from `-π/2` to `π/2`, whose tangent each element is."""

def arctan(input: Tensor) -> Tensor:
    """The angle in radians, from `-π/2` to `π/2`, whose tangent each element is."""

def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine, elementwise."""

def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine, elementwise."""

def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent, elementwise."""

def asinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""

def arcsinh(input: Tensor) -> Tensor:
    """The number whose hyperbolic sine each element is."""

def acosh(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is; NaN below 1."""

def arccosh(input: Tensor) -> Tensor:
    """The number, not negative, whose hyperbolic cosine each element is; NaN below 1."""

def atanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is; NaN outside `-1..=1`."""

def arctanh(input: Tensor) -> Tensor:
    """The number whose hyperbolic tangent each element is; NaN outside `-1..=1`."""

def sinc(input: Tensor) -> Tensor:
    """`sin(πx)/(πx)`, elementwise, 1 at 0; exactly 0 at the other whole numbers and at infinity."""

def deg2rad(input: Tensor) -> Tensor:
    """The angle in radians of an angle in degrees."""

def rad2deg(input: Tensor) -> Tensor:
    """The angle in degrees of an angle in radians."""

@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: SupportsIndex | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Tensor,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    sorted: bool = True,
    dim: SupportsIndex | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    return_counts: Literal[True],
    return_inverse: Literal[False] = False,
    sorted: bool = True,
    dim: SupportsIndex | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique(
    input: Tensor,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    sorted: bool = True,
    dim: SupportsIndex | None = None,
) -> return_types.unique: ...

@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: SupportsIndex | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[True],
    return_counts: Literal[False] = False,
    dim: SupportsIndex | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_counts: Literal[True],
    return_inverse: Literal[False] = False,
    dim: SupportsIndex | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[True],
    return_counts: Literal[True],
    dim: SupportsIndex | None = None,
) -> return_types.unique_consecutive: ...

def hann_window(window_length: SupportsIndex, periodic: bool = True, dtype: _DTypeLike | None = 'float32') -> Tensor:
    """The Hann window of `window_length` weights: `1/2 - cos(2πk/N)/2`."""

def hamming_window(
    window_length: SupportsIndex,
    periodic: bool = True,
    alpha: SupportsFloat = 0.54,
    beta: SupportsFloat = 0.46,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """The Hamming window of `window_length` weights: `alpha - beta·cos(2πk/N)`."""

def blackman_window(
    window_length: SupportsIndex,
    periodic: bool = True,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """The Blackman window of `window_length` weights: `0.42 - cos(2πk/N)/2 + 0.08·cos(4πk/N)`."""
