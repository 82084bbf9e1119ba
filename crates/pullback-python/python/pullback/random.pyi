"""Random tensors: the same key gives the same numbers, on every machine and with any number of threads.

A `Key` is a small value from which random tensors are drawn; equal calls give equal numbers. For different numbers, derive other
keys with `split` or `fold_in`. A `Generator` does that for you: each draw takes the numbers of the next key. Every kind of draw
is a method of both, and a function that takes either first.

>>> key = pullback.random.key(42)
>>> a, b = key.split()
>>> weight, noise = a.normal((3, 2)), pullback.random.uniform(b, (3,))
"""

# Written by stubs/write.py.

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from . import return_types
from ._core import Tensor, _DTypeLike, _Number

__all__ = [
    "uniform",
    "normal",
    "randint",
    "permutation",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "exponential",
    "laplace",
    "gumbel",
    "cauchy",
    "log_normal",
    "truncated_normal",
    "gamma",
    "beta",
    "dirichlet",
    "chi2",
    "student_t",
    "bernoulli",
    "poisson",
    "binomial",
    "geometric",
    "categorical",
    "multinomial",
    "shuffle",
    "choice",
]

def uniform(
    key: Key | Generator,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers uniform in [0, 1): multiples of 2⁻¹¹ for `f16`, of 2⁻⁸ for `bf16`, of 2⁻²⁴ for `f32`, of
    2⁻⁵³ for `float64`.
    """

def normal(
    key: Key | Generator,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1."""

def randint(
    key: Key | Generator,
    low: SupportsIndex,
    high: SupportsIndex,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'int64',
) -> Tensor:
    """Integers uniform in `low..high`."""

def permutation(key: Key | Generator, n: SupportsIndex) -> Tensor:
    """The numbers `0..n` in random order, as `int64`; every order is equally likely."""

def dropout(key: Key | Generator, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
    """`x` with each element set to zero with probability `p` (NaN and infinities too), and the others divided by
    `1 - p`.
    """

def dropout1d(key: Key | Generator, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
    """`dropout` of whole channels of sequences: each sequence `[length]` of `x` is set to zero with probability `p`, the
    others are divided by `1 - p`.
    """

def dropout2d(key: Key | Generator, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
    """`dropout1d` of whole channels of images `[height, width]`."""

def dropout3d(key: Key | Generator, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
    """`dropout1d` of whole channels of volumes `[depth, height, width]`."""

def alpha_dropout(key: Key | Generator, x: Tensor, p: SupportsFloat = 0.5) -> Tensor:
    """Dropout that keeps mean 0 and variance 1, for networks with `selu`: each element is replaced, with probability
    `p`, by the value of `selu` at minus infinity, and all are scaled and shifted.
    """

def exponential(
    key: Key | Generator,
    rate: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the exponential distribution with the given rate: the mean is `1 / rate`."""

def laplace(
    key: Key | Generator,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1; the variance is 2."""

def gumbel(
    key: Key | Generator,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the Gumbel distribution with mode 0 and scale 1: what is added to logits to sample from them."""

def cauchy(
    key: Key | Generator,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the Cauchy distribution with median 0 and scale 1, which has no mean."""

def log_normal(
    key: Key | Generator,
    mean: Tensor | _Number,
    std: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers whose logarithms have a normal distribution with the given mean and standard deviation."""

def truncated_normal(
    key: Key | Generator,
    lower: Tensor | _Number,
    upper: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the standard normal distribution between `lower` and `upper`, which may be infinite."""

def gamma(
    key: Key | Generator,
    concentration: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the gamma distribution with the given concentration and rate 1: mean and variance are the concentration."""

def beta(
    key: Key | Generator,
    a: Tensor | _Number,
    b: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the beta distribution on [0, 1], `x / (x + y)` of two of the gamma distribution with the concentrations
    `a` and `b`.
    """

def dirichlet(
    key: Key | Generator,
    concentration: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Vectors of positive numbers with sum 1: those of the gamma distribution, divided by their sum."""

def chi2(
    key: Key | Generator,
    df: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of the χ² distribution with `df` degrees of freedom, not only whole ones: twice those of the gamma
    distribution of concentration `df / 2`.
    """

def student_t(
    key: Key | Generator,
    df: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'float32',
) -> Tensor:
    """Numbers of Student's t distribution with `df` degrees of freedom: a normal one, divided by the root of one of
    `chi2` over `df`.
    """

def bernoulli(
    key: Key | Generator,
    p: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
) -> Tensor:
    """Bools that are true with probability `p`; for a number to the nearest multiple of 2⁻³²."""

def poisson(
    key: Key | Generator,
    rate: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'int64',
) -> Tensor:
    """How many events there are if they are independent of each other and `rate` are expected: Poisson's distribution."""

def binomial(
    key: Key | Generator,
    count: Tensor | _Number,
    p: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'int64',
) -> Tensor:
    """How many of `count` trials succeed if each does with probability `p`."""

def geometric(
    key: Key | Generator,
    p: Tensor | _Number,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
    dtype: _DTypeLike | None = 'int64',
) -> Tensor:
    """How many trials fail before the first that succeeds, if each does with probability `p`."""

def categorical(
    key: Key | Generator,
    logits: Tensor,
    shape: SupportsIndex | Iterable[SupportsIndex] | None = None,
) -> Tensor:
    """Numbers of categories, as `int64`, with the probabilities that `softmax` gives the logits."""

def multinomial(key: Key | Generator, weights: Tensor, count: SupportsIndex, replacement: bool = False) -> Tensor:
    """`count` numbers of categories, as `int64`, with probabilities proportional to the weights. Without `replacement`, no
    category is drawn twice; they come in the order in which they are drawn.
    """

def shuffle(key: Key | Generator, x: Tensor, dim: SupportsIndex = 0) -> Tensor:
    """`x` with its parts along `dim` in random order."""

def choice(
    key: Key | Generator,
    x: Tensor,
    count: SupportsIndex,
    dim: SupportsIndex = 0,
    replacement: bool = True,
) -> Tensor:
    """`count` parts of `x` along `dim`, each equally likely. Without `replacement`, no part is chosen twice."""

from ._core import Generator as Generator
from ._core import Key as Key
from ._core import default_generator as default_generator
from ._core import initial_seed as initial_seed
from ._core import manual_seed as manual_seed

def fold_in(key: 'Key', number: 'int') -> 'Key':
    """The key number `number` of those that derive from a key: `key.fold_in(number)`."""

key = Key

def split(key: 'Key', num: 'int' = 2) -> 'list[Key]':
    """So many keys that derive from a key: `key.split(num)`."""
