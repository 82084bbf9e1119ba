"""Composable function transforms, with operations that you extend."""

from . import autograd, func, tree
from ._core import EscapedTracerError, InternalError, Tensor, __version__
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "EscapedTracerError",
    "InternalError",
    "Tensor",
    "__version__",
    "autograd",
    "enable_grad",
    "func",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
    "tree",
]
