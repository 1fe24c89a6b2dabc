"""Names that a stranger's agent repeats in each frame and row of a live table: neither the memory nor the time runs out."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from headway.model.live_lock import LiveTable
from headway.model.wire import HW_LOCK_SLOT
from headway.record.live import table_file
from headway.record.live.table_file import open_file
from support.builders.hostile_spool import name_in_every_frame
from support.builders.lock_spool_builder import LockAgent, LockTable, Slot
from support.drivers.peak_memory import grown_kib

PID = 77
IMPORTS = """
from pathlib import Path
from headway.analyses.locks.live import live_rows
from headway.record.live.table_file import open_file
from headway.report.json.live_locks import live_locks_text
"""
PRINTS = """
table = open_file(Path(sys.argv[1])).read()
print(len(live_locks_text(table, live_rows(table))))
"""


def table_with_stacks(directory: Path, stacks: list[int]) -> Path:
    """A table whose rows were first waited for at these stacks."""
    path = LockTable(
        PID, [b"org.example.Lock"], [Slot(i + 1, 1, first_java_id=7, times=1) for i in range(len(stacks))]
    ).write(directory)
    first = len(path.read_bytes()) - 128 * len(stacks)
    with path.open("r+b") as file:
        for i, stack in enumerate(stacks):
            file.seek(first + 128 * i + HW_LOCK_SLOT["first_stack_id"].offset)
            file.write(struct.pack("<I", stack))
    return path


def read(path: Path) -> LiveTable:
    file = open_file(path)
    try:
        return file.read()
    finally:
        file.close()


@pytest.mark.parametrize("names", ["that are known", "that never come"])
def test_a_long_name_in_each_of_many_frames_of_many_rows_is_spelled_out_within_limits(
    tmp_path: Path, names: str
) -> None:
    """926 kB took 1 GB for each stack in each look, and as much again for each row where a method's name never came."""
    spool = name_in_every_frame(16_000, PID, 1)
    if names == "that never come":
        spool = spool.replace(struct.pack("<IHH", 1, 65_000, 3), struct.pack("<IHH", 2, 65_000, 3))
    (tmp_path / f"agent-{PID}.spool").write_bytes(spool)
    path = table_with_stacks(tmp_path, [1, 8001] * 100)
    grown, printed_bytes = grown_kib(IMPORTS, PRINTS, path)
    assert grown < 200 << 10
    assert int(printed_bytes) < 10 << 20
    stack = read(path).rows[0].first_stack
    assert len(stack) == 64, "as many as an agent keeps"
    longest = max(len(each) for each in stack[0][:2])
    assert longest == (256 if names == "that are known" else len("unknown"))
    assert stack[0][0].endswith("..." if names == "that are known" else "unknown")


def test_rows_share_the_room_that_there_is_for_names_and_the_rest_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = LockAgent(PID, created_ns=1)
    agent.thread(2, 10, 7, b"t" * 300)
    agent.method(1, b"C" * 100, b"run")
    agent.stack(1, [(1, 5)])
    for blocker in range(1, 6):
        agent.blocker(3, blocker, 1, b"org.example.Lock", 1, 7, b"", 1)
    agent.write(tmp_path)
    path = table_with_stacks(tmp_path, [1] * 5)
    whole = read(path)
    assert [len(each.first_stack) for each in whole.rows] == [1] * 5
    assert {each.first_thread for each in whole.rows} == {"t" * 253 + "..."}
    monkeypatch.setattr(table_file, "_MOST_SPELLED_BYTES", 3 * (260 + 110))
    assert [len(each.first_stack) for each in read(path).rows] == [1, 1, 1, 0, 0]
    monkeypatch.setattr(table_file, "_MOST_FRAMES", 0)
    assert [each.first_stack for each in read(path).rows] == [()] * 5
