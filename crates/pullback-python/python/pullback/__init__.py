"""Composable function transforms, with operations that you extend."""

from . import fft, func, implicit, linalg, nn, return_types, special, tree
from ._core import EscapedTracerError, InternalError, Tensor, __version__
from ._operations import *
from ._values import *

__all__ = ["EscapedTracerError", "InternalError", "Tensor", "__version__", "func", "implicit", "tree"]
