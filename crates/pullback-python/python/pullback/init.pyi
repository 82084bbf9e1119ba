"""First values of parameters, as new tensors and, with a `_` behind the name, in the place of those of a tensor."""

# Written by stubs/write.py.

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from ._core import Generator, Key, Tensor, _bool, _int, _float, _complex, _dtype, _Number, _DTypeLike

def calculate_gain(nonlinearity: str, param: _float | None = None) -> _float: ...

def constant(
    shape: SupportsIndex | Iterable[SupportsIndex],
    val: SupportsFloat = 0.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def constant_(tensor: Tensor, val: SupportsFloat = 0.0, *, generator: Generator | Key | None = None) -> Tensor: ...

def dirac(
    shape: SupportsIndex | Iterable[SupportsIndex],
    groups: SupportsIndex = 1,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def dirac_(tensor: Tensor, groups: SupportsIndex = 1, *, generator: Generator | Key | None = None) -> Tensor: ...

def kaiming_normal(
    shape: SupportsIndex | Iterable[SupportsIndex],
    a: SupportsFloat = 0.0,
    mode: Literal['fan_in', 'fan_out'] = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def kaiming_normal_(
    tensor: Tensor,
    a: SupportsFloat = 0.0,
    mode: Literal['fan_in', 'fan_out'] = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def kaiming_uniform(
    shape: SupportsIndex | Iterable[SupportsIndex],
    a: SupportsFloat = 0.0,
    mode: Literal['fan_in', 'fan_out'] = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def kaiming_uniform_(
    tensor: Tensor,
    a: SupportsFloat = 0.0,
    mode: Literal['fan_in', 'fan_out'] = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def normal(
    shape: SupportsIndex | Iterable[SupportsIndex],
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def normal_(
    tensor: Tensor,
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def ones(
    shape: SupportsIndex | Iterable[SupportsIndex],
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def ones_(tensor: Tensor, *, generator: Generator | Key | None = None) -> Tensor: ...

def orthogonal(
    shape: SupportsIndex | Iterable[SupportsIndex],
    gain: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def orthogonal_(tensor: Tensor, gain: SupportsFloat = 1.0, *, generator: Generator | Key | None = None) -> Tensor: ...

def sparse(
    shape: SupportsIndex | Iterable[SupportsIndex],
    sparsity: SupportsFloat = 0.5,
    std: SupportsFloat = 0.01,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def sparse_(
    tensor: Tensor,
    sparsity: SupportsFloat = 0.5,
    std: SupportsFloat = 0.01,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def trunc_normal(
    shape: SupportsIndex | Iterable[SupportsIndex],
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    a: SupportsFloat = ...,
    b: SupportsFloat = 2.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def trunc_normal_(
    tensor: Tensor,
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    a: SupportsFloat = ...,
    b: SupportsFloat = 2.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def uniform(
    shape: SupportsIndex | Iterable[SupportsIndex],
    a: SupportsFloat = 0.0,
    b: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def uniform_(
    tensor: Tensor,
    a: SupportsFloat = 0.0,
    b: SupportsFloat = 1.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def xavier_normal(
    shape: SupportsIndex | Iterable[SupportsIndex],
    gain: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def xavier_normal_(
    tensor: Tensor,
    gain: SupportsFloat = 1.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def xavier_uniform(
    shape: SupportsIndex | Iterable[SupportsIndex],
    gain: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def xavier_uniform_(
    tensor: Tensor,
    gain: SupportsFloat = 1.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def zeros(
    shape: SupportsIndex | Iterable[SupportsIndex],
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor: ...

def zeros_(tensor: Tensor, *, generator: Generator | Key | None = None) -> Tensor: ...
