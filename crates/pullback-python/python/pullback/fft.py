"""Fourier transforms."""

from ._core import _operations

globals().update(_operations["fft"])
__all__ = [*_operations["fft"]]
