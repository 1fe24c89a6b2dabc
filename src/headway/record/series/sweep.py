"""Runs sweeps: `run_sweep` starts one from its plan, `resume_sweep` makes the runs that are missing.

Every run that has ended is appended to the sweep's runs.jsonl, so whatever ends a sweep (Ctrl-C, a full disk, kill -9) costs at
most the run that was under way. One signal gate stays shut over all of it: Ctrl-C reaches the program that runs and then ends the
sweep, never one without the other.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.program.signals import SignalGate
from headway.record.series import sweep_checks
from headway.record.series.sweep_plan import check_counted, with_regions
from headway.record.series.sweep_run import Outcome, RunInterruptedError, discard, run_once
from headway.record.series.sweep_warmup import with_warmup
from headway.store import directory as directories
from headway.store.manifest import StoredNotice
from headway.store.sweep import (
    Sweep,
    SweepRegion,
    SweepRun,
    append_run,
    is_sweep,
    read_sweep,
    with_commands,
    write_sweep,
)


@dataclass(slots=True)
class SweepListener:
    """Listener for a sweep's progress. `begin` and `end` get the run, its number from 1, and the number of all runs."""

    say: Callable[[Notice], None] = lambda notice: None
    begin: Callable[[SweepRun, int, int], None] = lambda run, place, count: None
    end: Callable[[SweepRun, int, int], None] = lambda run, place, count: None
    progress: Callable[[float], None] = lambda share: None


def run_sweep(sweep: Sweep, force: bool, listener: SweepListener) -> bool:
    """Create the directory and make all runs; return whether all are complete.

    Raises HeadwayError HW089 (something is there), HW006 (it can't be made), HW085 (interrupted), or what keeps every run
    from being made.
    """
    with contextlib.ExitStack() as cleanup:
        cleanup.enter_context(directories.temporary_pins())
        if os.path.lexists(sweep.path):
            _refuse_to_replace(sweep.path, force)
            directories.open_own(sweep.path, "rm -r")
            cleanup.enter_context(_alone(sweep.path))
            directories.remove_whole(sweep.path)
        try:
            directories.make_parents(sweep.path)
            directories.make_directory(sweep.path)
            with directories.opened_for_writing(sweep.path) as fd:
                os.mkdir("runs", directories.directory_mode(), dir_fd=fd)
            write_sweep(sweep)
        except OSError as error:
            raise HeadwayError("HW006", path=sweep.path, reason=error.strerror or str(error)) from None
        cleanup.enter_context(_alone(sweep.path))
        for notice in sweep.notices:
            listener.say(Notice(notice.id, notice.message, notice.remedy))
        return _carry_out(sweep, listener)


Regions = tuple[tuple[SweepRegion, ...], tuple[SweepRegion, ...]]


def resume_sweep(path: Path, listener: SweepListener, regions: Regions = ((), ())) -> bool:
    """Make the planned runs that are not complete; return whether all are complete afterwards.

    `regions` (of the parallel and the sequential program) replace those it has, as `with_given`: recordings hold for any.

    Raises HeadwayError HW320 to HW322 (no sweep), HW093 (an event to be sampled is not counted here), HW082 (a region that can't
    be used), HW006 (the directory it began in is gone), or as `run_sweep`.
    """
    sweep = read_sweep(os.path.abspath(path))
    with directories.temporary_pins():
        directories.open_own(sweep.path, "headway sweep --resume")  # it says which commands to run, and where
        return _resume(sweep, listener, regions)


def _resume(sweep: Sweep, listener: SweepListener, regions: Regions) -> bool:
    with _alone(sweep.path):
        sweep = read_sweep(sweep.path)
        check_counted(sweep.sample, (run.number for run in sweep.runs if run.recorded and run.state != "complete"))
        sweep = with_commands(with_regions(sweep, *regions))
        try:
            os.chdir(sweep.cwd)  # its commands may name files beside where it began
        except (OSError, ValueError) as error:  # ValueError: a NUL in a sweep.json that somebody else wrote
            raise HeadwayError("HW006", path=sweep.cwd, reason=getattr(error, "strerror", "") or str(error)) from None
        runs = tuple(
            run if run.state == "complete" else replace(run, state="planned", attempts=0) for run in sweep.runs
        )
        sweep = replace(sweep, runs=runs)
        try:
            write_sweep(sweep)
        except OSError as error:
            raise HeadwayError("HW006", path=sweep.path, reason=error.strerror or str(error)) from None
        return _carry_out(sweep, listener)


def _refuse_to_replace(path: Path, force: bool) -> None:
    """Raise HeadwayError HW089 unless what is there is a sweep and may be replaced."""
    if not is_sweep(path):
        raise HeadwayError("HW089", path=path, what=" and is not a sweep")
    if not force:
        raise HeadwayError("HW089", path=path, what="")
    read_sweep(path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the right to run a sweep: a lock of the kernel on its directory, which ends with its holder."""
    directory = os.open(directories.pinned(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HeadwayError("HW087", path=path) from None
        yield
    finally:
        os.close(directory)


# --- the runs ----------------------------------------------------------------------------------------------------------


def _carry_out(sweep: Sweep, listener: SweepListener) -> bool:
    """Make the planned runs one after the other, noting each at once."""
    runs = _Runs(sweep, listener)
    try:
        with SignalGate() as gate:
            for place in range(len(sweep.runs)):
                if gate.wants_end():
                    raise RunInterruptedError
                runs.make(place, gate)
            runs.finish()
    except RunInterruptedError:
        with contextlib.suppress(OSError):
            runs.finish()
        raise HeadwayError("HW085", reason="you interrupted", **runs.counts()) from None
    except HeadwayError:
        with contextlib.suppress(OSError):
            runs.finish()
        listener.say(Notice.of("HW085", reason="it could not go on", **runs.counts()))
        raise
    done = all(run.state == "complete" for run in runs.sweep.runs)
    if not done:
        failed = sum(run.state == "failed" for run in runs.sweep.runs)
        listener.say(Notice.of("HW085", reason=f"{failed} failed", **runs.counts()))
    return done


_OF_ALL_RUNS = ("HW085", "HW086", "HW088", "HW090", "HW091", "HW092")
"""Messages that all the runs together give rise to: they are made anew each time."""


class _Runs:
    """A sweep in progress, kept in step with its files on disk."""

    def __init__(self, sweep: Sweep, listener: SweepListener) -> None:
        self.sweep = sweep
        self._listener = listener
        self._reported: set[str] = set()
        self._given_up: set[tuple[str, int]] = set()

    def counts(self) -> dict[str, object]:
        """Return the facts of HW085."""
        done = sum(run.state == "complete" for run in self.sweep.runs)
        return {"path": self.sweep.path, "done": done, "wanted": len(self.sweep.runs)}

    def make(self, place: int, gate: SignalGate) -> None:
        """Make one run with its retries; do nothing when it is complete, or its number of threads was given up."""
        run = self.sweep.runs[place]
        if run.state == "complete" or (run.program, run.threads) in self._given_up:
            return
        for attempt in range(self.sweep.retries + 1):
            self._listener.begin(run, place + 1, len(self.sweep.runs))
            run, outcome = self._once(run, gate)
            self._note(place, run)
            self._listener.end(run, place + 1, len(self.sweep.runs))
            self._tell_new(outcome, run)
            if run.state == "complete":
                return
            self._tell_failure(run, self.sweep.retries - attempt)
            if gate.wants_end():
                raise RunInterruptedError
        self._given_up.add((run.program, run.threads))

    def finish(self) -> None:
        """Add what all runs together show: the warm-up to leave out, and sequential programs that are not sequential."""
        sweep, of_warmup = with_warmup(self.sweep)
        found = [*sweep_checks.checks(sweep), *of_warmup]
        stored = [StoredNotice(notice.id, notice.message, notice.remedy) for notice in found]
        kept = [notice for notice in sweep.notices if notice.id not in _OF_ALL_RUNS]
        self.sweep = replace(sweep, notices=(*kept, *stored))
        write_sweep(self.sweep)
        for notice in found:
            self._listener.say(notice)

    def _once(self, run: SweepRun, gate: SignalGate) -> tuple[SweepRun, Outcome]:
        try:
            return run_once(self.sweep, run, gate, self._listener.progress)
        except BaseException:
            discard(self.sweep, run)
            raise

    def _note(self, place: int, run: SweepRun) -> None:
        runs = list(self.sweep.runs)
        runs[place] = run
        self.sweep = replace(self.sweep, runs=tuple(runs))
        append_run(self.sweep.path, place, run)

    def _tell_new(self, outcome: Outcome, run: SweepRun) -> None:
        """Report each kind of message once; every recording that it marks keeps it.

        A run that failed before its JVM had begun is no run without a JVM: its failure alone is told.
        """
        for notice in outcome.notices:
            if notice.id == "HW053" and run.state == "failed":
                continue
            if notice.id not in self._reported:
                self._reported.add(notice.id)
                self._listener.say(replace(notice, message=f"{run.name}: {notice.message}"))

    def _tell_failure(self, run: SweepRun, retries_left: int) -> None:
        rest = (
            f"tried again ({retries_left} left)"
            if retries_left
            else "this program is not run again with so many threads"
        )
        output = self.sweep.path / "runs" / f"{run.name}.err"
        self._listener.say(
            Notice.of("HW084", run=run.name, reason=run.reason, rest=rest, output=output, path=self.sweep.path)
        )
