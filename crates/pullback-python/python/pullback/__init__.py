"""Composable function transforms, with operations that you extend."""

from ._core import EscapedTracerError, InternalError, Tensor, __version__
from ._core import as_tensor, empty, empty_like, eye, arange, from_dlpack, from_numpy, full, full_like, linspace
from ._core import ones, ones_like, tensor, tril_indices, triu_indices, zeros, zeros_like
from ._core import bfloat16, bool, complex64, complex128, dtype, float16, float32, float64, int32, int64, uint8
from ._core import cdouble, cfloat, double, float, half, int, long

__all__ = ["EscapedTracerError", "InternalError", "Tensor", "__version__"]
