"""Files of tensors: safetensors, and NumPy's `.npy` and `.npz`."""

# Written by stubs/write.py.

from collections.abc import Sequence
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex

from ._core import Generator, Key, Tensor, _DTypeLike

def load(path: str | bytes | PathLike[str] | PathLike[bytes]) -> Any:
    """The tensors of a file by name, or the tensor of an `.npy` file, in the format that the end of its name says."""

def load_npy(path: str | bytes | PathLike[str] | PathLike[bytes]) -> Tensor:
    """The tensor of a file that `numpy.save` wrote."""

def load_npz(path: str | bytes | PathLike[str] | PathLike[bytes]) -> dict[str, Tensor]:
    """The tensors of a file that `numpy.savez` or `numpy.savez_compressed` wrote, by name."""

def load_safetensors(
    path: str | bytes | PathLike[str] | PathLike[bytes],
    names: Sequence[str] | None = None,
    *,
    strict: bool = True,
) -> dict[str, Tensor]:
    """The tensors of a file in the format of safetensors, by name."""

def load_safetensors_metadata(path: str | bytes | PathLike[str] | PathLike[bytes]) -> dict[str, str]:
    """The text that is stored beside the tensors of a file in the format of safetensors."""

def save(tensors: Any, path: str | bytes | PathLike[str] | PathLike[bytes]) -> None:
    """Writes tensors to a file in the format that the end of its name says: `.safetensors`, `.npz`, or `.npy` for a single tensor."""

def save_npy(tensor: Tensor, path: str | bytes | PathLike[str] | PathLike[bytes]) -> None:
    """Writes a tensor to a file as `numpy.save` does."""

def save_npz(tensors: Any, path: str | bytes | PathLike[str] | PathLike[bytes], *, compressed: bool = False) -> None:
    """Writes tensors to a file as `numpy.savez` does, or `numpy.savez_compressed`; names are as for `save_safetensors`."""

def save_safetensors(
    tensors: Any,
    path: str | bytes | PathLike[str] | PathLike[bytes],
    metadata: dict[str, str] | None = None,
) -> None:
    """Writes tensors to a file in the format of safetensors."""
