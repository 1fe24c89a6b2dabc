"""`headway whatif --explain`: the account of a predicted run is that of `why` for no change, else what arithmetic says."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.grid import grid
from headway.analyses.whatif.ranking import ranking
from headway.analyses.whatif.types import Change, LockChange, Predicted, PredictedAccount
from headway.report.terminal.printing.console import make_console
from headway.report.terminal.whatif import render_whatif
from headway.report.terminal.whatif_account import render_predicted_accounts
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.replay_builder import NANOSLEEP, POLL, Slice, write
from support.builders.synthetic import FakeThread
from unit.analyses.whatif.test_whatif_locks import CONTENDED, NAME, PLACE

Run = Callable[..., tuple[int, str, str]]

STAGE = LockRecording(
    threads=[
        FakeThread(states=[("R", 100), ("B", 200), ("R", 100)], name="one"),
        FakeThread(states=[("R", 10), ("B", 90), ("R", 100), ("B", 200), ("R", 100)], name="two"),
        FakeThread(states=[("R", 10), ("B", 190), ("R", 100), ("B", 200), ("R", 400)], name="three"),
    ],
    waits=[
        Wait(1, 0, 10, 100, owner=0, waker=0, waking=100, stack=0),
        Wait(2, 0, 10, 200, owner=0, waker=1, waking=200, stack=0),
        Wait(0, 0, 100, 300, owner=1, waker=2, waking=300, stack=0),
        Wait(1, 0, 200, 400, owner=2, waker=0, waking=400, stack=0),
        Wait(2, 0, 300, 500, owner=0, waker=1, waking=500, stack=0),
    ],
    holds=[LockHold(0, i % 3, 100 * i, 100 * i + 100) for i in range(6)],
    wall=900,
    stacks=[(*LOCK_FRAMES, ("com.acme.Cache", "get"))],
    wakers={0: [(2, 1)], 1: [(0, 1), (0, 1)], 2: [(1, 1), (1, 1)]},
    facts={"recorded_cores": 3, "ended_by": "duration"},
)
"""Three threads compute 100 with a lock, twice each; then the last one computes 300 alone: a serial stage."""


def explained(path: Path, cores: int, *locks: LockChange) -> tuple[Predicted, PredictedAccount]:
    """Return the one prediction with its account."""
    (found,) = whatif(open_recording(path), [cores], Change(1, locks=locks), is_explained=True).predicted
    assert found.account is not None
    return found, found.account


def lost(account: Any) -> dict[tuple[str, str | None], int]:
    """Return core time by cause, and lock or thread."""
    return {(each.cause, each.place.lock or each.place.thread): each.core_ns for each in account.lost}


SLEEPERS = [
    Slice(0, 0, 400, 400, 500, blocked_in=POLL),
    Slice(1, 0, 0, 0, 100),
    Slice(1, 100, 300, 300, 500, blocked_in=NANOSLEEP, irq=True),
]


@pytest.mark.parametrize("recording", [CONTENDED, STAGE], ids=["a lock", "a lock, then a stage"])
def test_the_account_of_the_unchanged_run_is_that_of_why(recording: LockRecording, tmp_path: Path) -> None:
    path = recording.write(tmp_path / "a.headway")
    cores = recording.facts["recorded_cores"]
    account = why(open_recording(path), cores=cores).account
    _, predicted = explained(path, cores)
    assert lost(predicted) == lost(account)
    assert predicted.used_ns == dict(account.used_ns)
    assert predicted.core_ns == sum(predicted.used_ns.values()) + predicted.idle_ns + sum(lost(predicted).values())


def test_without_locks_on_record_the_account_is_that_of_why_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", SLEEPERS, 500, 2, ended_by="duration")
    _, predicted = explained(path, 2)
    assert lost(predicted) == lost(why(open_recording(path), cores=2).account)


def test_without_the_lock_the_serial_stage_is_what_limits_next(tmp_path: Path) -> None:
    """Threads wait for the lock from 10 to 500, and one is alone for 400. Without: all of them for 200, one for 300 alone."""
    path = STAGE.write(tmp_path / "a.headway")
    before, _ = explained(path, 3)
    after, account = explained(path, 3, LockChange(NAME, is_removed=True))
    assert (before.next_cause, before.next_place, before.wall_ns) == ("lock_contention", PLACE, 900)
    assert (after.next_cause, after.next_place, after.wall_ns) == ("serial_section", "three", 510)
    assert lost(account) == {("serial_section", "three"): 600, ("too_few_tasks", None): 10}


def test_a_lock_limits_before_the_cores_that_nobody_has_work_for(tmp_path: Path) -> None:
    """On eight cores seven are idle while one thread has the lock; six of them have no thread that would run."""
    path = CONTENDED.write(tmp_path / "a.headway")
    found, account = explained(path, 8)
    assert (found.next_cause, found.next_place) == ("lock_contention", PLACE)
    assert max(account.lost, key=lambda each: each.core_ns).cause == "serial_section"


def test_locks_and_the_critical_path_of_a_predicted_run_are_those_of_the_replay(tmp_path: Path) -> None:
    path = CONTENDED.write(tmp_path / "a.headway")
    _, half = explained(path, 2, LockChange(NAME, held_part=0.5))
    assert [(each.lock, each.place) for each in half.locks] == [(NAME, PLACE)]
    _, whole = explained(path, 2)
    assert [(each.waited_ns, each.waits) for each in whole.locks] == [(360, 3)]
    assert 0 < half.locks[0].waited_ns < 360
    assert sum(each.ns for each in half.path) == half.wall_ns


def test_a_lock_that_a_change_removed_is_waited_for_no_more(tmp_path: Path) -> None:
    path = CONTENDED.write(tmp_path / "a.headway")
    _, without = explained(path, 1, LockChange(NAME, is_removed=True))
    assert without.locks == ()
    assert "lock_contention" not in {each.cause for each in without.lost}


def test_changes_that_leave_the_run_alike_have_its_account_printed_once(tmp_path: Path) -> None:
    found, _ = explained(CONTENDED.write(tmp_path / "a.headway"), 2)
    lines = io.StringIO()
    render_predicted_accounts([found, found, replace(found, account=None)], 2, make_console(lines))
    said = " ".join(lines.getvalue().split())
    assert said.count("Where the cores would go") == 1
    assert "2 cores: the cores would go where they go with 2 cores" in said


def test_a_second_change_that_gains_nothing_ends_the_list(tmp_path: Path) -> None:
    found = ranking(open_recording(CONTENDED.write(tmp_path / "a.headway")), is_explained=True)
    first, second = found.predicted
    assert first.change.locks[0].lock == PLACE
    assert [round(each.gain, 2) for each in first.further] == [1.0]
    assert [each.wall_ns for each in second.further] == [440, 440]
    assert found.tried == 2


def test_virtual_threads_leave_the_account_unknown_and_say_so(run: Run, tmp_path: Path) -> None:
    recording = replace(CONTENDED, waits=[*CONTENDED.waits, Wait(-1, 1, 10, 20, waker=0, waking=20, stack=0)])
    code, out, _ = run("whatif", recording.write(tmp_path / "a.headway"), "--cores", "2", "--explain", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["changes"][0]["account"] is None
    assert answer["changes"][0]["next"] == {"cause": "serial_section", "place": None}
    (said,) = [each["message"] for each in answer["warnings"] if each["id"] == "HW862"]
    assert said.endswith("lost cores: virtual threads wait for something")


def test_of_two_recordings_the_one_whose_account_is_not_known_is_named(tmp_path: Path) -> None:
    known = open_recording(CONTENDED.write(tmp_path / "a.headway"))
    virtual = replace(CONTENDED, waits=[*CONTENDED.waits, Wait(-1, 1, 10, 20, waker=0, waking=20, stack=0)])
    unknown = open_recording(virtual.write(tmp_path / "b.headway"))
    for beside, named in ((known, []), (unknown, [str(unknown.path)])):
        found = whatif(known, [2], Change(1), beside, is_explained=True)
        said = [each.message.partition(":")[0] for each in found.notices if each.id == "HW862"]
        assert said == named


def test_pairs_that_begin_alike_are_told_apart_on_a_narrow_terminal(tmp_path: Path) -> None:
    found = whatif(open_recording(CONTENDED.write(tmp_path / "a.headway")), [2], Change(1))
    long = LockChange("com.acme.SomeClassOfALongName.someMethodOfALongName:12", is_removed=True)
    pairs = [Change(2, locks=(long, replace(long, lock=f"com.acme.{name}:1"))) for name in ("First", "Second")]
    printed = io.StringIO()
    predicted = tuple(replace(found.predicted[0], change=each) for each in pairs)
    render_whatif(replace(found, predicted=predicted), make_console(printed))
    lines = printed.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert all(any(name in line for line in lines) for name in ("First", "Second"))


def test_without_every_wait_for_a_lock_the_other_changes_are_ranked(tmp_path: Path) -> None:
    recording = replace(CONTENDED, facts={**CONTENDED.facts, "locks": {"dropped": 3}})
    found = ranking(open_recording(recording.write(tmp_path / "a.headway")))
    assert [each.change for each in found.predicted] == [Change(4)]
    (notice,) = [each for each in found.notices if each.id == "HW837"]
    assert "does not have every wait for a lock" in notice.message


def test_the_grid_of_the_report_has_the_predictions_of_the_command(tmp_path: Path) -> None:
    path = STAGE.write(tmp_path / "a.headway")
    found = grid(open_recording(path))
    assert found is not None
    assert [each.locks[0].lock for each in found.changes] == [PLACE]
    assert [cores for cores, _ in found.rows] == [1, 3, 6, 12]
    for cores, (unchanged, changed) in found.rows:
        asked = [explained(path, cores)[0], explained(path, cores, LockChange(PLACE, is_removed=True))[0]]
        got = [(each.wall_ns, each.next_cause, each.next_place) for each in (unchanged, changed)]
        assert got == [(each.wall_ns, each.next_cause, each.next_place) for each in asked]


def test_a_long_recording_has_no_grid_and_says_what_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = STAGE.write(tmp_path / "a.headway")
    monkeypatch.setattr("headway.analyses.whatif.grid.MOST_SLICES", 5)
    found = grid(open_recording(path))
    assert found is not None
    assert found.reason is not None
    assert (found.reason.id, found.rows) == ("HW863", ())


def test_predictions_of_a_long_run_are_traced_only_for_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.analyses.whatif.predictions._MOST_TRACED", 3)
    recording = open_recording(STAGE.write(tmp_path / "a.headway"))
    (untraced,) = whatif(recording, [3], Change(1)).predicted
    assert (untraced.wall_ns, untraced.next_place) == (900, None)  # levels of parallelism know no place
    (traced,) = whatif(recording, [3], Change(1), is_explained=True).predicted
    assert (traced.wall_ns, traced.next_cause, traced.next_place) == (900, "lock_contention", PLACE)


def test_the_command_prints_the_account_and_what_a_further_change_gains(run: Run, tmp_path: Path) -> None:
    path = CONTENDED.write(tmp_path / "a.headway")
    out = run("whatif", path, "--cores", "2", "--explain")[1]
    assert "Where the cores would go" in out
    assert "critical path" in out
    assert "then, best of" in out
    assert "Where the cores would go" not in run("whatif", path, "--cores", "2")[1]
