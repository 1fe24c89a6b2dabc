"""Write the types of the native modules, from the modules themselves (nanobind's stubgen).

src/headway/_native.pyi is of headway's own, tests/support/_native_for_tests.pyi of what only tests call. nanobind knows of a dict
or an object that C++ returns nothing but that, which the type checker would not let pass: here they become dict[str, Any] and
Any. The ranges of array arguments are left out, which types can't say.

With --check nothing is written; the exit code is 1 if a stub is not what its module gives. Docstrings, which another nanobind may
lay out differently, are not compared.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
from pathlib import Path

from nanobind.stubgen import StubGen  # type: ignore[import-untyped, unused-ignore]

ROOT = Path(__file__).resolve().parent.parent
STUBS = {
    "headway._native": ROOT / "src" / "headway" / "_native.pyi",
    "support._native_for_tests": ROOT / "tests" / "support" / "_native_for_tests.pyi",
}
HEAD = "# Made from the module by scripts/make_stub.py (make reference): change native/python, not this file.\n\n"
_ARRAY = re.compile(r"Annotated\[(NDArray\[numpy\.\w+\]), dict\([^()]*(?:\([^()]*\)[^()]*)*\)\]")
_ERROR = re.compile(r'(class CollectorError\(Exception\):\n    """.*?"""\n)', re.DOTALL)
_ERROR_ATTRIBUTES = "\n    step: str\n    errno: int\n    detail: str\n"
"""Of an exception that C++ makes, nanobind knows the name alone."""
_VAGUE = {"dict": "dict[str, Any]", "list": "list[Any]", "tuple": "tuple[Any, ...]", "object": "Any"}


def stub(name: str) -> str:
    """Return the text of a module's stub."""
    module = importlib.import_module(name)
    maker = StubGen(module=module, include_docstrings=True)
    maker.put(module)
    text = _ARRAY.sub(r"\1", str(maker.get()))
    text = _ERROR.sub(lambda found: found[1] + _ERROR_ATTRIBUTES, text)
    for vague, typed in _VAGUE.items():
        text = re.sub(rf"(?<=-> ){vague}(?=:|$)", typed, text, flags=re.MULTILINE)
        text = re.sub(rf"(?<=: ){vague}(?=[,)]| =)", typed, text)
        text = re.sub(rf"(?<=-> ){vague}(?= \|)|(?<=\| ){vague}\b(?!\[)", typed, text)
    text = re.sub(r"^from typing import .*\n", "", text, flags=re.MULTILINE)
    if "Any" in text:
        text = re.sub(r"^(import|from) ", r"from typing import Any\n\1 ", text, count=1, flags=re.MULTILINE)
    return HEAD + text


def types_of(text: str) -> str:
    """Return what a stub says but for its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
            node.body = [ast.Pass() if ast.unparse(each) == "..." else each for each in node.body]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def main() -> int:
    """Write the stubs, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is stale")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT / "tests"))
    stale = []
    for name, path in STUBS.items():
        text = stub(name)
        if not check:
            path.write_text(text)
        elif not path.is_file() or types_of(path.read_text()) != types_of(text):
            stale.append(path)
    for path in stale:
        print(f"{path.relative_to(ROOT)} is stale: run 'make reference'")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
