"""Trees: tensors in tuples, lists, dicts, named tuples, dataclasses, and classes of your own.

Every transform takes and returns trees. `register` makes a class of yours a container, and the other functions take trees apart
and put them together.
"""

from ._core import tree as _tree

TreeStructure = _tree.TreeStructure
flatten = _tree.flatten
leaves = _tree.leaves
map = _tree.map
register = _tree.register
structure = _tree.structure
unflatten = _tree.unflatten

__all__ = ["TreeStructure", "flatten", "leaves", "map", "register", "structure", "unflatten"]
