"""The documentation of the transforms: every function has an example, and all of them run."""

import doctest
import inspect

import pytest

from pullback import func, implicit, tree

ITEMS = [(module, name) for module in (func, implicit, tree) for name in module.__all__]


@pytest.mark.parametrize(("module", "name"), ITEMS, ids=lambda x: x if isinstance(x, str) else x.__name__)
def test_examples_run(module, name):
    item = getattr(module, name)
    if inspect.ismodule(item):
        return
    assert item.__doc__ or name == "Transformed"
    members = [item, *(getattr(item, k) for k in vars(item))] if isinstance(item, type) else [item]
    for member in members:
        doc = getattr(member, "__doc__", None)
        if isinstance(doc, str):
            test = doctest.DocTestParser().get_doctest(doc, {}, f"{module.__name__}.{name}", None, 0)
            assert doctest.DocTestRunner().run(test).failed == 0
    assert isinstance(item, type) or ">>> " in item.__doc__


@pytest.mark.parametrize("module", [func, implicit, tree])
def test_examples_of_modules_run(module):
    assert doctest.testmod(module).failed == 0
