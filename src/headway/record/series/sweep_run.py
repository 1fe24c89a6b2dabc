"""Makes one run of a sweep: recorded (an ordinary recording with locks and samples), or plain, without any of headway."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.collect.listener import Listener
from headway.record.collect.watch import Watch
from headway.record.program import launch
from headway.record.program.group_signals import GroupSignalProbe
from headway.record.program.signals import SignalGate
from headway.record.request.jvm_options import LockOptions
from headway.record.series.sweep_lines import LineTimes
from headway.record.series.sweep_output import Streams, last_lines
from headway.record.series.sweep_plan import split_command
from headway.record.series.sweep_turns import counted_by, sampled_in
from headway.record.session.plan import Plan
from headway.record.session.session import record
from headway.store.directory import pinned, remove_within
from headway.store.manifest import read_manifest
from headway.store.reader import Recording, open_recording
from headway.store.sweep import Sweep, SweepRun

_EXCEPTION = re.compile(r"(Exception|Error)\b")


class RunInterruptedError(Exception):
    """Raised when the user interrupts a run: it does not count."""


@dataclass(slots=True)
class Outcome:
    """The result of a run. `failure` says why it does not count; empty when it does."""

    exit_code: int | None = None
    start_ns: int = 0
    end_ns: int = 0
    cpu_ns: int = 0
    failure: str = ""
    startup_ns: int | None = None
    notices: list[Notice] = field(default_factory=list)


def run_once(
    sweep: Sweep, run: SweepRun, gate: SignalGate, progress: Callable[[float], None]
) -> tuple[SweepRun, Outcome]:
    """Run one program once; return the completed or failed run, with the recorder's messages.

    Raises RunInterruptedError, or HeadwayError for what would keep every other run from being made as well.
    """
    stem = sweep.path / "runs" / run.name
    _clear(sweep, run)
    words = split_command(_command(sweep, run), run.threads)
    lines = LineTimes() if sweep.auto_warmup else None
    try:
        with Streams(stem, sweep.input, sweep.from_marker, lines) as streams:
            outcome = (_recorded if run.recorded else _plain)(sweep, run, words, streams, gate, progress)
        if lines is not None and not outcome.failure:
            lines.write(stem.with_name(f"{run.name}.lines"), outcome.start_ns)
    except OSError as error:
        raise HeadwayError("HW006", path=error.filename or stem, reason=error.strerror or str(error)) from None
    if not outcome.failure and outcome.exit_code:
        outcome.failure = f"its program ended with exit code {outcome.exit_code}" + _last_words(stem)
    excluded = None
    if not outcome.failure and sweep.from_marker is not None:
        if streams.marker_ns is None:
            outcome.failure = f"no line that it printed matches --from-marker '{sweep.from_marker}'"
        else:
            excluded = min(max(0, streams.marker_ns - outcome.start_ns), outcome.end_ns - outcome.start_ns)
    known = bool(outcome.end_ns)
    finished = replace(
        run,
        state="failed" if outcome.failure else "complete",
        exit_code=outcome.exit_code,
        wall_ns=outcome.end_ns - outcome.start_ns if known else None,
        cpu_ns=outcome.cpu_ns if known else None,
        recording=f"runs/{run.name}.headway"
        if run.recorded and pinned(stem.with_name(f"{run.name}.headway")).exists()
        else None,
        output=f"runs/{run.name}.out",
        warmup_excluded_ns=excluded,
        startup_ns=outcome.startup_ns,
        attempts=run.attempts + 1,
        reason=outcome.failure,
    )
    return finished, outcome


def discard(sweep: Sweep, run: SweepRun) -> None:
    """Remove the files of an interrupted run: it will be made again."""
    _clear(sweep, run)


def _command(sweep: Sweep, run: SweepRun) -> str:
    command = sweep.sequential if run.program == "sequential" else sweep.parallel
    assert command is not None  # a sweep without a sequential program has no such runs
    return command


def _clear(sweep: Sweep, run: SweepRun) -> None:
    stem = sweep.path / "runs" / run.name
    for end in ("headway", "out", "err", "lines"):
        remove_within(stem.parent, f"{run.name}.{end}")


def _last_words(stem: Path) -> str:
    """Return what it said at its end: the line that names an exception (Java prints its stack after it), else the last."""
    lines = last_lines(stem, 60)
    message = next((line for line in lines if _EXCEPTION.search(line)), lines[-1] if lines else "")
    return f" ({message.strip()[:200]})" if message else ""


# --- recorded --------------------------------------------------------------------------------------------------------


def _recorded(
    sweep: Sweep, run: SweepRun, words: list[str], streams: Streams, gate: SignalGate, progress: Callable[[float], None]
) -> Outcome:
    outcome = Outcome()
    failures: list[Notice] = []
    directory = sweep.path / "runs" / f"{run.name}.headway"
    plan = Plan(
        output=directory,
        command=tuple(words),
        cpus=sweep.cpus,
        locks=LockOptions(),
        sample=sampled_in(sweep.sample, run.number) if sweep.sample else None,
        counters=counted_by(sweep.counters),
        streams=streams.fds,
        keep_arguments=sweep.arguments_kept,
    )
    listener = Listener(say=outcome.notices.append, failed=failures.append, progress=progress)
    try:
        outcome.exit_code = record(plan, listener, gate)
    except KeyboardInterrupt:
        raise RunInterruptedError from None
    if any(notice.id == "HW052" for notice in failures):
        raise RunInterruptedError
    if failures:
        outcome.failure = failures[0].message
        return outcome
    manifest = read_manifest(directory)
    if manifest.ended_by == "interrupt":
        raise RunInterruptedError
    if manifest.ended_by == "disk-full":
        raise HeadwayError("HW006", path=directory, reason="the disk is full")
    assert manifest.window is not None  # it has run to its end
    outcome.start_ns, outcome.end_ns = manifest.window.start_ns, manifest.window.end_ns
    usage = manifest.extra.get("rusage") or {}
    outcome.cpu_ns = int(usage.get("user_ns", 0)) + int(usage.get("system_ns", 0))
    with contextlib.closing(open_recording(directory)) as recording:
        outcome.startup_ns = _startup_ns(recording)
    return outcome


def _startup_ns(recording: Recording) -> int | None:
    """Return when the program's main class was reached, from the begin; None where there is not exactly one JVM."""
    rows = recording.query("SELECT start_ns + dur_ns FROM jvm_phase WHERE kind = 'startup'").fetchall()
    if len(rows) != 1:
        return None
    return min(max(0, int(rows[0][0]) - recording.window_ns[0]), recording.wall_ns)


# --- plain -----------------------------------------------------------------------------------------------------------


def _plain(
    sweep: Sweep, run: SweepRun, words: list[str], streams: Streams, gate: SignalGate, progress: Callable[[float], None]
) -> Outcome:
    """Run the program as a shell would, and take its time between the same two moments as a recording's window."""
    environment = launch.given_environment()
    program = launch.find_program(words[0], os.environ)
    group_probe = GroupSignalProbe(gate.taken)
    try:
        child = launch.fork_child(program, words, environment, sweep.cpus, gate, streams.fds)
        watch = Watch(child.pidfd, gate, child.pid, group_probe)
        watch.wait(0)
        if watch.interrupts:
            child.abandon()
            raise RunInterruptedError
        if failure := child.release():
            child.reap()
            raise launch.exec_failure(program, failure)
        start_ns = time.monotonic_ns()
        watch.until_ended()
        end_ns = time.monotonic_ns()
        ending = child.reap()
    finally:
        group_probe.close()
    if watch.interrupts:
        raise RunInterruptedError
    return Outcome(ending.exit_code, start_ns, end_ns, ending.user_ns + ending.system_ns)
