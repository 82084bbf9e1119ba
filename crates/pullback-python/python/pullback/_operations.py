"""The operations that are functions of `pullback` itself."""

from ._core import _operations

globals().update(_operations[""])
__all__ = [*_operations[""]]
