from collections.abc import Callable, Sequence
from typing import Any

from .. import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

def jacobian(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = True,
    strategy: str = "reverse-mode",
) -> Any: ...
def hessian(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = True,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any: ...
def vjp(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]: ...
def jvp(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]: ...
def hvp(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]: ...
def vhp(
    func: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    v: Tensor | Sequence[Tensor] | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]: ...
