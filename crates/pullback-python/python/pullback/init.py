"""First values of parameters, as new tensors and, with a `_` behind the name, in the place of those of a tensor.

>>> w = pullback.init.kaiming_uniform((64, 3, 7, 7), nonlinearity="relu")
>>> w.shape
(64, 3, 7, 7)
"""

from ._core import _init

__all__ = [name for name in dir(_init) if not name.startswith("__")]
globals().update({name: getattr(_init, name) for name in __all__})
