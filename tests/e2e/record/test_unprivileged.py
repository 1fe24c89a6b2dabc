"""All the commands as a real ordinary user: a recording in mode perf-switch, with figures that the program itself confirms."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.record.machine.host import cpu_times
from headway.store import Recording, open_recording
from support.drivers.live_process import thread_names
from support.drivers.ordinary_user import OrdinaryUser, ordinary_user
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, java_command

pytestmark = [pytest.mark.root, pytest.mark.other_users, pytest.mark.skipif(os.geteuid() != 0, reason="creates a user")]
DENY = Path(__file__).resolve().parents[2] / "support" / "drivers" / "deny_syscalls.py"
MILLISECONDS = 150
SWITCH_NS = 20_000  # an interval begins when the switch is done: it lacks so much at most (test_unprivileged_collector)


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as created_user:
        yield created_user


@dataclass(frozen=True)
class Recorded:
    user: OrdinaryUser
    path: Path
    phases: list[dict[str, Any]]  # as the program printed them: begin_ns and end_ns on CLOCK_MONOTONIC
    stolen_ns: int  # by the host, of all CPUs, as /proc/stat tells in ticks
    stderr: str

    @property
    def recording(self) -> Recording:
        return open_recording(self.path)

    def json(self, command: str, *options: str) -> Any:
        done = self.user.headway(command, str(self.path), "--json", *options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def steal_ns() -> int:
    return sum(times.steal_ns for times in cpu_times().values())


@pytest.fixture(scope="module", params=list(JAVAS))
def recorded(request: pytest.FixtureRequest, user: OrdinaryUser) -> Recorded:
    path = user.home / f"{request.param}.headway"
    before = steal_ns()
    done = user.headway("record", "-o", str(path), "--", *java_command(JAVAS[request.param], "Phases", MILLISECONDS))
    stolen_ns = steal_ns() - before + len(os.sched_getaffinity(0)) * 10_000_000
    assert done.returncode == 0, done.stderr
    phases = [json.loads(line) for line in done.stdout.splitlines()]
    assert [phase["active"] for phase in phases] == [1, 2, 0, 4]
    return Recorded(user, path, phases, stolen_ns, done.stderr)


def test_every_result_carries_the_mode_and_what_it_cannot_see(recorded: Recorded) -> None:
    parallelism = recorded.json("parallelism")
    assert parallelism["mode"] == "perf-switch"
    assert "HW100" in [warning["id"] for warning in parallelism["warnings"]]
    assert "HW100" in [warning["id"] for warning in recorded.json("walltime", "--cores", "1,2,4")["warnings"]]
    assert recorded.recording.manifest.mode == "perf-switch"
    assert "HW100" in recorded.stderr


def test_nothing_is_lost_and_the_invariants_hold(recorded: Recorded) -> None:
    manifest = json.loads((recorded.path / "manifest.json").read_text())
    assert manifest["losses"]["events"] == 0
    assert [one for one in manifest["invariants"] if not one["ok"]] == []


def within(recording: Recording, phase: dict[str, Any], which: str) -> int:
    """Sum up how long threads were in some of their states during a phase."""
    (ns,) = recording.query(
        "SELECT coalesce(sum(least(s.start_ns + s.dur_ns, $2) - greatest(s.start_ns, $1)), 0) FROM thread_state s "
        f"JOIN thread t USING (thread_id) WHERE {which} AND s.start_ns < $2 AND s.start_ns + s.dur_ns > $1",
        (phase["begin_ns"], phase["end_ns"]),
    ).fetchone() or (0,)
    return int(ns)


def test_each_phase_has_as_many_active_threads_as_the_program_says(recorded: Recorded) -> None:
    """Threads that compute are preempted, not woken, so this mode sees all of them, also beyond the number of CPUs.

    But where one had to wait for a page of memory, the time until it got a CPU again counts as blocked, however long the
    queue: that is the mode's blind spot, and the only one there may be.
    """
    recording = recorded.recording
    start_ns = recording.window_ns[0]
    for phase in recorded.phases:
        if phase["active"] == 0:
            continue
        span = [f"{phase[key] - start_ns}ns" for key in ("begin_ns", "end_ns")]
        found = recorded.json("parallelism", "--from", span[0], "--to", span[1], "--kind", "app")
        levels = {level["active"]: level["ns"] for level in found["levels"] if level["ns"]}
        workers = f"t.name LIKE 'phase-{phase['phase']}-worker-%'"
        # Of the JVM's own classes, and the main thread, which is about to sleep as the phase begins.
        others = "t.kind = 'app' AND t.name NOT LIKE 'phase-%'"
        blocked_ns = within(recording, phase, f"{workers} AND s.state NOT IN ('running', 'runnable')")
        others_ns = within(recording, phase, f"{others} AND s.state IN ('running', 'runnable')")
        assert levels[phase["active"]] >= 0.995 * found["wall_ns"] - blocked_ns - others_ns, (phase, levels)
        more_ns = sum(ns for active, ns in levels.items() if active > phase["active"])
        assert more_ns <= 0.005 * found["wall_ns"] + others_ns


def test_the_running_time_of_each_thread_is_its_cpu_clock_but_for_the_switches_and_what_the_host_stole(
    recorded: Recorded,
) -> None:
    """The clock is CLOCK_THREAD_CPUTIME_ID, read by the agent at each thread's end."""
    rows = recorded.recording.query(
        "SELECT name, running_ns, cpu_clock_ns, switches FROM thread WHERE name LIKE 'phase-%'"
    ).fetchall()
    assert len(rows) == 7
    for name, running_ns, cpu_clock_ns, switches in rows:
        assert cpu_clock_ns > 0
        assert cpu_clock_ns - (switches + 1) * SWITCH_NS <= running_ns, name
        # After the clock was read the thread runs on a little, to its end.
        assert running_ns <= cpu_clock_ns + recorded.stolen_ns + 5_000_000, name


def test_threads_are_known_by_their_java_names_and_kinds(recorded: Recorded) -> None:
    threads = recorded.json("threads")
    rows = threads if isinstance(threads, list) else threads["threads"]
    kinds = {row["name"]: row["kind"] for row in rows}
    assert {f"phase-3-worker-{i}" for i in range(4)} <= kinds.keys()
    assert all(kind == "app" for name, kind in kinds.items() if name.startswith("phase-"))
    assert {"app", "gc", "jit", "vm"} <= set(kinds.values())


def test_never_do_more_threads_run_than_there_are_cpus(recorded: Recorded) -> None:
    found = recorded.json("parallelism")
    assert max(level["running"] for level in found["running_levels"]) <= len(os.sched_getaffinity(0))


def test_what_the_mode_cannot_know_is_null_and_not_a_number(recorded: Recorded) -> None:
    unknown = recorded.recording.query(
        "SELECT count(*) FROM slice WHERE waker_id >= 0 OR stolen_ns IS NOT NULL"
    ).fetchone()
    assert unknown == (0,)


def test_an_ordinary_user_attaches_to_a_running_program_of_its_own(user: OrdinaryUser) -> None:
    path = user.home / "attached.headway"
    command = java_command(JAVAS["jdk25"], "Phases", 6000, "2")
    # exec: the shell becomes the program, so that $$ is its pid.
    argv = user.argv(["/bin/sh", "-c", 'echo $$; exec "$@"', "sh", *command])
    with subprocess.Popen(argv, env=user.env, stdout=subprocess.PIPE, text=True, cwd=user.home) as program:
        assert program.stdout is not None
        pid = program.stdout.readline().strip()
        wait_for(lambda: list(thread_names(int(pid)).values()).count("phase-0-worker-") == 2)  # cut to 15 bytes
        done = user.headway("record", "-o", str(path), "--pid", pid, "--duration", "1")
        said, _ = program.communicate(timeout=200)
    assert done.returncode == 0, done.stderr
    assert program.returncode == 0
    assert json.loads(said)["active"] == 2
    recording = open_recording(path)
    assert recording.manifest.mode == "perf-switch"
    workers = recording.query(
        "SELECT from_snapshot, running_ns FROM thread WHERE name LIKE 'phase-0-worker-%'"
    ).fetchall()
    assert [from_snapshot for from_snapshot, _ in workers] == [True, True]
    assert all(running_ns > 0 for _, running_ns in workers)


def test_the_programs_exit_code_is_its_own(user: OrdinaryUser) -> None:
    done = user.headway("record", "-o", str(user.home / "exit.headway"), "--", "/bin/sh", "-c", "exit 7")
    assert done.returncode == 7


def test_where_perf_events_are_refused_the_agent_alone_records_and_nothing_is_made_up(user: OrdinaryUser) -> None:
    path = user.home / "agent.headway"
    refused = [user.python, str(DENY), "perf_event_open,bpf", user.python, "-m", "headway"]
    done = user.run([*refused, "record", "-o", str(path), "--", *java_command(JAVAS["jdk17"], "Phases", 50)])
    assert done.returncode == 0, done.stderr
    assert "HW101" in done.stderr
    recording = open_recording(path)
    assert recording.manifest.mode == "agent"
    rows = recording.query("SELECT running_ns, cpu_clock_ns FROM thread WHERE name LIKE 'phase-%'").fetchall()
    assert len(rows) == 7
    assert all(running_ns is None and cpu_clock_ns > 10_000_000 for running_ns, cpu_clock_ns in rows)
    answer = user.headway("parallelism", str(path))
    assert answer.returncode == 1
    assert "HW400" in answer.stderr
