"""The types of what operations with several results return: tuples whose fields have names."""

from ._core import _operations

globals().update(_operations["return_types"])
__all__ = [*_operations["return_types"]]
