"""Special functions."""

# Written by stubs/write.py.

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from . import return_types
from ._core import Tensor, _DTypeLike, _Number

__all__ = [
    "xlogy",
    "xlog1py",
    "softmax",
    "log_softmax",
    "logsumexp",
    "expit",
    "erf",
    "erfc",
    "exp2",
    "expm1",
    "log1p",
    "ndtr",
    "ndtri",
    "log_ndtr",
    "entr",
    "lgamma",
    "gammaln",
    "erfinv",
    "logit",
    "digamma",
    "psi",
    "polygamma",
    "i0",
    "i1",
    "i0e",
    "i1e",
    "sinc",
]

def xlogy(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """`x·log(y)`, elementwise, and 0 where `x` is 0, unless `y` is NaN."""

def xlog1py(input: Tensor | _Number, other: Tensor | _Number) -> Tensor:
    """`x·log(1 + y)`, elementwise, exact for small `y`, and 0 where `x` is 0, unless `y` is NaN."""

def softmax(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """`exp(x) / Σ exp(x)` along `dim`: positive numbers that add up to 1."""

def log_softmax(input: Tensor, dim: SupportsIndex, dtype: _DTypeLike | None = None) -> Tensor:
    """`x - log(Σ exp(x))` along `dim`, the logarithm of `softmax` without its rounding."""

def logsumexp(input: Tensor, dim: SupportsIndex | Iterable[SupportsIndex], keepdim: bool = False) -> Tensor:
    """`log(Σ exp(x))` over `dim`, all of them if the list is empty."""

def expit(input: Tensor) -> Tensor:
    """`1/(1 + exp(-x))`, elementwise, without overflow."""

def erf(input: Tensor) -> Tensor:
    """The error function, elementwise: `2/sqrt(π)` times the integral of `exp(-t²)` from 0 to `x`."""

def erfc(input: Tensor) -> Tensor:
    """`1 - erf(x)`, elementwise, exact also where `erf` is close to 1."""

def exp2(input: Tensor) -> Tensor:
    """Two to the power of each element."""

def expm1(input: Tensor) -> Tensor:
    """`exp(x) - 1`, elementwise, exact also for small `x`."""

def log1p(input: Tensor) -> Tensor:
    """`log(1 + x)`, elementwise, exact also for small `x`."""

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

def lgamma(input: Tensor) -> Tensor:
    """The natural logarithm of the absolute value of the gamma function, elementwise; infinite at 0 and the negative
    whole numbers.
    """

def gammaln(input: Tensor) -> Tensor:
    """The natural logarithm of the absolute value of the gamma function, elementwise; infinite at 0 and the negative
    whole numbers.
    """

def erfinv(input: Tensor) -> Tensor:
    """The inverse of `erf`, elementwise; infinite at -1 and 1, NaN beyond."""

def logit(input: Tensor, eps: SupportsFloat | None = None) -> Tensor:
    """The logarithm of the odds, see `logit`, of elements that are first clamped to `eps` and `1 - eps`."""

def digamma(input: Tensor) -> Tensor:
    """The derivative of `lgamma`, elementwise: minus infinity at 0, NaN at the negative whole numbers."""

def psi(input: Tensor) -> Tensor:
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

def sinc(input: Tensor) -> Tensor:
    """`sin(πx)/(πx)`, elementwise, 1 at 0; exactly 0 at the other whole numbers and at infinity."""
