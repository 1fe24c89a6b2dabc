"""The account of each thread."""

from __future__ import annotations

from pathlib import Path

from headway.analyses.scheduling.threads import threads
from headway.store import open_recording
from support.builders import synthetic
from support.builders.synthetic import FakeThread


def test_each_thread_has_its_times_from_the_start_of_the_recording(tmp_path: Path) -> None:
    fake_threads = [
        FakeThread("app", 100, [("R", 50), ("B", 30), ("W", 20), ("R", 100)], "short", stolen=[5, 10]),
        FakeThread("gc", 0, [("R", 400)], "GC Thread#0"),
    ]
    result = threads(open_recording(synthetic.write(tmp_path / "a.headway", fake_threads, 400)))
    collector, short = result.rows  # those that ran longest first
    assert (short.start_ns, short.end_ns, collector.start_ns, collector.end_ns) == (100, 300, 0, None)
    assert (short.running_ns, short.runnable_ns, short.blocked_ns, short.switches) == (150, 20, 30, 2)
    assert (short.exec_ns, short.stolen_ns) == (135, 15)
    assert (short.share, collector.share) == (150 / 550, 400 / 550)
    assert (short.kind, collector.kind) == ("app", "gc")


def test_a_thread_born_before_the_recording_starts_at_a_negative_time(tmp_path: Path) -> None:
    fakes = [FakeThread("app", -500, [("R", 600)])]
    assert threads(open_recording(synthetic.write(tmp_path / "a.headway", fakes, 400))).rows[0].start_ns == -500


def test_threads_of_headway_are_left_out(tmp_path: Path) -> None:
    fakes = [FakeThread("headway", 0, [("R", 400)]), FakeThread("app", 0, [("R", 100)])]
    rows = threads(open_recording(synthetic.write(tmp_path / "a.headway", fakes, 400))).rows
    assert [(row.kind, row.share) for row in rows] == [("app", 1.0)]


def test_clocks_that_differ_a_little_are_no_stolen_time(tmp_path: Path) -> None:
    fakes = [FakeThread("app", 0, [("R", 100)], stolen=[-2])]
    assert threads(open_recording(synthetic.write(tmp_path / "a.headway", fakes, 400))).rows[0].stolen_ns == 0


def test_a_recording_without_threads_has_none(tmp_path: Path) -> None:
    result = threads(open_recording(synthetic.write(tmp_path / "a.headway", [], 400)))
    assert result.rows == ()
