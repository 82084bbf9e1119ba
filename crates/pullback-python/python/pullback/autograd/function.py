"""Operations with rules of your own: `Function`, the context that its methods share, and `once_differentiable`."""

from .._core import function as _native

Function = _native.Function
FunctionCtx = _native.FunctionCtx
VmapInfo = _native.VmapInfo
once_differentiable = _native.once_differentiable

__all__ = ["Function", "FunctionCtx", "VmapInfo", "once_differentiable"]
