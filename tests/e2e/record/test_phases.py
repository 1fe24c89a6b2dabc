"""A program whose right answer is known: phases of exactly 1, 2, 0 and 4 active threads, by its own clock in the same run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.scheduling.parallelism import KINDS, parallelism
from headway.analyses.scheduling.threads import threads
from headway.analyses.scheduling.walltime import walltime
from headway.store import Recording, open_recording
from headway.store.packing import TICK_NS
from support.drivers.recording_cli import headway, javas

pytestmark = pytest.mark.root
MILLISECONDS = 150
# JDK 17 stops all threads once a second to clean up; the phases are to have no stops.
NO_STOPS = ("-XX:+UnlockDiagnosticVMOptions", "-XX:GuaranteedSafepointInterval=0")


@dataclass(frozen=True)
class Recorded:
    recording: Recording
    phases: list[dict[str, Any]]  # as the program printed them: begin_ns and end_ns on CLOCK_MONOTONIC

    def window(self, phase: dict[str, Any]) -> tuple[int, int]:
        begin = self.recording.window_ns[0]
        return phase["begin_ns"] - begin, phase["end_ns"] - begin


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, workloads: Path) -> Recorded:
    path = tmp_path_factory.mktemp("phases") / "phases.headway"
    program = [request.param, *NO_STOPS, "-cp", workloads, "headway.workloads.Phases", str(MILLISECONDS)]
    done = headway("record", "-o", path, "--", *program)
    assert done.returncode == 0, done.stderr
    phases = [json.loads(line) for line in done.stdout.splitlines()]
    assert [phase["active"] for phase in phases] == [1, 2, 0, 4]
    return Recorded(open_recording(path), phases)


def states(recording: Recording, kinds: tuple[str, ...], names: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Begin and end of every interval in one of the states, of threads of one of the kinds, inside the window."""
    begin, end = recording.window_ns
    rows = recording.query(
        "SELECT s.start_ns, s.start_ns + s.dur_ns FROM thread_state s JOIN thread t USING (thread_id) "
        f"WHERE s.state IN {names!r} AND t.kind IN {kinds!r}"
    ).fetchall()
    for first, last in rows:
        if max(first, begin) < min(last, end):
            yield max(first, begin), min(last, end)


def count(recording: Recording, kinds: tuple[str, ...], names: tuple[str, ...]) -> tuple[dict[int, int], int]:
    """T_j and the number of changes, from the states alone by sorting them: neither the native sweep nor its table."""
    steps = sorted(
        [(recording.window_ns[0], 0), (recording.window_ns[1], 0)]
        + [step for first, last in states(recording, kinds, names) for step in ((first, 1), (last, -1))]
    )
    levels: dict[int, int] = {}
    active = 0
    for (now, change), (following, _) in itertools.pairwise([*steps, steps[-1]]):
        active += change
        if following > now:
            levels[active] = levels.get(active, 0) + following - now
    return levels, len(steps)


def disturbed_ns(recorded: Recorded, phase: dict[str, Any]) -> int:
    """How long the kernel stopped a worker of the phase for a page of memory, or another thread than the workers was active:
    the machine's doing, not the program's. The main thread is about to sleep as the phase begins, and may be kept from it.
    Where the kernel counted for the program that a worker slept, the JVM had it wait for a lock of its own, as of the queue of
    methods to compile: that sleep, too.
    """
    stopped = "('uninterruptible')" if phase["worker_sleeps"] == 0 else "('uninterruptible', 'sleeping')"
    (ns,) = recorded.recording.query(
        "SELECT coalesce(sum(least(s.start_ns + s.dur_ns, $2) - greatest(s.start_ns, $1)), 0) FROM thread_state s "
        "JOIN thread t USING (thread_id) WHERE t.kind = 'app' AND s.start_ns < $2 AND s.start_ns + s.dur_ns > $1 "
        f"AND CASE WHEN t.name LIKE $3 THEN s.state IN {stopped} "
        "ELSE t.name NOT LIKE 'phase-%' AND s.state IN ('running', 'runnable') END",
        (phase["begin_ns"], phase["end_ns"], f"phase-{phase['phase']}-worker-%"),
    ).fetchone() or (0,)
    return int(ns)


def test_each_phase_has_as_many_active_threads_as_the_program_says(recorded: Recorded) -> None:
    for phase in recorded.phases:
        if phase["active"] == 0:
            continue
        result = parallelism(recorded.recording, recorded.window(phase), ["app"])
        exactly = result.levels[phase["active"]].ns
        assert exactly >= 0.99 * result.wall_ns - disturbed_ns(recorded, phase), (phase, result.levels)


def test_in_the_phase_without_work_only_the_sleeper_itself_is_ever_active(recorded: Recorded) -> None:
    (phase,) = [phase for phase in recorded.phases if phase["active"] == 0]
    window = recorded.window(phase)
    active = recorded.recording.query(
        "SELECT t.name, sum(least(s.start_ns + s.dur_ns, $2) - greatest(s.start_ns, $1)) FROM thread_state s "
        "JOIN thread t USING (thread_id) WHERE s.state IN ('running', 'runnable') AND t.kind = 'app' "
        "AND s.start_ns < $2 AND s.start_ns + s.dur_ns > $1 GROUP BY t.name",
        (phase["begin_ns"], phase["end_ns"]),
    ).fetchall()
    assert not [name for name, _ in active if name.startswith("phase-3")]
    idle = parallelism(recorded.recording, window, ["app"]).levels[0].ns
    # What the machine adds to the sleep (a late wake-up, a queue for a CPU) counts as active, and is in the sum.
    assert idle >= phase["end_ns"] - phase["begin_ns"] - sum(int(ns) for _, ns in active)
    assert idle >= 0.5 * MILLISECONDS * 1e6


@pytest.mark.parametrize("kinds", [KINDS, *((kind,) for kind in KINDS)], ids="+".join)
def test_the_levels_equal_a_count_over_the_states(recorded: Recorded, kinds: tuple[str, ...]) -> None:
    result = parallelism(recorded.recording, kinds=kinds)
    of_kinds = (*kinds, "carrier") if "app" in kinds else (*kinds, "")
    for levels, names in (
        (result.levels, ("running", "runnable")),
        (result.running_levels, ("running", "")),
    ):
        counted, changes = count(recorded.recording, of_kinds, names)
        found = {level.threads: level.ns for level in levels}
        # States are stored in ticks, the sweep saw them before: each change may have moved by less than one.
        for threads_active in counted.keys() | found.keys():
            difference = found.get(threads_active, 0) - counted.get(threads_active, 0)
            assert abs(difference) < TICK_NS * changes
            assert abs(difference) <= 1e-4 * result.wall_ns
    assert sum(level.ns for level in result.levels) == result.wall_ns


def test_never_do_more_threads_run_than_there_are_cpus(recorded: Recorded) -> None:
    result = parallelism(recorded.recording)
    assert result.max_running <= len(recorded.recording.manifest.affinity)
    assert result.max_active >= 4


def test_the_prediction_for_the_recorded_cores_is_the_measurement(recorded: Recorded) -> None:
    k1 = recorded.recording.manifest.recorded_cores
    assert k1
    result = walltime(recorded.recording, [1, k1, 64])
    one, same, many = (each.ns for each in result.predictions)
    assert same == result.measured_ns == recorded.recording.wall_ns
    assert one is not None
    assert many is not None
    assert result.critical_ns <= many <= same <= one


def test_the_workers_ran_as_long_as_their_own_cpu_clocks_say(recorded: Recorded) -> None:
    rows = threads(recorded.recording).rows
    for number, phase in enumerate(recorded.phases):
        executed = [row.exec_ns for row in rows if row.name.startswith(f"phase-{number}-worker-")]
        assert len(executed) == phase["active"]
        # Their clocks start with their work: a thread's birth and death come on top.
        total = sum(ns for ns in executed if ns is not None)
        assert phase["worker_cpu_ns"] <= total <= phase["worker_cpu_ns"] * 1.02 + 5_000_000 * len(executed)


def test_the_commands_answer_with_the_same_figures(recorded: Recorded) -> None:
    path = recorded.recording.path
    result = parallelism(recorded.recording)
    data = json.loads(headway("parallelism", path, "--json").stdout)
    assert data["mean_active"] == result.mean_active
    assert [(row["active"], row["ns"]) for row in data["levels"]] == [(row.threads, row.ns) for row in result.levels]
    for command, *options in (["parallelism"], ["threads"], ["walltime", "--cores", "1,2,4"]):
        done = headway(command, path, *options)
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert "\x1b" not in done.stdout
