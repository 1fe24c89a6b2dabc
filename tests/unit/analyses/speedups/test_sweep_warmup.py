"""Warm-up of a sweep's programs: where iterations settle, and what is left out of its runs."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.record.series.sweep_lines import LEAST, LineTimes, read_lines
from headway.record.series.sweep_warmup import iterations_before, with_warmup
from headway.store.sweep import Sweep, SweepRun
from headway.store.tables import TABLES
from headway.store.writer import write_recording

MS = 1_000_000
KIND = "iteration #"


# --- where iterations settle ---------------------------------------------------------------------------------------------


@given(
    warm=st.integers(3, 20),
    rest=st.integers(25, 60),
    slower=st.floats(1.3, 30),
    noise=st.floats(0, 0.02),
    seed=st.integers(0, 10_000),
)
def test_iterations_that_are_slower_by_a_step_are_counted_exactly(
    warm: int, rest: int, slower: float, noise: float, seed: int
) -> None:
    chance = random.Random(seed)
    times = [MS * (slower if i < warm else 1) * (1 + noise * chance.uniform(-1, 1)) for i in range(warm + rest)]
    assert iterations_before(times) == warm


@given(count=st.integers(LEAST, 80), noise=st.floats(0, 0.3), seed=st.integers(0, 300))
def test_noise_alone_is_rarely_taken_for_warm_up(count: int, noise: float, seed: int) -> None:
    # Not never: a test of noise errs now and then. Five series of the same kind don't all do so.
    def series(each: int) -> list[float]:
        chance = random.Random(1000 * each + seed)
        return [MS * (1 + noise * chance.uniform(-1, 1)) for _ in range(count)]

    assert any(iterations_before(series(each)) == 0 for each in range(5))


def test_single_iterations_that_the_host_held_up_are_no_warm_up() -> None:
    times = [1.0 * MS] * 40
    for at in (2, 9, 10, 25):
        times[at] = 50.0 * MS
    assert iterations_before(times) == 0


def test_warm_up_in_steps_ends_with_the_last_of_them() -> None:
    assert iterations_before([9.0 * MS] * 4 + [3.0 * MS] * 5 + [1.0 * MS] * 30) == 9


def test_a_program_that_becomes_slower_has_no_warm_up() -> None:
    assert iterations_before([1.0 * MS] * 10 + [2.0 * MS] * 30) == 0


def test_a_program_that_gets_faster_until_its_end_does_not_settle() -> None:
    assert iterations_before([MS * 1.2 ** (40 - i) for i in range(40)]) is None
    assert iterations_before([2.0 * MS] * 30 + [1.0 * MS] * 20) is None


# --- lines of a run ------------------------------------------------------------------------------------------------------


def test_lines_that_differ_in_their_figures_are_one_kind(tmp_path: Path) -> None:
    lines = LineTimes()
    for i in range(LEAST):
        lines.add([f"step {i}: {i / 7:.3f} s, -1.5e-{i}, hash {i + 1:08x}cafe".encode(), b"once %d" % i], 100 + i)
        if i % 2:
            lines.add([b"rare"], 1)
    lines.write(tmp_path / "a.lines", 90)
    found = read_lines(tmp_path / "a.lines")
    assert set(found) == {"step #: # s, #, hash #", "once #"}
    assert found["once #"] == [10 + i for i in range(LEAST)]


def test_a_program_that_writes_data_is_not_read_on(tmp_path: Path) -> None:
    lines = LineTimes()
    for i in range(30_000):
        lines.add([b"row %d" % i], i)
    lines.write(tmp_path / "a.lines", 0)
    assert not (tmp_path / "a.lines").exists()
    assert read_lines(tmp_path / "a.lines") == {}


# --- a sweep -------------------------------------------------------------------------------------------------------------


def ends(slow: int, count: int, slow_ns: int, fast_ns: int) -> list[int]:
    steps = [5 * MS, *(slow_ns if i < slow else fast_ns for i in range(1, count))]
    return list(itertools.accumulate(steps))


MANIFEST = {"window": {"start_ns": 0, "end_ns": 100 * MS}}


def activity(jit_ns: int, wall: int) -> pa.Table:
    """Return bins of 1 ms in which the JIT compiler runs for the first `jit_ns`."""
    rows = []
    for bin_ns in range(0, wall, MS):
        busy = min(MS, max(0, jit_ns - bin_ns))
        for length, jit in ((busy, 1), (MS - busy, 0)):
            counts = {column.name: 0 for column in TABLES["activity"].columns}
            rows.append({**counts, "bin_start_ns": bin_ns, "dur_ns": length, "running_jit": jit})
    return pa.Table.from_pylist(rows)


Lines = Callable[[SweepRun], Sequence[int]]


def sweep_of(path: Path, lines: Lines, jit_ns: int = 20 * MS, wall: int = 100 * MS) -> Sweep:
    """Return a sweep of a recorded and a plain run of each program; the compiler works for `jit_ns` at the begin of each."""
    (path / "runs").mkdir(parents=True)
    runs = []
    for program, n in (("sequential", 1), ("parallel", 2)):
        for recorded in (True, False):
            run = SweepRun(program, n, 1, recorded, "complete", 0, wall, wall)  # type: ignore[arg-type]
            (path / "runs" / f"{run.name}.lines").write_text(json.dumps({KIND: lines(run), "other #": [1] * 12}))
            if recorded:
                write_recording(path / "runs" / f"{run.name}.headway", MANIFEST, {"activity": activity(jit_ns, wall)})
                run = replace(run, recording=f"runs/{run.name}.headway")
            runs.append(run)
    return Sweep(path, "par {threads}", "seq", (2,), 1, runs=tuple(runs), auto_warmup=True)


def as_usual(run: SweepRun) -> list[int]:
    """Return lines of 30 iterations: 8 are slow in the sequential program, 6 in the parallel one."""
    return ends(8 if run.program == "sequential" else 6, 30, 3 * MS, MS + run.recorded)


def test_the_same_iterations_are_left_out_of_every_run(tmp_path: Path) -> None:
    sweep, (notice,) = with_warmup(sweep_of(tmp_path / "a.sweep", as_usual))
    assert notice.id == "HW091"
    assert "the first 8 of 30 iterations" in notice.message
    for run in sweep.runs:
        assert run.warmup_excluded_ns == as_usual(run)[7]
    assert sweep.warmup is not None
    cut = (as_usual(sweep.runs[0])[7] + as_usual(sweep.runs[2])[7]) / 2
    assert sweep.warmup["jit_before"] == pytest.approx(20 * MS / cut if cut > 20 * MS else 1, rel=0.15)
    assert sweep.warmup["line"] == KIND


def test_slow_iterations_without_the_compiler_at_work_are_the_program_s_own(tmp_path: Path) -> None:
    for jit_ns in (1000, 100 * MS):  # it does nothing, or goes on
        sweep, notices = with_warmup(sweep_of(tmp_path / f"{jit_ns}.sweep", as_usual, jit_ns))
        assert notices == []
        assert all(run.warmup_excluded_ns is None for run in sweep.runs)
        assert sweep.warmup is not None
        assert "JIT compiler" in sweep.warmup["reason"]


def test_a_host_that_gets_faster_later_does_not_count(tmp_path: Path) -> None:
    def lines(run: SweepRun) -> list[int]:
        steps = [5 * MS, *[4 * MS] * 5, *[2 * MS] * 14, *[MS] * 10]  # the compiler is done after 20 ms
        return list(itertools.accumulate(steps))

    sweep, (notice,) = with_warmup(sweep_of(tmp_path / "a.sweep", lines))
    assert "the first 6 of 30 iterations" in notice.message
    assert all(run.warmup_excluded_ns == 25 * MS for run in sweep.runs)


def test_programs_that_do_not_settle_are_told(tmp_path: Path) -> None:
    # The compiler works on, in turns with the program.
    sweep, (notice,) = with_warmup(
        sweep_of(tmp_path / "a.sweep", lambda run: ends(20, 30, 3 * MS, MS), jit_ns=100 * MS)
    )
    assert notice.id == "HW092"
    assert all(run.warmup_excluded_ns is None for run in sweep.runs)


def test_lines_that_come_more_often_with_more_threads_tell_nothing(tmp_path: Path) -> None:
    sweep, notices = with_warmup(sweep_of(tmp_path / "a.sweep", lambda run: ends(5, 20 + run.threads, 3 * MS, MS)))
    assert notices == []
    assert sweep.warmup is not None
    # "other #" comes as often everywhere, but all at once.
    assert sweep.warmup["iterations"] == 0
    assert "too short" in sweep.warmup["reason"]


def test_nothing_is_left_out_of_steady_runs_or_where_nobody_asked(tmp_path: Path) -> None:
    steady, notices = with_warmup(sweep_of(tmp_path / "a.sweep", lambda run: ends(1, 30, MS, MS)))
    assert notices == []
    assert steady.warmup is not None
    assert steady.warmup["reason"] == "no iterations at the begin are slower while the JIT compiler is at work"
    unasked = replace(sweep_of(tmp_path / "b.sweep", as_usual), auto_warmup=False)
    assert with_warmup(unasked) == (unasked, [])
