"""The native code never includes in a circle, and a folder that includes what it may not use does not compile."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "native"
GENERATED = {"sched.skel.h", "hook_class.h", "point_class_file.h", "count_class_file.h"}


def sources() -> Iterator[Path]:
    """Yield the C and C++ files of native/ but its tests."""
    for path in sorted(NATIVE.rglob("*")):
        if path.suffix in {".c", ".cpp", ".h"} and "tests" not in path.parts:
            yield path


def module(path: Path) -> str:
    """Return a module's name: a header and the source file of the same name are one."""
    return str(path.relative_to(NATIVE).with_suffix(""))


def includes() -> dict[str, set[str]]:
    """Return what each module includes of the others."""
    known = {module(path) for path in sources()}
    graph: dict[str, set[str]] = {name: set() for name in known}
    for path in sources():
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.MULTILINE):
            assert ".." not in name, f"{path}: an include by way of a parent folder"
            if name in GENERATED:
                continue
            beside = module(path.parent / name)
            target = beside if beside in known else str(Path(name).with_suffix(""))
            assert target in known, f"{path}: {name} is no header of native/"
            graph[module(path)] |= {target} - {module(path)}
    return graph


def check(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle: {' -> '.join(error.args[1])}") from None


def test_no_native_module_includes_itself_by_way_of_others() -> None:
    graph = includes()
    assert len(graph) > 150
    check(graph)


def test_native_folders_lie_in_an_order() -> None:
    folders: dict[str, set[str]] = {}
    for name, targets in includes().items():
        folder = str(Path(name).parent)
        folders.setdefault(folder, set()).update({str(Path(target).parent) for target in targets} - {folder})
    assert len(folders) > 25
    check(folders)


def test_every_native_header_says_first_what_it_is() -> None:
    silent = [path for path in sources() if path.suffix == ".h" and not re.match(r"(//|/\*) ?\w", path.read_text())]
    assert silent == []


def compiler_of(source: str) -> list[str]:
    """Return the command that compiles a file of native/, without the file."""
    database = ROOT / "build/native/compile_commands.json"
    assert database.is_file(), "no build/native: run 'make native'"
    for entry in json.loads(database.read_text()):
        words = shlex.split(entry["command"])
        compiled = Path(entry["file"])
        if compiled == NATIVE / source or (
            compiled.parent.name == "Unity" and f'"{NATIVE / source}"' in compiled.read_text()
        ):
            return [
                words[0],
                *(word for word in words[1:] if word.startswith(("-I", "-std", "-isystem", "/usr/lib/jvm"))),
            ]
    raise AssertionError(f"{source} is not compiled")


@pytest.mark.parametrize(
    ("source", "own", "forbidden"),
    [
        ("agent/core/text.cpp", "agent/core/text.h", "agent/locks/lock_table.h"),
        ("agent/hooks/jdk_hooks.cpp", "agent/hooks/jdk_hooks.h", "agent/waits/blockers.h"),
        ("agent/hooks/jdk_hooks.cpp", "agent/state/state.h", "agent/causal/blocking/blocking.h"),
        ("agent/causal/ledger/ledger.cpp", "agent/causal/ledger/ledger.h", "agent/state/state.h"),
        ("decode/scheduling/merge.cpp", "decode/scheduling/merge.h", "kernel/ring_reader.h"),
        (
            "decode/lock_records/lock_records.cpp",
            "decode/lock_records/lock_records.h",
            "decode/lock_tables/lock_rows.h",
        ),
        ("decode/objects/line_records.cpp", "decode/objects/line_records.h", "decode/threads/lifecycle.h"),
        ("critical_path/critical_path.cpp", "critical_path/critical_path.h", "decode/decoder.h"),
        ("jfr/interning.cpp", "jfr/interning.h", "decode/decoder.h"),
        ("lost_cores/changes.cpp", "lost_cores/changes.h", "decode/slices/slices.h"),
    ],
)
def test_an_include_of_what_a_folder_may_not_use_does_not_compile(
    source: str, own: str, forbidden: str, tmp_path: Path
) -> None:
    assert (NATIVE / own).is_file()
    assert (NATIVE / forbidden).is_file()
    compiler = compiler_of(source)
    for header, compiles in ((own, True), (forbidden, False)):
        probe = tmp_path / "probe.cpp"
        probe.write_text(f'#include "{header}"\n')
        words = [*compiler, "-fsyntax-only", str(probe)]
        done = subprocess.run(
            words, cwd=ROOT / "build/native", capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode == 0) is compiles, done.stderr
        assert compiles or f"{forbidden}: No such file" in done.stderr


def test_no_header_is_an_umbrella_over_others() -> None:
    """A header that only includes others ties all who need one of them to all of them."""
    umbrellas = []
    for path in sources():
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        lines = [line for line in map(str.strip, text.splitlines()) if line]
        included = [line for line in lines if line.startswith("#include")]
        if path.suffix == ".h" and len(included) > 1 and all(line.startswith("#") for line in lines):
            umbrellas.append(str(path.relative_to(NATIVE)))
    assert umbrellas == []
    named = {"agent.h", "locks.h", "hooks.h", "causal.h"}  # those that there were
    assert [str(path.relative_to(NATIVE)) for path in sources() if path.name in named] == []
