"""Everything that documentation says is run: docstrings, and the Python blocks of the README and the book."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import numpy
import pytest

import pullback

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENTS = [ROOT / "README.md", ROOT / "crates/pullback-python/README.md", *sorted((ROOT / "book/src/python").glob("*.md"))]


def modules():
    yield pullback
    for info in pkgutil.walk_packages(pullback.__path__, "pullback."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            yield importlib.import_module(info.name)


def docstrings():
    """Every public item with its docstring, once."""
    seen, found = set(), {}

    def visit(name, item):
        text = getattr(item, "__doc__", None)
        if id(item) in seen or not isinstance(text, str) or inspect.isdatadescriptor(item) and not text:
            return
        seen.add(id(item))
        found[name] = text
        if inspect.isclass(item) and item.__module__.startswith("pullback"):
            for key, member in vars(item).items():
                if not key.startswith("_"):
                    visit(f"{name}.{key}", member)

    for module in modules():
        found[module.__name__] = module.__doc__ or ""
        names = getattr(module, "__all__", [key for key in vars(module) if not key.startswith("_")])
        for key in names:
            item = getattr(module, key)
            if not inspect.ismodule(item) and str(getattr(item, "__module__", "pullback")).startswith("pullback"):
                visit(f"{module.__name__}.{key}", item)
    return found


DOCSTRINGS = docstrings()


@pytest.mark.parametrize("name", [name for name, text in DOCSTRINGS.items() if ">>>" in text])
def test_examples_of_docstrings_run(name):
    module = importlib.import_module(next(m.__name__ for m in reversed(list(modules())) if name.startswith(m.__name__)))
    # The package itself has names such as `float`.
    names = {"numpy": numpy, "pullback": pullback, **(vars(module) if module is not pullback else {})}
    test = doctest.DocTestParser().get_doctest(DOCSTRINGS[name], names, name, None, 0)
    report = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(test, out=report.append)
    assert not report, "".join(report)


def test_public_items_are_documented():
    assert [name for name, text in DOCSTRINGS.items() if not text.strip()] == []


def blocks(path):
    """The Python blocks of a document, as one program that keeps line numbers. Blocks marked `ignore` are left out."""
    lines, inside = [], False
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            inside = not inside and re.fullmatch(r"```python", line.strip()) is not None
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_of_documents_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = blocks(path)
    # Classes that are pickled, or looked up, need a module that exists.
    exec(compile(program, str(path), "exec"), {"__name__": "__main__"})
