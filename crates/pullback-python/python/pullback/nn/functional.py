"""What layers compute: activations, convolutions, pooling, normalization, losses."""

from .._core import _operations

globals().update(_operations["nn.functional"])
__all__ = [*_operations["nn.functional"]]
