"""The rows of `cpu_gap` from records written by hand, and what older spools and recordings lack of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headway.store import open_recording
from headway.store.packing import pack
from headway.store.tables import TABLES
from headway.store.writer import conform, write_recording
from support.builders.edited_manifest import take_tables_as_they_are
from support.builders.spool_builder import PERF, SLEEP, Decoded, Spool, decode

A, B = 10, 11


def born() -> Spool:
    """Two threads, asleep at 0."""
    spool = Spool()
    for tid in (A, B):
        spool.snapshot(0, tid, "S")
    return spool


def gaps(got: Decoded) -> list[tuple[int, ...]]:
    """Return the rows as (cpu, start, dur, other)."""
    columns: dict[str, Any] = got.result["cpu_gap"]
    return list(zip(*(columns[name].tolist() for name in ("cpu", "start_ns", "dur_ns", "other_ns")), strict=True))


def test_others_between_two_of_ours_are_one_row(tmp_path: Path) -> None:
    spool = born()
    spool.switch(100, 0, None, A, others_ns=0)
    spool.switch(200, 0, A, None)
    spool.switch(260, 0, None, B, others_ns=25)
    spool.switch(300, 0, B, A)
    spool.switch(400, 0, A, None)
    got = decode(spool, tmp_path / "s", (100, 1000))
    assert gaps(got) == [(0, 200, 60, 25)]


def test_long_stretches_come_in_pieces_and_those_without_others_are_left_out(tmp_path: Path) -> None:
    spool = born()
    spool.switch(100, 1, None, A, others_ns=0)
    spool.switch(200, 1, A, None)
    spool.switch(300, 1, None, None, others_ns=0)
    spool.switch(500, 1, None, None, others_ns=120)
    spool.switch(600, 1, None, A, others_ns=100)
    got = decode(spool, tmp_path / "s", (100, 1000))
    assert gaps(got) == [(1, 300, 200, 120), (1, 500, 100, 100)]
    assert got.states(0)[-1] == ("running", 600, 1000)


def test_the_window_cuts_a_stretch_and_gives_others_their_share(tmp_path: Path) -> None:
    spool = born()
    spool.created_ns = 100
    spool.switch(500, 0, None, A, others_ns=200)  # since the records began: 400 ns
    spool.switch(600, 0, A, None)
    spool.switch(1000, 0, None, None, others_ns=100)  # beyond the end; a piece that the stopping collector wrote
    spool.switch(550, 1, B, None)
    spool.switch(800, 1, None, B, others_ns=125)
    got = decode(spool, tmp_path / "s", (300, 700))
    assert sorted(gaps(got)) == [(0, 300, 200, 100), (0, 600, 100, 25), (1, 550, 150, 75)]


def test_a_record_of_others_alone_ends_no_thread_of_ours(tmp_path: Path) -> None:
    spool = born()
    spool.switch(100, 0, None, A, others_ns=0)
    spool.switch(150, 1, None, None, others_ns=10)
    spool.switch(400, 0, A, None)
    got = decode(spool, tmp_path / "s", (100, 500))
    assert got.states(0) == [("running", 100, 400), ("sleeping", 400, 500)]
    assert (got.result["resyncs"], got.result["records"]) == (0, 2)


def test_spools_of_before_tell_of_no_others_and_of_nothing_that_threads_were_in(tmp_path: Path) -> None:
    spool = born()
    spool.switch(100, 0, None, A)
    spool.switch(200, 0, A, None, SLEEP)
    spool.switch(300, 0, None, A)
    got = decode(spool, tmp_path / "s", (100, 500))
    assert got.result["cpu_gap"] is None
    assert [row.blocked_in for row in got.slices] == [0, 0, 0]
    perf = Spool(PERF, sched=spool.sched, life=spool.life)
    assert decode(perf, tmp_path / "p", (100, 500)).result["cpu_gap"] is None


def test_what_a_thread_blocked_in_goes_with_its_block(tmp_path: Path) -> None:
    spool = born()
    spool.switch(100, 0, None, A)
    spool.switch(200, 0, A, None, blocked_in=6)
    spool.waking(250, 0, A)
    spool.switch(300, 0, None, A)
    spool.switch(400, 0, A, None, preempt=True, state=0)
    spool.switch(450, 0, None, A)
    spool.switch(500, 0, A, None, blocked_in=2)
    got = decode(spool, tmp_path / "s", (100, 900))
    assert [(row.blocked, row.state, row.blocked_in) for row in got.of(0)] == [
        (0, 1, 0),
        (50, 1, 6),
        (0, 0, 0),
        (400, 1, 2),
    ]


def test_recordings_of_before_are_read_as_ever(tmp_path: Path) -> None:
    """They have neither the columns blocked_in and of counters nor the table cpu_gap."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    later = ("blocked_in", "count_", "uncounted_")
    names = [column.name for column in TABLES["slice"].columns if not column.name.startswith(later)]
    row = dict(zip(names, (0, 1000, 500, 20, 300, 0, 1, 1, -1, True, False), strict=True))
    table = conform(TABLES["slice"], pa.Table.from_pylist([row]))
    path = write_recording(tmp_path / "a.headway", {"state": "complete", "mode": "ebpf"}, {"slice": table})
    pq.write_table(pack(table).drop_columns("blocked_in"), tmp_path / "old.parquet")
    (tmp_path / "old.parquet").rename(path / "slice.parquet")
    take_tables_as_they_are(path)
    recording = open_recording(path)
    assert recording.query("SELECT blocked_state, blocked_in, waker_irq, is_open FROM slice").fetchall() == [
        (1, 0, True, False)
    ]
    assert recording.query("SELECT count(*) FROM cpu_gap").fetchone() == (0,)
