"""The lines of source around a place in the program, from directories of sources: bounded in files, folders, lines and time."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, Notice
from headway.report.html.flame_pack import visible
from headway.report.html.text import cut
from headway.store import directory as directories
from headway.store.files import open_in_directory, open_named

AROUND = 5
"""Lines shown before and after the place."""
LINE_CHARS = 200
MAX_FILES, MAX_FOLDERS, MAX_LEVELS, MAX_LOOKING_S = 200_000, 50_000, 64, 20.0
"""Entries of the directories that are looked at, folders, how deep they lie, and how long; what lies beyond is not found."""
MAX_FILE_BYTES = 4_000_000
_HEAD_LINES = 300
_HEAD_BYTES = 64 << 10
_HEAD_LINE_CHARS = 1000
_MOST_OF_A_NAME = 100
"""So many files of one name are looked into; a place in more of them is in none."""
_PACKAGE = re.compile(r"\s*package\s+([\w.]+)\s*(?:;\s*)?(?://.*)?$")
_SUFFIXES = (".java", ".kt", ".kts", ".scala", ".groovy", ".clj")
_NOT_SOURCES = {"node_modules", "target", "build", "out"}
_MOST_KEPT = 4
"""So many files' lines are kept: places are in the order of what they give, those of one file often one after the other."""


class Sources:
    """The source files under some directories, found by a class's package and its file's name."""

    def __init__(self, directories: Iterable[Path | str]) -> None:
        """List the files under the directories; hidden ones and those of builds are left out."""
        self._by_name: dict[str, list[tuple[Path, Path]]] = {}
        self._texts: dict[Path, list[str]] = {}
        self._packages: dict[Path, str] = {}
        search = _Search()
        for directory, path in search.files([Path(each) for each in directories]):
            self._by_name.setdefault(path.name, []).append((path, directory))
        self.notices = tuple(search.notices)
        """What was not looked through."""

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
        named = self._by_name.get(file, [])
        if len(named) > _MOST_OF_A_NAME:
            return None
        found = [each for each in named if self._is_of(each[0], package)]
        return found[0] if len(found) == 1 else None

    def _is_of(self, path: Path, package: str) -> bool:
        """Return whether a file declares this package (Kotlin files need not lie in it), or lies in it and declares none."""
        declared = self._declared(path)
        if declared:
            return declared == package
        inside = tuple(package.split("."))
        return not package or path.parent.parts[-len(inside) :] == inside

    def _declared(self, path: Path) -> str:
        """Return the package that a file declares in its first lines, "" for none: read once, as many places are in few files."""
        if path not in self._packages:
            head = [line[:_HEAD_LINE_CHARS] for line in _read(path, _HEAD_BYTES)[:_HEAD_LINES]]
            self._packages[path] = ".".join(match[1] for line in head if (match := _PACKAGE.match(line)))
        return self._packages[path]

    def _lines(self, path: Path) -> list[str]:
        if path not in self._texts:
            while len(self._texts) >= _MOST_KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[path] = _read(path)
        return self._texts[path]


class _Search:
    """Goes through directories for sources, within limits that hold for all of them together."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self._entries = self._folders = 0
        self._seen: set[str] = set()
        self._end_s = time.monotonic() + MAX_LOOKING_S

    def files(self, directories: list[Path]) -> Iterator[tuple[Path, Path]]:
        """Yield (directory, file) for the sources under each of the directories, no file twice."""
        for directory in directories:
            for path in self._below(directory):
                if (real := os.path.realpath(path)) not in self._seen:
                    self._seen.add(real)
                    yield directory, path

    def _below(self, directory: Path) -> Iterator[Path]:
        """Yield the sources below a directory, those of a folder before those of its folders, in order of their names."""
        left = [(directory, 0)]
        while left:
            folder, level = left.pop()
            if self._is_over(directory):
                return
            self._folders += 1
            folders, files = self._listed(folder, directory)
            yield from files
            if folders and level >= MAX_LEVELS:
                self._leave_out(directory, f"{MAX_LEVELS} levels of folders")
                continue
            left += ((each, level + 1) for each in reversed(folders))

    def _is_over(self, directory: Path) -> bool:
        """Return whether a limit has been reached, and note it: of what is below `directory` something is left out."""
        if self._entries >= MAX_FILES:
            self._leave_out(directory, f"{MAX_FILES:,} files")
        elif self._folders >= MAX_FOLDERS:
            self._leave_out(directory, f"{MAX_FOLDERS:,} folders")
        elif time.monotonic() > self._end_s:
            self._leave_out(directory, f"{MAX_LOOKING_S:g} s")
        else:
            return False
        return True

    def _leave_out(self, directory: Path, limit: str) -> None:
        notice = Notice.of("HW511", directory=directory, limit=limit)
        if notice not in self.notices:
            self.notices.append(notice)

    def _listed(self, folder: Path, directory: Path) -> tuple[list[Path], list[Path]]:
        """Return the folders and the sources in a folder, as many as may still be looked at; none of one that can't be listed."""
        folders, files = [], []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if self._is_over(directory):
                    break
                self._entries += 1
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name not in _NOT_SOURCES:
                        folders.append(folder / entry.name)
                elif entry.name.endswith(_SUFFIXES):
                    files.append(folder / entry.name)
        return sorted(folders), sorted(files)


def _read(path: Path, most: int = MAX_FILE_BYTES) -> list[str]:
    """Return the lines of a file's beginning; none where it can't be read. They end as javac has it: at CR, LF or both."""
    try:
        with open(_open(path), encoding="utf-8", errors="replace") as file:  # universal newlines: exactly these three
            return file.read(most).split("\n")
    except (OSError, HeadwayError):
        return []


def _open(path: Path) -> int:
    """Return a descriptor of an ordinary file; as root, of none that a link of another user's leads to. Raises OSError, HW317."""
    if os.geteuid() != 0:
        return open_named(path)
    if path.is_symlink() and not directories.is_untrusted_user(path.lstat().st_uid):
        path = path.parent / os.readlink(path)
    with directories.open_entry(path) as place:
        return open_in_directory(place)
