"""Files of tensors: safetensors, and NumPy's `.npy` and `.npz`.

What is read is checked before memory is taken for it: a file that is damaged, cut off or forged is an `OSError`.
"""

from ._core import _io

__all__ = [name for name in dir(_io) if not name.startswith("__")]
globals().update({name: getattr(_io, name) for name in __all__})
