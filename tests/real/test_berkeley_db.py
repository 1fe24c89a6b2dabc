"""Clients of an embedded Berkeley DB that update one record: its lock is made of conditions, and its daemons wait for work."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.real_servers import asked, command, recorded, warnings_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
CLIENTS, TRANSACTIONS, MILLIS = 6, 40, 4
CORES = 16
"""More than there are: however busy the machine is with others, cores are idle."""
RECORD = "com.sleepycat.je.txn.LockManager.waitForLock"


@dataclass
class Measured:
    """The recording, and how long all clients waited for the record, by the program's clock."""

    recording: Path
    waited_ns: int
    errors: str

    def lost(self) -> list[dict[str, Any]]:
        """Return what was lost to waits of the program's threads, in order."""
        waits = ("lock_contention", "condition", "sleep", "starved_consumer", "io")
        return [loss for loss in asked(self.recording, "why", "--cores", CORES)["lost"] if loss["cause"] in waits]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("berkeley")
    (folder / "data").mkdir()
    words = command("RecordLocks", folder / "data", CLIENTS, TRANSACTIONS, MILLIS)
    done = recorded(folder / "bank.headway", words, "--locks")
    _, waited_ns = (int(word) for word in done.stdout.split())
    return Measured(folder / "bank.headway", waited_ns, done.stderr)


def test_the_record_is_the_first_wait_that_costs_and_comes_before_the_sleep_of_who_has_it(measured: Measured) -> None:
    first = measured.lost()[0]
    assert (first["cause"], first["place"]["method"]) == ("condition", RECORD), measured.lost()[:3]


def test_the_record_is_the_first_row_of_locks_with_the_waits_that_the_program_measured(measured: Measured) -> None:
    first, *others = asked(measured.recording, "locks")
    assert first["place"].startswith(f"{RECORD}:")
    # A read of the record is little more than the wait for it, but may wait for a core as well.
    assert 0.7 * measured.waited_ns < first["parking_thread_time_ns"] <= 1.01 * measured.waited_ns
    assert not [row for row in others if row["contention"] and row["lost_core_ns"] > 0.1 * first["lost_core_ns"]]


def test_daemons_that_the_database_ends_as_it_closes_lose_nothing(measured: Measured) -> None:
    """Its cleaner, compressor, checkpointer and the watcher of its files, which it waits for at the end."""
    rows = [row for row in asked(measured.recording, "locks", "--all") if ".DaemonThread.run:" in (row["place"] or "")]
    assert rows
    assert not [row for row in rows if row["contention"]]
    core_ns = asked(measured.recording, "why", "--cores", CORES)["core_ns"]
    of_daemons = [
        loss
        for loss in measured.lost()
        if "DaemonThread" in (loss["place"]["method"] or "") or loss["place"]["thread"] == "FileSystemWatchService"
    ]
    assert sum(loss["core_ns"] for loss in of_daemons) < 0.02 * core_ns, of_daemons


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors
