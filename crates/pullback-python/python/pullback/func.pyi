from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeAlias, TypeVar, final, overload

from typing_extensions import Self

from . import Tensor
from . import implicit as implicit

_P = ParamSpec("_P")
_A = TypeVar("_A")
_O = TypeVar("_O")
_S = TypeVar("_S")
_Y = TypeVar("_Y")
_Aux = TypeVar("_Aux")

_Argnums: TypeAlias = int | tuple[int, ...]
_Randomness: TypeAlias = Literal["error", "different", "same"]
_Strategy: TypeAlias = Literal[
    "forward-over-reverse", "reverse-over-forward", "reverse-over-reverse", "forward-over-forward"
]

@final
class Transformed(Generic[_P, _O]):
    __name__: str
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _O: ...
    @overload
    def __get__(self, instance: None, owner: Any = None, /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: Any = None, /) -> Callable[..., _O]: ...
    def __getattr__(self, name: str) -> Any: ...

@final
class VjpFunction:
    def __call__(self, cotangents: Any) -> tuple[Any, ...]: ...

@final
class JvpFunction(Generic[_O]):
    def __call__(self, *tangents: Any) -> _O: ...

@final
class Cached(Generic[_P, _O]):
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _O: ...
    @property
    def traces(self) -> int: ...
    def report(self) -> str: ...
    def clear(self) -> None: ...
    @property
    def __wrapped__(self) -> Callable[_P, _O]: ...

@final
class Graph(Generic[_O]):
    def __call__(self, *args: Any) -> _O: ...
    def verify(self) -> None: ...
    def to_svg(self) -> str: ...
    def _repr_svg_(self) -> str: ...
    @property
    def operations(self) -> list[str]: ...
    @property
    def argument_types(self) -> list[str]: ...
    @property
    def result_types(self) -> list[str]: ...
    @property
    def captured(self) -> list[Tensor]: ...
    def with_captured(self, tensors: Sequence[Tensor]) -> Graph[_O]: ...

# The gradient by the first argument has its type; what `argnums` selects is not seen by type checkers.
@overload
def grad(func: Callable[Concatenate[_A, _P], Tensor]) -> Transformed[Concatenate[_A, _P], _A]: ...
@overload
def grad(func: Callable[_P, Tensor], argnums: _Argnums, has_aux: Literal[False] = False) -> Transformed[_P, Any]: ...
@overload
def grad(
    func: Callable[Concatenate[_A, _P], tuple[Tensor, _Aux]], *, has_aux: Literal[True]
) -> Transformed[Concatenate[_A, _P], tuple[_A, _Aux]]: ...
@overload
def grad(
    func: Callable[_P, tuple[Tensor, _Aux]], argnums: _Argnums, has_aux: Literal[True]
) -> Transformed[_P, tuple[Any, _Aux]]: ...
@overload
def grad(func: Callable[_P, Any], argnums: _Argnums = 0, has_aux: bool = False) -> Transformed[_P, Any]: ...
@overload
def grad_and_value(
    func: Callable[Concatenate[_A, _P], Tensor],
) -> Transformed[Concatenate[_A, _P], tuple[_A, Tensor]]: ...
@overload
def grad_and_value(
    func: Callable[_P, Tensor], argnums: _Argnums, has_aux: Literal[False] = False
) -> Transformed[_P, tuple[Any, Tensor]]: ...
@overload
def grad_and_value(
    func: Callable[_P, tuple[Tensor, _Aux]], argnums: _Argnums = 0, *, has_aux: Literal[True]
) -> Transformed[_P, tuple[Any, tuple[Tensor, _Aux]]]: ...
@overload
def grad_and_value(
    func: Callable[_P, Any], argnums: _Argnums = 0, has_aux: bool = False
) -> Transformed[_P, tuple[Any, Any]]: ...
@overload
def value_and_grad(
    func: Callable[Concatenate[_A, _P], Tensor],
) -> Transformed[Concatenate[_A, _P], tuple[Tensor, _A]]: ...
@overload
def value_and_grad(
    func: Callable[_P, Tensor], argnums: _Argnums, has_aux: Literal[False] = False
) -> Transformed[_P, tuple[Tensor, Any]]: ...
@overload
def value_and_grad(
    func: Callable[_P, tuple[Tensor, _Aux]], argnums: _Argnums = 0, *, has_aux: Literal[True]
) -> Transformed[_P, tuple[tuple[Tensor, _Aux], Any]]: ...
@overload
def value_and_grad(
    func: Callable[_P, Any], argnums: _Argnums = 0, has_aux: bool = False
) -> Transformed[_P, tuple[Any, Any]]: ...
@overload
def vjp(
    func: Callable[..., tuple[_O, _Aux]], *primals: Any, has_aux: Literal[True], **kwargs: Any
) -> tuple[_O, VjpFunction, _Aux]: ...
@overload
def vjp(
    func: Callable[..., _O], *primals: Any, has_aux: Literal[False] = False, **kwargs: Any
) -> tuple[_O, VjpFunction]: ...
@overload
def jvp(
    func: Callable[..., tuple[_O, _Aux]],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: Literal[True],
    **kwargs: Any,
) -> tuple[_O, _O, _Aux]: ...
@overload
def jvp(
    func: Callable[..., _O],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: Literal[False] = False,
    **kwargs: Any,
) -> tuple[_O, _O]: ...
def linearize(func: Callable[..., _O], *primals: Any, **kwargs: Any) -> tuple[_O, JvpFunction[_O]]: ...
def vmap(
    func: Callable[_P, _O],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: _Randomness = "error",
    *,
    chunk_size: int | None = None,
    batch_size: int | None = None,
) -> Transformed[_P, _O]: ...
def jacrev(
    func: Callable[_P, Any], argnums: _Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Transformed[_P, Any]: ...
def jacfwd(
    func: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: _Randomness = "error",
    chunk_size: int | None = None,
) -> Transformed[_P, Any]: ...
def jacobian(func: Callable[_P, Any], argnums: _Argnums = 0) -> Transformed[_P, Any]: ...
def value_and_jacobian(func: Callable[_P, _O], argnums: _Argnums = 0) -> Transformed[_P, tuple[_O, Any]]: ...
def hessian(
    func: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    strategy: _Strategy = "forward-over-reverse",
    randomness: _Randomness = "error",
    chunk_size: int | None = None,
) -> Transformed[_P, Any]: ...
@overload
def hvp(
    func: Callable[..., Tensor], inputs: _A, v: _A, *, has_aux: Literal[False] = False, **kwargs: Any
) -> tuple[Tensor, _A]: ...
@overload
def hvp(
    func: Callable[..., tuple[Tensor, _Aux]], inputs: _A, v: _A, *, has_aux: Literal[True], **kwargs: Any
) -> tuple[Tensor, _A, _Aux]: ...
@overload
def vhp(
    func: Callable[..., Tensor], inputs: _A, v: _A, *, has_aux: Literal[False] = False, **kwargs: Any
) -> tuple[Tensor, _A]: ...
@overload
def vhp(
    func: Callable[..., tuple[Tensor, _Aux]], inputs: _A, v: _A, *, has_aux: Literal[True], **kwargs: Any
) -> tuple[Tensor, _A, _Aux]: ...
def laplacian(
    func: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: _Randomness = "error",
    chunk_size: int | None = None,
) -> Transformed[_P, Any]: ...
def hessian_diagonal(
    func: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: _Randomness = "error",
    chunk_size: int | None = None,
) -> Transformed[_P, Any]: ...
def stop_gradient(tree: _A) -> _A: ...
def checkpoint(func: Callable[_P, _O]) -> Transformed[_P, _O]: ...
def cached(func: Callable[_P, _O]) -> Cached[_P, _O]: ...
def capture(
    func: Callable[_P, _O], *, keep_unused: bool = False, closed: bool = False
) -> Transformed[_P, Graph[_O]]: ...
def cond(
    pred: Tensor | bool, true_fn: Callable[..., _O], false_fn: Callable[..., _O], operands: tuple[Any, ...] = ()
) -> _O: ...
def while_loop(
    cond_fn: Callable[..., Tensor | bool], body_fn: Callable[..., Any], carried_inputs: _S, *, max_steps: int | None = None
) -> _S: ...
def fori(lower: int, upper: int, body_fn: Callable[[int, _S], _S], init: _S) -> _S: ...
def scan(
    f: Callable[[_S, Any], tuple[_S, _Y]],
    init: _S,
    xs: Any = None,
    *,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: bool | int | None = None,
) -> tuple[_S, _Y]: ...
def map(f: Callable[[_A], _O], xs: _A) -> _O: ...
def named_tensors(module: object) -> dict[str, Tensor]: ...
def functional_call(
    module: Callable[..., _O],
    params: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> _O: ...
def stack_module_state(models: Sequence[object]) -> tuple[dict[str, Tensor], dict[str, Tensor]]: ...

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
