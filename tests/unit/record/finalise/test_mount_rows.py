"""Which carrier a mount is of, where its number has been that of several threads."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from headway import _native
from headway.record.finalise.locks.mount_table import mount_rows
from headway.record.finalise.threads.thread_table import BIRTH_SLACK_NS, RecordedThread, RecordedThreads
from support.builders.spool_builder import Agent, Spool, record

MS = 1_000_000
WINDOW = (10 * MS, 5000 * MS)


def agent_of(mounts: list[tuple[int, int, int, int]]) -> dict[str, object]:
    names = ("tid", "java_id", "start_ns", "end_ns")
    columns = zip(*mounts, strict=True) if mounts else [()] * 4
    return {"mounts": {name: np.array(values, np.int64) for name, values in zip(names, columns, strict=True)}}


def rows_of(threads: RecordedThreads, mounts: list[tuple[int, int, int, int]]) -> list[tuple[int, ...]]:
    threads.pid_of_agent[0] = 7
    table = mount_rows(threads, [agent_of(mounts)], WINDOW)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_each_mount_is_of_one_life_of_its_carriers_number() -> None:
    """Lives 10 ms apart, within the slack of their starts: a mount was of each of five, and lasted five times as long in all."""
    lives = [RecordedThread(7, 30, 30, at * 10 * MS, at * 10 * MS + 9 * MS, "t") for at in range(10, 300)]
    lives += [RecordedThread(8, 30, 30, 0, None, "another process")]
    chosen = random.Random(5)
    starts = sorted(chosen.sample(range(0, 4000 * MS), 2000))
    mounts = [(30, at + 1, start, start + 1000 if at % 5 else -1) for at, start in enumerate(starts)]
    expected = []
    for tid, java_id, start, end in mounts:
        begun = [number for number, life in enumerate(lives[:-1]) if life.start_ns - BIRTH_SLACK_NS <= start]
        if not begun or tid != 30 or start > (last := lives[begun[-1]].end_ns or 0):
            continue
        begin, until = max(start, WINDOW[0]), min(end if end >= 0 else last, last, WINDOW[1])
        if until > begin:
            expected.append((7, begun[-1], java_id, begin, until - begin))
    assert len(expected) > 1000
    assert rows_of(RecordedThreads(lives), mounts) == sorted(expected, key=lambda row: (row[1], row[3]))


def test_mounts_of_unknown_carriers_and_outside_the_window_are_left_out() -> None:
    threads = RecordedThreads([RecordedThread(7, 30, 30, 20 * MS, None, "t")])
    mounts = [(30, 1, 0, 15 * MS), (30, 2, 40 * MS, -1), (31, 3, 40 * MS, 50 * MS), (30, 4, 6000 * MS, 6001 * MS)]
    assert rows_of(threads, mounts) == [(7, 0, 1, 10 * MS, 5 * MS), (7, 0, 2, 40 * MS, 4960 * MS)]
    assert rows_of(RecordedThreads([RecordedThread(9, 30, 30, 0, None, "t")]), mounts) == []
    assert rows_of(threads, []) == []


@pytest.mark.parametrize("lost", [0, 1])
def test_a_mount_whose_end_may_be_lost_is_no_virtual_threads(lost: int, tmp_path: Path) -> None:
    """Else the last one of a carrier whose spool was full would have all that the carrier ran from then on."""
    agent = Agent(30, created_ns=1)
    agent.lost = lost
    mount, unmount = 48, 49
    events = [(10, mount, 7), (20, unmount, 7), (30, mount, 8), (40, mount, 9), (50, unmount, 9), (60, mount, 10)]
    agent.records += [record(ns, kind, 30, struct.pack("<Q", java_id)) for ns, kind, java_id in events]
    agent.write(tmp_path)
    Spool().write(tmp_path)
    (found,) = _native.Decoder(str(tmp_path)).agents()
    columns = (found["mounts"][name].tolist() for name in ("java_id", "start_ns", "end_ns"))
    seen = [(7, 10, 20), (9, 40, 50)]
    assert [*zip(*columns, strict=True)] == (
        seen if lost else sorted([*seen, (8, 30, 40), (10, 60, -1)], key=lambda row: row[1])
    )
