"""Tells in a checkout of headway's sources when its native part was built of older ones: the two may not fit together then."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

_AGENT = "libheadway_agent.so"
_COMPILED = (".c", ".cpp", ".java", ".map")
"""File name endings of the sources that a native library is compiled from, headers left out."""
_OF_TESTS = ("tests", "testing", "bind_tests.cpp")
_OF_OTHERS = re.compile(r"SOURCE_DIR\}/native/(\S+\.cpp)")
"""Names, in the agent's CMakeLists.txt, a source of another folder that is compiled into the agent as well."""
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)


def newer_native_source() -> Path | None:
    """Return a source of the native part that was changed after it was built; None: there is none, or no sources are here.

    For when something went wrong that nobody expects: it reads a few hundred files. The times are what `make` goes by, too.
    """
    try:
        found = importlib.util.find_spec("headway._native")
        if found is None or found.origin is None:
            return None
        module = Path(found.origin)
        return newer_source(module, module.parents[2] / "native")
    except (OSError, ImportError, IndexError, ValueError):
        return None


def build_command(package: Path | None = None) -> str:
    """Return the command that puts the native part in place: in a checkout of the sources its build, else an installation.

    `package`: the folder of headway's Python files, by default that of this one.
    """
    package = package or Path(__file__).resolve().parents[1]
    checkout = package.parents[1]
    if package.parent.name == "src" and all((checkout / each).exists() for each in ("Makefile", "native")):
        return f"cd {shlex.quote(str(checkout))} && make setup"
    return "pip install --force-reinstall headway"


def newer_source(module: Path, sources: Path) -> Path | None:
    """Return the source below a folder that was changed last, if that was after the library which is made of it was built.

    There are two, the module and the agent beside it; a build makes anew only what a change is part of.
    """
    files = (path for path in sources.rglob("*") if path.suffix in _COMPILED)
    compiled = {path for path in files if not {*path.relative_to(sources).parts} & {*_OF_TESTS}}
    of_agent = _of_agent(compiled, sources)
    newer = []
    for library, its_own in (
        (module, {path for path in compiled if sources / "agent" not in path.parents}),
        (module.with_name(_AGENT), of_agent),
    ):
        if library.exists():
            built = library.stat().st_mtime
            of_library = _with_included(its_own, sources)
            newer += [(changed, path) for path in of_library if (changed := path.stat().st_mtime) > built]
    return max(newer)[1] if newer else None


def _of_agent(compiled: set[Path], sources: Path) -> set[Path]:
    listed = sources / "agent" / "CMakeLists.txt"
    others = _OF_OTHERS.findall(listed.read_text()) if listed.is_file() else ()
    return {path for path in compiled if sources / "agent" in path.parents} | {sources / name for name in others}


def _with_included(paths: Iterable[Path], sources: Path) -> set[Path]:
    """Return files with all that they include of these sources."""
    found: set[Path] = set()
    left = [*paths]
    while left:
        path = left.pop()
        if path not in found and path.is_file():
            found.add(path)
            names = [name.decode() for name in _INCLUDE.findall(path.read_bytes())]
            left += [folder / name for name in names for folder in (sources, path.parent)]
    return found
