"""Writes the stubs of the native module and of the namespaces of operations.

    python stubs/write.py           # writes them beside the sources
    python stubs/write.py --check   # fails if they are not what it would write

Operations come from the table. What else the native module has is found by looking at it; its types are those of the `.pyi` files in
this directory, one for each topic, where classes and functions are written as in any stub, without imports. What they do not mention
is there without types.
"""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

import pullback
from pullback import _core

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "python" / "pullback"
WIDTH = 120
HEAD = '"""{}"""\n\n# Written by stubs/write.py.\n\n'
TYPING = "from collections.abc import Iterable, Iterator, Sequence\nfrom typing import Any, Literal, SupportsFloat, SupportsIndex, final, overload\n"
# Methods hide the types whose names they have; and names that are in stubs only begin with an underscore.
ALIASES = {
    "bool": "builtins.bool",
    "int": "builtins.int",
    "float": "builtins.float",
    "complex": "builtins.complex",
    "dtype": "dtype",
    "Number": "_bool | _int | _float | _complex",
    "DTypeLike": "_dtype | type[Any] | str | Any",
}
INDENT = "    "


def operations():
    """The operations with a home in each namespace, and the methods."""
    functions, methods = {}, {}
    for namespaces, name, doc, overloads in _core._signatures():
        if not namespaces:
            methods[name] = doc, overloads
        for namespace in namespaces:
            functions.setdefault(namespace, {})[name] = doc, overloads
    return functions, methods


def parameter(name, type_, default, variadic):
    """A parameter in each way that it can be written."""
    if variadic:
        element = "Tensor" if "Tensor" in type_ else "SupportsIndex"
        # What comes behind has names.
        return [f"*{name}: {element}", f"{name}: {type_}, *"]
    return [f"{name}: {type_}" + (f" = {default}" if default is not None else "")]


def signatures(overloads, is_method):
    """The parameters and result of each overload."""
    for parameters, result in overloads:
        first, *rest = parameters
        head = ["self", "/"] if is_method else None
        ways = [[]] if is_method else [[way] for way in parameter(*first)]
        for p in rest:
            ways = [way + [written] for way in ways for written in parameter(*p)]
        for way in ways:
            way[-1:] = [last.removesuffix(", *") for last in way[-1:]]
            yield (head or []) + way, result


def summary(doc):
    """The first paragraph; the rest is in `help()`."""
    return doc.split("\n\n")[0] if doc else None


def aliased(source):
    """Types by names that no method of `Tensor` has."""
    names = "|".join(ALIASES)
    return re.sub(rf"(?<=-> )({names})\b|(?<!def )(?<![\w.'\"])({names})\b(?![:('\"])", lambda m: f"_{m[0]}", source)


def define(name, parameters, result, indent, doc=None):
    """A function, in one line if it fits."""
    line = f"{indent}def {name}({', '.join(parameters)}) -> {result}:"
    if len(line) > WIDTH:
        inner = "".join(f"{indent}{INDENT}{p},\n" for p in parameters)
        line = f"{indent}def {name}(\n{inner}{indent}) -> {result}:"
    if doc is None:
        return f"{line} ...\n"
    doc = doc.replace("\\", "\\\\")
    if "\n" not in doc:
        return f'{line}\n{indent}{INDENT}"""{doc}"""\n'
    lines = "\n".join(f"{indent}{INDENT}{l}".rstrip() for l in doc.splitlines())
    return f'{line}\n{indent}{INDENT}"""{lines.lstrip()}\n{indent}{INDENT}"""\n'


def operation(name, doc, overloads, is_method=False):
    """A function or method with its documentation."""
    indent = INDENT if is_method else ""
    all_ = list(signatures(overloads, is_method))
    mark = f"{indent}@overload\n" if len(all_) > 1 else ""
    out = []
    for k, (parameters, result) in enumerate(all_):
        if is_method:
            parameters, result = [aliased(p) for p in parameters], aliased(result)
        out.append(mark + define(name, parameters, result, indent, summary(doc) if len(overloads) == 1 and k == 0 else None))
    return "".join(out)


def namespace(name, title, functions):
    """The stub of a namespace."""
    dots = "." * (name.count(".") + 1)
    out = [HEAD.format(title), TYPING, "\n", f"from {dots} import return_types\nfrom {dots}_core import Tensor, _DTypeLike, _Number\n\n"]
    out.append("__all__ = [\n" + "".join(f'    "{f}",\n' for f in functions) + "]\n\n")
    out += [operation(f, *functions[f]) + "\n" for f in functions]
    return "".join(out).rstrip() + "\n"


def others(module, functions):
    """What a module has beside operations: things of the native module, other names of classes, and functions in Python."""
    names = [name for name in module.__all__ if name not in functions]
    own = {name: getattr(module, name) for name in names}
    native = [name for name, value in own.items() if getattr(_core, name, None) is value]
    out = [f"from {'.' * module.__name__.count('.')}_core import {name} as {name}\n" for name in native] + ["\n"]
    for name, value in own.items():
        if name in native:
            continue
        if inspect.isclass(value):
            out.append(f"{name} = {value.__name__}\n\n")
        else:
            signature = inspect.signature(value, eval_str=False)
            parameters = [inspect.formatannotation(p.annotation) for p in signature.parameters.values()]
            parameters = [
                f"{p.name}: {type_}" + ("" if p.default is p.empty else f" = {p.default!r}")
                for p, type_ in zip(signature.parameters.values(), parameters)
            ]
            result = inspect.formatannotation(signature.return_annotation).replace("pullback._core.", "").replace("pullback.random.", "")
            parameters = [p.replace("pullback.random.", "") for p in parameters]
            out.append(define(name, parameters, result, "", summary(inspect.getdoc(value))) + "\n")
    return "".join(out).rstrip() + "\n"


# The types of parameters of these names.
NAMED = {
    "shape": "SupportsIndex | Sequence[SupportsIndex]",
    "tensor": "Tensor",
    "input": "Tensor",
    "tensors": "Any",
    "dtype": "_DTypeLike | None",
    "generator": "Generator | Key | None",
    "path": "str | bytes | PathLike[str] | PathLike[bytes]",
    "metadata": "dict[str, str] | None",
    "names": "Sequence[str] | None",
    "param": "float | None",
    "mode": "str",
    "nonlinearity": "str",
}
# What these return; the others, a tensor.
RETURNED = {
    "calculate_gain": "float",
    "load": "Any",
    "load_safetensors": "dict[str, Tensor]",
    "load_safetensors_metadata": "dict[str, str]",
    "load_npz": "dict[str, Tensor]",
    "save": "None",
    "save_safetensors": "None",
    "save_npy": "None",
    "save_npz": "None",
}


def native(module):
    """The stub of a module whose functions are native, with types by the names of their parameters."""
    out = [
        HEAD.format(summary(module.__doc__.strip())),
        "from collections.abc import Sequence\nfrom os import PathLike\nfrom typing import Any, SupportsFloat, SupportsIndex\n\n",
        "from ._core import Generator, Key, Tensor, _DTypeLike\n\n",
    ]
    for name in module.__all__:
        function = getattr(module, name)
        parameters, starred = [], False
        for p in inspect.signature(function).parameters.values():
            if p.kind is p.KEYWORD_ONLY and not starred:
                parameters.append("*")
                starred = True
            default = "" if p.default is p.empty else " = ..." if p.default is Ellipsis else f" = {p.default!r}"
            number = {bool: "bool", int: "SupportsIndex", float: "SupportsFloat"}.get(type(p.default), "Any")
            parameters.append(f"{p.name}: {NAMED.get(p.name, number)}{default}")
        out.append(define(name, parameters, RETURNED.get(name, "Tensor"), "", summary(inspect.getdoc(function))) + "\n")
    return "".join(out).rstrip() + "\n"


def return_types():
    """The stub of the types with named fields."""
    typing = "from typing import final\n\nfrom _typeshed import structseq\n\nfrom ._core import Tensor\n"
    out = [HEAD.format(pullback.return_types.__doc__), typing]
    for name in pullback.return_types.__all__:
        class_ = getattr(pullback.return_types, name)
        fields = class_.__match_args__
        bases = f"structseq[Tensor], tuple[{', '.join(['Tensor'] * len(fields))}]"
        out.append(f'\n@final\nclass {name}({bases}):\n    """{class_.__doc__}"""\n\n')
        out.append(f"    __match_args__ = {fields!r}\n")
        out += [f"    @property\n    def {field}(self) -> Tensor: ...\n" for field in fields]
    return "".join(out)


def fragments():
    """What the files of this directory say: the members of classes, and functions."""
    classes, others = {}, {}
    for path in sorted(HERE.glob("*.pyi")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                members = classes.setdefault(node.name, {})
                for member in node.body:
                    members.setdefault(named(member), []).append(source(text, member))
            else:
                others.setdefault(named(node), []).append(source(text, node))
    return classes, others


def source(text, node):
    """The lines of a statement, with their comments."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    lines = "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return aliased(textwrap.dedent(lines))


def named(node):
    """The name that a statement defines."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target)
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return getattr(node, "name", "")


def untyped(name, value, indent, owner=None):
    """A member of which no file says the types."""
    doc = summary(inspect.getdoc(value))
    if inspect.isgetsetdescriptor(value) or inspect.ismemberdescriptor(value):
        return f"{indent}@property\n" + define(name, ["self"], "Any", indent, doc)
    if callable(value) or isinstance(value, (classmethod, staticmethod)):
        mark = ""
        if owner is not None and isinstance(owner.__dict__.get(name), (classmethod, staticmethod)):
            mark = f"{indent}@{type(owner.__dict__[name]).__name__}\n"
        try:
            signature = inspect.signature(getattr(owner, name) if owner is not None else value)
            parameters = [plain(p) for p in signature.parameters.values()]
            positional = [p.kind is p.POSITIONAL_ONLY for p in signature.parameters.values()]
            if any(positional):
                parameters.insert(positional.count(True), "/")
            kinds = [p.kind for p in signature.parameters.values()]
            keyword = inspect.Parameter.KEYWORD_ONLY
            if keyword in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
                parameters.insert(kinds.index(keyword) + any(positional), "*")
            if "classmethod" in mark:
                parameters.insert(0, "cls")
        except (ValueError, TypeError):
            parameters = ["self"] * (owner is not None and not mark) + ["*args: Any", "**kwargs: Any"]
        return mark + define(name, parameters, "Any", indent, doc)
    known = type(value).__name__ if isinstance(value, (str, _core.dtype)) else "Any"
    return f"{indent}{name}: {known}\n"


def plain(p):
    """A parameter without type."""
    if p.name in ("self", "cls"):
        return p.name
    star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    default = "" if p.default is p.empty else " = ..."
    return f"{star}{p.name}: Any{default}"


def indented(text, indent):
    return "".join(f"{indent}{line}\n" if line else "\n" for line in text.splitlines())


# What every object has, or only the interpreter asks for.
USUAL = {name for name in dir(object)} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"}
USUAL |= {"__module__", "__dict__", "__weakref__", "__doc__", "__text_signature__", "__match_args__", "__annotations__"}


def class_(name, value, known, methods):
    """The stub of a class."""
    bases = [base for base in value.__bases__ if base is not object]
    written = [b.__name__ if b.__module__ in ("builtins", "pullback") else "Any" for b in bases]
    out = [f"class {name}({', '.join(written)}):\n" if bases else f"class {name}:\n"]
    try:
        type(name, (value,), {})
    except TypeError:
        out.insert(0, "@final\n")
    doc = summary(inspect.cleandoc(value.__doc__ or ""))
    if doc:
        out.append(f'    """{indented(doc, INDENT).strip()}"""\n\n')
    body = []
    members = {k: v for k, v in vars(value).items() if k not in USUAL or k in known}
    if "__hash__" in members and members["__hash__"] is None:
        members["__hash__"] = None
    for member in [*known, *sorted(m for m in members if m not in known)]:
        if member in known:
            body += [indented(lines, INDENT) for lines in known[member]]
        elif member in methods:
            body.append(operation(member, *methods[member], is_method=True))
        elif members[member] is None:
            mark = "  # type: ignore[assignment]" if member == "__hash__" else ""
            body.append(f"    {member}: None{mark}\n")
        elif not (issubclass(value, BaseException) and member.startswith("__")):
            body.append(untyped(member, members[member], INDENT, value))
    return "".join(out + (body or ["    ...\n"]))


def core(functions, methods):
    """The stub of the native module."""
    classes, others = fragments()
    out = [HEAD.format("The native module."), "import builtins\n", TYPING.replace("final,", "TypeAlias, final,"), "\n", "from . import return_types\n\n"]
    out += [f"_{name}: TypeAlias = {type_}\n" for name, type_ in ALIASES.items()]
    for name, value in vars(_core).items():
        if name.startswith("__") and name != "__version__":
            continue
        out.append("\n")
        if name in others:
            out += [lines + "\n" for lines in others[name]]
        elif inspect.isclass(value):
            own = {"Tensor": methods, "Key": functions["random"], "Generator": functions["random"]}
            out.append(class_(name, value, classes.get(name, {}), own.get(name, {})))
        elif inspect.ismodule(value):
            out.append(f"{name}: Any\n")
        elif isinstance(value, dict):
            out.append(f"{name}: dict[str, dict[str, Any]]\n")
        else:
            out.append(untyped(name, value, ""))
    return "".join(out)


def stubs():
    """The text of each file."""
    functions, methods = operations()
    out = {PACKAGE / "_core.pyi": core(functions, methods), PACKAGE / "return_types.pyi": return_types()}
    for name, all_ in functions.items():
        module = sys.modules[f"pullback.{name or '_operations'}"]
        path = PACKAGE.joinpath(*(name or "_operations").split(".")).with_suffix(".pyi")
        out[path] = namespace(name, module.__doc__, all_)
        if name == "random":
            out[path] += "\n" + others(module, all_)
    for name in ("init", "io"):
        out[PACKAGE / f"{name}.pyi"] = native(sys.modules[f"pullback.{name}"])
    return out


def main():
    stale = [path for path, text in stubs().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"run stubs/write.py: it would change {', '.join(path.name for path in stale)}")
        return
    for path, text in stubs().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
