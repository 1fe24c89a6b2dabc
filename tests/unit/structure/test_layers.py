"""Modules never import in a circle, not even for their types: each can be read, and changed, with what lies below it alone."""

from __future__ import annotations

import ast
import subprocess
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import headway

ROOT = Path(headway.__file__).parent
REPOSITORY = Path(__file__).resolve().parents[3]


def modules() -> dict[str, Path]:
    """Return every module of the package by its name."""
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(("headway", *path.relative_to(ROOT).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports anywhere: at its head, in functions, or for types only."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in names}
    return found & set(known)


def test_no_module_imports_itself_by_way_of_others() -> None:
    known = modules()
    assert len(known) > 300
    graph = {name: imported(path, known) - {name} for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle: {' -> '.join(error.args[1])}") from None


def test_no_source_is_hidden_from_git() -> None:
    """A folder whose name .gitignore has for what builds make is there for who wrote it, and for nobody else."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a clone of git")
    sources = [
        path.relative_to(REPOSITORY).as_posix()
        for top, kinds in (
            ("native", ("*.cpp", "*.h", "*.java", "*.txt", "*.cmake")),
            ("src", ("*.py",)),
            ("web/src", ("*.ts*", "*.css")),
        )
        for kind in kinds
        for path in (REPOSITORY / top).rglob(kind)
        if not path.name.endswith(".skel.h")
    ]
    asked = subprocess.run(
        ["git", "check-ignore", "--stdin"], cwd=REPOSITORY, input="\n".join(sources), capture_output=True, text=True
    )
    assert asked.returncode == 1, asked.stdout
