"""First values of parameters, as new tensors and, with a `_` behind the name, in the place of those of a tensor."""

# Written by stubs/write.py.

from collections.abc import Sequence
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex

from ._core import Generator, Key, Tensor, _DTypeLike

def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a weight makes up for the function behind its layer."""

def constant(
    shape: SupportsIndex | Sequence[SupportsIndex],
    val: SupportsFloat = 0.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """The number everywhere."""

def constant_(tensor: Tensor, val: SupportsFloat = 0.0, *, generator: Generator | Key | None = None) -> Tensor:
    """`constant` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def dirac(
    shape: SupportsIndex | Sequence[SupportsIndex],
    groups: SupportsIndex = 1,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """The weight of a convolution that gives back its input, as far as there are channels."""

def dirac_(tensor: Tensor, groups: SupportsIndex = 1, *, generator: Generator | Key | None = None) -> Tensor:
    """`dirac` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def kaiming_normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    a: SupportsFloat = 0.0,
    mode: str = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution, for layers before a `relu` or another function: He et al., 2015. See `kaiming_uniform`."""

def kaiming_normal_(
    tensor: Tensor,
    a: SupportsFloat = 0.0,
    mode: str = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`kaiming_normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def kaiming_uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    a: SupportsFloat = 0.0,
    mode: str = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers uniform around 0, for layers before a `relu` or another function: He et al., 2015."""

def kaiming_uniform_(
    tensor: Tensor,
    a: SupportsFloat = 0.0,
    mode: str = 'fan_in',
    nonlinearity: str = 'leaky_relu',
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`kaiming_uniform` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution."""

def normal_(
    tensor: Tensor,
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def ones(
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Ones everywhere."""

def ones_(tensor: Tensor, *, generator: Generator | Key | None = None) -> Tensor:
    """`ones` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def orthogonal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    gain: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """A matrix whose rows or columns, whichever are fewer, are perpendicular and of length `gain`: Saxe et al., 2013. Further
    dimensions count as one with the second.
    """

def orthogonal_(tensor: Tensor, gain: SupportsFloat = 1.0, *, generator: Generator | Key | None = None) -> Tensor:
    """`orthogonal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def sparse(
    shape: SupportsIndex | Sequence[SupportsIndex],
    sparsity: SupportsFloat = 0.5,
    std: SupportsFloat = 0.01,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """A matrix of which each column has a part `sparsity` of zeros, and numbers of a normal distribution else: Martens, 2010."""

def sparse_(
    tensor: Tensor,
    sparsity: SupportsFloat = 0.5,
    std: SupportsFloat = 0.01,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`sparse` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def trunc_normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    a: Any = ...,
    b: SupportsFloat = 2.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution, of which only those in [`a`, `b`] are taken, from -2 to 2 unless given."""

def trunc_normal_(
    tensor: Tensor,
    mean: SupportsFloat = 0.0,
    std: SupportsFloat = 1.0,
    a: Any = ...,
    b: SupportsFloat = 2.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`trunc_normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    a: SupportsFloat = 0.0,
    b: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers uniform in [`a`, `b`)."""

def uniform_(
    tensor: Tensor,
    a: SupportsFloat = 0.0,
    b: SupportsFloat = 1.0,
    *,
    generator: Generator | Key | None = None,
) -> Tensor:
    """`uniform` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def xavier_normal(
    shape: SupportsIndex | Sequence[SupportsIndex],
    gain: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers of a normal distribution, so that activations and gradients keep their size: Glorot and Bengio, 2010."""

def xavier_normal_(tensor: Tensor, gain: SupportsFloat = 1.0, *, generator: Generator | Key | None = None) -> Tensor:
    """`xavier_normal` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def xavier_uniform(
    shape: SupportsIndex | Sequence[SupportsIndex],
    gain: SupportsFloat = 1.0,
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Numbers uniform around 0, so that activations and gradients keep their size: Glorot and Bengio, 2010."""

def xavier_uniform_(tensor: Tensor, gain: SupportsFloat = 1.0, *, generator: Generator | Key | None = None) -> Tensor:
    """`xavier_uniform` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""

def zeros(
    shape: SupportsIndex | Sequence[SupportsIndex],
    *,
    dtype: _DTypeLike | None = None,
    generator: Generator | Key | None = None,
) -> Tensor:
    """Zeros everywhere."""

def zeros_(tensor: Tensor, *, generator: Generator | Key | None = None) -> Tensor:
    """`zeros` in the place of the elements of a tensor, which may be a leaf that requires gradients. Returns the tensor."""
