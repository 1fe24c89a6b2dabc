"""`record --counters-by-runs` for real: how often the program runs, and that each thread has the counts of its namesake."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from support.drivers.breakpoint_traps import PYTHON_TRAPS
from support.drivers.recording_cli import headway

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mode ebpf needs root"),
    pytest.mark.skipif(os.uname().machine != "x86_64", reason="maps a page at an address that x86 has"),
]
ADDRESS = 0x123450000000
WATCHED = f"mem:{ADDRESS:#x}/8:w"
WRITES = (1000, 2000, 3000, 4000)
# Threads, two of each name, that write a watched address so often, one after the other; and a line for each run.
PROGRAM = f"""
{PYTHON_TRAPS}
import ctypes, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
arguments = ctypes.c_void_p({ADDRESS}), ctypes.c_size_t(4096), 3, 0x22 | 0x100000, -1, ctypes.c_long(0)
assert libc.mmap(*arguments) == {ADDRESS}  # private, anonymous, there and nowhere else
watched = ctypes.c_long.from_address({ADDRESS})

def work(name, writes):
    libc.prctl(15, name.encode(), 0, 0, 0)
    for number in range(writes):
        watched.value = number

hits = []
for place, writes in enumerate({WRITES}):
    thread = threading.Thread(target=work, args=(f"writer-{{place // 2}}", writes))
    before = len(traps)
    thread.start()
    thread.join()
    hits.append(writes - len(traps) + before)
open(sys.argv[1], "a").write("run " + " ".join(map(str, hits)) + "\\n")
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, tuple[set[int], ...]]:
    """Return the answer, and how many hits of the breakpoint each thread had in any of the runs: WRITES but for SIGTRAPs."""
    folder = tmp_path_factory.mktemp("runs")
    path = folder / "a.headway"
    groups = f"page-faults,task-clock;task-clock,{WATCHED}"
    words = (
        "--mode",
        "ebpf",
        "--no-agent",
        "--allow-breakpoints",
        "--counters",
        groups,
        "--counters-by-runs",
        "-o",
        path,
    )
    done = headway("record", *words, "--", sys.executable, "-c", PROGRAM, folder / "ran")
    assert done.returncode == 0, done.stderr
    ran = [line.split() for line in (folder / "ran").read_text().splitlines()]
    assert [words[0] for words in ran] == ["run"] * 3  # a run for each group, and one of both
    answer = headway("counters", path, "--json")
    assert answer.returncode == 0, answer.stderr
    hits = tuple({int(word) for word in of_thread} for of_thread in zip(*(words[1:] for words in ran), strict=True))
    return json.loads(answer.stdout), hits


@pytest.fixture(scope="module")
def found(runs: tuple[Any, tuple[set[int], ...]]) -> Any:
    return runs[0]


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "count-events.md").read_text(encoding="utf-8")
    block = next(part for part in page.split("```sh\n") if "--counters-by-runs -o" in part).partition("```")[0]
    for line in block.replace("java -jar app.jar", "true").splitlines():
        done = headway(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
    assert "Against one run that counted all groups at once" in done.stdout


def test_each_thread_has_the_writes_of_its_namesake_in_the_run_that_counted_them(
    runs: tuple[Any, tuple[set[int], ...]],
) -> None:
    """Of the two of one name the one that was born first wrote less: they are not taken for each other."""
    found, hits = runs
    rows = sorted((row for row in found["threads"] if row["name"].startswith("writer-")), key=lambda row: row["tid"])
    assert [row["name"] for row in rows] == ["writer-0", "writer-0", "writer-1", "writer-1"]
    figures = [row["counts"][WATCHED] for row in rows]
    # Slices of which this kernel hides a switch have no counts (decision 0004), and leave the least that there was.
    assert [each["high"] is not None for each in figures] == [row["counted_ns"] == row["cpu_ns"] for row in rows]
    known = [(each, of_thread) for each, of_thread in zip(figures, hits, strict=True) if each["high"] is not None]
    assert known, "not one of four threads that write without a pause has counts of all its slices"
    assert all(each == dict.fromkeys(each, each["value"]) and each["value"] in of_thread for each, of_thread in known)
    assert all((each["low"] or 0) <= writes for each, writes in zip(figures, WRITES, strict=True))
    assert all({"page-faults", "task-clock"} <= {*row["counts"]} for row in rows)
    assert found["total"][WATCHED]["low"] <= sum(WRITES)


def test_the_runs_are_compared_with_each_other_and_with_one_of_all_groups(found: Any) -> None:
    said = found["by_runs"]
    assert len(said["alignment"]["cpu_ns"]) == 2
    clock = said["alignment"]["shared"]["task-clock"]
    assert clock["least"] <= found["total"]["task-clock"]["value"] <= clock["most"]
    assert {*said["in_turn"]} == {"page-faults", "task-clock", WATCHED}
    assert (said["took_turns"], said["left_out"]) == (False, [])
    writes = said["in_turn"][WATCHED]
    assert writes["low"] <= sum(WRITES)
