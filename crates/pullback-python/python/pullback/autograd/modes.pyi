from collections.abc import Callable
from typing import ParamSpec, Self, TypeVar, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _Scope:
    def __enter__(self) -> None: ...
    def __exit__(self, *_raised: object) -> None: ...
    def __call__(self, func: Callable[_P, _R]) -> Callable[_P, _R]: ...

class _Switch(_Scope):
    @overload
    def __new__(cls, func: None = None) -> Self: ...
    @overload
    def __new__(cls, func: Callable[_P, _R]) -> Callable[_P, _R]: ...  # type: ignore[misc]

class no_grad(_Switch): ...
class enable_grad(_Switch): ...

class inference_mode(_Scope):
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: Callable[_P, _R]) -> Callable[_P, _R]: ...  # type: ignore[misc]

class set_grad_enabled(_Scope):
    mode: bool
    def __new__(cls, mode: bool) -> Self: ...

class detect_anomaly(_Scope):
    def __new__(cls, check_nan: bool = True, *, infinities: bool = False) -> Self: ...

class set_detect_anomaly(_Scope):
    def __new__(cls, mode: bool, check_nan: bool = True) -> Self: ...
