from collections.abc import Callable
from typing import Generic, Literal, TypeAlias, TypeVar, final

_P = TypeVar("_P")
_X = TypeVar("_X")

_Batching: TypeAlias = Literal["loop", "leading_dims", "expand", "flatten", "refuse"]

@final
class LinearSolver:
    @staticmethod
    def dense(*, nan_on_failure: bool = False) -> LinearSolver: ...
    @staticmethod
    def cg(
        *, tolerance: float | None = None, max_iterations: int | None = None, nan_on_failure: bool = False
    ) -> LinearSolver: ...
    @staticmethod
    def gmres(
        *,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        restart: int = 50,
        nan_on_failure: bool = False,
    ) -> LinearSolver: ...

@final
class Solution(Generic[_P, _X]):
    def __call__(self, p: _P) -> _X: ...

@final
class LinearSolution(Generic[_P, _X]):
    def __call__(self, p: _P, b: _X) -> _X: ...

def root(
    f: Callable[[_P, _X], _X],
    solve: Callable[[_P], _X] | None = None,
    *,
    start: Callable[[_P], _X] | None = None,
    linear_solver: LinearSolver | None = None,
    batching: _Batching = "loop",
    tolerance: float | None = None,
    max_iterations: int | None = None,
) -> Solution[_P, _X]: ...
def fixed_point(
    f: Callable[[_P, _X], _X],
    solve: Callable[[_P], _X] | None = None,
    *,
    start: Callable[[_P], _X] | None = None,
    linear_solver: LinearSolver | None = None,
    batching: _Batching = "loop",
    tolerance: float | None = None,
    max_iterations: int | None = None,
) -> Solution[_P, _X]: ...
def linear_solve(
    matvec: Callable[[_P, _X], _X],
    solve: Callable[[_P, _X], _X] | None = None,
    *,
    transpose_solve: Callable[[_P, _X], _X] | None = None,
    symmetric: bool = False,
    linear_solver: LinearSolver | None = None,
    batching: _Batching = "loop",
) -> LinearSolution[_P, _X]: ...

__all__ = ["LinearSolution", "LinearSolver", "Solution", "fixed_point", "linear_solve", "root"]
