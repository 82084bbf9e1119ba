"""Checking what you wrote: every property that must hold for a Function, at once."""

from ._core import function as _native

FunctionReport = _native.FunctionReport
check_function = _native.check_function

__all__ = ["FunctionReport", "check_function"]
