"""The lines of source around a place in the program, from a directory of sources: bounded in files, lines and characters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from headway.report.html.flame_pack import visible
from headway.report.html.text import cut

AROUND = 5
"""Lines shown before and after the place."""
LINE_CHARS = 200
MAX_FILES = 200_000
"""Files of the directory that are looked at; what lies beyond is not found."""
MAX_FILE_BYTES = 4_000_000
_SUFFIXES = (".java", ".kt", ".kts", ".scala", ".groovy", ".clj")
_NOT_SOURCES = {"node_modules", "target", "build", "out"}


class Sources:
    """The source files under a directory, found by a class's package and its file's name."""

    def __init__(self, directory: Path) -> None:
        """List the files under `directory`; hidden directories and those of builds are left out."""
        self._directory = directory
        self._by_name: dict[str, list[Path]] = {}
        self._texts: dict[Path, list[str]] = {}
        count = 0
        for folder, folders, files in os.walk(directory):
            folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _NOT_SOURCES)
            for name in sorted(files):
                if name.endswith(_SUFFIXES):
                    self._by_name.setdefault(name, []).append(Path(folder) / name)
            count += len(files)
            if count > MAX_FILES:
                break

    def around(self, class_name: str, file: str, line: int) -> dict[str, Any] | None:
        """Return {file, first, target, lines} of the lines around one, or None where the file or the line is not there."""
        path = self._find(class_name, file)
        if path is None:
            return None
        lines = self._lines(path)
        if not 1 <= line <= len(lines):
            return None
        first = max(1, line - AROUND)
        shown = lines[first - 1 : line + AROUND]
        return {
            "file": cut(visible(os.fspath(path.relative_to(self._directory))), LINE_CHARS),
            "first": first,
            "target": line,
            "lines": [cut(visible(text.expandtabs(4)), LINE_CHARS) for text in shown],
        }

    def _find(self, class_name: str, file: str) -> Path | None:
        """Return the file in the class's package; where none lies so (Kotlin need not), the only one of that name."""
        found = self._by_name.get(file, [])
        package = tuple(class_name.split(".")[:-1])
        inside = [each for each in found if package and each.parent.parts[-len(package) :] == package]
        if len(inside) == 1:
            return inside[0]
        return found[0] if len(found) == 1 and not inside else None

    def _lines(self, path: Path) -> list[str]:
        if path not in self._texts:
            self._texts[path] = _read(path)
        return self._texts[path]


def _read(path: Path) -> list[str]:
    """Return a file's lines; none where it can't be read. Lines end as javac counts them: at CR, LF or both, nowhere else."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # universal newlines: exactly these three
            return file.read(MAX_FILE_BYTES).split("\n")
    except OSError:
        return []
