"""Transforms: functions that take a function and return one.

They nest in any order and to any depth. Arguments and results are trees (see `pullback.tree`); keyword arguments are constants.
What cannot be computed right is an exception, not a wrong number.

>>> import pullback as pb
>>> from pullback.func import grad, vmap
>>> vmap(grad(lambda x: x.sin()))(pb.tensor([0.0, 1.0])).shape
(2,)
"""

from . import implicit
from ._core import func as _func

Cached = _func.Cached
Graph = _func.Graph
JvpFunction = _func.JvpFunction
Transformed = _func.Transformed
VjpFunction = _func.VjpFunction
cached = _func.cached
capture = _func.capture
checkpoint = _func.checkpoint
cond = _func.cond
fori = _func.fori
functional_call = _func.functional_call
grad = _func.grad
grad_and_value = _func.grad_and_value
hessian = _func.hessian
hessian_diagonal = _func.hessian_diagonal
hvp = _func.hvp
jacfwd = _func.jacfwd
jacobian = _func.jacobian
jacrev = _func.jacrev
jvp = _func.jvp
laplacian = _func.laplacian
linearize = _func.linearize
map = _func.map
named_tensors = _func.named_tensors
scan = _func.scan
stack_module_state = _func.stack_module_state
stop_gradient = _func.stop_gradient
value_and_grad = _func.value_and_grad
value_and_jacobian = _func.value_and_jacobian
vhp = _func.vhp
vjp = _func.vjp
vmap = _func.vmap
while_loop = _func.while_loop

__all__ = [
    "Cached",
    "Graph",
    "JvpFunction",
    "Transformed",
    "VjpFunction",
    "cached",
    "capture",
    "checkpoint",
    "cond",
    "fori",
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "hessian_diagonal",
    "hvp",
    "implicit",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "laplacian",
    "linearize",
    "map",
    "named_tensors",
    "scan",
    "stack_module_state",
    "stop_gradient",
    "value_and_grad",
    "value_and_jacobian",
    "vhp",
    "vjp",
    "vmap",
    "while_loop",
]
