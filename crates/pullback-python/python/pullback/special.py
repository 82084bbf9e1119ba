"""Special functions."""

from ._core import _operations

globals().update(_operations["special"])
__all__ = [*_operations["special"]]
