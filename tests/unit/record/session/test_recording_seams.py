"""The seams of recording: what importers take, in which order collectors and sinks of the pass over slices are called."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway import _native
from headway.errors import HeadwayError
from headway.record.collect.collector import Collector, PeriodicCollector
from headway.record.collect.counter_collector import CounterCollector
from headway.record.finalise.slice_pass import ExecutedByCpu, run_pass
from headway.record.imports.bring_in import IMPORTERS, importer_of
from headway.record.machine.counters import PERIOD_NS
from headway.store.packing import TICK_NS
from support.builders.spool_builder import Spool


@pytest.mark.parametrize(
    ("name", "content", "importer"),
    [
        ("a.bin", b"FLR\0....", "jfr"),
        ("a.jfr", b"", "jfr"),
        ("a.collapsed.gz", gzip.compress(b"a;b 1\n", mtime=0), "jfr"),  # it says itself that it holds none
        ("a.csv", b"threads,cycles\n", "csv"),
        ("a.txt", b"a;b 1\n", "collapsed"),
        ("a.FOLDED", b"a;b 1\n", "collapsed"),
    ],
)
def test_an_importer_is_found_by_first_bytes_then_by_name(
    tmp_path: Path, name: str, content: bytes, importer: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert importer_of(tmp_path / name).name == importer


def test_what_no_importer_takes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x7fELF")
    with pytest.raises(HeadwayError, match="it is neither a JFR file") as refused:
        importer_of(tmp_path / "a.bin")
    assert refused.value.notice.id == "HW313"
    assert [each.file_type for each in IMPORTERS if each.file_type not in str(refused.value)] == []
    assert len({importer.name for importer in IMPORTERS}) == len(IMPORTERS)


def test_counters_are_sampled_when_they_are_due_and_once_more_at_the_end(tmp_path: Path) -> None:
    collector: PeriodicCollector = CounterCollector(tmp_path, os.getpid())
    collector.start()
    due = collector.due_ns()
    assert not collector.tick(due - 1)
    assert collector.tick(due)
    assert collector.due_ns() == due + PERIOD_NS
    collector.stop()
    lines = (tmp_path / "counters.jsonl").read_text().splitlines()
    assert sum('"recorder_cpu"' in line for line in lines) == 3
    assert set(collector.stats()) == {"steal_ns", "busy_ns", "throttled_ns"}


def test_the_native_collectors_have_the_members_of_the_seam() -> None:
    members = [name for name in vars(Collector) if not name.startswith("_")]
    assert {"add_process", "start", "snapshot_process", "stats", "stop"} == set(members)
    for native in (_native.KernelCollector, _native.PerfCollector):
        assert all(callable(getattr(native, name)) for name in members)


class Noted:
    """A sink that writes down what is called."""

    def __init__(self, calls: list[str], name: str) -> None:
        self.calls, self.name = calls, name

    def begin(self) -> None:
        self.calls.append(f"{self.name} begins")

    def slices(self, batch: Mapping[str, Any]) -> None:
        self.calls.append(f"{self.name} slices {len(batch['flags'])}")

    def end(self) -> None:
        self.calls.append(f"{self.name} ends")


class Decoded:
    """A decoder of two batches."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.batches = [1, 2]

    def has_sched(self) -> bool:
        return True

    def begin(self, *_: Any, **__: Any) -> None:
        self.calls.append("the decoder begins")

    def next(self, _: int) -> dict[str, Any] | None:
        return {"flags": np.zeros(self.batches.pop(0))} if self.batches else None

    def result(self) -> dict[str, Any]:
        return {}


def test_every_sink_begins_before_the_decoder_and_gets_every_batch() -> None:
    calls: list[str] = []
    run_pass(Decoded(calls), [Noted(calls, "a"), Noted(calls, "b")], (0, 1000), None, None)
    begin = ["a begins", "b begins", "the decoder begins"]
    assert calls == [*begin, "a slices 1", "b slices 1", "a slices 2", "b slices 2", "a ends", "b ends"]


def test_locks_that_would_miss_the_wakings_of_the_pass_are_refused(tmp_path: Path) -> None:
    spool = Spool()
    spool.write(tmp_path)
    decoder = _native.Decoder(str(tmp_path))
    decoder.begin(0, 1000, np.zeros(0, np.uint8), 1000, 1)
    with pytest.raises(RuntimeError, match="locks begin before the pass"):
        decoder.locks().begin([], np.zeros(0, np.int64), np.zeros(0, np.uint8), 0)


def test_executed_time_leaves_out_what_the_host_stole() -> None:
    executed = ExecutedByCpu()
    ticks = {"running_ticks": np.array([5, 7, 9]), "stolen_ticks": np.array([0, 2, 0])}
    executed.slices({"cpu": np.array([0, 1, -1], np.int16), **ticks})
    executed.slices({"cpu": np.array([1], np.int16), "running_ticks": np.array([1]), "stolen_ticks": np.array([0])})
    assert executed.ns == {0: 5 * TICK_NS, 1: 6 * TICK_NS}
