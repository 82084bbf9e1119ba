"""Gradients of values: `backward`, `grad`, hooks and modes, and operations with rules of your own.

The transforms of `pullback.func` differentiate functions. This module differentiates values: mark tensors with
`requires_grad=True`, compute, call `backward()` on the result and read `grad`:

>>> import pullback as pb
>>> x = pb.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad.tolist()
[2.0, 4.0]

Both mix: inside a transform, a tensor that requires gradients is a constant, and what the transform returns can be walked
back from to it.

What differs from PyTorch:

- A graph lives as long as somebody holds its result. A second `backward` works, and `retain_graph` has no effect.
- Values never change under another handle, so there are no version counters. Inside `no_grad`, an in-place operation on a
  leaf gives the leaf a new value; elsewhere the tensor becomes the result of a recorded operation.
- After an error in a rule or a hook, nothing has accumulated.
- `no_grad` holds for forward mode, too.
"""

from .._core import autograd as _native
from . import forward_ad, function, functional
from .function import Function
from .modes import detect_anomaly, enable_grad, inference_mode, no_grad, set_detect_anomaly, set_grad_enabled

GradcheckError = _native.GradcheckError
Node = _native.Node
RemovableHandle = _native.RemovableHandle
backward = _native.backward
grad = _native.grad
gradcheck = _native.gradcheck
gradgradcheck = _native.gradgradcheck
is_anomaly_enabled = _native.is_anomaly_enabled
is_grad_enabled = _native.is_grad_enabled

__all__ = [
    "Function",
    "GradcheckError",
    "Node",
    "RemovableHandle",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
