"""Comments, docstrings and pages name files and modules that exist: what was moved or renamed is named as it is now."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("src/headway", "native", "java", "docs", "scripts", "benchmarks", "tests", "web/src")
LEFT_OUT = ("docs/reference", "benchmarks/results")
"""Made of other sources, or kept as they were measured."""
ELSEWHERE = re.compile(
    r"(linux/\w+|jvmti|Python|asprof|synchronizer|hook_class|sun|[ab]|headway_wakeups)\.\w+|([\w/]*/)?(TOPIC|NAME)\.\w+"
)
"""Files of the kernel, the JVM and async-profiler, those that a build makes, and those of examples."""
FILE = re.compile(r"(?<![\w./*{<%$-])((?:[\w-]+/)*[\w-]+\.(?:py|cpp|h))\b(?![\w/*.(])")
MODULE = re.compile(r"(?<![\w./-])([a-z_]+)\.([a-z_]+)\b(?!\()")
NO_PACKAGES = frozenset({"json", "account", "parts"})
"""Names of packages that are also names of Python's modules, or of variables."""
ENDINGS = frozenset({"csv", "headway", "html", "json", "jsonl", "md", "parquet", "proto", "py", "sweep", "ts", "txt"})


@functools.cache
def files() -> tuple[Path, ...]:
    """Return the sources and pages, without what is built."""
    found = (
        each for folder in FOLDERS for each in (ROOT / folder).rglob("*") if each.suffix in {".py", ".md", ".h", ".cpp"}
    )
    return tuple(each for each in found if not {"node_modules", "__pycache__", "build"} & set(each.parts))


@functools.cache
def ends_of_paths() -> frozenset[str]:
    """Return each file's path, and what is left of it without its first folders."""
    paths = [each.relative_to(ROOT).parts for each in files()]
    return frozenset("/".join(parts[start:]) for parts in paths for start in range(len(parts)))


@functools.cache
def packages() -> dict[str, frozenset[str]]:
    """Return what lies in each package of headway's, by the package's own name; equal names are one."""
    members: dict[str, set[str]] = {}
    for path in (ROOT / "src" / "headway").rglob("*.py"):
        names = [path.parent.name] if path.parent.name != "headway" else []
        for name in names:
            members.setdefault(name, set()).add(path.stem)
        if path.name == "__init__.py":
            members.setdefault(path.parent.parent.name, set()).add(path.parent.name)
    return {name: frozenset(found) for name, found in members.items() if name not in NO_PACKAGES | {"headway", "src"}}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that people read, numbered: of code its comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    if path.suffix == ".md":
        yield from enumerate(lines, 1)
        return
    mark = "#" if path.suffix == ".py" else "//"
    for number, line in enumerate(lines, 1):
        if (at := line.find(f"{mark} ")) >= 0:
            yield number, line[at:]
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield from enumerate(node.value.value.split("\n"), node.lineno)


def unknown_names(line: str) -> list[str]:
    """Return the files and modules that a line names and that there are not."""
    unknown = [name for name in FILE.findall(line) if name not in ends_of_paths() and not ELSEWHERE.fullmatch(name)]
    for package, member in MODULE.findall(line.replace("headway.", "")):
        if package in packages() and member not in packages()[package] | ENDINGS:
            unknown.append(f"{package}.{member}")
    return unknown


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_comment_and_no_page_names_a_file_or_a_module_that_is_not_there(folder: str) -> None:
    unknown = [
        f"{path.relative_to(ROOT)}:{number}: {name}"
        for path in files()
        if path.relative_to(ROOT).as_posix().startswith(folder + "/")
        and not path.relative_to(ROOT).as_posix().startswith(LEFT_OUT)
        for number, line in prose(path)
        for name in unknown_names(line)
    ]
    assert not unknown, "\n".join(unknown)


def test_a_name_of_a_file_that_was_moved_is_found() -> None:
    assert unknown_names("as analyses/nowhere.py says (waits.nowhere)") == ["analyses/nowhere.py", "waits.nowhere"]
    assert unknown_names("waits/rules.py, waits.rules, record.finalise and linux/futex.h") == []
