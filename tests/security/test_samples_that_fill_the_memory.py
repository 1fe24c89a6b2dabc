"""A file of samples that has more than the memory holds: its beginning counts, the rest is told, and other JVMs keep theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.record.finalise.samples import sample_tables
from headway.record.finalise.samples.sample_files import ROW_BYTES, read_sample_file
from headway.record.finalise.samples.sample_tables import SampleTables
from headway.record.finalise.threads.thread_table import identify
from support.builders.hostile_jfr import long_names_in_every_frame
from support.builders.jfr_builder import SAMPLE, chunk, event

LIVES = ("pid", "tid", "ns_tid", "start_ns", "end_ns", "comm", "parent_tid", "from_snapshot", "exit_exec_ns")
ASKED = {"events": ["cpu"], "intervals": {"cpu": 10_000_000}}


def sampled(directory: Path, name: str, chunks: int, samples: int) -> Path:
    """What async-profiler leaves beside agent-NAME.spool."""
    one = chunk([event(SAMPLE, 1000 * at, 1, 1) for at in range(samples)])
    (directory / f"sample-{name}.jfr").write_bytes(one * chunks)
    (directory / f"sample-{name}.txt").write_text("started_ns 1\n")
    return directory / f"agent-{name}.spool"


def test_the_beginning_of_a_file_counts_and_the_rest_is_told(tmp_path: Path) -> None:
    sampled(tmp_path, "1", chunks=5, samples=100)
    paths = [tmp_path / "sample-1.jfr", tmp_path / "sample-1.txt"]
    whole = read_sample_file(paths, ASKED, 0)
    assert (len(whole.samples.ns), whole.damage) == (500, "")
    begun = read_sample_file(paths, ASKED, 0, most_rows=250)
    assert begun.samples.ns.tolist() == whole.samples.ns[:250].tolist()
    assert "those after the first 250 are left out" in begun.damage


def test_a_jvm_with_too_many_samples_costs_no_other_jvm_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_tables, "room_bytes", lambda: 400 * ROW_BYTES)
    agents = [
        {
            **{"path": str(sampled(tmp_path, str(pid), chunks, 50)), "pid": pid, "created_ns": 0},
            **{"threads": [], "facts": []},
        }
        for pid, chunks in ((1, 3), (2, 40), (3, 1))
    ]
    threads = identify({name: [] for name in LIVES}, agents)
    tables = SampleTables(threads, agents, (0, 1 << 62), ASKED)
    tables.begin()
    assert (len(tables.files[0].samples.ns), len(tables.files[2].samples.ns)) == (150, 50), (
        "what others leave is theirs"
    )
    assert [bool(tables.files[number].damage) for number in range(3)] == [False, True, False]


def agent_of(directory: Path, pid: int, frames: int, name_bytes: int) -> dict[str, object]:
    (directory / f"sample-{pid}.jfr").write_bytes(long_names_in_every_frame(frames, name_bytes))
    (directory / f"sample-{pid}.txt").write_text("started_ns 1\n")
    path = str(directory / f"agent-{pid}.spool")
    return {"path": path, "pid": pid, "created_ns": 0, "threads": [], "facts": []}


def test_names_of_all_jvms_together_have_a_limit_and_what_one_leaves_is_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """147 kB of a file are 4,000 frames of one method: 520 MB of names. Each of 32 JVMs had that to itself."""
    monkeypatch.setattr(sample_tables, "MOST_BYTES", 1 << 20)
    sizes = ((1, 400, 5000), (2, 10, 200), (3, 100, 5000), (4, 30, 20_000))
    agents = [agent_of(tmp_path, *each) for each in sizes]
    tables = SampleTables(identify({name: [] for name in LIVES}, agents), agents, (0, 1 << 62), ASKED)
    tables.begin()
    kept = {}
    for number, (pid, frames, name_bytes) in enumerate(sizes):
        file = tables.files[number]
        assert file.stacks.frames is not None
        kept[pid] = {len(name) for name in file.stacks.frames["class_name"].to_pylist()}
        problem = (
            f"{2 * frames} names of frames are longer than those of any program" if kept[pid] != {name_bytes} else ""
        )
        assert file.damage == problem
    assert kept == {1: {256}, 2: {200}, 3: {256}, 4: {20_000}}
    assert sum(file.name_bytes for file in tables.files.values()) <= 1 << 20


def test_stacks_have_a_limit_even_where_one_batch_of_samples_brings_more(tmp_path: Path) -> None:
    """Each is whole or left out. 30 MB of a file kept 8,000,000 frames, whatever the JVM's share of the memory was."""
    (tmp_path / "sample-1.jfr").write_bytes(long_names_in_every_frame(5000, 10))
    (tmp_path / "sample-1.txt").write_text("started_ns 1\n")
    paths = [tmp_path / "sample-1.jfr", tmp_path / "sample-1.txt"]
    whole = read_sample_file(paths, ASKED, 7)
    assert (len(whole.stacks.stack_id), whole.samples.stack.tolist(), whole.damage) == (5000, [7, 8, 9, 10, 11], "")
    begun = read_sample_file(paths, ASKED, 7, most_rows=2600)
    assert begun.samples.stack.tolist() == [7, 8, -1, -1, -1]
    assert begun.stacks.stack_id.tolist() == [7] * 1000 + [8] * 1000
    assert begun.stacks.depth.tolist() == whole.stacks.depth[:2000].tolist()
    assert begun.damage == "stacks of its samples are more than the memory holds: not all samples have one"
