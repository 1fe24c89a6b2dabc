"""A pool of two connections and sixteen threads: the wait for a connection comes first, by its place, in every view."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import JAVA_17, headway, javas

pytestmark = [pytest.mark.alone, pytest.mark.root]
PROGRAM = Path(__file__).parents[2] / "programs" / "ConnPool.java"


def line_of(text: str) -> int:
    """Return the number of the program's line that has a text."""
    (number,) = (at for at, line in enumerate(PROGRAM.read_text().splitlines(), 1) if text in line)
    return number


MS = 1_000_000
BORROW = f"ConnPool.next:{line_of('return FREE.take();')}"
TINY = f"ConnPool.serve:{line_of('synchronized (TINY) {')}"


@dataclass
class Ran:
    """What `run` said and recorded; `borrowing_ns`: how long all threads waited to borrow, by their own clocks."""

    directory: Path
    said: str
    borrowing_ns: int

    def json(self, *words: str) -> Any:
        return json.loads(headway(words[0], self.directory, *words[1:], "--json").stdout)


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("pool")
    javac = Path(JAVA_17).with_name("javac")
    subprocess.run([javac, "-d", folder, PROGRAM], check=True)
    directory = folder / "pool.headway"
    done = headway("run", "-o", directory, "--", request.param, "-cp", folder, "ConnPool", cwd=folder)
    assert done.returncode == 0, done.stderr
    return Ran(directory, done.stderr, int(done.stdout))


def test_the_pools_condition_is_the_first_row_by_its_place_and_the_tiny_lock_far_below(ran: Ran) -> None:
    rows = ran.json("locks")
    first = rows[0]
    assert (first["place"], first["rule"]["id"], first["contention"]) == (BORROW, "put-back", True)  # no name tells
    assert first["name"].startswith("Condition@")
    costs = [row["lost_core_ns"] for row in rows if row["contention"]]
    assert costs == sorted(costs, reverse=True)
    waited = {row["place"]: row["parking_thread_time_ns"] for row in rows if row["kind"] == "monitor"}
    assert waited.get(TINY, 0) < 0.1 * first["parking_thread_time_ns"]


def waiting_ns(directory: Path, blocker: int) -> Counter[int]:
    """Return by number of threads how long so many waited for an object, as the recording has their waits."""
    with contextlib.closing(open_recording(directory)) as recording:
        blocks = recording.query("SELECT start_ns, dur_ns FROM block WHERE blocker_id = $1", (blocker,)).fetchall()
    changes = sorted([(start, 1) for start, _ in blocks] + [(start + dur, -1) for start, dur in blocks])
    found: Counter[int] = Counter()
    threads = 0
    for (ns, change), (until, _) in pairwise(changes):
        threads += change
        found[threads] += until - ns
    return found


def test_the_core_time_lost_to_the_pool_is_the_same_in_why_and_in_locks(ran: Ran) -> None:
    """`why` may share idle cores with the two threads that sleep with a connection: of n that wait, n of n + 2 parts are left. It
    gives those who wait more than a core each only where fewer wait than cores are idle: all of these.
    """
    first, account = ran.json("locks")[0], ran.json("why")
    lost = sum(each["core_ns"] for each in account["lost"] if each["place"]["lock"] == first["name"])
    waiting = waiting_ns(ran.directory, first["blocker_id"])

    def fewer(than: float) -> float:
        """Return the core time of the time in which somebody waited, and fewer than so many did."""
        return float(account["cores"] * sum(ns for threads, ns in waiting.items() if 0 < threads < than))

    least = max(n / (n + 2) * (first["lost_core_ns"] - fewer(n)) for n in waiting)
    most = min(first["lost_core_ns"] + fewer(account["cores"]), first["lost_core_ns"] * account["cores"])
    assert least - MS <= lost <= most + MS


def test_the_time_waited_for_a_connection_is_what_the_threads_measured(ran: Ran) -> None:
    of_pool = [row for row in ran.json("locks") if BORROW in {site["line"] for site in row["sites"]}]
    waited = sum(row["parking_thread_time_ns"] for row in of_pool)
    assert 0.9 * ran.borrowing_ns < waited <= 1.01 * ran.borrowing_ns


def test_run_shows_the_pool_in_its_tables_and_in_the_sentences_that_remain(ran: Ran) -> None:
    table = ran.said.split("Locks that cost most")[1].split("\n\n")[0]
    assert next(line for line in table.splitlines() if "ConnPool." in line).startswith(BORROW)
    used, cost, following = ran.said.rstrip().split("\n\n")[-2].splitlines()
    assert used.startswith("The program used ")
    assert "headway locks " in following or not is_calm(ran)
    if cost.startswith("Other programs kept it from the cores"):
        assert was_kept_from_cores(ran)
    elif is_calm(ran):
        assert cost.startswith(f"Most was lost to lock contention at {BORROW}, Condition@")
    else:  # what others ran on nobody could have lost: it is told which of both it is
        assert BORROW in cost or "without sleep" in cost  # who has a connection does nothing but sleep


def was_kept_from_cores(ran: Ran) -> bool:
    """Return whether others had half of the cores, and threads waited for cores about as long as for connections, or longer."""
    account = ran.json("why")
    ready_ns = sum(each["runnable_ns"] or 0 for each in ran.json("threads"))
    is_crowded = account["other_processes_ns"] >= 0.5 * account["cores"] * account["wall_ns"]
    return bool(is_crowded and ready_ns > 0.9 * ran.borrowing_ns)


def is_calm(ran: Ran) -> bool:
    """Return whether the machine left the program so much of its cores that it can lose them to something."""
    account = ran.json("why")
    return bool(account["other_processes_ns"] < 0.3 * account["cores"] * account["wall_ns"])


def test_the_account_has_one_loss_for_the_pool_by_its_place(ran: Ran) -> None:
    lost = ran.json("why")["lost"]
    of_pool = [each for each in lost if f"{each['place']['method']}:{each['place']['line']}" == BORROW]
    assert [each["cause"] for each in of_pool] == ["lock_contention"] or not is_calm(ran)
    assert lost[0] in of_pool or not is_calm(ran)
