"""Six clients of a database in memory that update one row, and think before they commit: what would other rows gain?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers import real_programs
from support.drivers.busy_machine import quietly
from support.drivers.real_programs import CLIENTS, THINK_MS, TRANSACTIONS
from support.drivers.real_servers import OwnClocks, asked, check_refused, lost, recorded, rivals, warnings_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
WAITED = 0.85
"""Of the time that updates take, at least so much is waiting for the row; the rest is the database's own work."""


@dataclass(frozen=True)
class Database:
    """A database, and where its clients wait for each other."""

    name: str
    cause: str
    method: str


DATABASES = (
    # HSQLDB locks tables, and each session has a latch that opens when those before it have ended.
    Database("hsqldb", "lock_contention", "org.hsqldb.lib.CountUpDownLatch.await"),
    # H2 locks rows, and who wants one waits to be notified by the transaction that has it.
    Database("h2", "condition", "org.h2.mvstore.tx.Transaction.waitForThisToEnd"),
)


@dataclass
class Measured:
    """The recording; how long the clients took, their updates, and what followed with the row locked, by the program's clocks."""

    database: Database
    recording: Path
    wall_ns: int
    updates_ns: int
    locked_ns: int
    total: int
    errors: str


@pytest.fixture(scope="module", params=DATABASES, ids=lambda database: database.name)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    def measure(folder: Path) -> Measured:
        path = folder / "bank.headway"
        done = recorded(path, real_programs.transactions(request.param.name, "shared").words, "--locks")
        wall_ns, updates_ns, locked_ns, total = (int(word) for word in done.stdout.split())
        return Measured(request.param, path, wall_ns, updates_ns, locked_ns, total, done.stderr)

    return quietly(measure, tmp_path_factory.mktemp(request.param.name))


def waits(said: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the losses but for sleep: whoever has the lock sleeps, which is the same time from the other side."""
    return [loss for loss in lost(said) if loss["cause"] != "sleep"]


def test_the_databases_lock_is_the_first_cause(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    first, *others = waits(said)
    assert first["cause"] == measured.database.cause
    assert first["place"]["method"] == measured.database.method
    if first["likely_speedup"] is None:
        check_refused(first, said)
    else:
        assert all((loss["likely_speedup"] or 1) < 1 + (first["likely_speedup"] - 1) / 2 for loss in others), others


def test_what_would_be_gained_is_what_the_clients_waited_for_the_row(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    own = OwnClocks(measured.wall_ns, WAITED * measured.updates_ns / CLIENTS, TRANSACTIONS * THINK_MS * 1e6)
    own.check_loss(waits(said)[0], measured.recording)


def test_it_is_the_first_of_the_locks_with_the_time_that_the_clients_measured(measured: Measured) -> None:
    first, *others = asked(measured.recording, "locks")
    assert first["place"].startswith(measured.database.method)
    # What the database computes for an update, and how long it takes a client to get a core, is no waiting for a lock.
    assert WAITED * measured.updates_ns < first["parking_thread_time_ns"] < 1.01 * measured.updates_ns
    assert not rivals(first, others)
    assert first["peak_parked"] >= CLIENTS - 1


def test_the_database_does_what_it_does_without_headway(measured: Measured) -> None:
    assert measured.total == CLIENTS * TRANSACTIONS
    assert measured.locked_ns >= CLIENTS * TRANSACTIONS * THINK_MS * 1_000_000
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
