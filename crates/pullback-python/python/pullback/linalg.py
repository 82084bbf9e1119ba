"""Linear algebra: decompositions, solutions of linear equations, norms of matrices."""

from ._core import _operations

globals().update(_operations["linalg"])
__all__ = [*_operations["linalg"]]
