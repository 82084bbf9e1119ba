"""Fourier transforms."""

# Written by stubs/write.py.

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from . import return_types
from ._core import Tensor, _DTypeLike, _Number

__all__ = [
    "fft",
    "ifft",
    "rfft",
    "irfft",
    "hfft",
    "ihfft",
    "fft2",
    "ifft2",
    "rfft2",
    "irfft2",
    "fftn",
    "ifftn",
    "rfftn",
    "irfftn",
    "fftshift",
    "ifftshift",
    "fftfreq",
    "rfftfreq",
]

def fft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The Fourier transform along `dim`: `y[k] = Σ x[j]·exp(-2πi·jk/n)`."""

def ifft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.fft`: `x[j] = Σ y[k]·exp(2πi·jk/n)/n`."""

def rfft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The first half of the Fourier transform of real numbers along `dim`; the other half is its conjugate."""

def irfft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.rfft`: the real numbers whose transform begins with these."""

def hfft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The Fourier transform along `dim` of numbers of which the first half is given, and the other half is its conjugate. It is
    real.
    """

def ihfft(
    input: Tensor,
    n: SupportsIndex | None = None,
    dim: SupportsIndex = -1,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.hfft`: the first half of numbers whose transform these real ones are."""

def fft2(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] = (-2, -1),
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The Fourier transform along two dimensions."""

def ifft2(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] = (-2, -1),
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.fft2`."""

def rfft2(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] = (-2, -1),
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The first half, along the second dimension, of the Fourier transform of real numbers along two."""

def irfft2(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] = (-2, -1),
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.rfft2`."""

def fftn(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The Fourier transform along several dimensions."""

def ifftn(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.fftn`."""

def rfftn(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The first half, along the last of the dimensions, of the Fourier transform of real numbers along several."""

def irfftn(
    input: Tensor,
    s: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dim: SupportsIndex | Iterable[SupportsIndex] | None = None,
    norm: Literal['backward', 'ortho', 'forward'] = 'backward',
) -> Tensor:
    """The inverse of `fft.rfftn`."""

def fftshift(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Tensor:
    """The elements moved so that frequency 0 is in the middle: `n/2` places along each of the dimensions, by default all."""

def ifftshift(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex] | None = None) -> Tensor:
    """The inverse of `fft.fftshift`."""

def fftfreq(n: SupportsIndex, d: SupportsFloat = 1.0, dtype: _DTypeLike | None = 'float32') -> Tensor:
    """The frequencies of the values of `fft.fft` of `n` numbers, `d` apart: `0, 1, …, -2, -1`, divided by `n·d`."""

def rfftfreq(n: SupportsIndex, d: SupportsFloat = 1.0, dtype: _DTypeLike | None = 'float32') -> Tensor:
    """The frequencies of the values of `fft.rfft` of `n` numbers, `d` apart: `0, 1, …, n/2`, divided by `n·d`."""
