"""Code that kept cores idle, in a program that says which: alone in a serial section, or with a lock that others wait for."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.profile.analysis import profile
from headway.analyses.stacks.tree import flat_rows
from headway.analyses.stacks.types import Profile
from headway.store import Recording, open_recording
from lib import lost_programs
from lib.lost_programs import Played
from support.drivers.recording_cli import headway
from support.drivers.workloads import workloads_jar

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]

PACKAGE = "headway.workloads.lost."
GUILTY = {"serial": "Serial.alone", "lock": "Locked.hold"}
"""By case: the method that runs while a core is idle for it."""
ROUNDS = 4
SEVERAL_SAMPLES_NS = 100_000_000


@dataclass(frozen=True)
class Recorded:
    """A recording with CPU samples, and when each case played in it."""

    recording: Recording
    cases: dict[str, Played]

    def window(self, case: str) -> tuple[int, int]:
        """Return a case's time, in ns from the recording's start."""
        return lost_programs.window(self.recording, self.cases[case])

    def known_ns(self, case: str) -> int:
        """Return what the program itself has as lost."""
        return sum(self.cases[case].known_ns.values())

    def others_ns(self, case: str) -> int:
        """Return the core time of a case that others had: other processes, the host, and whoever kept its threads waiting."""
        begin, end = (self.recording.window_ns[0] + each for each in self.window(case))
        overlap = f"GREATEST(0, LEAST(start_ns, {end}) - GREATEST(start_ns - runnable_ns, {begin}))"
        (ready,) = self.recording.query(f"SELECT CAST(SUM({overlap}) AS BIGINT) FROM slice").fetchall()[0]
        account = why(self.recording, window=self.window(case)).account
        return (account.other_processes_ns or 0) + (account.stolen_ns or 0) + int(ready)

    def blame(self, case: str) -> Profile:
        """Return the blame in a case's time."""
        return profile(self.recording, "blame", window=self.window(case))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Recorded]:
    def record() -> Recorded:
        workloads_jar()
        output = tmp_path_factory.mktemp("blame") / "r.headway"
        words = ["record", "--locks", "--sample", "cpu", "-o", output, "--"]
        done = headway(*words, *lost_programs.command([*GUILTY, "lock-asleep"], 0.8, ROUNDS))
        assert done.returncode == 0, done.stderr
        return Recorded(open_recording(output), lost_programs.played(done.stdout))

    return functools.cache(record)


def of_program(found: Profile) -> dict[str, int]:
    """Return the blame of the program's methods, with all that they call, without those that only start others."""
    rows = [(row.frame.text, row.total_weight) for row in flat_rows(found.tree, found.frames)]
    return {name.removeprefix(PACKAGE): ns for name, ns in rows if name.startswith(PACKAGE)}


@pytest.mark.parametrize("case", GUILTY)
def test_the_method_that_the_program_knows_to_keep_cores_idle_has_most_of_the_blame(
    case: str, recorded: Callable[[], Recorded]
) -> None:
    found = recorded().blame(case)
    by_code = found.total - found.unwalked - found.unsampled
    # Where other processes had the cores nearly all the time, these were not idle, and nobody is to blame.
    if by_code < SEVERAL_SAMPLES_NS:
        assert found.total + recorded().others_ns(case) > recorded().known_ns(case) / 2
        return
    blame = of_program(found)
    guilty = blame[GUILTY[case]]
    assert guilty > 0.5 * by_code, blame
    alone = profile(recorded().recording, "blame", window=found.window_ns, region=re.compile(re.escape(GUILTY[case])))
    assert alone.total == guilty


@pytest.mark.parametrize("case", [*GUILTY, "lock-asleep"])
def test_blame_adds_up_to_what_the_account_has_as_lost(case: str, recorded: Callable[[], Recorded]) -> None:
    found = recorded().blame(case)
    assert found.total == int(found.tree.self_weight.sum())
    lost = why(recorded().recording, window=recorded().window(case)).account.lost_ns
    assert abs(found.total - lost) <= len(found.tree) + 100  # the account is rounded by cause and place


def test_nobody_is_blamed_where_whoever_was_waited_for_slept(recorded: Callable[[], Recorded]) -> None:
    found = recorded().blame("lock-asleep")
    assert found.unwalked > 0.5 * found.total
    notes = {row.frame.text for row in flat_rows(found.tree, found.frames) if row.kind == "note"}
    assert any(text.startswith("(sleep: no code") for text in notes), notes


def test_the_commands_for_profiles_know_blame(recorded: Callable[[], Recorded], tmp_path: Path) -> None:
    path = recorded().recording.path
    total = profile(recorded().recording, "blame").total
    top = headway("top", path, "--event", "blame", "--json")
    assert (top.returncode, json.loads(top.stdout)["total"]) == (0, total), top.stderr
    flame = headway("flame", path, "--event", "blame", "-o", tmp_path / "blame.html")
    assert flame.returncode == 0, flame.stderr
    assert (tmp_path / "blame.html").read_text().startswith("<!doctype html>")
    stacks = tmp_path / "blame.txt"
    export = headway("export", path, "--format", "collapsed", "--event", "blame", "-o", stacks)
    assert export.returncode == 0, export.stderr
    assert sum(int(line.rpartition(" ")[2]) for line in stacks.read_text().splitlines()) == total
