"""Run clang-tidy over native/, each file once per content: an unchanged tree costs nothing.

A file that passed leaves a mark named by the hash of everything its verdict can depend on. The run ends after
`--limit-s`; files that it had no time for count as failed, so that a slow machine never hides one. With `--commits N`, only files
that the last N commits changed, or whose header of the same name they did: the others were checked when they changed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKS = ROOT / "build" / "clang-tidy"
DATABASE = MARKS / "database"
# bpftool's skeletons say _Bool in C++; g++ knows that word there, clang does not.
EXTRA = ("--extra-arg=-D_Bool=bool",)


def compile_commands() -> dict[Path, str]:
    """Return {source: compile command} for the C++ sources of native/, and write them where clang-tidy reads them.

    CMake's own database has only the whole of a unity build, from which clang-tidy would guess the folders of headers.
    """
    found: dict[Path, str] = {}
    written: dict[Path, dict[str, str]] = {}
    for build in ("native", "sanitized"):
        database = ROOT / "build" / build / "compile_commands.json"
        if not database.is_file():
            continue
        for entry in json.loads(database.read_text()):
            for source in _sources(Path(entry["directory"], entry["file"]).resolve()):
                if source.is_relative_to(ROOT / "native") and source.suffix == ".cpp" and source.is_file():
                    found.setdefault(source, entry["command"])
                    command = entry["command"].replace(entry["file"], str(source))
                    written.setdefault(source, {**entry, "file": str(source), "command": command})
    DATABASE.mkdir(parents=True, exist_ok=True)
    (DATABASE / "compile_commands.json").write_text(json.dumps([*written.values()]))
    return found


def _sources(compiled: Path) -> list[Path]:
    """Return what is compiled: a file itself, or those that CMake has put into one of its unity builds."""
    if compiled.parent.name != "Unity" or not compiled.is_file():
        return [compiled]
    return [Path(name).resolve() for name in re.findall(r'^#include "(.+)"$', compiled.read_text(), re.MULTILINE)]


def changed(commits: int) -> set[str]:
    """Return the files of native/, without their endings, that the last commits touched."""
    words = ["git", "log", f"-{commits}", "--name-only", "--format=", "--", "native"]
    names = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return {name.rpartition(".")[0] for name in names}


def shared_hash() -> bytes:
    """Hash what every file's verdict depends on: the headers, the configuration, the tool."""
    digest = hashlib.sha256(subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout)
    headers = sorted(path for pattern in ("*.h", "*.hpp") for path in (ROOT / "native").rglob(pattern))
    rules = sorted((ROOT / "native").rglob(".clang-tidy"))
    for path in [ROOT / ".clang-tidy", *rules, Path(__file__), *headers]:
        digest.update(path.read_bytes())
    return digest.digest()


def check(source: Path, deadline: float) -> str:
    """Check one file; return what clang-tidy says, empty if nothing."""
    left = deadline - time.monotonic()
    if left <= 0:
        return "not checked: the time was up"
    command = ["clang-tidy", "--quiet", *EXTRA, "-p", str(DATABASE), str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        return "not checked: the time was up"
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main() -> int:
    """Check every changed file; return 0 if all are clean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit-s", type=float, default=900)
    parser.add_argument("--commits", type=int, default=0)
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit_s
    only = changed(options.commits) if options.commits else None
    MARKS.mkdir(parents=True, exist_ok=True)
    shared = shared_hash()
    todo: dict[Path, Path] = {}
    sources = compile_commands()
    if not sources:
        print("clang-tidy: no compile_commands.json under build/: run 'make setup'")
        return 1
    for source, command in sources.items():
        if only is not None and str(source.relative_to(ROOT).with_suffix("")) not in only:
            continue
        mark = MARKS / hashlib.sha256(shared + command.encode() + source.read_bytes()).hexdigest()
        if not mark.exists():
            todo[source] = mark
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        said = pool.map(lambda source: check(source, deadline), todo)
        for source, text in zip(todo, said, strict=True):
            if text:
                failed += 1
                print(f"{source.relative_to(ROOT)}:\n{text}")
            else:
                todo[source].touch()
    print(f"clang-tidy: {len(todo)} of {len(sources)} files checked now, {failed} of them not clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
