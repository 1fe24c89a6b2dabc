"""Memory nodes and processes without number, in recordings and while one is made: `numa-map` stays as large as a machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway.errors import HeadwayError
from headway.model.machine_limits import MOST_MEMORY_NODES
from headway.record.collect.heap_nodes import HeapNodes
from headway.record.target_process import processes
from headway.record.target_process.processes import Process
from headway.report.analyses import numa_map
from headway.store import open_recording
from headway.store.writer import write_recording
from support.builders.edited_manifest import edit
from support.builders.recording_builder import ONE_THREAD
from support.drivers.recording_cli import HEADWAY

Run = Callable[..., tuple[int, str, str]]
NAMES = ("ns", "pid", "is_heap", "memory_pages", "page_bytes", "asked_pages", "node", "pages")


def recording(place: Path, rows: list[tuple[Any, ...]], nodes: list[int]) -> Path:
    columns = {name: list(values) for name, values in zip(NAMES, zip(*rows, strict=True), strict=True)}
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]}), "heap_node": pa.table(columns)}
    facts = {"window": {"start_ns": 0, "end_ns": 1_000_000}, "mode": "agent"}
    path = write_recording(place / "a.headway", facts, tables)
    edit(path, host={"memory_nodes": nodes})
    return path


def looks(count: int, nodes: int) -> list[tuple[Any, ...]]:
    return [(5 + i, 7, True, 10, 4096, 10, i % nodes, 10) for i in range(count)]


@pytest.mark.parametrize("node", [MOST_MEMORY_NODES, -1])
def test_a_node_that_no_kernel_has_is_refused(node: int, tmp_path: Path, run: Run) -> None:
    """A column for each of 32,767 nodes took minutes, and of as many looks all memory."""
    code, _, err = run("numa-map", recording(tmp_path, [(5, 7, True, 10, 4096, 10, node, 1)], [0]))
    assert (code, "HW323" in err) == (1, True)


@pytest.mark.parametrize(("asked", "pages"), [(10, 1 << 40), (1, 2), (0, 5), (1 << 40, 1 << 41)])
def test_more_pages_than_were_asked_for_are_all_of_them(asked: int, pages: int, tmp_path: Path, run: Run) -> None:
    """The interval of such a share has no square root: the report ended in a defect's message, and so did this command."""
    path = recording(tmp_path, [(5, 7, True, 1000, 4096, asked, node, pages) for node in (0, 1)], [0, 1])
    code, out, err = run("numa-map", path, "--json")
    assert code == 0, err
    sizes = [each["bytes"] for look in json.loads(out)["looks"] for each in look["nodes"]]
    assert all(0 <= size <= 1000 * 4096 for size in sizes)
    assert run("numa-map", path)[0] == 0


@pytest.mark.parametrize("nodes", [[*range(MOST_MEMORY_NODES)] * 2, [MOST_MEMORY_NODES]])
def test_a_machine_of_more_nodes_than_a_kernel_has_is_refused(nodes: list[int], tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="memory_nodes"):
        open_recording(recording(tmp_path, looks(1, 1), nodes))


def test_a_table_of_many_nodes_and_looks_names_what_it_leaves_out(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numa_map, "MOST_PRINTED", 30)  # 2,000 rows of so many columns take long to print
    path = recording(tmp_path, looks(130, 100), [0])
    code, out, err = run("numa-map", path, "--all")
    assert (code, err) == (0, "")
    assert "30 of 130 looks" in " ".join(out.split())
    assert "the 8 fullest of 100 nodes: --json" in " ".join(out.split())
    # Of 130 looks at nodes by turns the first 30 have two of all of a heap: eight of them are shown, 16 looks of 130.
    assert "0.8% on node 0" not in out
    assert "1.5% on node 7, 87.7% on 92 other nodes" in " ".join(out.split())
    assert len(json.loads(run("numa-map", path, "--json")[1])["looks"]) == 130


def test_processes_that_can_not_be_asked_are_counted_and_the_first_ones_named(tmp_path: Path) -> None:
    """A program may start them without end: each was a notice of its own, and kept in memory."""
    asked = HeapNodes(tmp_path, 1, 1_000_000_000)
    for number in range(1000):
        asked._refuse(Process(4_000_000 + number, number), "Permission denied")  # numbers that have no process
    found = asked.as_json()
    assert found is not None
    assert [each["pid"] for each in found["problems"]] == [*range(4_000_000, 4_000_016)]
    assert found["problems"][0]["reason"] == "Permission denied"
    assert found["problems"][-1]["reason"] == "Permission denied (and of 984 more processes)"
    assert len(asked._refused) == 1


FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
input()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.skipif(
    not Path("/proc/self/numa_maps").exists(), reason="the kernel does not say on which nodes memory is"
)
def test_a_process_whose_first_thread_ends_before_others_is_an_error_and_one_that_ends_is_none() -> None:
    """Nothing more was printed of it, for as long as it ran."""
    with subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS], stdin=subprocess.PIPE) as process:
        command = [*HEADWAY, "numa-map", "--pid", str(process.pid), "--interval", "50ms", "--json"]
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as live:
                assert live.stdout is not None
                assert process.stdin is not None
                assert json.loads(live.stdout.readline())["looks"]
                process.stdin.write(b"\n")
                process.stdin.flush()
                _, err = live.communicate(timeout=120)
            assert live.returncode == 1
            assert "HW732" in err
            assert "its first thread has ended" in " ".join(err.split())
            assert processes.runs_without_first_thread(process.pid)
        finally:
            process.kill()
        process.wait()
        assert not processes.runs_without_first_thread(process.pid)
