"""Random tensors: the same key gives the same numbers, on every machine and with any number of threads.

A `Key` is a small value from which random tensors are drawn; equal calls give equal numbers. For different numbers, derive other
keys with `split` or `fold_in`. A `Generator` does that for you: each draw takes the numbers of the next key. Every kind of draw
is a method of both, and a function that takes either first.

>>> key = pullback.random.key(42)
>>> a, b = key.split()
>>> weight, noise = a.normal((3, 2)), pullback.random.uniform(b, (3,))
"""

from ._core import Generator, Key, _operations, default_generator, initial_seed, manual_seed

globals().update(_operations["random"])

key = Key


def split(key: Key, num: int = 2) -> list[Key]:
    """So many keys that derive from a key: `key.split(num)`."""
    return key.split(num)


def fold_in(key: Key, number: int) -> Key:
    """The key number `number` of those that derive from a key: `key.fold_in(number)`."""
    return key.fold_in(number)


__all__ = [
    "Generator",
    "Key",
    "default_generator",
    "fold_in",
    "initial_seed",
    "key",
    "manual_seed",
    "split",
    *_operations["random"],
]
