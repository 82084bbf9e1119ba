from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])

class _Custom(Generic[_P, _R]):
    def __init__(self, fun: Callable[_P, _R]) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...

class custom_vjp(_Custom[_P, _R]):
    def defvjp(self, fwd: Callable[_P, tuple[_R, Any]], bwd: Callable[[Any, Any], Any]) -> None: ...

class custom_jvp(_Custom[_P, _R]):
    def defjvp(self, rule: _F) -> _F: ...

class custom_vmap(_Custom[_P, _R]):
    def def_vmap(self, rule: _F) -> _F: ...
