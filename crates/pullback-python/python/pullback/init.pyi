"""First values of parameters, as new tensors and, with a `_` behind the name, in the place of those of a tensor."""

# Written by stubs/write.py.

from collections.abc import Sequence
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex

from ._core import DTypeLike, Generator, Key, Tensor

def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a weight makes up for the function behind its layer."""

def constant(
    shape: SupportsIndex | Sequence[SupportsIndex],
    val: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """The number everywhere."""

def constant_(tensor: Tensor, val: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`constant` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def dirac(
    shape: SupportsIndex | Sequence[SupportsIndex],
    groups: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """The weight of a convolution that gives back its input, as far as there are channels."""

def dirac_(tensor: Tensor, groups: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`dirac` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def kaiming_normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    a: Any = ...,
    mode: str = ...,
    nonlinearity: str = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution, for layers before a `relu` or another function: He et al., 2015. See `kaiming_uniform`."""

def kaiming_normal_(
    tensor: Tensor,
    a: Any = ...,
    mode: str = ...,
    nonlinearity: str = ...,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`kaiming_normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def kaiming_uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    a: Any = ...,
    mode: str = ...,
    nonlinearity: str = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers uniform around 0, for layers before a `relu` or another function: He et al., 2015."""

def kaiming_uniform_(
    tensor: Tensor,
    a: Any = ...,
    mode: str = ...,
    nonlinearity: str = ...,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`kaiming_uniform` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    mean: Any = ...,
    std: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution."""

def normal_(tensor: Tensor, mean: Any = ..., std: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def ones(
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Ones everywhere."""

def ones_(tensor: Tensor, *, generator: Generator | Key | None = None) -> Tensor:
    """`ones` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def orthogonal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    gain: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """A matrix whose rows or columns, whichever are fewer, are perpendicular and of length `gain`: Saxe et al., 2013. Further
    dimensions count as one with the second.
    """

def orthogonal_(tensor: Tensor, gain: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`orthogonal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def sparse(
    shape: SupportsIndex | Sequence[SupportsIndex],
    sparsity: Any = ...,
    std: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """A matrix of which each column has a part `sparsity` of zeros, and numbers of a normal distribution else: Martens, 2010."""

def sparse_(tensor: Tensor, sparsity: Any = ..., std: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`sparse` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def trunc_normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    mean: Any = ...,
    std: Any = ...,
    a: Any = ...,
    b: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution, of which only those in [`a`, `b`] are taken."""

def trunc_normal_(
    tensor: Tensor,
    mean: Any = ...,
    std: Any = ...,
    a: Any = ...,
    b: Any = ...,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`trunc_normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    a: Any = ...,
    b: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers uniform in [`a`, `b`)."""

def uniform_(tensor: Tensor, a: Any = ..., b: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`uniform` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def xavier_normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    gain: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution, so that activations and gradients keep their size: Glorot and Bengio, 2010."""

def xavier_normal_(tensor: Tensor, gain: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`xavier_normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def xavier_uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    gain: Any = ...,
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers uniform around 0, so that activations and gradients keep their size: Glorot and Bengio, 2010."""

def xavier_uniform_(tensor: Tensor, gain: Any = ..., *, generator: Generator | Key | None = None) -> Tensor:
    """`xavier_uniform` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def zeros(
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    dtype: DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Zeros everywhere."""

def zeros_(tensor: Tensor, *, generator: Generator | Key | None = None) -> Tensor:
    """`zeros` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""
