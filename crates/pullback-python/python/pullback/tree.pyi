"""Trees: tensors in tuples, lists, dicts, named tuples, dataclasses, and classes of your own."""

# Written by stubs/write.py.

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload

from ._core import Generator, Key, Tensor, _bool, _int, _float, _complex, _dtype, _Number, _DTypeLike

@final
class TreeStructure:
    """What a tree is apart from its leaves. Two are equal if they have the same containers with the same keys."""

    def __eq__(self, value: object, /) -> _bool: ...
    def __ne__(self, value: object, /) -> _bool: ...
    def __repr__(self, /) -> str: ...
    def paths(self, /) -> list[str]: ...
    @property
    def num_leaves(self) -> _int: ...
    def __ge__(self, value: Any, /) -> Any:
        """Return self>=value."""
    def __gt__(self, value: Any, /) -> Any:
        """Return self>value."""
    __hash__: None  # type: ignore[assignment]
    def __le__(self, value: Any, /) -> Any:
        """Return self<=value."""
    def __lt__(self, value: Any, /) -> Any:
        """Return self<value."""

def flatten(tree: Any) -> tuple[list[Tensor], TreeStructure]: ...

def leaves(tree: Any) -> list[Tensor]: ...

def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any: ...

def register(cls: type[Any], flatten: Callable[..., Any], unflatten: Callable[..., Any]) -> Any: ...

def structure(tree: Any) -> TreeStructure: ...

def unflatten(leaves: Iterable[Any], structure: TreeStructure) -> Any: ...
