from collections.abc import Callable, Sequence
from typing import Any, final, overload

from .. import Tensor
from . import forward_ad as forward_ad, function as function, functional as functional
from .function import Function as Function
from .modes import (
    detect_anomaly as detect_anomaly,
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_detect_anomaly as set_detect_anomaly,
    set_grad_enabled as set_grad_enabled,
)

class GradcheckError(RuntimeError): ...

@final
class Node:
    def name(self, /) -> str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: ...

@final
class RemovableHandle:
    def remove(self) -> None: ...
    def __enter__(self) -> RemovableHandle: ...
    def __exit__(self, *_raised: object) -> None: ...

def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | dict[str, Tensor] | None = None,
) -> None: ...
@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: dict[str, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> dict[str, Tensor]: ...
@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-06,
    atol: float = 1e-05,
    rtol: float = 0.001,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool | None = None,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
) -> bool: ...
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-06,
    atol: float = 1e-05,
    rtol: float = 0.001,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool | None = None,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
) -> bool: ...
def is_anomaly_enabled() -> bool: ...
def is_grad_enabled() -> bool: ...
