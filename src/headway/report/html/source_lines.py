"""The lines of source around a place in the program, from directories of sources: bounded in files, lines and characters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headway.report.html.flame_pack import visible
from headway.report.html.text import cut

AROUND = 5
"""Lines shown before and after the place."""
LINE_CHARS = 200
MAX_FILES = 200_000
"""Files of the directories that are looked at; what lies beyond is not found."""
MAX_FILE_BYTES = 4_000_000
_HEAD_LINES = 300
_PACKAGE = re.compile(r"\s*package\s+([\w.]+)\s*;?\s*(?://.*)?$")
_SUFFIXES = (".java", ".kt", ".kts", ".scala", ".groovy", ".clj")
_NOT_SOURCES = {"node_modules", "target", "build", "out"}


class Sources:
    """The source files under some directories, found by a class's package and its file's name."""

    def __init__(self, directories: Iterable[Path | str]) -> None:
        """List the files under the directories; hidden ones and those of builds are left out."""
        self._by_name: dict[str, list[tuple[Path, Path]]] = {}
        self._texts: dict[Path, list[str]] = {}
        for directory, path in _files([Path(each) for each in directories]):
            self._by_name.setdefault(path.name, []).append((path, directory))

    def around(self, class_name: str, file: str, line: int) -> dict[str, Any] | None:
        """Return {file, first, target, lines} of the lines around one, or None where the file or the line is not there."""
        found = self._find(class_name, file)
        if found is None:
            return None
        path, directory = found
        lines = self._lines(path)
        if not 1 <= line <= len(lines):
            return None
        first = max(1, line - AROUND)
        shown = lines[first - 1 : line + AROUND]
        return {
            "file": cut(visible(os.fspath(path.relative_to(directory))), LINE_CHARS),
            "first": first,
            "target": line,
            "lines": [cut(visible(text.expandtabs(4)), LINE_CHARS) for text in shown],
        }

    def _find(self, class_name: str, file: str) -> tuple[Path, Path] | None:
        """Return the file of this name that is of the class's package; None where there are none, or several."""
        package = class_name.rpartition(".")[0]
        found = [each for each in self._by_name.get(file, []) if self._is_of(each[0], package)]
        return found[0] if len(found) == 1 else None

    def _is_of(self, path: Path, package: str) -> bool:
        """Return whether a file declares this package (Kotlin files need not lie in it), or lies in it and declares none."""
        declared = ".".join(match[1] for line in self._lines(path)[:_HEAD_LINES] if (match := _PACKAGE.match(line)))
        if declared:
            return declared == package
        inside = tuple(package.split("."))
        return not package or path.parent.parts[-len(inside) :] == inside

    def _lines(self, path: Path) -> list[str]:
        if path not in self._texts:
            self._texts[path] = _read(path)
        return self._texts[path]


def _files(directories: list[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield (directory, file) for the sources under each of the directories, no file twice, MAX_FILES in all."""
    count, seen = 0, set()
    for directory in directories:
        for folder, folders, files in os.walk(directory):
            folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _NOT_SOURCES)
            for path in sorted(Path(folder) / name for name in files if name.endswith(_SUFFIXES)):
                if (real := os.path.realpath(path)) not in seen:
                    seen.add(real)
                    yield directory, path
            count += len(files)
            if count > MAX_FILES:
                return


def _read(path: Path) -> list[str]:
    """Return a file's lines; none where it can't be read. Lines end as javac counts them: at CR, LF or both, nowhere else."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # universal newlines: exactly these three
            return file.read(MAX_FILE_BYTES).split("\n")
    except OSError:
        return []
