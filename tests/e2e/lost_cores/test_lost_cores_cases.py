"""`headway why` gives lost core time to the cause and the place that the program itself measured, in the same run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.lost_cores import analysis as why
from headway.report.json.lost_cores import why_json
from headway.store import Recording, open_recording
from lib import lost_programs
from lib.lost_programs import CAUSES, PRECISE, TARGET, Comparison, Played
from support.drivers.busy_machine import AHEAD
from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import JAVAS, workloads_jar

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]

ONE_CAUSE = [*CAUSES, "alone"]
# One of the two twice in each round: it is the larger one by more than noise.
TWO_CAUSES = ["serial+sleep+sleep", "lock+barrier+barrier", "join+io+io", "monitor+serial+serial"]
NO_CAUSE = ["busy"]
SIZE = 0.8
ROUNDS = 6
VIRTUAL = [*lost_programs.VIRTUAL]
AGAIN = 2
"""How often a case is recorded once more, alone, when noise leaves nothing to be told."""
AGAIN_IN_ALL = 6
"""So often for all cases together: a machine that is too busy for so many is too busy for the rest."""


@dataclass
class Recorded:
    """A recording of several cases, and what the program said of each."""

    directory: Path
    recording: Recording
    cases: dict[str, Played]
    accounts: dict[str, dict[str, Any]] = field(default_factory=dict)
    again: dict[str, list[Recorded]] = field(default_factory=dict)

    def account(self, name: str) -> dict[str, Any]:
        """Return the account of the time in which a case played."""
        if name not in self.accounts:
            window = lost_programs.window(self.recording, self.cases[name])
            self.accounts[name] = why_json(why.why(self.recording, window=window))
        return self.accounts[name]

    def compared(self, name: str) -> Comparison:
        """Compare that with what the program knows."""
        case = self.cases[name]
        return lost_programs.compare(case, self.account(name), lost_programs.ready(self.recording, case))

    def comparisons(self, name: str) -> Iterator[Comparison]:
        """Compare a case here, then in recordings of it alone, which are made when they are asked for."""
        yield self.compared(name)
        more = self.again.setdefault(name, [])
        for number in range(AGAIN):
            if number == len(more):
                if sum(map(len, self.again.values())) == AGAIN_IN_ALL:
                    return
                more.append(record(self.directory / f"{name}-{number}", [name]))
            yield more[number].compared(name)

    def decided(self, name: str, undecided: Callable[[Comparison], str | None]) -> Comparison:
        """Return the first comparison that says something; skip the test, and tell why, where none does."""
        reasons = []
        for compared in self.comparisons(name):
            if not (reason := undecided(compared)):
                return compared
            reasons.append(reason)
        pytest.skip("; ".join(reasons))


def record(directory: Path, cases: list[str]) -> Recorded:
    """Record some cases, one after another in one JVM."""
    workloads_jar()
    directory.mkdir(exist_ok=True)
    output = directory / "lost.headway"
    java = str(JAVAS["jdk25"]) if lost_programs.VIRTUAL.keys() & set(cases) else JAVA_17
    with lost_programs.late_server() as port:
        done = headway(*lost_programs.command_of(output, java, cases, SIZE, ROUNDS, port), **AHEAD)
    assert done.returncode == 0, done.stderr
    return Recorded(directory, open_recording(output), lost_programs.played(done.stdout))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Recorded]:
    return functools.cache(lambda: record(tmp_path_factory.mktemp("lost"), [*ONE_CAUSE, *TWO_CAUSES, *NO_CAUSE]))


@pytest.fixture(scope="module")
def recorded_virtual(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recorded]:
    return functools.cache(lambda name: record(tmp_path_factory.mktemp("virtual"), [name]))


@pytest.mark.parametrize("name", [*ONE_CAUSE, *TWO_CAUSES])
def test_lost_cores_are_given_to_the_cause_and_place_that_the_program_knows(
    name: str, recorded: Callable[[], Recorded]
) -> None:
    is_given_to_its_cause(recorded().decided(name, Comparison.undecided))


@pytest.mark.parametrize("name", VIRTUAL)
def test_cores_lost_because_virtual_threads_have_no_carrier_are_given_to_them(
    name: str, recorded_virtual: Callable[[str], Recorded]
) -> None:
    is_given_to_its_cause(recorded_virtual(name).decided(name, Comparison.undecided))


def is_given_to_its_cause(compared: Comparison) -> None:
    """Compare an account with what the program knows of the causes that it is made for."""
    for cause in compared.case.known_ns:
        if cause in lost_programs.meant(compared.case.name):
            assert compared.share(cause) >= TARGET, (cause, compared)
            assert compared.excess(cause) <= PRECISE, (cause, compared)
    assert compared.wrong() <= PRECISE, compared


@pytest.mark.parametrize("name", TWO_CAUSES)
def test_of_two_causes_the_larger_one_comes_first(name: str, recorded: Callable[[], Recorded]) -> None:
    def undecided(each: Comparison) -> str | None:
        return f"{name}: {each.case.known_ns} do not differ by more than noise" if each.in_order() is None else None

    compared = recorded().decided(name, undecided)
    assert compared.in_order(), compared


@pytest.mark.parametrize("name", [*ONE_CAUSE, *TWO_CAUSES, *NO_CAUSE])
def test_all_cores_are_accounted_for(name: str, recorded: Callable[[], Recorded]) -> None:
    account = recorded().account(name)
    parts = sum(ns or 0 for ns in account["used"].values()) + account["lost_ns"]
    parts += (account["stolen_ns"] or 0) + (account["other_processes_ns"] or 0)
    assert account["invariant_error"] <= 0.001
    assert abs(account["core_ns"] - parts) <= 0.001 * account["core_ns"] + 10
