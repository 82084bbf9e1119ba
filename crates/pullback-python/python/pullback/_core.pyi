"""The native module."""

# Written by stubs/write.py.

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias, final, overload

from . import return_types

_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_dtype: TypeAlias = dtype
_Number: TypeAlias = _bool | _int | _float | _complex
_DTypeLike: TypeAlias = _dtype | type[Any] | str | Any

__version__: str

_is_optimized: Any

class EscapedTracerError(RuntimeError):
    """A value was used after the transform that made it had ended."""

    ...

class InternalError(Exception):
    """A broken promise inside pullback. Please report it."""

    ...

function: Any

@final
class dtype:
    """The type of the elements of a tensor: `pullback.float32` and its relatives."""

    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_complex(self) -> _bool: ...
    @property
    def is_signed(self) -> _bool: ...
    def to_real(self) -> _dtype: ...
    def to_complex(self) -> _dtype: ...

def get_default_dtype() -> _dtype: ...

def set_default_dtype(d: _DTypeLike) -> None: ...

bool: dtype

uint8: dtype

int32: dtype

int64: dtype

float16: dtype

bfloat16: dtype

float32: dtype

float64: dtype

complex64: dtype

complex128: dtype

half: dtype

float: dtype

double: dtype

int: dtype

long: dtype

cfloat: dtype

cdouble: dtype

autograd: Any

@final
class Tensor:
    """An n-dimensional array of numbers, or the stand-in for one inside a transform."""

    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, /, requires_grad: _bool = True) -> Tensor: ...
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Tensor) -> None: ...
    @property
    def grad_fn(self) -> Any | None: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    def zero_grad(self, /) -> None: ...
    def backward(
        self,
        /,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None: ...
    def retain_grad(self, /) -> None: ...
    @property
    def retains_grad(self) -> _bool: ...
    def detach_(self, /) -> Tensor: ...
    def register_hook(self, /, hook: Any) -> Any: ...
    def register_post_accumulate_grad_hook(self, /, hook: Any) -> Any: ...
    @property
    def shape(self) -> tuple[_int, ...]: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def device(self) -> str: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def H(self) -> Tensor: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @property
    def imag(self) -> Tensor: ...
    @overload
    def size(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def size(self, dim: SupportsIndex) -> _int: ...
    def dim(self) -> _int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: SupportsIndex) -> _int: ...
    def is_contiguous(self) -> _bool: ...
    def view_as(self, other: Tensor) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor: ...
    def numel(self) -> _int: ...
    def nelement(self) -> _int: ...
    def element_size(self) -> _int: ...
    def is_floating_point(self) -> _bool: ...
    def is_complex(self) -> _bool: ...
    def is_signed(self) -> _bool: ...
    def to(
        self,
        *args: _DTypeLike | Tensor,
        dtype: _DTypeLike | None = None,
        device: str | None = None,
        copy: _bool = False,
        non_blocking: _bool = False,
    ) -> Tensor: ...
    def type(self, dtype: _DTypeLike) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor: ...
    def float(self) -> Tensor: ...
    def double(self) -> Tensor: ...
    def half(self) -> Tensor: ...
    def bfloat16(self) -> Tensor: ...
    def long(self) -> Tensor: ...
    def int(self) -> Tensor: ...
    def byte(self) -> Tensor: ...
    def bool(self) -> Tensor: ...
    def cfloat(self) -> Tensor: ...
    def cdouble(self) -> Tensor: ...
    def clone(self) -> Tensor: ...
    def contiguous(self) -> Tensor: ...
    def cpu(self) -> Tensor: ...
    def new_zeros(
        self,
        *size: SupportsIndex | Sequence[SupportsIndex],
        dtype: _DTypeLike | None = None,
        device: str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_ones(
        self,
        *size: SupportsIndex | Sequence[SupportsIndex],
        dtype: _DTypeLike | None = None,
        device: str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_empty(
        self,
        *size: SupportsIndex | Sequence[SupportsIndex],
        dtype: _DTypeLike | None = None,
        device: str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_full(
        self,
        size: SupportsIndex | Sequence[SupportsIndex],
        fill_value: _Number | Tensor,
        *,
        dtype: _DTypeLike | None = None,
        device: str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_tensor(
        self, data: Any, *, dtype: _DTypeLike | None = None, device: str | None = None, requires_grad: _bool = False
    ) -> Tensor: ...
    def numpy(self, *, force: _bool = False) -> Any: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any: ...
    def __buffer__(self, flags: _int, /) -> memoryview: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def add_(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = None) -> Tensor: ...
    def sub_(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None = None) -> Tensor: ...
    def mul_(self, other: Tensor | _Number) -> Tensor: ...
    def div_(self, other: Tensor | _Number) -> Tensor: ...
    def fill_(self, value: Tensor | _Number) -> Tensor: ...
    def zero_(self) -> Tensor: ...
    def copy_(self, other: Tensor | _Number, non_blocking: _bool = False) -> Tensor: ...
    def uniform_(self, from_: SupportsFloat = 0.0, to: SupportsFloat = 1.0, *, generator: Generator | Key | None = None) -> Tensor: ...
    def normal_(self, mean: SupportsFloat = 0.0, std: SupportsFloat = 1.0, *, generator: Generator | Key | None = None) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    def __delitem__(self, index: Any, /) -> None: ...
    def __contains__(self, value: Tensor | _Number, /) -> _bool: ...
    def __format__(self, format: str, /) -> str: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: Any, /) -> Tensor: ...
    def __floordiv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __mod__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rmod__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __divmod__(self, other: Tensor | _Number, /) -> tuple[Tensor, Tensor]: ...
    def __and__(self, other: Tensor | _int, /) -> Tensor: ...
    def __rand__(self, other: Tensor | _int, /) -> Tensor: ...
    def __or__(self, other: Tensor | _int, /) -> Tensor: ...
    def __ror__(self, other: Tensor | _int, /) -> Tensor: ...
    def __xor__(self, other: Tensor | _int, /) -> Tensor: ...
    def __rxor__(self, other: Tensor | _int, /) -> Tensor: ...
    def __lshift__(self, other: Tensor | _int, /) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _int, /) -> Tensor: ...
    def __rshift__(self, other: Tensor | _int, /) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _int, /) -> Tensor: ...
    def __iand__(self, other: Tensor | _int, /) -> Tensor: ...
    def __ior__(self, other: Tensor | _int, /) -> Tensor: ...
    def __ixor__(self, other: Tensor | _int, /) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _int, /) -> Tensor: ...
    def __irshift__(self, other: Tensor | _int, /) -> Tensor: ...
    def tolist(self) -> Any: ...
    def item(self) -> Any: ...
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> _complex: ...
    def __index__(self) -> _int: ...
    def __getitem__(self, index: Any, /) -> Tensor: ...
    def __add__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __radd__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __sub__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rsub__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __mul__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rmul__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __truediv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __pow__(self, other: Tensor | _Number, mod: None = None, /) -> Tensor: ...
    def __rpow__(self, other: Tensor | _Number, mod: None = None, /) -> Tensor: ...
    def __matmul__(self, other: Tensor, /) -> Tensor: ...
    def __rmatmul__(self, other: Tensor, /) -> Tensor: ...
    def __iadd__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __isub__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __imul__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __imod__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ipow__(self, other: Tensor | _Number, /) -> Tensor: ...  # type: ignore[misc]
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __eq__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __le__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __gt__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __ge__(self, other: Tensor | _Number, /) -> Tensor: ...
    def __hash__(self) -> _int: ...
    __array_priority__: Any
    __array_ufunc__: None
    def __rdivmod__(self, value: Any, /) -> Any:
        """Return divmod(value, self)."""
    def abs(self, /) -> Tensor:
        """The magnitude, elementwise."""
    def abs_(self, /) -> Tensor:
        """Gives this object the result of `abs` with the same arguments, converted to its dtype, and returns the object."""
    def absolute(self, /) -> Tensor:
        """The magnitude, elementwise."""
    def absolute_(self, /) -> Tensor:
        """Gives this object the result of `absolute` with the same arguments, converted to its dtype, and returns the object."""
    def acos(self, /) -> Tensor:
        """The angle in radians, from `0` to `π`, whose cosine each element is; NaN outside `-1..=1`."""
    def acos_(self, /) -> Tensor:
        """Gives this object the result of `acos` with the same arguments, converted to its dtype, and returns the object."""
    def acosh(self, /) -> Tensor:
        """The number, not negative, whose hyperbolic cosine each element is; NaN below 1."""
    def acosh_(self, /) -> Tensor:
        """Gives this object the result of `acosh` with the same arguments, converted to its dtype, and returns the object."""
    def adaptive_avg_pool1d(self, /, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """The means of windows that cut sequences into the given number of parts. Window `k` of `n` over `output_size` elements
        goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
        """
    def adaptive_avg_pool2d(self, /, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """The means of windows that cut images into the given numbers of parts. Window `k` of `n` over `output_size` elements
        goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
        """
    def adaptive_avg_pool3d(self, /, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """The means of windows that cut volumes into the given numbers of parts. Window `k` of `n` over `output_size` elements
        goes from `k·size/n`, rounded down, to `(k + 1)·size/n`, rounded up.
        """
    def adaptive_max_pool1d(self, /, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """The largest elements of windows that cut sequences into the given number of parts, which are those of
        `adaptive_avg_pool1d`.
        """
    def adaptive_max_pool2d(self, /, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """The largest elements of windows that cut images into the given numbers of parts, which are those of
        `adaptive_avg_pool2d`.
        """
    def adaptive_max_pool3d(self, /, output_size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """The largest elements of windows that cut volumes into the given numbers of parts, which are those of
        `adaptive_avg_pool3d`.
        """
    @overload
    def add(self, /, other: Tensor | _Number) -> Tensor: ...
    @overload
    def add(self, /, other: Tensor | _Number, alpha: Tensor | _Number) -> Tensor: ...
    def addcdiv(self, /, tensor1: Tensor, tensor2: Tensor, value: Tensor | _Number = 1) -> Tensor:
        """The tensor plus `value·tensor1/tensor2`, elementwise."""
    def addcmul(self, /, tensor1: Tensor, tensor2: Tensor, value: Tensor | _Number = 1) -> Tensor:
        """The tensor plus `value·tensor1·tensor2`, elementwise."""
    def addmm(self, /, mat1: Tensor, mat2: Tensor, beta: SupportsFloat = 1.0, alpha: SupportsFloat = 1.0) -> Tensor:
        """`beta·self + alpha·(mat1 @ mat2)`. If `beta` is 0 this tensor does not count, whatever it holds."""
    def addmv(self, /, mat: Tensor, vec: Tensor, beta: SupportsFloat = 1.0, alpha: SupportsFloat = 1.0) -> Tensor:
        """`beta·self + alpha·(mat @ vec)`. If `beta` is 0 this tensor does not count, whatever it holds."""
    def affine_grid(self, /, size: SupportsIndex | Iterable[SupportsIndex], align_corners: _bool = False) -> Tensor:
        """The grid for `grid_sample` that affine maps make: place `p` of the result is at `A p + b` of the image, where
        the tensor holds `[A, b]` for each image.
        """
    def all(self, /, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements are non-zero along `dim`, all of them if the list is empty."""
    def allclose(
        self,
        /,
        other: Tensor,
        rtol: SupportsFloat = 1e-5,
        atol: SupportsFloat = 1e-8,
        equal_nan: _bool = False,
    ) -> _bool:
        """Whether `isclose` holds for all elements."""
    def amax(self, /, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: _bool = False) -> Tensor:
        """The largest elements over `dim`, all of them if the list is empty; NaN where there is one."""
    def amin(self, /, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: _bool = False) -> Tensor:
        """The smallest elements over `dim`, all of them if the list is empty; NaN where there is one."""
    def aminmax(self, /, dim: SupportsIndex | None = None, keepdim: _bool = False) -> return_types.aminmax:
        """The smallest and the largest elements along `dim`, or for `None` of all elements; NaN where there is one."""
    def angle(self, /) -> Tensor:
        """The angle of each number from the positive real axis, from -π to π: 0 or π for real ones, NaN for NaN."""
    def any(self, /, dim: SupportsIndex | Iterable[SupportsIndex] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element is non-zero along `dim`, all of them if the list is empty."""
    def arccos(self, /) -> Tensor:
        """The angle in radians, from `0` to `π`, whose cosine each element is; NaN outside `-1..=1`."""
    def arccos_(self, /) -> Tensor:
        """Gives this object the result of `arccos` with the same arguments, converted to its dtype, and returns the object."""
    def arccosh(self, /) -> Tensor:
        """The number, not negative, whose hyperbolic cosine each element is; NaN below 1."""
    def arccosh_(self, /) -> Tensor:
        """Gives this object the result of `arccosh` with the same arguments, converted to its dtype, and returns the object."""
    def arcsin(self, /) -> Tensor:
        """The angle in radians, from `-π/2` to `π/2`, whose sine each element is; NaN outside `-1..=1`."""
    def arcsin_(self, /) -> Tensor:
        """Gives this object the result of `arcsin` with the same arguments, converted to its dtype, and returns the object."""
    def arcsinh(self, /) -> Tensor:
        """The number whose hyperbolic sine each element is."""
    def arcsinh_(self, /) -> Tensor:
        """Gives this object the result of `arcsinh` with the same arguments, converted to its dtype, and returns the object."""
    def arctan(self, /) -> Tensor:
        """The angle in radians, from `-π/2` to `π/2`, whose tangent each element is."""
    def arctan2(self, /, other: Tensor | _Number) -> Tensor:
        """The angle in radians, from `-π` to `π`, of the point whose ordinate is this tensor and whose abscissa is `other`."""
    def arctan2_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `arctan2` with the same arguments, converted to its dtype, and returns the object."""
    def arctan_(self, /) -> Tensor:
        """Gives this object the result of `arctan` with the same arguments, converted to its dtype, and returns the object."""
    def arctanh(self, /) -> Tensor:
        """The number whose hyperbolic tangent each element is; NaN outside `-1..=1`."""
    def arctanh_(self, /) -> Tensor:
        """Gives this object the result of `arctanh` with the same arguments, converted to its dtype, and returns the object."""
    def argmax(self, /, dim: SupportsIndex | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the largest element along `dim`, or for `None` of all elements in row-major order, as `int64`."""
    def argmin(self, /, dim: SupportsIndex | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the smallest element along `dim`, or for `None` of all elements in row-major order, as `int64`."""
    def argsort(self, /, dim: SupportsIndex = -1, descending: _bool = False, stable: _bool = False) -> Tensor:
        """The positions of the elements in order along `dim`, as `int64`: the second result of `sort`."""
    def argwhere(self, /) -> Tensor:
        """The positions of the elements that are not zero, in row-major order, as `int64`; those of `True` in a mask."""
    def asin(self, /) -> Tensor:
        """The angle in radians, from `-π/2` to `π/2`, whose sine each element is; NaN outside `-1..=1`."""
    def asin_(self, /) -> Tensor:
        """Gives this object the result of `asin` with the same arguments, converted to its dtype, and returns the object."""
    def asinh(self, /) -> Tensor:
        """The number whose hyperbolic sine each element is."""
    def asinh_(self, /) -> Tensor:
        """Gives this object the result of `asinh` with the same arguments, converted to its dtype, and returns the object."""
    def atan(self, /) -> Tensor:
        """The angle in radians, from `-π/2` to `π/2`, whose tangent each element is."""
    def atan2(self, /, other: Tensor | _Number) -> Tensor:
        """The angle in radians, from `-π` to `π`, of the point whose ordinate is this tensor and whose abscissa is `other`."""
    def atan2_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `atan2` with the same arguments, converted to its dtype, and returns the object."""
    def atan_(self, /) -> Tensor:
        """Gives this object the result of `atan` with the same arguments, converted to its dtype, and returns the object."""
    def atanh(self, /) -> Tensor:
        """The number whose hyperbolic tangent each element is; NaN outside `-1..=1`."""
    def atanh_(self, /) -> Tensor:
        """Gives this object the result of `atanh` with the same arguments, converted to its dtype, and returns the object."""
    def avg_pool1d(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: SupportsIndex | None = None,
    ) -> Tensor:
        """The mean of each window over sequences."""
    def avg_pool2d(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: SupportsIndex | None = None,
    ) -> Tensor:
        """The mean of each window over images: `avg_pool1d` over the last 2 dimensions."""
    def avg_pool3d(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        ceil_mode: _bool = False,
        count_include_pad: _bool = True,
        divisor_override: SupportsIndex | None = None,
    ) -> Tensor:
        """The mean of each window over volumes: `avg_pool1d` over the last 3 dimensions."""
    def baddbmm(
        self,
        /,
        batch1: Tensor,
        batch2: Tensor,
        beta: SupportsFloat = 1.0,
        alpha: SupportsFloat = 1.0,
    ) -> Tensor:
        """`beta·self + alpha·(batch1 @ batch2)` for batches of matrices. If `beta` is 0 this tensor does not count, whatever it
        holds.
        """
    def batch_norm(
        self,
        /,
        running_mean: Tensor,
        running_var: Tensor,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: SupportsFloat = 1e-5,
    ) -> Tensor:
        """The elements of each channel less a given mean, over the root of a given variance: batch normalisation when a model is used."""
    def batch_norm_training(
        self,
        /,
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
    def binary_cross_entropy(
        self,
        /,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """The cross entropy of probabilities and the probabilities `target`: `-t·log(x) - (1 - t)·log(1 - x)`, where logarithms are at least
        -100. For logits see `binary_cross_entropy_with_logits`, which loses no digits.
        """
    def binary_cross_entropy_with_logits(
        self,
        /,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
        pos_weight: Tensor | None = None,
    ) -> Tensor:
        """The cross entropy of the probabilities `target` and `sigmoid` of this tensor, `-t·log(p) - (1 - t)·log(1 - p)`, computed
        without overflow.
        """
    @overload
    def bincount(self, /, length: SupportsIndex, weights: Tensor | None = None) -> Tensor: ...
    @overload
    def bincount(self, /, weights: Tensor | None = None, minlength: SupportsIndex = 0) -> Tensor: ...
    def bitwise_and(self, /, other: Tensor | _Number) -> Tensor:
        """The bits that are set in both operands; of bools, whether both are true."""
    def bitwise_and_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `bitwise_and` with the same arguments, converted to its dtype, and returns the object."""
    def bitwise_left_shift(self, /, other: Tensor | _Number) -> Tensor:
        """The integers with their bits moved up by as many places as the right operand says, which multiplies by powers of 2 and wraps."""
    def bitwise_left_shift_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `bitwise_left_shift` with the same arguments, converted to its dtype, and returns the object."""
    def bitwise_not(self, /) -> Tensor:
        """The integers with all bits inverted: `-x - 1` of those with a sign. Of bools, whether they are false."""
    def bitwise_not_(self, /) -> Tensor:
        """Gives this object the result of `bitwise_not` with the same arguments, converted to its dtype, and returns the object."""
    def bitwise_or(self, /, other: Tensor | _Number) -> Tensor:
        """The bits that are set in at least one operand; of bools, whether one is true."""
    def bitwise_or_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `bitwise_or` with the same arguments, converted to its dtype, and returns the object."""
    def bitwise_right_shift(self, /, other: Tensor | _Number) -> Tensor:
        """The integers with their bits moved down by as many places as the right operand says, which divides by powers of 2 and
        rounds down.
        """
    def bitwise_right_shift_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `bitwise_right_shift` with the same arguments, converted to its dtype, and returns the object."""
    def bitwise_xor(self, /, other: Tensor | _Number) -> Tensor:
        """The bits that are set in exactly one operand; of bools, whether they differ."""
    def bitwise_xor_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `bitwise_xor` with the same arguments, converted to its dtype, and returns the object."""
    def bmm(self, /, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices: `matmul` of nothing else."""
    @overload
    def broadcast_to(self, /, *shape: SupportsIndex) -> Tensor:
        """The tensor repeated along dimensions of size 1, and along new leading ones, without copying."""
    @overload
    def broadcast_to(self, /, shape: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def bucketize(self, /, boundaries: Tensor, right: _bool = False) -> Tensor:
        """The bin of each element, as `int64`: bin `k` lies between `boundaries[k - 1]` and `boundaries[k]`. A boundary belongs
        to the bin below, with `right` to the bin above.
        """
    def cbrt(self, /) -> Tensor:
        """The cube root, elementwise, also of negative numbers."""
    def cbrt_(self, /) -> Tensor:
        """Gives this object the result of `cbrt` with the same arguments, converted to its dtype, and returns the object."""
    def cdist(self, /, x2: Tensor, p: SupportsFloat = 2.0) -> Tensor:
        """The distances of all pairs of rows of two tensors: the `p`-norms of their differences."""
    def ceil(self, /) -> Tensor:
        """The smallest whole number not below each element."""
    def ceil_(self, /) -> Tensor:
        """Gives this object the result of `ceil` with the same arguments, converted to its dtype, and returns the object."""
    def celu(self, /, alpha: SupportsFloat = 1.0) -> Tensor:
        """`x` where it is positive, else `alpha·(exp(x/alpha) - 1)`."""
    def celu_(self, /, alpha: SupportsFloat = 1.0) -> Tensor:
        """Gives this object the result of `celu` with the same arguments, converted to its dtype, and returns the object."""
    def channel_shuffle(self, /, groups: SupportsIndex) -> Tensor:
        """The channels in another order: those of `groups` equal groups in turn, the first of each, then the second of each."""
    def cholesky(self, /) -> Tensor:
        """The lower triangle `L` with a positive diagonal for which `L Lᵀ` is the symmetric positive definite matrix."""
    def cholesky_solve(self, /, L: Tensor) -> Tensor:
        """The solutions `X` of `(L Lᵀ) X = B` from a `cholesky` factor, this tensor being `L`."""
    def chunk(self, /, chunks: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """The tensor cut along `dim` into at most `chunks` parts of equal size, the last of which may be smaller. The parts
        are views.
        """
    @overload
    def clamp(self, /, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
    @overload
    def clamp(self, /, min: SupportsFloat | None = None, max: SupportsFloat | None = None) -> Tensor: ...
    @overload
    def clamp_(self, /, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
    @overload
    def clamp_(self, /, min: SupportsFloat | None = None, max: SupportsFloat | None = None) -> Tensor: ...
    def clamp_max(self, /, max: Tensor | _Number) -> Tensor:
        """The elements, with those above `max` replaced by it: `clamp` with one bound, a number or a tensor."""
    def clamp_min(self, /, min: Tensor | _Number) -> Tensor:
        """The elements, with those below `min` replaced by it: `clamp` with one bound, a number or a tensor."""
    @overload
    def clip(self, /, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
    @overload
    def clip(self, /, min: SupportsFloat | None = None, max: SupportsFloat | None = None) -> Tensor: ...
    @overload
    def clip_(self, /, min: Tensor | None = None, max: Tensor | None = None) -> Tensor: ...
    @overload
    def clip_(self, /, min: SupportsFloat | None = None, max: SupportsFloat | None = None) -> Tensor: ...
    def col2im(
        self,
        /,
        output_size: SupportsIndex | Iterable[SupportsIndex],
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    ) -> Tensor:
        """The sum of the patches of images that are the columns of a matrix, each element where `im2col` takes it from.
        PyTorch's `nn.functional.fold`.
        """
    def combinations(self, /, r: SupportsIndex = 2, with_replacement: _bool = False) -> Tensor:
        """All ways to take `r` elements of a vector, in their order: one way in each row. An element is taken once, or any
        number of times if `with_replacement`.
        """
    def cond(self, /, ord: SupportsFloat | Literal['fro', 'nuc'] = 2) -> Tensor:
        """The condition numbers of matrices: a norm times that of the inverse."""
    def conj(self, /) -> Tensor:
        """The complex conjugate; a real tensor is its own."""
    def conv1d(
        self,
        /,
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
        self,
        /,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: SupportsIndex | Iterable[SupportsIndex] = 1,
        padding: SupportsIndex | Iterable[SupportsIndex] | Literal['same', 'valid'] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        groups: SupportsIndex = 1,
    ) -> Tensor:
        """The convolution of images: `conv1d` over two dimensions."""
    def conv3d(
        self,
        /,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: SupportsIndex | Iterable[SupportsIndex] = 1,
        padding: SupportsIndex | Iterable[SupportsIndex] | Literal['same', 'valid'] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        groups: SupportsIndex = 1,
    ) -> Tensor:
        """The convolution of volumes: `conv1d` over three dimensions."""
    def conv_transpose1d(
        self,
        /,
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
        self,
        /,
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
        self,
        /,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: SupportsIndex | Iterable[SupportsIndex] = 1,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        output_padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        groups: SupportsIndex = 1,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
    ) -> Tensor:
        """The transpose of the convolution of volumes: `conv_transpose1d` over three dimensions."""
    def copysign(self, /, other: Tensor | _Number) -> Tensor:
        """The magnitudes of the elements with the signs of those of `other`, which zeros have too."""
    def copysign_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `copysign` with the same arguments, converted to its dtype, and returns the object."""
    def corrcoef(self, /) -> Tensor:
        """The correlations of variables, which are the rows, from observations, which are the columns: covariances divided by both
        standard deviations.
        """
    def cos(self, /) -> Tensor:
        """The cosine, elementwise, of an angle in radians."""
    def cos_(self, /) -> Tensor:
        """Gives this object the result of `cos` with the same arguments, converted to its dtype, and returns the object."""
    def cosh(self, /) -> Tensor:
        """The hyperbolic cosine, elementwise."""
    def cosh_(self, /) -> Tensor:
        """Gives this object the result of `cosh` with the same arguments, converted to its dtype, and returns the object."""
    def cosine_embedding_loss(
        self,
        /,
        input2: Tensor,
        target: Tensor,
        margin: SupportsFloat = 0.0,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """`1 - cos` of the angle between the rows of two tensors where the target is 1, and `max(0, cos - margin)` where it is -1."""
    def cosine_similarity(self, /, x2: Tensor, dim: SupportsIndex = 1, eps: SupportsFloat = 1e-8) -> Tensor:
        """The cosine of the angle between two tensors along `dim`: `Σ x·y / (max(|x|, eps)·max(|y|, eps))`."""
    def count_nonzero(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
    ) -> Tensor:
        """How many elements along `dim` are not zero, all dimensions if the list is empty, as `int64`."""
    def cov(
        self,
        /,
        correction: SupportsIndex = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """The covariances of variables, which are the rows, from observations, which are the columns."""
    def cross(self, /, other: Tensor, dim: SupportsIndex = -1) -> Tensor:
        """The cross products of vectors of three elements along `dim`."""
    def cross_entropy(
        self,
        /,
        target: Tensor,
        weight: Tensor | None = None,
        ignore_index: SupportsIndex = -100,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
        label_smoothing: SupportsFloat = 0.0,
    ) -> Tensor:
        """The cross entropy of logits and classes, `log(Σ exp(x)) - x[target]` for each example, with weights of the classes, targets that are
        left out, smoothed targets, and a choice of what becomes of the losses.
        """
    def ctc_loss(
        self,
        /,
        targets: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
        blank: SupportsIndex = 0,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
        zero_infinity: _bool = False,
    ) -> Tensor:
        """Minus the logarithm of the probability of sequences of labels, where the tensor holds logarithms of the probabilities of classes at each
        time step: connectionist temporal classification.
        """
    def cummax(self, /, dim: SupportsIndex) -> return_types.cummax:
        """The largest element up to each one along `dim`, and its position, as `int64`; NaN from the first NaN on."""
    def cummin(self, /, dim: SupportsIndex) -> return_types.cummin:
        """The smallest element up to each one along `dim`, and its position, as `int64`; NaN from the first NaN on."""
    def cumprod(self, /, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
        """The running product along `dim`: element `k` is the product of the elements up to and including `k`."""
    def cumprod_(self, /, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
        """Gives this object the result of `cumprod` with the same arguments, converted to its dtype, and returns the object."""
    def cumsum(self, /, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
        """The running sum along `dim`: element `k` is the sum of the elements up to and including `k`."""
    def cumsum_(self, /, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
        """Gives this object the result of `cumsum` with the same arguments, converted to its dtype, and returns the object."""
    def deg2rad(self, /) -> Tensor:
        """The angle in radians of an angle in degrees."""
    def deg2rad_(self, /) -> Tensor:
        """Gives this object the result of `deg2rad` with the same arguments, converted to its dtype, and returns the object."""
    def det(self, /) -> Tensor:
        """The determinants of matrices."""
    def detach(self, /) -> Tensor:
        """The same values as a constant: whatever is being differentiated, this tensor does not depend on it."""
    def diag(self, /, diagonal: SupportsIndex = 0) -> Tensor:
        """The matrix with a vector on diagonal number `diagonal`, or the diagonal of a matrix."""
    def diag_embed(self, /, offset: SupportsIndex = 0, dim1: SupportsIndex = -2, dim2: SupportsIndex = -1) -> Tensor:
        """Square matrices of zeros with the vectors along the last dimension on a diagonal: the transpose of
        `diagonal`.
        """
    def diagonal(self, /, offset: SupportsIndex = 0, dim1: SupportsIndex = 0, dim2: SupportsIndex = 1) -> Tensor:
        """The diagonal of dimensions `dim1` and `dim2`, as a view."""
    def diagonal_scatter(
        self,
        /,
        src: Tensor,
        offset: SupportsIndex = 0,
        dim1: SupportsIndex = 0,
        dim2: SupportsIndex = 1,
    ) -> Tensor:
        """The tensor with a diagonal of dimensions `dim1` and `dim2` replaced by `src`."""
    def diff(
        self,
        /,
        n: SupportsIndex = 1,
        dim: SupportsIndex = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """The differences of neighbours along `dim`, taken `n` times, of the tensor with others before and behind it."""
    def digamma(self, /) -> Tensor:
        """The derivative of `lgamma`, elementwise: minus infinity at 0, NaN at the negative whole numbers."""
    def digamma_(self, /) -> Tensor:
        """Gives this object the result of `digamma` with the same arguments, converted to its dtype, and returns the object."""
    def dist(self, /, other: Tensor, p: SupportsFloat = 2.0) -> Tensor:
        """The `p`-norm of the difference of two tensors as one vector, a 0-d tensor; see `norm`."""
    @overload
    def div(self, /, other: Tensor | _Number) -> Tensor: ...
    @overload
    def div(self, /, other: Tensor | _Number, rounding_mode: Literal['trunc', 'floor'] | None = None) -> Tensor: ...
    @overload
    def divide(self, /, other: Tensor | _Number) -> Tensor: ...
    @overload
    def divide(self, /, other: Tensor | _Number, rounding_mode: Literal['trunc', 'floor'] | None = None) -> Tensor: ...
    @overload
    def divide_(self, /, other: Tensor | _Number) -> Tensor: ...
    @overload
    def divide_(self, /, other: Tensor | _Number, rounding_mode: Literal['trunc', 'floor'] | None = None) -> Tensor: ...
    def dot(self, /, other: Tensor) -> Tensor:
        """The scalar product of two vectors."""
    def dynamic_slice(self, /, dim: SupportsIndex, start: Tensor, length: SupportsIndex) -> Tensor:
        """`length` elements along `dim` from `start` on, where the start is a tensor and may differ between lanes."""
    def eig(self, /) -> return_types.eig:
        """The eigenvalues `w` of matrices in rising order, if all are real, and eigenvectors of length 1 as the columns of `V`:
        `A V = V diag(w)`. Needs the cargo feature `linalg`.
        """
    def eigh(self, /) -> return_types.eigh:
        """The eigenvalues `w` of symmetric matrices in rising order, and orthonormal eigenvectors as the columns of `V`:
        `A = V diag(w) Vᵀ`.
        """
    def eigvals(self, /) -> Tensor:
        """The eigenvalues of matrices in rising order, if all are real. Needs the cargo feature `linalg`."""
    def eigvalsh(self, /) -> Tensor:
        """The eigenvalues of symmetric matrices in rising order."""
    def elu(self, /, alpha: SupportsFloat = 1.0) -> Tensor:
        """`x` where it is positive, else `alpha·(exp(x) - 1)`, exact also near 0."""
    def elu_(self, /, alpha: SupportsFloat = 1.0) -> Tensor:
        """Gives this object the result of `elu` with the same arguments, converted to its dtype, and returns the object."""
    def embedding(self, /, weight: Tensor, padding_idx: SupportsIndex | None = None) -> Tensor:
        """The rows of the table `weight` that the elements name."""
    def eq(self, /, other: Tensor | _Number) -> Tensor:
        """True where the elements are equal."""
    def eq_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `eq` with the same arguments, converted to its dtype, and returns the object."""
    def equal(self, /, other: Tensor) -> _bool:
        """Whether both tensors have the same dtype, shape and elements; NaN equals nothing."""
    def erf(self, /) -> Tensor:
        """The error function, elementwise: `2/sqrt(π)` times the integral of `exp(-t²)` from 0 to `x`."""
    def erf_(self, /) -> Tensor:
        """Gives this object the result of `erf` with the same arguments, converted to its dtype, and returns the object."""
    def erfc(self, /) -> Tensor:
        """`1 - erf(x)`, elementwise, exact also where `erf` is close to 1."""
    def erfc_(self, /) -> Tensor:
        """Gives this object the result of `erfc` with the same arguments, converted to its dtype, and returns the object."""
    def erfinv(self, /) -> Tensor:
        """The inverse of `erf`, elementwise; infinite at -1 and 1, NaN beyond."""
    def erfinv_(self, /) -> Tensor:
        """Gives this object the result of `erfinv` with the same arguments, converted to its dtype, and returns the object."""
    def exp(self, /) -> Tensor:
        """The exponential function, elementwise."""
    def exp2(self, /) -> Tensor:
        """Two to the power of each element."""
    def exp2_(self, /) -> Tensor:
        """Gives this object the result of `exp2` with the same arguments, converted to its dtype, and returns the object."""
    def exp_(self, /) -> Tensor:
        """Gives this object the result of `exp` with the same arguments, converted to its dtype, and returns the object."""
    @overload
    def expand(self, /, *sizes: SupportsIndex) -> Tensor:
        """`broadcast_to` to `sizes`, in which -1 stands for the size that the dimension has."""
    @overload
    def expand(self, /, sizes: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def expm1(self, /) -> Tensor:
        """`exp(x) - 1`, elementwise, exact also for small `x`."""
    def expm1_(self, /) -> Tensor:
        """Gives this object the result of `expm1` with the same arguments, converted to its dtype, and returns the object."""
    def fix(self, /) -> Tensor:
        """The whole part: each element without its fraction."""
    def fix_(self, /) -> Tensor:
        """Gives this object the result of `fix` with the same arguments, converted to its dtype, and returns the object."""
    def flatten(self, /, start_dim: SupportsIndex = 0, end_dim: SupportsIndex = -1) -> Tensor:
        """The dimensions from `start_dim` to `end_dim`, both included, merged into one."""
    @overload
    def flip(self, /, *dims: SupportsIndex) -> Tensor:
        """The elements in reverse order along `dims`, without copying."""
    @overload
    def flip(self, /, dims: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def fliplr(self, /) -> Tensor:
        """The columns in reverse order: a matrix turned over from left to right."""
    def flipud(self, /) -> Tensor:
        """The rows in reverse order: a matrix turned upside down."""
    def float_power(self, /, exponent: Tensor | _Number) -> Tensor:
        """`pow` in double precision: of anything, also of integers by negative ones."""
    def floor(self, /) -> Tensor:
        """The largest whole number not above each element."""
    def floor_(self, /) -> Tensor:
        """Gives this object the result of `floor` with the same arguments, converted to its dtype, and returns the object."""
    def floor_divide(self, /, other: Tensor | _Number) -> Tensor:
        """The quotient of each element and `other`, rounded down. Python's `//`."""
    def floor_divide_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `floor_divide` with the same arguments, converted to its dtype, and returns the object."""
    def fmax(self, /, other: Tensor | _Number) -> Tensor:
        """The larger of two elements, or the other one if one is NaN."""
    def fmin(self, /, other: Tensor | _Number) -> Tensor:
        """The smaller of two elements, or the other one if one is NaN."""
    def fmod(self, /, other: Tensor | _Number) -> Tensor:
        """What is left of each element after a division by `other` whose quotient is rounded towards zero: it has the
        sign of the element. Rust's `%`.
        """
    def fmod_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `fmod` with the same arguments, converted to its dtype, and returns the object."""
    def frac(self, /) -> Tensor:
        """What `trunc` takes off: the part behind the point, with the sign of the element."""
    def frexp(self, /) -> return_types.frexp:
        """Each element as a number from one half up to, but not including, 1, or its negative, and the whole power of 2 to
        multiply it with, as `int32`. Zeros, infinities and NaN have the power 0.
        """
    def gather(self, /, dim: SupportsIndex, index: Tensor) -> Tensor:
        """The elements along `dim` at the places that `index` gives, one by one:
        `out[.., i, ..] = x[.., index[.., i, ..], ..]`.
        """
    def gaussian_nll_loss(
        self,
        /,
        target: Tensor,
        var: Tensor,
        eps: SupportsFloat = 1e-6,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """The negative logarithm of the density that the normal distribution with mean `x` and variance `var` has at `target`, less a
        constant: `(log(v) + (x - t)²/v)/2` where `v` is the variance, at least `eps`.
        """
    def ge(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is larger or equal."""
    def ge_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `ge` with the same arguments, converted to its dtype, and returns the object."""
    def gelu(self, /, approximate: Literal['none', 'tanh'] = 'none') -> Tensor:
        """`gelu`, exact or by the formula of `gelu_tanh`."""
    def gelu_(self, /, approximate: Literal['none', 'tanh'] = 'none') -> Tensor:
        """Gives this object the result of `gelu` with the same arguments, converted to its dtype, and returns the object."""
    def gelu_tanh(self, /) -> Tensor:
        """`x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³)))`, elementwise: the approximation of `gelu` that
        PyTorch has as `approximate=\\"tanh\\"`.
        """
    def gelu_tanh_(self, /) -> Tensor:
        """Gives this object the result of `gelu_tanh` with the same arguments, converted to its dtype, and returns the object."""
    def ger(self, /, vec2: Tensor) -> Tensor:
        """The matrix of all products of an element of one vector with an element of another."""
    def glu(self, /, dim: SupportsIndex = -1) -> Tensor:
        """The first half along `dim` times the sigmoid of the second."""
    def greater(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is larger."""
    def greater_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `greater` with the same arguments, converted to its dtype, and returns the object."""
    def greater_equal(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is larger or equal."""
    def greater_equal_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `greater_equal` with the same arguments, converted to its dtype, and returns the object."""
    def grid_sample(
        self,
        /,
        grid: Tensor,
        mode: Literal['bilinear', 'nearest', 'bicubic'] = 'bilinear',
        padding_mode: Literal['zeros', 'border', 'reflection'] = 'zeros',
        align_corners: _bool | None = None,
    ) -> Tensor:
        """The elements of images at the places of a grid, which need not be those of elements."""
    def group_norm(
        self,
        /,
        num_groups: SupportsIndex,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: SupportsFloat = 1e-5,
    ) -> Tensor:
        """The elements of each of `num_groups` equal groups of channels of each image less their mean, over their standard deviation, times the
        weight of their channel, plus its bias.
        """
    def gt(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is larger."""
    def gt_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `gt` with the same arguments, converted to its dtype, and returns the object."""
    def hardshrink(self, /, lambd: SupportsFloat = 0.5) -> Tensor:
        """`x` where it is larger than `lambd` in size, else 0."""
    def hardsigmoid(self, /) -> Tensor:
        """`clamp(x/6 + 1/2, 0, 1)`, elementwise."""
    def hardsigmoid_(self, /) -> Tensor:
        """Gives this object the result of `hardsigmoid` with the same arguments, converted to its dtype, and returns the object."""
    def hardswish(self, /) -> Tensor:
        """`x·clamp(x + 3, 0, 6)/6`, elementwise."""
    def hardswish_(self, /) -> Tensor:
        """Gives this object the result of `hardswish` with the same arguments, converted to its dtype, and returns the object."""
    def hardtanh(self, /, min_val: SupportsFloat = -1.0, max_val: SupportsFloat = 1.0) -> Tensor:
        """`x`, at least `min_val` and at most `max_val`."""
    def hardtanh_(self, /, min_val: SupportsFloat = -1.0, max_val: SupportsFloat = 1.0) -> Tensor:
        """Gives this object the result of `hardtanh` with the same arguments, converted to its dtype, and returns the object."""
    def heaviside(self, /, values: Tensor) -> Tensor:
        """0 below 0, 1 above, and at 0 what `values` says; NaN for NaN."""
    def hinge_embedding_loss(
        self,
        /,
        target: Tensor,
        margin: SupportsFloat = 1.0,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """Distances where the target is 1, and how far they lie below `margin` where it is -1: `x`, or `max(0, margin - x)`."""
    def histc(self, /, bins: SupportsIndex = 100, min: SupportsFloat = 0.0, max: SupportsFloat = 0.0) -> Tensor:
        """How many elements fall into each of `bins` bins of equal width between `min` and `max`, or, if these are equal, between the
        smallest and the largest element; where those are equal too, the range goes on for 1 to both sides.
        """
    def histogram(self, /, bins: Tensor, weight: Tensor | None = None, density: _bool = False) -> Tensor:
        """How many elements fall into each of the bins between neighbouring `bins`, or the sum of their weights."""
    def huber_loss(
        self,
        /,
        target: Tensor,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
        delta: SupportsFloat = 1.0,
    ) -> Tensor:
        """Half the square of the difference from `target` where that is at most `delta` in size, else
        `delta·(|x - target| - delta/2)`.
        """
    def hypot(self, /, other: Tensor | _Number) -> Tensor:
        """`sqrt(x² + y²)`, elementwise, without overflow."""
    def hypot_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `hypot` with the same arguments, converted to its dtype, and returns the object."""
    def i0(self, /) -> Tensor:
        """The modified Bessel function of the first kind of order 0, elementwise."""
    def i0_(self, /) -> Tensor:
        """Gives this object the result of `i0` with the same arguments, converted to its dtype, and returns the object."""
    def i0e(self, /) -> Tensor:
        """`exp(-|x|)·i0(x)`, elementwise, which does not overflow."""
    def i1(self, /) -> Tensor:
        """The modified Bessel function of the first kind of order 1, elementwise."""
    def i1e(self, /) -> Tensor:
        """`exp(-|x|)·i1(x)`, elementwise, which does not overflow."""
    def im2col(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        stride: SupportsIndex | Iterable[SupportsIndex] = 1,
    ) -> Tensor:
        """The patches of images as columns of a matrix: what a convolution multiplies with its weight. PyTorch's
        `nn.functional.unfold`.
        """
    @overload
    def index_add(self, /, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor: ...
    @overload
    def index_add(self, /, dim: SupportsIndex, index: Tensor, source: Tensor, alpha: Tensor | _Number) -> Tensor: ...
    @overload
    def index_add_(self, /, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor: ...
    @overload
    def index_add_(self, /, dim: SupportsIndex, index: Tensor, source: Tensor, alpha: Tensor | _Number) -> Tensor: ...
    def index_copy(self, /, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor:
        """The tensor with slices of `source` written along `dim` at the places that `index` gives; of several writes to one
        place the last one stays.
        """
    def index_copy_(self, /, dim: SupportsIndex, index: Tensor, source: Tensor) -> Tensor:
        """Gives this object the result of `index_copy` with the same arguments, converted to its dtype, and returns the object."""
    def index_fill(self, /, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor:
        """The tensor with the slices along `dim` at the places that `index` gives filled with one value."""
    def index_fill_(self, /, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor:
        """Gives this object the result of `index_fill` with the same arguments, converted to its dtype, and returns the object."""
    def index_put(self, /, indices: Iterable[Tensor], values: Tensor | _Number, accumulate: _bool = False) -> Tensor:
        """The tensor with `values` in the part that an index selects, or added to it if `accumulate`: then several values
        for one position add up, in row-major order.
        """
    def index_put_(self, /, indices: Iterable[Tensor], values: Tensor | _Number, accumulate: _bool = False) -> Tensor:
        """Gives this object the result of `index_put` with the same arguments, converted to its dtype, and returns the object."""
    def index_reduce(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        source: Tensor,
        reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'],
        include_self: _bool = True,
    ) -> Tensor:
        """The tensor with slices of `source` joined to those along `dim` at the places that `index` gives; the slices that were
        there take part if `include_self`.
        """
    def index_reduce_(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        source: Tensor,
        reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'],
        include_self: _bool = True,
    ) -> Tensor:
        """Gives this object the result of `index_reduce` with the same arguments, converted to its dtype, and returns the object."""
    def index_select(self, /, dim: SupportsIndex, index: Tensor) -> Tensor:
        """The slices along `dim` at the places that `index` gives."""
    def inner(self, /, other: Tensor) -> Tensor:
        """The sums of products over the last dimensions: every vector of this tensor with every one of the other."""
    def instance_norm(
        self,
        /,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: SupportsFloat = 1e-5,
    ) -> Tensor:
        """The elements of each channel of each image less their mean, over their standard deviation, times the weight of their channel, plus
        its bias.
        """
    def interpolate(
        self,
        /,
        size: SupportsIndex | Iterable[SupportsIndex] | None = None,
        scale_factor: SupportsFloat | Iterable[SupportsFloat] | None = None,
        mode: Literal['nearest', 'nearest-exact', 'linear', 'bilinear', 'trilinear', 'bicubic', 'area'] = 'nearest',
        align_corners: _bool | None = None,
        antialias: _bool = False,
    ) -> Tensor:
        """Images of another size."""
    def inv(self, /) -> Tensor:
        """The inverses of matrices. To solve a system, `solve` is faster and more accurate."""
    def inverse(self, /) -> Tensor:
        """The inverses of matrices. To solve a system, `solve` is faster and more accurate."""
    def isclose(
        self,
        /,
        other: Tensor,
        rtol: SupportsFloat = 1e-5,
        atol: SupportsFloat = 1e-8,
        equal_nan: _bool = False,
    ) -> Tensor:
        """True where `|x - y| <= atol + rtol·|y|`; infinities are close to themselves, NaN to nothing unless `equal_nan`."""
    def isfinite(self, /) -> Tensor:
        """True where an element is neither infinite nor NaN."""
    def isfinite_(self, /) -> Tensor:
        """Gives this object the result of `isfinite` with the same arguments, converted to its dtype, and returns the object."""
    def isinf(self, /) -> Tensor:
        """True where an element is infinite."""
    def isinf_(self, /) -> Tensor:
        """Gives this object the result of `isinf` with the same arguments, converted to its dtype, and returns the object."""
    def isnan(self, /) -> Tensor:
        """True where an element is NaN."""
    def isnan_(self, /) -> Tensor:
        """Gives this object the result of `isnan` with the same arguments, converted to its dtype, and returns the object."""
    def kl_div(
        self,
        /,
        target: Tensor,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
        log_target: _bool = False,
    ) -> Tensor:
        """The divergence `t·(log(t) - x)` of logarithms of probabilities from the probabilities `t`, which are `target`, or its
        exponential with `log_target`. It is 0 where `t` is 0.
        """
    def kron(self, /, other: Tensor) -> Tensor:
        """Kronecker's product: every element of this tensor times the whole other one, as a block in its place."""
    def kthvalue(self, /, k: SupportsIndex, dim: SupportsIndex = -1, keepdim: _bool = False) -> return_types.kthvalue:
        """The element that comes at place `k`, counted from 1, if those along `dim` are put in rising order, and the position where it
        was, as `int64`.
        """
    def l1_loss(self, /, target: Tensor, reduction: Literal['none', 'mean', 'sum'] = 'mean') -> Tensor:
        """The absolute differences from `target`."""
    def layer_norm(
        self,
        /,
        normalized_shape: SupportsIndex | Iterable[SupportsIndex],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: SupportsFloat = 1e-5,
    ) -> Tensor:
        """The elements of each layer less their mean, over their standard deviation: `(x - mean)/sqrt(variance + eps)·weight + bias`. The
        variance is that of the elements themselves, divided by their number.
        """
    def ldexp(self, /, other: Tensor | _Number) -> Tensor:
        """The elements times 2 to the power of those of `other`, exact for whole ones, also where that power overflows."""
    def ldexp_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `ldexp` with the same arguments, converted to its dtype, and returns the object."""
    def le(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is smaller or equal."""
    def le_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `le` with the same arguments, converted to its dtype, and returns the object."""
    def leaky_relu(self, /, negative_slope: SupportsFloat = 0.01) -> Tensor:
        """`x` where it is positive, else `negative_slope·x`."""
    def leaky_relu_(self, /, negative_slope: SupportsFloat = 0.01) -> Tensor:
        """Gives this object the result of `leaky_relu` with the same arguments, converted to its dtype, and returns the object."""
    def lerp(self, /, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """The point between this tensor, for weight 0, and `end`, for weight 1: `x + weight·(end - x)`, which is exact at both
        ends. Other weights go beyond.
        """
    def lerp_(self, /, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """Gives this object the result of `lerp` with the same arguments, converted to its dtype, and returns the object."""
    def less(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is smaller."""
    def less_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `less` with the same arguments, converted to its dtype, and returns the object."""
    def less_equal(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is smaller or equal."""
    def less_equal_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `less_equal` with the same arguments, converted to its dtype, and returns the object."""
    def lgamma(self, /) -> Tensor:
        """The natural logarithm of the absolute value of the gamma function, elementwise; infinite at 0 and the negative
        whole numbers.
        """
    def lgamma_(self, /) -> Tensor:
        """Gives this object the result of `lgamma` with the same arguments, converted to its dtype, and returns the object."""
    def linear(self, /, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """The linear layer `self @ weightᵀ + bias`."""
    def local_response_norm(
        self,
        /,
        size: SupportsIndex,
        alpha: SupportsFloat = 0.0001,
        beta: SupportsFloat = 0.75,
        k: SupportsFloat = 1.0,
    ) -> Tensor:
        """Each element over `(k + alpha·mean(x²))^beta`, where the mean is over `size` neighbouring channels, zeros beyond the ends."""
    def log(self, /) -> Tensor:
        """The natural logarithm, elementwise; NaN below 0."""
    def log10(self, /) -> Tensor:
        """The logarithm to base 10, elementwise; NaN below 0."""
    def log10_(self, /) -> Tensor:
        """Gives this object the result of `log10` with the same arguments, converted to its dtype, and returns the object."""
    def log1p(self, /) -> Tensor:
        """`log(1 + x)`, elementwise, exact also for small `x`."""
    def log1p_(self, /) -> Tensor:
        """Gives this object the result of `log1p` with the same arguments, converted to its dtype, and returns the object."""
    def log2(self, /) -> Tensor:
        """The logarithm to base 2, elementwise; NaN below 0."""
    def log2_(self, /) -> Tensor:
        """Gives this object the result of `log2` with the same arguments, converted to its dtype, and returns the object."""
    def log_(self, /) -> Tensor:
        """Gives this object the result of `log` with the same arguments, converted to its dtype, and returns the object."""
    def log_sigmoid(self, /) -> Tensor:
        """The logarithm of `sigmoid`, elementwise, without underflow."""
    def log_softmax(self, /, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
        """`x - log(Σ exp(x))` along `dim`, the logarithm of `softmax` without its rounding."""
    def logaddexp(self, /, other: Tensor | _Number) -> Tensor:
        """`log(exp(x) + exp(y))`, elementwise, without overflow: the sum of two numbers given by their logarithms."""
    def logaddexp2(self, /, other: Tensor | _Number) -> Tensor:
        """`log2(2^x + 2^y)`, elementwise, without overflow: the sum of two numbers given by their logarithms to base 2."""
    def logcumsumexp(self, /, dim: SupportsIndex) -> Tensor:
        """The logarithm of the running sum of exponentials along `dim`: element `k` is `log(exp(x[0]) + … + exp(x[k]))`."""
    def logdet(self, /) -> Tensor:
        """The logarithms of the determinants of matrices: NaN where they are negative, -∞ where they are 0. Complex ones have an imaginary
        part between -π and π.
        """
    def logical_and(self, /, other: Tensor | _Number) -> Tensor:
        """True where both elements are true."""
    def logical_and_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `logical_and` with the same arguments, converted to its dtype, and returns the object."""
    def logical_not(self, /) -> Tensor:
        """True where an element is false or zero."""
    def logical_not_(self, /) -> Tensor:
        """Gives this object the result of `logical_not` with the same arguments, converted to its dtype, and returns the object."""
    def logical_or(self, /, other: Tensor | _Number) -> Tensor:
        """True where at least one element is true."""
    def logical_or_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `logical_or` with the same arguments, converted to its dtype, and returns the object."""
    def logical_xor(self, /, other: Tensor | _Number) -> Tensor:
        """True where exactly one element is true."""
    def logical_xor_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `logical_xor` with the same arguments, converted to its dtype, and returns the object."""
    def logit(self, /, eps: SupportsFloat | None = None) -> Tensor:
        """The logarithm of the odds, see `logit`, of elements that are first clamped to `eps` and `1 - eps`."""
    def logit_(self, /) -> Tensor:
        """Gives this object the result of `logit` with the same arguments, converted to its dtype, and returns the object."""
    def logsumexp(self, /, dim: SupportsIndex | Iterable[SupportsIndex], keepdim: _bool = False) -> Tensor:
        """`log(Σ exp(x))` over `dim`, all of them if the list is empty."""
    def lstsq(self, /, B: Tensor) -> return_types.lstsq:
        """The solutions `X` for which `A X` is nearest to `B`, this tensor being the matrices `A` of full rank; of many solutions the
        shortest.
        """
    def lt(self, /, other: Tensor | _Number) -> Tensor:
        """True where the left element is smaller."""
    def lt_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `lt` with the same arguments, converted to its dtype, and returns the object."""
    def lu(self, /) -> return_types.lu:
        """The factors of `A = P L U` by elimination with partial pivoting: a permutation, a lower triangle with ones on the
        diagonal, and an upper triangle.
        """
    def lu_factor(self, /) -> return_types.lu_factor:
        """The factors of `lu` in one matrix, and the order of the rows as `int64`."""
    def lu_solve(self, /, order: Tensor, B: Tensor) -> Tensor:
        """The solutions `X` of `A X = B` from what `lu_factor` made of `A`, this tensor being the factors."""
    def margin_ranking_loss(
        self,
        /,
        input2: Tensor,
        target: Tensor,
        margin: SupportsFloat = 0.0,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """`max(0, -t·(x - other) + margin)`: how far `x` is from being larger (for a target of 1) or smaller (for -1) than `input2` by the margin."""
    def masked_fill(self, /, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """The elements, with those where `mask` holds replaced by `value`."""
    def masked_fill_(self, /, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """Gives this object the result of `masked_fill` with the same arguments, converted to its dtype, and returns the object."""
    def masked_scatter(self, /, mask: Tensor, source: Tensor) -> Tensor:
        """The tensor with the elements at which a mask is true replaced by those of `source`, in turn."""
    def masked_scatter_(self, /, mask: Tensor, source: Tensor) -> Tensor:
        """Gives this object the result of `masked_scatter` with the same arguments, converted to its dtype, and returns the object."""
    def masked_select(self, /, mask: Tensor) -> Tensor:
        """The elements at which a mask is true, in row-major order, as a vector."""
    def matmul(self, /, other: Tensor) -> Tensor:
        """The matrix product."""
    def matrix_exp(self, /) -> Tensor:
        """The exponentials of matrices: `1 + A + A²/2 + A³/6 + …`."""
    def matrix_norm(self, /, ord: SupportsFloat | Literal['fro', 'nuc'] = 'fro', keepdim: _bool = False) -> Tensor:
        """A norm of the matrices in the last two dimensions."""
    def matrix_power(self, /, n: SupportsIndex) -> Tensor:
        """Whole powers of matrices, by repeated squaring. Power 0 is the identity, negative ones are powers of the inverse."""
    def matrix_rank(self, /, rtol: SupportsFloat | None = None) -> Tensor:
        """The numbers of singular values above `rtol` times the largest, as `int64`. By default `rtol` is the larger size of the matrix
        times the distance from 1 to the next number.
        """
    @overload
    def max(self, /, dim: SupportsIndex, keepdim: _bool = False) -> return_types.max: ...
    @overload
    def max(self, /) -> Tensor: ...
    @overload
    def max(self, /, other: Tensor | _Number) -> Tensor: ...
    def max_pool1d(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        ceil_mode: _bool = False,
    ) -> Tensor:
        """The largest element of each window over sequences. NaN is larger than all numbers."""
    def max_pool1d_with_indices(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        ceil_mode: _bool = False,
    ) -> return_types.max_pool1d_with_indices:
        """`max_pool1d`, and where in its sequence each element was, as `int64` in row-major order."""
    def max_pool2d(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        ceil_mode: _bool = False,
    ) -> Tensor:
        """The largest element of each window over images: `max_pool1d` over the last 2 dimensions. NaN is larger than all numbers."""
    def max_pool2d_with_indices(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        ceil_mode: _bool = False,
    ) -> return_types.max_pool2d_with_indices:
        """`max_pool2d`, and where in its image each element was, as `int64` in row-major order."""
    def max_pool3d(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        ceil_mode: _bool = False,
    ) -> Tensor:
        """The largest element of each window over volumes: `max_pool1d` over the last 3 dimensions. NaN is larger than all numbers."""
    def max_pool3d_with_indices(
        self,
        /,
        kernel_size: SupportsIndex | Iterable[SupportsIndex],
        stride: SupportsIndex | Iterable[SupportsIndex] | None = None,
        padding: SupportsIndex | Iterable[SupportsIndex] = 0,
        dilation: SupportsIndex | Iterable[SupportsIndex] = 1,
        ceil_mode: _bool = False,
    ) -> return_types.max_pool3d_with_indices:
        """`max_pool3d`, and where in its volume each element was, as `int64` in row-major order."""
    def maximum(self, /, other: Tensor | _Number) -> Tensor:
        """The larger of two elements; NaN if either is NaN."""
    def mean(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor:
        """The mean over `dim`, all of them if the list is empty."""
    @overload
    def median(self, /) -> Tensor: ...
    @overload
    def median(self, /, dim: SupportsIndex, keepdim: _bool = False) -> return_types.median: ...
    @overload
    def min(self, /, dim: SupportsIndex, keepdim: _bool = False) -> return_types.min: ...
    @overload
    def min(self, /) -> Tensor: ...
    @overload
    def min(self, /, other: Tensor | _Number) -> Tensor: ...
    def minimum(self, /, other: Tensor | _Number) -> Tensor:
        """The smaller of two elements; NaN if either is NaN."""
    def mish(self, /) -> Tensor:
        """`x·tanh(softplus(x))`, elementwise; 0 at minus infinity."""
    def mish_(self, /) -> Tensor:
        """Gives this object the result of `mish` with the same arguments, converted to its dtype, and returns the object."""
    def mm(self, /, mat2: Tensor) -> Tensor:
        """The product of two matrices: `matmul` of nothing else."""
    def mode(self, /, dim: SupportsIndex = -1, keepdim: _bool = False) -> return_types.mode:
        """The elements that occur most often along `dim`, of several the smallest, and where each is for the last time, as `int64`."""
    def moveaxis(
        self,
        /,
        source: SupportsIndex | Iterable[SupportsIndex],
        destination: SupportsIndex | Iterable[SupportsIndex],
    ) -> Tensor:
        """Dimensions moved to other places, the others keeping their order."""
    def movedim(
        self,
        /,
        source: SupportsIndex | Iterable[SupportsIndex],
        destination: SupportsIndex | Iterable[SupportsIndex],
    ) -> Tensor:
        """Dimensions moved to other places, the others keeping their order."""
    def mse_loss(self, /, target: Tensor, reduction: Literal['none', 'mean', 'sum'] = 'mean') -> Tensor:
        """`mse_loss` with another reduction than the mean."""
    def mul(self, /, other: Tensor | _Number) -> Tensor:
        """Multiplies by `other`, elementwise."""
    def multi_margin_loss(
        self,
        /,
        target: Tensor,
        margin: SupportsFloat = 1.0,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """`Σ max(0, margin - x[target] + x[k])/classes` over all classes `k` but the target, for scores `x`."""
    def multiply(self, /, other: Tensor | _Number) -> Tensor:
        """Multiplies by `other`, elementwise."""
    def multiply_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `multiply` with the same arguments, converted to its dtype, and returns the object."""
    def mv(self, /, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector: `matmul` of nothing else."""
    def nan_to_num(
        self,
        /,
        nan: SupportsFloat = 0.0,
        posinf: SupportsFloat | None = None,
        neginf: SupportsFloat | None = None,
    ) -> Tensor:
        """The elements, with NaN replaced by `nan`, infinity by `posinf` and minus infinity by `neginf`; `None` stands for the
        largest and the smallest finite number of the dtype.
        """
    def nan_to_num_(
        self,
        /,
        nan: SupportsFloat = 0.0,
        posinf: SupportsFloat | None = None,
        neginf: SupportsFloat | None = None,
    ) -> Tensor:
        """Gives this object the result of `nan_to_num` with the same arguments, converted to its dtype, and returns the object."""
    def nanmean(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor:
        """The mean over `dim` of the elements that are not NaN, over all dimensions if the list is empty."""
    @overload
    def nanmedian(self, /) -> Tensor: ...
    @overload
    def nanmedian(self, /, dim: SupportsIndex, keepdim: _bool = False) -> return_types.nanmedian: ...
    def nanquantile(
        self,
        /,
        q: Tensor | _Number,
        dim: SupportsIndex | None = None,
        keepdim: _bool = False,
        interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear',
    ) -> Tensor:
        """The `quantile`s of the elements that are not NaN; NaN where all are."""
    def nansum(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor:
        """The sum over `dim` of the elements that are not NaN, over all dimensions if the list is empty."""
    def narrow(self, /, dim: SupportsIndex, start: SupportsIndex, length: SupportsIndex) -> Tensor:
        """`length` elements along `dim` from `start` on, as a view."""
    def ne(self, /, other: Tensor | _Number) -> Tensor:
        """True where the elements differ."""
    def ne_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `ne` with the same arguments, converted to its dtype, and returns the object."""
    def neg(self, /) -> Tensor:
        """The negative, elementwise."""
    def neg_(self, /) -> Tensor:
        """Gives this object the result of `neg` with the same arguments, converted to its dtype, and returns the object."""
    def negative(self, /) -> Tensor:
        """The negative, elementwise."""
    def negative_(self, /) -> Tensor:
        """Gives this object the result of `negative` with the same arguments, converted to its dtype, and returns the object."""
    def nll_loss(
        self,
        /,
        target: Tensor,
        weight: Tensor | None = None,
        ignore_index: SupportsIndex = -100,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """The losses `-x[target]` of logarithms of probabilities, with weights of the classes, targets that are left out, and a choice of what
        becomes of the losses.
        """
    @overload
    def nonzero(self, /, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, /, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def norm(
        self,
        /,
        p: SupportsFloat = 2.0,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor: ...
    @overload
    def norm(
        self,
        /,
        p: Literal['fro', 'nuc'],
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor: ...
    def normalize(self, /, p: SupportsFloat = 2.0, dim: SupportsIndex = 1, eps: SupportsFloat = 1e-12) -> Tensor:
        """The tensor over its `p`-norms along `dim`, or over `eps` where they are smaller."""
    def not_equal(self, /, other: Tensor | _Number) -> Tensor:
        """True where the elements differ."""
    def not_equal_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `not_equal` with the same arguments, converted to its dtype, and returns the object."""
    def one_hot(self, /, num_classes: SupportsIndex = -1, dtype: _DTypeLike | None = 'int64') -> Tensor:
        """One at the position that each element names and zero elsewhere, along a new last dimension of size `num_classes`."""
    def outer(self, /, vec2: Tensor) -> Tensor:
        """The matrix of all products of an element of one vector with an element of another."""
    def pad(
        self,
        /,
        pad: SupportsIndex | Iterable[SupportsIndex],
        mode: Literal['constant', 'reflect', 'replicate', 'circular'] = 'constant',
        value: SupportsFloat = 0.0,
    ) -> Tensor:
        """The tensor with elements put around it."""
    def pairwise_distance(
        self,
        /,
        x2: Tensor,
        p: SupportsFloat = 2.0,
        eps: SupportsFloat = 1e-6,
        keepdim: _bool = False,
    ) -> Tensor:
        """The distances of the rows of two tensors: the `p`-norm of `x - y + eps` along the last dimension, where `eps` keeps the derivative
        finite.
        """
    @overload
    def permute(self, /, *dims: SupportsIndex) -> Tensor:
        """The dimensions in another order."""
    @overload
    def permute(self, /, dims: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def pinv(self, /, rtol: SupportsFloat | None = None) -> Tensor:
        """The pseudoinverses of matrices: what takes `b` to the shortest `x` for which `A x` is nearest to it."""
    def pixel_shuffle(self, /, upscale_factor: SupportsIndex) -> Tensor:
        """Images that are `upscale_factor` times as high and wide, each square of `factor²` pixels taken from as many channels."""
    def pixel_unshuffle(self, /, downscale_factor: SupportsIndex) -> Tensor:
        """Undoes `pixel_shuffle`: each pixel of a square of `factor²` goes to a channel of its own."""
    def poisson_nll_loss(
        self,
        /,
        target: Tensor,
        log_input: _bool = True,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """The negative logarithm of the probability that the Poisson distribution with the mean `exp(x)` (if `log_input`), or `x`, gives to
        the counts `target`, less a term that does not depend on `x`: `exp(x) - t·x`, or `x - t·log(x + 1e-8)`.
        """
    def polygamma(self, /, n: SupportsIndex) -> Tensor:
        """The derivative of order `n` of `digamma`, elementwise, which is that itself for 0. At 0 and the
        negative whole numbers it is infinite for odd `n` and NaN for even ones from 2 on.
        """
    def polygamma_(self, /, n: SupportsIndex) -> Tensor:
        """Gives this object the result of `polygamma` with the same arguments, converted to its dtype, and returns the object."""
    def pow(self, /, exponent: Tensor | _Number) -> Tensor:
        """The elements to the power of those of `exponent`, which may also be a number."""
    def pow_(self, /, exponent: Tensor | _Number) -> Tensor:
        """Gives this object the result of `pow` with the same arguments, converted to its dtype, and returns the object."""
    def prelu(self, /, weight: Tensor) -> Tensor:
        """`x` where it is positive, else `weight·x`, with one weight or one for each channel."""
    def prod(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor:
        """The product over `dim`, all of them if the list is empty."""
    def put(self, /, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """The tensor with the elements of `source` written at the places with the numbers that `index` gives, counted through
        in row-major order, or added there if `accumulate`.
        """
    def put_(self, /, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Gives this object the result of `put` with the same arguments, converted to its dtype, and returns the object."""
    def qr(self, /, complete: _bool = False) -> return_types.qr:
        """The factors of `A = Q R`: orthonormal columns and an upper triangle."""
    def quantile(
        self,
        /,
        q: Tensor | _Number,
        dim: SupportsIndex | None = None,
        keepdim: _bool = False,
        interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear',
    ) -> Tensor:
        """The quantiles `q` of the elements along `dim`, or for `None` of all elements; NaN where there is one."""
    def rad2deg(self, /) -> Tensor:
        """The angle in degrees of an angle in radians."""
    def rad2deg_(self, /) -> Tensor:
        """Gives this object the result of `rad2deg` with the same arguments, converted to its dtype, and returns the object."""
    def ravel(self, /) -> Tensor:
        """All elements in row-major order, as a vector."""
    def reciprocal(self, /) -> Tensor:
        """One over each element."""
    def reciprocal_(self, /) -> Tensor:
        """Gives this object the result of `reciprocal` with the same arguments, converted to its dtype, and returns the object."""
    def relu(self, /) -> Tensor:
        """`x` where it is positive, else 0; NaN for NaN."""
    def relu6(self, /) -> Tensor:
        """`clamp(x, 0, 6)`, elementwise."""
    def relu6_(self, /) -> Tensor:
        """Gives this object the result of `relu6` with the same arguments, converted to its dtype, and returns the object."""
    def relu_(self, /) -> Tensor:
        """Gives this object the result of `relu` with the same arguments, converted to its dtype, and returns the object."""
    def remainder(self, /, other: Tensor | _Number) -> Tensor:
        """What is left of each element after a division by `other` whose quotient is rounded down: it has the sign of
        the divisor. Python's `%`.
        """
    def remainder_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `remainder` with the same arguments, converted to its dtype, and returns the object."""
    def renorm(self, /, p: SupportsFloat, dim: SupportsIndex, maxnorm: SupportsFloat) -> Tensor:
        """The tensor with its slices along `dim` scaled so that their `p`-norms are at most `maxnorm`."""
    @overload
    def repeat(self, /, *repeats: SupportsIndex) -> Tensor:
        """Copies of the whole tensor side by side, `repeats[k]` of them along dimension `k`."""
    @overload
    def repeat(self, /, repeats: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    @overload
    def repeat_interleave(self, /, repeats: SupportsIndex, dim: SupportsIndex) -> Tensor: ...
    @overload
    def repeat_interleave(self, /, repeats: SupportsIndex) -> Tensor: ...
    @overload
    def repeat_interleave(self, /, repeats: Tensor, dim: SupportsIndex | None = None) -> Tensor: ...
    @overload
    def repeat_interleave(self, /, repeats: Tensor, dim: SupportsIndex, output_size: SupportsIndex) -> Tensor: ...
    @overload
    def repeat_interleave(
        self,
        /,
        repeats: Tensor,
        output_size: SupportsIndex,
        dim: SupportsIndex | None = None,
    ) -> Tensor: ...
    @overload
    def reshape(self, /, *shape: SupportsIndex) -> Tensor:
        """The same elements in row-major order under another shape."""
    @overload
    def reshape(self, /, shape: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def rms_norm(
        self,
        /,
        normalized_shape: SupportsIndex | Iterable[SupportsIndex],
        weight: Tensor | None = None,
        eps: SupportsFloat = 1.1920928955078125e-7,
    ) -> Tensor:
        """The elements of each layer over the root of the mean of their squares: `x/sqrt(mean(x²) + eps)·weight`."""
    def roll(
        self,
        /,
        shifts: SupportsIndex | Iterable[SupportsIndex],
        dims: SupportsIndex | Iterable[SupportsIndex] | None = None,
    ) -> Tensor:
        """The elements moved on by `shifts[k]` places along `dims[k]`; those that leave at one end enter at the other."""
    def rot90(self, /, k: SupportsIndex = 1, dims: SupportsIndex | Iterable[SupportsIndex] = (0, 1)) -> Tensor:
        """The tensor turned by `k` quarters from dimension `dims[0]` towards `dims[1]`, without copying; negative numbers turn
        the other way.
        """
    def round(self, /, decimals: SupportsIndex = 0) -> Tensor:
        """The nearest number with so many decimals; halves go to the even neighbour. Negative `decimals` are places before the point."""
    def round_(self, /) -> Tensor:
        """Gives this object the result of `round` with the same arguments, converted to its dtype, and returns the object."""
    def rsqrt(self, /) -> Tensor:
        """One over the square root, elementwise; NaN below 0."""
    def rsqrt_(self, /) -> Tensor:
        """Gives this object the result of `rsqrt` with the same arguments, converted to its dtype, and returns the object."""
    def scaled_dot_product_attention(
        self,
        /,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: SupportsFloat = 0.0,
        is_causal: _bool = False,
        scale: SupportsFloat | None = None,
        enable_gqa: _bool = False,
        seed: SupportsIndex | None = None,
    ) -> Tensor:
        """The mean of the values, for each query by the weights `softmax(scale·queries @ keysᵀ + mask)`."""
    @overload
    def scatter(self, /, dim: SupportsIndex, index: Tensor, src: Tensor | _Number) -> Tensor: ...
    @overload
    def scatter(self, /, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor: ...
    @overload
    def scatter(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        src: Tensor | _Number,
        reduce: Literal['add', 'multiply'],
    ) -> Tensor: ...
    @overload
    def scatter(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        value: Tensor | _Number,
        reduce: Literal['add', 'multiply'],
    ) -> Tensor: ...
    @overload
    def scatter_(self, /, dim: SupportsIndex, index: Tensor, src: Tensor | _Number) -> Tensor: ...
    @overload
    def scatter_(self, /, dim: SupportsIndex, index: Tensor, value: Tensor | _Number) -> Tensor: ...
    @overload
    def scatter_(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        src: Tensor | _Number,
        reduce: Literal['add', 'multiply'],
    ) -> Tensor: ...
    @overload
    def scatter_(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        value: Tensor | _Number,
        reduce: Literal['add', 'multiply'],
    ) -> Tensor: ...
    def scatter_add(self, /, dim: SupportsIndex, index: Tensor, src: Tensor | _Number) -> Tensor:
        """The tensor with elements of `src` added at the places that `index` gives along `dim`:
        `out[.., index[.., i, ..], ..] += src[.., i, ..]`, those that meet in row-major order of the index.
        """
    def scatter_add_(self, /, dim: SupportsIndex, index: Tensor, src: Tensor | _Number) -> Tensor:
        """Gives this object the result of `scatter_add` with the same arguments, converted to its dtype, and returns the object."""
    def scatter_reduce(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        src: Tensor,
        reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'],
        include_self: _bool = True,
    ) -> Tensor:
        """The tensor with elements of `src` joined to those at the places that `index` gives along `dim`:
        `out[.., index[.., i, ..], ..]` is the reduction of all `src[.., i, ..]` with this place, and of the element that
        was there if `include_self`.
        """
    def scatter_reduce_(
        self,
        /,
        dim: SupportsIndex,
        index: Tensor,
        src: Tensor,
        reduce: Literal['sum', 'prod', 'mean', 'amax', 'amin'],
        include_self: _bool = True,
    ) -> Tensor:
        """Gives this object the result of `scatter_reduce` with the same arguments, converted to its dtype, and returns the object."""
    def searchsorted(self, /, input: Tensor | _Number, right: _bool = False) -> Tensor:
        """For each of `input`, how many elements of this sorted sequence come before it: the place, as `int64`, where it is
        inserted to keep the order. With `right` it is inserted behind the elements equal to it, else before them.
        """
    def select(self, /, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
        """The slice at `index` along `dim`, without that dimension."""
    def select_scatter(self, /, src: Tensor, dim: SupportsIndex, index: SupportsIndex) -> Tensor:
        """The tensor with the slice at `index` along `dim` replaced by `src`."""
    def selu(self, /) -> Tensor:
        """`1.0507…·elu(x, 1.67326…)`, elementwise, with the constants of Klambauer et al. (2017)."""
    def selu_(self, /) -> Tensor:
        """Gives this object the result of `selu` with the same arguments, converted to its dtype, and returns the object."""
    def sgn(self, /) -> Tensor:
        """Each number divided by its absolute value, and 0 for 0: the sign of real numbers."""
    def sgn_(self, /) -> Tensor:
        """Gives this object the result of `sgn` with the same arguments, converted to its dtype, and returns the object."""
    def sigmoid(self, /) -> Tensor:
        """`1/(1 + exp(-x))`, elementwise, without overflow."""
    def sigmoid_(self, /) -> Tensor:
        """Gives this object the result of `sigmoid` with the same arguments, converted to its dtype, and returns the object."""
    def sign(self, /) -> Tensor:
        """-1, 0 or 1 for negative, zero and positive elements; NaN for NaN, where PyTorch gives 0."""
    def sign_(self, /) -> Tensor:
        """Gives this object the result of `sign` with the same arguments, converted to its dtype, and returns the object."""
    def signbit(self, /) -> Tensor:
        """True where an element has a minus sign: also for -0, and for a NaN that has one."""
    def signbit_(self, /) -> Tensor:
        """Gives this object the result of `signbit` with the same arguments, converted to its dtype, and returns the object."""
    def silu(self, /) -> Tensor:
        """`x·sigmoid(x)`, elementwise, with the limit 0 at minus infinity. Also known as swish."""
    def silu_(self, /) -> Tensor:
        """Gives this object the result of `silu` with the same arguments, converted to its dtype, and returns the object."""
    def sin(self, /) -> Tensor:
        """The sine, elementwise, of an angle in radians."""
    def sin_(self, /) -> Tensor:
        """Gives this object the result of `sin` with the same arguments, converted to its dtype, and returns the object."""
    def sinc(self, /) -> Tensor:
        """`sin(πx)/(πx)`, elementwise, 1 at 0; exactly 0 at the other whole numbers and at infinity."""
    def sinc_(self, /) -> Tensor:
        """Gives this object the result of `sinc` with the same arguments, converted to its dtype, and returns the object."""
    def sinh(self, /) -> Tensor:
        """The hyperbolic sine, elementwise."""
    def sinh_(self, /) -> Tensor:
        """Gives this object the result of `sinh` with the same arguments, converted to its dtype, and returns the object."""
    def slice(
        self,
        /,
        dim: SupportsIndex = 0,
        start: SupportsIndex | None = None,
        end: SupportsIndex | None = None,
        step: SupportsIndex = 1,
    ) -> Tensor:
        """The elements `start`, `start + step`, … before `end` along `dim`, as a view: `x[start:end:step]` in Python."""
    def slice_scatter(
        self,
        /,
        src: Tensor,
        dim: SupportsIndex = 0,
        start: SupportsIndex | None = None,
        end: SupportsIndex | None = None,
        step: SupportsIndex = 1,
    ) -> Tensor:
        """The tensor with `start..end` in steps of `step` along `dim` replaced by `src`."""
    def slogdet(self, /) -> return_types.slogdet:
        """The signs of the determinants of matrices, for complex ones `det / |det|`, and the natural logarithms of their magnitudes."""
    def smooth_l1_loss(
        self,
        /,
        target: Tensor,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
        beta: SupportsFloat = 1.0,
    ) -> Tensor:
        """`huber_loss` divided by its parameter: half the square of the difference over `beta` where that is at
        most `beta` in size, else `|x - target| - beta/2`. For `beta` 0 it is `l1_loss`.
        """
    def soft_margin_loss(self, /, target: Tensor, reduction: Literal['none', 'mean', 'sum'] = 'mean') -> Tensor:
        """`log(1 + exp(-t·x))`, for targets of 1 and -1, without overflow."""
    def softmax(self, /, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
        """`exp(x) / Σ exp(x)` along `dim`: positive numbers that add up to 1."""
    def softmin(self, /, dim: SupportsIndex) -> Tensor:
        """`softmax` of the negative."""
    def softplus(self, /) -> Tensor:
        """`log(1 + exp(x))`, elementwise, without overflow."""
    def softplus_(self, /) -> Tensor:
        """Gives this object the result of `softplus` with the same arguments, converted to its dtype, and returns the object."""
    def softshrink(self, /, lambd: SupportsFloat = 0.5) -> Tensor:
        """`x` moved towards 0 by `lambd`, and 0 where it is smaller than that in size."""
    def softsign(self, /) -> Tensor:
        """`x/(1 + |x|)`, elementwise, -1 and 1 at the infinities."""
    def softsign_(self, /) -> Tensor:
        """Gives this object the result of `softsign` with the same arguments, converted to its dtype, and returns the object."""
    def solve(self, /, B: Tensor) -> Tensor:
        """The solutions `X` of `A X = B`, this tensor being the matrices `A`."""
    def solve_triangular(self, /, B: Tensor, upper: _bool, left: _bool = True, unitriangular: _bool = False) -> Tensor:
        """The solutions `X` of `A X = B`, this tensor being the triangular matrices `A`; of `X A = B` unless `left`."""
    def sort(self, /, dim: SupportsIndex = -1, descending: _bool = False, stable: _bool = False) -> return_types.sort:
        """The elements in order along `dim`, and the positions where they were, as `int64`."""
    @overload
    def split(self, /, split_size_or_sections: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]: ...
    @overload
    def split(
        self,
        /,
        split_size_or_sections: SupportsIndex | Iterable[SupportsIndex],
        dim: SupportsIndex = 0,
    ) -> tuple[Tensor, ...]: ...
    def sqrt(self, /) -> Tensor:
        """The square root, elementwise; NaN below 0."""
    def sqrt_(self, /) -> Tensor:
        """Gives this object the result of `sqrt` with the same arguments, converted to its dtype, and returns the object."""
    def square(self, /) -> Tensor:
        """The square, elementwise."""
    def square_(self, /) -> Tensor:
        """Gives this object the result of `square` with the same arguments, converted to its dtype, and returns the object."""
    @overload
    def squeeze(self, /, dim: SupportsIndex) -> Tensor: ...
    @overload
    def squeeze(self, /) -> Tensor: ...
    @overload
    def std(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        correction: SupportsIndex = 1,
        keepdim: _bool = False,
    ) -> Tensor: ...
    @overload
    def std(self, /, dim: SupportsIndex | Iterable[SupportsIndex], unbiased: _bool, keepdim: _bool = False) -> Tensor: ...
    @overload
    def std(
        self,
        /,
        unbiased: _bool,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
    ) -> Tensor: ...
    @overload
    def sub(self, /, other: Tensor | _Number) -> Tensor: ...
    @overload
    def sub(self, /, other: Tensor | _Number, alpha: Tensor | _Number) -> Tensor: ...
    def subtract(self, /, other: Tensor | _Number) -> Tensor:
        """Subtracts `other`, elementwise."""
    def subtract_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `subtract` with the same arguments, converted to its dtype, and returns the object."""
    def sum(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
        dtype: _DTypeLike | None = None,
    ) -> Tensor:
        """The sum over `dim`, all of them if the list is empty."""
    @overload
    def sum_to_size(self, /, *size: SupportsIndex) -> Tensor:
        """The sum over everything that broadcasting repeated: the inverse of `broadcast_to` for cotangents."""
    @overload
    def sum_to_size(self, /, size: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def svd(self, /, full_matrices: _bool = True) -> return_types.svd:
        """The singular values `S` of matrices in falling order, with orthonormal vectors as the columns of `U` and the rows of `Vᵀ`:
        `A = U diag(S) Vᵀ`.
        """
    def svdvals(self, /) -> Tensor:
        """The singular values of matrices in falling order."""
    def swapaxes(self, /, axis0: SupportsIndex, axis1: SupportsIndex) -> Tensor:
        """Two dimensions exchanged."""
    def swapdims(self, /, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
        """Two dimensions exchanged."""
    def t(self, /) -> Tensor:
        """The transpose of a matrix."""
    def take(self, /, index: Tensor) -> Tensor:
        """The elements with the numbers that `index` gives, counted through in row-major order."""
    def take_along_dim(self, /, indices: Tensor, dim: SupportsIndex) -> Tensor:
        """The elements along `dim` at the places that `indices` gives, where tensor and index broadcast against each other
        in the other dimensions.
        """
    def tan(self, /) -> Tensor:
        """The tangent, elementwise, of an angle in radians."""
    def tan_(self, /) -> Tensor:
        """Gives this object the result of `tan` with the same arguments, converted to its dtype, and returns the object."""
    def tanh(self, /) -> Tensor:
        """The hyperbolic tangent, elementwise."""
    def tanh_(self, /) -> Tensor:
        """Gives this object the result of `tanh` with the same arguments, converted to its dtype, and returns the object."""
    def tanhshrink(self, /) -> Tensor:
        """`x - tanh(x)`, elementwise."""
    def tensor_split(self, /, indices_or_sections: SupportsIndex, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """The tensor cut along `dim` into exactly `indices_or_sections` parts whose sizes differ by at most 1, larger ones first. The
        parts are views.
        """
    def tensordot(
        self,
        /,
        other: Tensor,
        dims: SupportsIndex | Sequence[SupportsIndex | Iterable[SupportsIndex]] = 2,
    ) -> Tensor:
        """The sums of products over pairs of dimensions: those of `dims`, or with a number `n` the last `n` dimensions of this tensor
        and the first `n` of the other one.
        """
    def threshold(self, /, threshold: SupportsFloat, value: SupportsFloat) -> Tensor:
        """`x` where it is larger than `threshold`, else `value`."""
    def threshold_(self, /, threshold: SupportsFloat, value: SupportsFloat) -> Tensor:
        """Gives this object the result of `threshold` with the same arguments, converted to its dtype, and returns the object."""
    @overload
    def tile(self, /, *dims: SupportsIndex) -> Tensor:
        """Copies of the whole tensor side by side, `repeats[k]` of them along dimension `k`, counted so that the last entry
        speaks of the last dimension.
        """
    @overload
    def tile(self, /, dims: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def to_dtype(self, /, dtype: _DTypeLike) -> Tensor:
        """The elements converted to another dtype."""
    def topk(
        self,
        /,
        k: SupportsIndex,
        dim: SupportsIndex = -1,
        largest: _bool = True,
        sorted: _bool = True,
    ) -> return_types.topk:
        """The `k` largest (or smallest) elements along `dim`, and the positions where they were, as `int64`."""
    def trace(self, /) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, /, dim0: SupportsIndex, dim1: SupportsIndex) -> Tensor:
        """Two dimensions exchanged."""
    def tril(self, /, diagonal: SupportsIndex = 0) -> Tensor:
        """The lower triangle of the matrices in the last two dimensions: zeros above diagonal number `diagonal`."""
    def tril_(self, /, diagonal: SupportsIndex = 0) -> Tensor:
        """Gives this object the result of `tril` with the same arguments, converted to its dtype, and returns the object."""
    def triplet_margin_loss(
        self,
        /,
        positive: Tensor,
        negative: Tensor,
        margin: SupportsFloat = 1.0,
        p: SupportsFloat = 2.0,
        reduction: Literal['none', 'mean', 'sum'] = 'mean',
    ) -> Tensor:
        """`max(0, |x - positive| - |x - negative| + margin)`: how far the distance to `negative` is from being larger than that to `positive` by
        the margin. Distances are those of `pairwise_distance`.
        """
    def triu(self, /, diagonal: SupportsIndex = 0) -> Tensor:
        """The upper triangle of the matrices in the last two dimensions: zeros below diagonal number `diagonal`."""
    def triu_(self, /, diagonal: SupportsIndex = 0) -> Tensor:
        """Gives this object the result of `triu` with the same arguments, converted to its dtype, and returns the object."""
    def true_divide(self, /, other: Tensor | _Number) -> Tensor:
        """Divides by `other`, elementwise; integers are divided as floats."""
    def true_divide_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `true_divide` with the same arguments, converted to its dtype, and returns the object."""
    def trunc(self, /) -> Tensor:
        """The whole part: each element without its fraction."""
    def trunc_(self, /) -> Tensor:
        """Gives this object the result of `trunc` with the same arguments, converted to its dtype, and returns the object."""
    def unbind(self, /, dim: SupportsIndex = 0) -> tuple[Tensor, ...]:
        """The slices along `dim`, each without that dimension. They are views."""
    def unflatten(self, /, dim: SupportsIndex, sizes: SupportsIndex | Iterable[SupportsIndex]) -> Tensor:
        """Dimension `dim` split into several: the inverse of `flatten`."""
    def unfold(self, /, dimension: SupportsIndex, size: SupportsIndex, step: SupportsIndex) -> Tensor:
        """All windows of `size` elements along `dimension`, one every `step` elements, as a view: element `k` of window `i` is element
        `i * step + k` of the tensor.
        """
    @overload
    def unique(
        self,
        /,
        sorted: _bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: SupportsIndex | None = None,
    ) -> Tensor: ...
    @overload
    def unique(
        self,
        /,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        sorted: _bool = True,
        dim: SupportsIndex | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        /,
        return_counts: Literal[True],
        return_inverse: Literal[False] = False,
        sorted: _bool = True,
        dim: SupportsIndex | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(
        self,
        /,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        sorted: _bool = True,
        dim: SupportsIndex | None = None,
    ) -> return_types.unique: ...
    @overload
    def unique_consecutive(
        self,
        /,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: SupportsIndex | None = None,
    ) -> Tensor: ...
    @overload
    def unique_consecutive(
        self,
        /,
        return_inverse: Literal[True],
        return_counts: Literal[False] = False,
        dim: SupportsIndex | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        /,
        return_counts: Literal[True],
        return_inverse: Literal[False] = False,
        dim: SupportsIndex | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(
        self,
        /,
        return_inverse: Literal[True],
        return_counts: Literal[True],
        dim: SupportsIndex | None = None,
    ) -> return_types.unique_consecutive: ...
    def unsqueeze(self, /, dim: SupportsIndex) -> Tensor:
        """A dimension of size 1 put in at `dim`."""
    @overload
    def var(
        self,
        /,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        correction: SupportsIndex = 1,
        keepdim: _bool = False,
    ) -> Tensor: ...
    @overload
    def var(self, /, dim: SupportsIndex | Iterable[SupportsIndex], unbiased: _bool, keepdim: _bool = False) -> Tensor: ...
    @overload
    def var(
        self,
        /,
        unbiased: _bool,
        dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
        keepdim: _bool = False,
    ) -> Tensor: ...
    def vdot(self, /, other: Tensor) -> Tensor:
        """The scalar product of two vectors, the first of which is conjugated if it is complex."""
    @overload
    def view(self, /, *shape: SupportsIndex) -> Tensor:
        """The same elements in row-major order under another shape."""
    @overload
    def view(self, /, shape: SupportsIndex | Iterable[SupportsIndex]) -> Tensor: ...
    def view_as_complex(self, /) -> Tensor:
        """Complex numbers whose real and imaginary parts lie along the last dimension, of size 2."""
    def view_as_real(self, /) -> Tensor:
        """Real and imaginary part along one more dimension, the last one."""
    def where(self, /, condition: Tensor, other: Tensor | _Number) -> Tensor:
        """The elements of `input` where this condition holds, and those of `other` elsewhere."""
    def xlogy(self, /, other: Tensor | _Number) -> Tensor:
        """`x·log(y)`, elementwise, and 0 where `x` is 0, unless `y` is NaN."""
    def xlogy_(self, /, other: Tensor | _Number) -> Tensor:
        """Gives this object the result of `xlogy` with the same arguments, converted to its dtype, and returns the object."""

def tensor(
    data: Any,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def as_tensor(data: Any, dtype: _DTypeLike | None = None, device: str | None = None) -> Tensor: ...

def zeros(
    *size: SupportsIndex | Sequence[SupportsIndex],
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...

def ones(
    *size: SupportsIndex | Sequence[SupportsIndex],
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...

def empty(
    *size: SupportsIndex | Sequence[SupportsIndex],
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...

def full(
    size: SupportsIndex | Sequence[SupportsIndex],
    fill_value: _Number | Tensor,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def eye(
    n: SupportsIndex,
    m: SupportsIndex | None = None,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def arange(
    start: _Number | Tensor,
    end: _Number | Tensor | None = None,
    step: _Number | Tensor | None = None,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def linspace(
    start: _Number | Tensor,
    end: _Number | Tensor,
    steps: SupportsIndex,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def logspace(
    start: _Number | Tensor,
    end: _Number | Tensor,
    steps: SupportsIndex,
    base: SupportsFloat = 10.0,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def tril_indices(row: SupportsIndex, col: SupportsIndex, offset: SupportsIndex = 0) -> Tensor: ...

def triu_indices(row: SupportsIndex, col: SupportsIndex, offset: SupportsIndex = 0) -> Tensor: ...

def zeros_like(
    input: Tensor,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def ones_like(
    input: Tensor,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def empty_like(
    input: Tensor,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def full_like(
    input: Tensor,
    fill_value: _Number | Tensor,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def from_dlpack(x: Any, *, copy: _bool | None = None) -> Tensor: ...

@final
class _Memory:
    """The elements of a tensor at one moment, which NumPy may look at: they do not change, whatever happens to the tensor."""

    @property
    def __array_struct__(self) -> Any: ...

def from_numpy(array: Any, *, copy: _bool = True) -> Tensor: ...

def _rebuild_tensor(dtype: Any, shape: Any, data: Any, requires_grad: Any) -> Any:
    """What a pickled tensor is made with again."""

tree: Any

func: Any

_operations: dict[str, dict[str, Any]]

def _signatures() -> Any:
    """The signatures of all operations with their types, of which the stubs are made: for each, its namespaces (none: a method), its
    name, its documentation, and for each overload the parameters and the type of the result.
    """

@final
class Key:
    """What random numbers are drawn from: the same key gives the same numbers, on every machine."""

    def __new__(cls, seed: SupportsIndex) -> Key: ...
    def fold_in(self, number: SupportsIndex) -> Key: ...
    def split(self, num: SupportsIndex = 2) -> list[Key]: ...
    def __eq__(self, value: Any, /) -> Any:
        """Return self==value."""
    def __ge__(self, value: Any, /) -> Any:
        """Return self>=value."""
    def __gt__(self, value: Any, /) -> Any:
        """Return self>value."""
    def __hash__(self, /) -> Any:
        """Return hash(self)."""
    def __le__(self, value: Any, /) -> Any:
        """Return self<=value."""
    def __lt__(self, value: Any, /) -> Any:
        """Return self<value."""
    def __ne__(self, value: Any, /) -> Any:
        """Return self!=value."""
    def alpha_dropout(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """Dropout that keeps mean 0 and variance 1, for networks with `selu`: each element is replaced, with probability
        `p`, by the value of `selu` at minus infinity, and all are scaled and shifted.
        """
    def bernoulli(self, /, p: Tensor | _Number, shape: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Tensor:
        """Bools that are true with probability `p`; for a number to the nearest multiple of 2⁻³²."""
    def beta(
        self,
        /,
        a: Tensor | _Number,
        b: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the beta distribution on [0, 1], `x / (x + y)` of two of the gamma distribution with the concentrations
        `a` and `b`.
        """
    def binomial(
        self,
        /,
        count: Tensor | _Number,
        p: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """How many of `count` trials succeed if each does with probability `p`."""
    def categorical(self, /, logits: Tensor, shape: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Tensor:
        """Numbers of categories, as `int64`, with the probabilities that `softmax` gives the logits."""
    def cauchy(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the Cauchy distribution with median 0 and scale 1, which has no mean."""
    def chi2(
        self,
        /,
        df: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the χ² distribution with `df` degrees of freedom, not only whole ones: twice those of the gamma
        distribution of concentration `df / 2`.
        """
    def choice(self, /, x: Tensor, count: SupportsIndex, dim: SupportsIndex = 0, replacement: _bool = True) -> Tensor:
        """`count` parts of `x` along `dim`, each equally likely. Without `replacement`, no part is chosen twice."""
    def dirichlet(
        self,
        /,
        concentration: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Vectors of positive numbers with sum 1: those of the gamma distribution, divided by their sum."""
    def dropout(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`x` with each element set to zero with probability `p` (NaN and infinities too), and the others divided by
        `1 - p`.
        """
    def dropout1d(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`dropout` of whole channels of sequences: each sequence `[length]` of `x` is set to zero with probability `p`, the
        others are divided by `1 - p`.
        """
    def dropout2d(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`dropout1d` of whole channels of images `[height, width]`."""
    def dropout3d(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`dropout1d` of whole channels of volumes `[depth, height, width]`."""
    def exponential(
        self,
        /,
        rate: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the exponential distribution with the given rate: the mean is `1 / rate`."""
    def gamma(
        self,
        /,
        concentration: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the gamma distribution with the given concentration and rate 1: mean and variance are the concentration."""
    def geometric(
        self,
        /,
        p: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """How many trials fail before the first that succeeds, if each does with probability `p`."""
    def gumbel(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the Gumbel distribution with mode 0 and scale 1: what is added to logits to sample from them."""
    def laplace(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the Laplace distribution with mean 0 and scale 1; the variance is 2."""
    def log_normal(
        self,
        /,
        mean: Tensor | _Number,
        std: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers whose logarithms have a normal distribution with the given mean and standard deviation."""
    def multinomial(self, /, weights: Tensor, count: SupportsIndex, replacement: _bool = False) -> Tensor:
        """`count` numbers of categories, as `int64`, with probabilities proportional to the weights. Without `replacement`, no
        category is drawn twice; they come in the order in which they are drawn.
        """
    def normal(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the normal distribution with mean 0 and variance 1."""
    def permutation(self, /, n: SupportsIndex) -> Tensor:
        """The numbers `0..n` in random order, as `int64`; every order is equally likely."""
    def poisson(
        self,
        /,
        rate: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """How many events there are if they are independent of each other and `rate` are expected: Poisson's distribution."""
    def randint(
        self,
        /,
        low: SupportsIndex,
        high: SupportsIndex,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """Integers uniform in `low..high`."""
    def shuffle(self, /, x: Tensor, dim: SupportsIndex = 0) -> Tensor:
        """`x` with its parts along `dim` in random order."""
    def student_t(
        self,
        /,
        df: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of Student's t distribution with `df` degrees of freedom: a normal one, divided by the root of one of
        `chi2` over `df`.
        """
    def truncated_normal(
        self,
        /,
        lower: Tensor | _Number,
        upper: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the standard normal distribution between `lower` and `upper`, which may be infinite."""
    def uniform(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers uniform in [0, 1): multiples of 2⁻¹¹ for `f16`, of 2⁻⁸ for `bf16`, of 2⁻²⁴ for `f32`, of
        2⁻⁵³ for `float64`.
        """

@final
class Generator:
    """A key with a counter: each draw takes other numbers, those of the next key."""

    def __new__(cls, seed: SupportsIndex | None = None) -> Generator: ...
    def manual_seed(self, seed: SupportsIndex) -> Generator: ...
    def initial_seed(self) -> _int: ...
    def next_key(self) -> Key: ...
    def alpha_dropout(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """Dropout that keeps mean 0 and variance 1, for networks with `selu`: each element is replaced, with probability
        `p`, by the value of `selu` at minus infinity, and all are scaled and shifted.
        """
    def bernoulli(self, /, p: Tensor | _Number, shape: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Tensor:
        """Bools that are true with probability `p`; for a number to the nearest multiple of 2⁻³²."""
    def beta(
        self,
        /,
        a: Tensor | _Number,
        b: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the beta distribution on [0, 1], `x / (x + y)` of two of the gamma distribution with the concentrations
        `a` and `b`.
        """
    def binomial(
        self,
        /,
        count: Tensor | _Number,
        p: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """How many of `count` trials succeed if each does with probability `p`."""
    def categorical(self, /, logits: Tensor, shape: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Tensor:
        """Numbers of categories, as `int64`, with the probabilities that `softmax` gives the logits."""
    def cauchy(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the Cauchy distribution with median 0 and scale 1, which has no mean."""
    def chi2(
        self,
        /,
        df: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the χ² distribution with `df` degrees of freedom, not only whole ones: twice those of the gamma
        distribution of concentration `df / 2`.
        """
    def choice(self, /, x: Tensor, count: SupportsIndex, dim: SupportsIndex = 0, replacement: _bool = True) -> Tensor:
        """`count` parts of `x` along `dim`, each equally likely. Without `replacement`, no part is chosen twice."""
    def dirichlet(
        self,
        /,
        concentration: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Vectors of positive numbers with sum 1: those of the gamma distribution, divided by their sum."""
    def dropout(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`x` with each element set to zero with probability `p` (NaN and infinities too), and the others divided by
        `1 - p`.
        """
    def dropout1d(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`dropout` of whole channels of sequences: each sequence `[length]` of `x` is set to zero with probability `p`, the
        others are divided by `1 - p`.
        """
    def dropout2d(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`dropout1d` of whole channels of images `[height, width]`."""
    def dropout3d(self, /, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
        """`dropout1d` of whole channels of volumes `[depth, height, width]`."""
    def exponential(
        self,
        /,
        rate: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the exponential distribution with the given rate: the mean is `1 / rate`."""
    def gamma(
        self,
        /,
        concentration: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the gamma distribution with the given concentration and rate 1: mean and variance are the concentration."""
    def geometric(
        self,
        /,
        p: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """How many trials fail before the first that succeeds, if each does with probability `p`."""
    def gumbel(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the Gumbel distribution with mode 0 and scale 1: what is added to logits to sample from them."""
    def laplace(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the Laplace distribution with mean 0 and scale 1; the variance is 2."""
    def log_normal(
        self,
        /,
        mean: Tensor | _Number,
        std: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers whose logarithms have a normal distribution with the given mean and standard deviation."""
    def multinomial(self, /, weights: Tensor, count: SupportsIndex, replacement: _bool = False) -> Tensor:
        """`count` numbers of categories, as `int64`, with probabilities proportional to the weights. Without `replacement`, no
        category is drawn twice; they come in the order in which they are drawn.
        """
    def normal(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the normal distribution with mean 0 and variance 1."""
    def permutation(self, /, n: SupportsIndex) -> Tensor:
        """The numbers `0..n` in random order, as `int64`; every order is equally likely."""
    def poisson(
        self,
        /,
        rate: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """How many events there are if they are independent of each other and `rate` are expected: Poisson's distribution."""
    def randint(
        self,
        /,
        low: SupportsIndex,
        high: SupportsIndex,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'int64',
    ) -> Tensor:
        """Integers uniform in `low..high`."""
    def shuffle(self, /, x: Tensor, dim: SupportsIndex = 0) -> Tensor:
        """`x` with its parts along `dim` in random order."""
    def student_t(
        self,
        /,
        df: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of Student's t distribution with `df` degrees of freedom: a normal one, divided by the root of one of
        `chi2` over `df`.
        """
    def truncated_normal(
        self,
        /,
        lower: Tensor | _Number,
        upper: Tensor | _Number,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers of the standard normal distribution between `lower` and `upper`, which may be infinite."""
    def uniform(
        self,
        /,
        shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
        dtype: _DTypeLike | None = 'float32',
    ) -> Tensor:
        """Numbers uniform in [0, 1): multiples of 2⁻¹¹ for `f16`, of 2⁻⁸ for `bf16`, of 2⁻²⁴ for `f32`, of
        2⁻⁵³ for `float64`.
        """

default_generator: Generator

def _rebuild_key(bits: Any) -> Any: ...

def manual_seed(seed: SupportsIndex) -> Generator: ...

def initial_seed() -> _int: ...

def rand(
    *size: SupportsIndex | Sequence[SupportsIndex],
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...

def rand_like(
    input: Tensor,
    *,
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def randn(
    *size: SupportsIndex | Sequence[SupportsIndex],
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
    **named: SupportsIndex | Sequence[SupportsIndex],
) -> Tensor: ...

def randn_like(
    input: Tensor,
    *,
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

@overload
def randint(
    low: SupportsIndex,
    high: SupportsIndex | Sequence[SupportsIndex],
    *,
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    high: SupportsIndex,
    size: SupportsIndex | Sequence[SupportsIndex],
    *,
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...
@overload
def randint(
    low: SupportsIndex,
    *,
    size: SupportsIndex | Sequence[SupportsIndex],
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    requires_grad: _bool = False,
) -> Tensor: ...

def randperm(
    n: SupportsIndex,
    *,
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
) -> Tensor: ...

def normal(
    mean: _Number | Tensor | None = None,
    std: _Number | Tensor | None = None,
    size: SupportsIndex | Sequence[SupportsIndex] | None = None,
    *,
    generator: Generator | Key | None = None,
    dtype: _DTypeLike | None = None,
) -> Tensor: ...

def bernoulli(input: Tensor, *, generator: Generator | Key | None = None) -> Tensor: ...

def poisson(input: Tensor, *, generator: Generator | Key | None = None) -> Tensor: ...

def multinomial(
    input: Tensor,
    num_samples: SupportsIndex,
    replacement: _bool = False,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

@final
class finfo:
    """The limits of a floating dtype, `float32` unless one is given; those of a complex one are those of its parts."""

    def __new__(cls, dtype: _DTypeLike | None = None, /) -> finfo: ...
    @property
    def dtype(self) -> str: ...
    @property
    def bits(self) -> _int: ...
    @property
    def eps(self) -> _float: ...
    @property
    def max(self) -> _float: ...
    @property
    def min(self) -> _float: ...
    @property
    def tiny(self) -> _float: ...
    @property
    def smallest_normal(self) -> _float: ...
    @property
    def resolution(self) -> _float: ...

@final
class iinfo:
    """The limits of an integer dtype."""

    def __new__(cls, dtype: _DTypeLike, /) -> iinfo: ...
    @property
    def dtype(self) -> str: ...
    @property
    def bits(self) -> _int: ...
    @property
    def max(self) -> _int: ...
    @property
    def min(self) -> _int: ...

def is_tensor(obj: object, /) -> _bool: ...

def is_floating_point(input: Tensor) -> _bool: ...

def is_complex(input: Tensor) -> _bool: ...

def numel(input: Tensor) -> _int: ...

def clone(input: Tensor) -> Tensor: ...

def broadcast_shapes(*shapes: SupportsIndex | Sequence[SupportsIndex]) -> tuple[_int, ...]: ...

def promote_types(type1: _DTypeLike, type2: _DTypeLike) -> _dtype: ...

def result_type(*tensors: Tensor | _Number) -> _dtype: ...

_init: Any

_io: Any

def num_threads() -> _int: ...

def set_num_threads(threads: SupportsIndex) -> None: ...

def clear_cache() -> None: ...

def live_bytes() -> _int: ...
