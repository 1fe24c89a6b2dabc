"""Cycles per instruction in `why`: of each phase, and of who holds a lock, where slices were counted; nothing else changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.common.causes import LOCK
from support.builders.counted_slices import Ran, add_counts
from support.builders.lock_builder import LockHold, LockRecording, Wait
from support.builders.region_builder import LOCK_STACK, STACKS
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
PAIR = (("cycles", "instructions"),)
WALL = 10_000
HALF = WALL // 2


def write_recording(path: Path) -> Path:
    """One thread works alone for half of the time; then two others do, and one waits for the lock that the other has."""
    threads = [
        FakeThread("app", 0, [("R", HALF), ("B", HALF)], "main"),
        FakeThread("app", HALF, [("R", 1000), ("R", 3000), ("R", 1000)], "owner"),
        FakeThread("app", HALF, [("R", 1000), ("B", 3000), ("R", 1000)], "waiter"),
        FakeThread("gc", HALF + 1000, [("R", 500)], "G1"),
    ]
    waits = [Wait(2, 0, HALF + 1000, HALF + 4000, owner=1, waker=1, waking=HALF + 4000, stack=LOCK_STACK)]
    holds = [LockHold(0, 1, HALF + 1000, HALF + 4000)]
    return LockRecording(threads, waits, holds, wall=WALL, stacks=STACKS).write(path)


def counts(ran: Ran) -> tuple[int, ...]:
    """Main runs at a CPI of 1, the others of 2, with the lock of 4; the collector's CPI is of nobody's program."""
    if ran.thread == 3:
        return (9_000_000, 1)
    cpi = 1 if ran.thread == 0 else 4 if ran.running_ns == 3000 else 2
    return (2 * ran.running_ns, 2 * ran.running_ns // cpi)


def why(run: Run, path: Path) -> Any:
    code, out, err = run("why", path, "--cores", "2", "--json")
    assert code == 0, err
    return json.loads(out)


def lock_of(said: Any) -> Any:
    return next(loss for loss in said["lost"] if loss["cause"] == LOCK)


def test_phases_and_holds_have_their_own_cycles_an_instruction(run: Run, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway")
    plain = why(run, path)
    add_counts(path, PAIR, counts)
    said = why(run, path)
    # Alone; both; the owner alone with the lock, while a collector runs; both.
    assert [phase.pop("cpi")["value"] for phase in said["phases"]] == pytest.approx([1.0, 2.0, 4.0, 2.0])
    # 5,000 ns at 1, 4,000 ns at 2 and 3,000 ns at 4, all at 2 cycles a ns.
    whole = 24_000 / 15_500
    cpi = said.pop("cpi")
    assert cpi.pop("withheld") == ""
    assert cpi == pytest.approx({"value": whole, "low": whole, "high": whole})
    lock = lock_of(said)
    while_held = {name: lock["figures"].pop(name) for name in ("held_cpi", "held_cpi_low", "held_cpi_high")}
    assert while_held == pytest.approx(dict.fromkeys(while_held, 4.0))
    assert lock["evidence"].pop() == "An instruction took its holders 4.00 cycles"
    for phase in said["phases"]:
        for loss in phase["lost"]:
            if loss["cause"] == lock["cause"]:
                assert loss["figures"].pop("held_cpi") == pytest.approx(4.0)
                assert loss["figures"].pop("held_cpi_low") == loss["figures"].pop("held_cpi_high")
                assert "cycles" in loss["evidence"].pop()
    assert said == plain, "everything else is as it is without counters"
    terminal = " ".join(run("why", path, "--cores", "2")[1].split())
    assert "CPI" in terminal
    assert "An instruction took its holders 4.00 cycles" in terminal
    assert "cycles an instruction of the program's threads: 1.55" in terminal


def test_what_is_not_known_of_a_phase_or_a_hold_is_no_figure(run: Run, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway")
    add_counts(path, PAIR, lambda ran: None if ran.thread == 1 else counts(ran))
    said = why(run, path)
    first, second, third, _ = (phase["cpi"] for phase in said["phases"])
    assert (first["value"], first["low"], first["high"]) == pytest.approx((1.0, 1.0, 1.0))
    # Of the second phase what the waiter counted is known: its ratio, without bounds.
    assert (second["value"], second["low"], second["high"]) == (pytest.approx(2.0), None, None)
    assert (third["value"], third["low"], third["high"]) == (None, None, None)
    assert "not known" in third["withheld"]
    lock = lock_of(said)
    assert lock["figures"]["held_cpi"] is None
    assert not any("cycles" in sentence for sentence in lock["evidence"])
    terminal = " ".join(run("why", path, "--cores", "2")[1].split())
    assert "~2.00" in terminal


def test_a_hold_inside_of_a_slice_says_about_how_many_cycles_an_instruction(run: Run, tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", WALL)], "owner"),
        FakeThread("app", 0, [("R", 3000), ("B", 4000), ("R", 3000)], "waiter"),
    ]
    waits = [Wait(1, 0, 3000, 7000, owner=0, waker=0, waking=7000, stack=LOCK_STACK)]
    path = LockRecording(threads, waits, [LockHold(0, 0, 3000, 7000)], wall=WALL, stacks=STACKS).write(tmp_path / "a")
    add_counts(path, PAIR, lambda ran: (3 * ran.running_ns, 2 * ran.running_ns))
    lock = lock_of(why(run, path))
    assert lock["figures"]["held_cpi"] == pytest.approx(1.5)
    assert lock["figures"]["held_cpi_high"] is None, "all of its instructions may lie outside of the hold"
    assert lock["evidence"][-1] == "An instruction took its holders ~1.50 cycles"


def test_recordings_with_other_counters_say_nothing_of_cycles(run: Run, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.headway")
    plain = why(run, path), run("why", path, "--cores", "2")
    add_counts(path, (("task-clock", "page-faults"),), lambda ran: (ran.running_ns, 2))
    assert (why(run, path), run("why", path, "--cores", "2")) == plain
