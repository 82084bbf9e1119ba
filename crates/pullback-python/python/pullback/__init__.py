"""Composable function transforms, with operations that you extend."""

from . import func, implicit, tree
from ._core import EscapedTracerError, InternalError, Tensor, __version__

__all__ = ["EscapedTracerError", "InternalError", "Tensor", "__version__", "func", "implicit", "tree"]
