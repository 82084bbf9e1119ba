"""Composable function transforms, with operations that you extend."""

from . import autograd, fft, func, implicit, init, io, linalg, nn, random, return_types, special, testing, tree
from ._core import EscapedTracerError, InternalError, Tensor, __version__
from ._custom import custom_jvp, custom_vjp, custom_vmap
from .autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .func import vmap
from ._operations import *
from ._values import *

__all__ = [
    "EscapedTracerError",
    "InternalError",
    "Tensor",
    "__version__",
    "autograd",
    "custom_jvp",
    "custom_vjp",
    "custom_vmap",
    "enable_grad",
    "func",
    "implicit",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
    "testing",
    "tree",
    "vmap",
]
