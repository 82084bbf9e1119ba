"""The stubs of the package."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from pullback import _core

HERE = Path(__file__).parent
WRITER = HERE.parent / "stubs" / "write.py"


def test_the_stubs_are_what_the_script_writes():
    script = runpy.run_path(str(WRITER))
    for path, text in script["stubs"]().items():
        assert path.read_text() == text, f"run stubs/write.py: {path.name} has changed"


# A value of each type that a parameter has.
VALUES = {
    "Tensor": "t",
    "Tensor | _Number": "2.5",
    "Iterable[Tensor]": "[t, t]",
    "SupportsIndex": "1",
    "SupportsIndex | Iterable[SupportsIndex]": "(1, 2)",
    "SupportsFloat": "0.5",
    "SupportsFloat | Iterable[SupportsFloat]": "[0.5]",
    "bool": "True",
    "str": "'ij'",
    "_DTypeLike": "pullback.float64",
    "Key | Generator": "k",
    "SupportsIndex | Sequence[SupportsIndex | Iterable[SupportsIndex]]": "([0], [1])",
}


def value(type_):
    type_ = type_.removesuffix(" | None")
    if "Literal[" in type_:
        return type_.split("Literal[")[1].split(",")[0].rstrip("]")
    return VALUES[type_]


def program():
    """A call of every overload of every operation, with every parameter by position and by name."""
    lines = ["import pullback", "import pullback.nn.functional", "from pullback import Tensor, return_types", ""]
    lines.append("def calls(t: Tensor, k: pullback.random.Key) -> None:")
    results = 0
    for namespaces, name, _, overloads in _core._signatures():
        for (first, *rest), result in overloads:
            for by_name in (False, True):
                given = [value(type_) for _, type_, _, _ in rest]
                # What comes behind those that are given one by one has a name.
                if by_name or first[3]:
                    given = [f"{p[0]}={v}" for p, v in zip(rest, given)]
                for home in namespaces or [None]:
                    if home is None:
                        call = f"t.{name}({', '.join(given)})"
                    else:
                        module = ".".join(filter(None, ["pullback", home]))
                        start = value(first[1]) if not (first[3] and by_name) else f"{first[0]}={value(first[1])}"
                        call = f"{module}.{name}({', '.join([start, *given])})"
                    lines.append(f"    r{results}: {result} = {call}")
                    results += 1
    return "\n".join(lines) + "\n"


def test_mypy_accepts_a_call_of_every_operation(tmp_path):
    pytest.importorskip("mypy")
    source = tmp_path / "calls.py"
    source.write_text(program())
    check = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(source)],
        capture_output=True,
        text=True,
    )
    assert check.returncode == 0, check.stdout[-4000:]


def test_mypy_finds_wrong_calls(tmp_path):
    pytest.importorskip("mypy")
    source = tmp_path / "wrong.py"
    source.write_text(
        "from pullback import Tensor, sin\n"
        "def calls(t: Tensor) -> None:\n"
        "    t.sum('a')\n"
        "    t.mse_loss(t, 'avg')\n"
        "    sin(1.0)\n"
        "    t.sort().value\n"
        "    n: int = t.exp()\n"
    )
    check = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(source)],
        capture_output=True,
        text=True,
    )
    assert "Found 5 errors" in check.stdout, check.stdout
