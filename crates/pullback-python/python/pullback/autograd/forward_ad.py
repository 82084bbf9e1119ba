"""Forward mode by marked values: dual numbers, each a value and its tangent.

>>> import pullback as pb
>>> import pullback.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(pb.tensor(3.0), pb.tensor(1.0))
...     y, dy = fwAD.unpack_dual(x * x)
>>> y.item(), dy.item()
(9.0, 6.0)

`pullback.func.jvp` does the same to a function. Levels nest: a level inside another one takes derivatives of derivatives.
Duals may be made of tensors that require gradients, and `backward` of a tangent gives products with a Hessian.
"""

from typing import NamedTuple

from .._core import Tensor
from .._core import autograd as _autograd

_native = _autograd.forward_ad

enter_dual_level = _native.enter_dual_level
exit_dual_level = _native.exit_dual_level
make_dual = _native.make_dual

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the value without the level, and its tangent, or None."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor, *, level=None):
    """The value and the tangent of a dual, at the innermost level or at `level`.

    The tangent is None for a value that depends on no dual. What it returns may be used after the level.

    >>> import pullback as pb
    >>> with dual_level():
    ...     unpack_dual(pb.tensor(1.0)).tangent is None
    True

    Raises:
        RuntimeError: no level is open on this thread, or the value is of a level that has ended.
    """
    return UnpackedDualTensor(*_native.unpacked(tensor, level=level))


class dual_level:
    """A level of dual numbers, for the time of a `with` block. A dual that is used afterwards is an error.

    >>> import pullback as pb
    >>> with dual_level():
    ...     x = make_dual(pb.tensor(2.0), pb.tensor(1.0))
    ...     with dual_level():
    ...         y = make_dual(x, pb.tensor(1.0))
    ...         slope = unpack_dual(y * y * y).tangent
    ...     bend = unpack_dual(slope).tangent
    >>> bend.item()
    12.0
    """

    def __enter__(self):
        self.level = enter_dual_level()
        return self.level

    def __exit__(self, *raised):
        exit_dual_level(level=self.level)
