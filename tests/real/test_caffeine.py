"""Eight threads and an empty Caffeine cache: one loads each entry, the others wait. For what, and for how long?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.real_servers import asked, command, lost, recorded, rivals, warnings_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
ENTRIES, MILLIS = 60, 10
PLACE = "com.github.benmanes.caffeine.cache.BoundedLocalCache.doComputeIfAbsent"
NODE = "ConcurrentHashMap$ReservationNode"


@dataclass
class Measured:
    """The recording; by the program's clocks: entries loaded, how long that took, waits of others for them, and long ones."""

    recording: Path
    loads: int
    loaded_ns: int
    waited_ns: int
    long_waits: int
    errors: str

    def row(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the row of entries that are being loaded, and all others: who comes late waits for one that is there."""
        rows = asked(self.recording, "locks")
        (loading,) = (
            row for row in rows if (row["place"] or "").startswith(PLACE) and row["class_name"].endswith(NODE)
        )
        return loading, [row for row in rows if row is not loading]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    path = tmp_path_factory.mktemp("caffeine") / "cache.headway"
    done = recorded(path, command("ColdCache", ENTRIES, MILLIS), "--locks")
    loads, loaded_ns, waited_ns, long_waits = (int(word) for word in done.stdout.split())
    return Measured(path, loads, loaded_ns, waited_ns, long_waits, done.stderr)


def test_waiting_for_who_loads_and_the_load_are_the_first_causes(measured: Measured) -> None:
    first = {loss["cause"]: loss["place"] for loss in lost(asked(measured.recording, "why"))[:2]}
    assert first["lock_contention"]["method"] == PLACE
    assert set(first) <= {"lock_contention", "sleep"}


def test_the_entries_make_one_row_with_the_waits_that_the_program_measured(measured: Measured) -> None:
    row, others = measured.row()
    assert row["contention"]
    # Until it is loaded an entry is another object than later, for which who comes late may wait at the same line.
    assert 0.8 * ENTRIES <= row["objects"] <= 2 * ENTRIES
    assert row["times_parked"] >= measured.long_waits
    assert row["parking_thread_time_ns"] == pytest.approx(measured.waited_ns, rel=0.1)
    assert not rivals(row, others)


def test_the_hold_time_is_no_mean_of_the_threads_that_only_waited(measured: Measured) -> None:
    row, _ = measured.row()
    # Who loads gets its entry's monitor without a wait, of which the JVM says nothing; each of the others has it for a moment.
    own_ns = measured.loaded_ns / (measured.loads + measured.long_waits)
    seen = row["true_hold_time_ns"]
    assert seen is None or seen["mean"] > 0.25 * own_ns, (seen, own_ns)
    assert 0.5 * own_ns < row["average_hold_time_ns"] < row["wait_time_ns"]["mean"], own_ns


def test_who_loads_is_asleep_or_others_are_given_the_monitor(measured: Measured) -> None:
    holding = measured.row()[0]["holding"]
    known = {name: holding[name] for name in ("sleeping_ns", "runnable_ns", "handoff_ns")}
    assert max(known, key=lambda name: known[name]) in ("sleeping_ns", "runnable_ns"), holding
    assert sum(known.values()) > 0.9 * sum(holding.values()), holding


def test_the_cache_loaded_each_entry_once_and_nothing_else_was_written(measured: Measured) -> None:
    assert measured.loads == ENTRIES
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors
    assert len(warnings_of(measured.recording)) <= 1
