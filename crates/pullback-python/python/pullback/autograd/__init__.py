"""Operations with rules of your own."""

from . import function
from .function import Function

__all__ = ["Function", "function"]
