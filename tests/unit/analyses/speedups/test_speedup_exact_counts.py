"""Sweeps whose recordings counted cycles and instructions at every switch: equations 4 to 9 from exact counts, with their bounds.

The sequential program executes 4,000 instructions in 8,000 cycles, nine tenths of both in the region.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.builders import sweep_builder
from support.builders.counted_slices import Ran, add_counts
from support.builders.sweep_builder import EVERY, Shape

Run = Callable[..., tuple[int, str, str]]
THREADS = (2, 4)
PAIR = (("cycles", "instructions"),)
SHAPE = Shape(work=7200, is_cut=True)


def share(n: int, thread: int) -> int:
    """Return the CPU time of a worker, counted from 1."""
    return SHAPE.work // n // EVERY * EVERY + EVERY * (thread - 1)


def counted_sweep(
    path: Path,
    of_worker: Callable[[Ran], tuple[int, ...] | None],
    groups: tuple[tuple[str, ...], ...] = PAIR,
    uncounted: Callable[[Ran], tuple[int, ...]] | None = None,
) -> Path:
    """Make a sweep; main threads run at a CPI of 2 and 2 cycles a ns, workers count what `of_worker` says."""
    sweep = sweep_builder.make(path / "a.sweep", THREADS, 1, SHAPE)

    def of_main(ran: Ran) -> tuple[int, ...]:
        return (2 * ran.running_ns, ran.running_ns, *[0] * (sum(map(len, groups)) - 2))

    for run in sweep.runs:
        if run.recording is not None:
            recording = path / "a.sweep" / run.recording
            add_counts(recording, groups, lambda ran: of_worker(ran) if ran.thread else of_main(ran), uncounted)
    return path / "a.sweep"


def answer(run: Run, *arguments: object) -> Any:
    code, out, err = run("speedups", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_counts_of_slices_tell_more_instructions_from_slower_ones(run: Run, tmp_path: Path) -> None:
    """Workers execute 3 instructions in 2 ns, at 2 cycles a ns: equations 4, 5, 7 and 8 by hand."""
    sweep = counted_sweep(tmp_path, lambda ran: (2 * ran.running_ns, 3 * ran.running_ns // 2))
    said = answer(run, sweep)
    assert (said["counters"], said["step"]) == (True, "CPI")
    assert not {"HW456", "HW459", "HW466"} & {each["id"] for each in said["warnings"]}
    # The border between rest and region is half-way between two samples: 401 ns and 3,599 ns.
    assert (said["sequential"]["instructions"], said["sequential"]["cycles"]) == (4000, 8000)
    for row in said["threads"]:
        n = row["threads"]
        times = [share(n, thread) for thread in range(1, n + 1)]
        executed = sum(3 * ns // 2 for ns in times)
        expected = {
            "sequential_instruction_overhead": 401 / 400,
            "parallel_instruction_overhead": 3599 / executed,
            "sequential_cpi_overhead": 1.0,
            "parallel_cpi_overhead": 2 / (2 * sum(times) / executed),
            "frequency": 1.0,
        }
        found = {limit: row["efficiencies"][limit] for limit in expected}
        assert found == pytest.approx(expected)
        assert row["efficiencies"]["work_inflation"] is None
        assert row["efficiency_intervals"] == {limit: pytest.approx([value] * 2) for limit, value in found.items()}
    terminal = run("speedups", sweep)[1]
    assert "counted: CPI (cycles and instructions, hence what an instruction takes)" in " ".join(terminal.split())
    assert "from-to" not in terminal.partition("Efficiencies")[2].partition("Where the threads go")[0]


def test_imbalance_is_split_into_instructions_and_their_speed(run: Run, tmp_path: Path) -> None:
    """The last worker runs longest; it executes as many instructions as the first, so that only its CPI is uneven."""
    sweep = counted_sweep(tmp_path, lambda ran: (2 * ran.running_ns, 900))
    for row in answer(run, sweep)["threads"]:
        n = row["threads"]
        times = [share(n, thread) for thread in range(1, n + 1)]
        assert row["imbalance"]["instructions"] == pytest.approx(1.0)
        assert row["imbalance"]["cpi"] == pytest.approx(sum(times) / n / max(times))


def test_slices_over_a_border_leave_bounds_and_too_wide_ones_leave_work_inflation(run: Run, tmp_path: Path) -> None:
    """The sequential thread is never switched: its one slice holds the rest and the region."""
    sweep = sweep_builder.make(tmp_path / "a.sweep", THREADS, 1, Shape(work=7200))
    for each in sweep.runs:
        if each.recording is not None:
            add_counts(tmp_path / "a.sweep" / each.recording, PAIR, lambda ran: (2 * ran.running_ns, ran.running_ns))
    said = answer(run, tmp_path / "a.sweep")
    (message,) = (each["message"] for each in said["warnings"] if each["id"] == "HW456")
    assert "not used in work, (rest)" in message
    assert (said["counters"], said["step"]) == (False, "CPI")
    for row in said["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] is None
        assert row["efficiencies"]["work_inflation"] is not None
        assert "efficiency_intervals" not in row


def test_running_time_without_counts_leaves_its_part_unknown_and_the_rest_known(run: Run, tmp_path: Path) -> None:
    sweep = counted_sweep(tmp_path, lambda ran: None if ran.thread == 1 else (2 * ran.running_ns, ran.running_ns))
    said = answer(run, sweep)
    messages = [each["message"] for each in said["warnings"] if each["id"] == "HW456"]
    assert messages
    assert "not used in work: of " in messages[0]
    for row in said["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] is None
        assert row["efficiencies"]["sequential_instruction_overhead"] == pytest.approx(401 / 400)
        assert row["efficiencies"]["work_inflation"] is not None


def test_software_clocks_leave_every_figure_as_it_is_and_say_their_step(run: Run, tmp_path: Path) -> None:
    plain = answer(run, sweep_builder.make(tmp_path / "plain.sweep", THREADS, 1, SHAPE).path)
    assert "step" not in plain
    terminal = " ".join(run("speedups", tmp_path / "plain.sweep")[1].split())
    assert "counted: none (nothing); more instructions and slower ones are one limit, work inflation" in terminal
    groups = (("task-clock", "page-faults"),)
    said = answer(run, counted_sweep(tmp_path, lambda ran: (ran.running_ns, 3), groups))
    assert said.pop("step") == "software clocks"
    terminal = " ".join(run("speedups", tmp_path / "a.sweep")[1].split())
    assert "counted: software clocks (" in terminal
    assert "one limit, work inflation" in terminal
    same = json.loads(json.dumps(said).replace("a.sweep", "plain.sweep"))
    assert same == plain


def test_groups_that_took_turns_for_too_short_a_time_tell_nothing(run: Run, tmp_path: Path) -> None:
    """A rotation takes milliseconds, these programs microseconds: how much of them a group saw is chance."""
    groups = (("cycles", "instructions"), ("task-clock",))
    many = 1_000_000

    def seen(ran: Ran) -> tuple[int, ...]:
        return (many * ran.running_ns, many * ran.running_ns // 2, 0)

    sweep = sweep_builder.make(tmp_path / "a.sweep", THREADS, 1, SHAPE)
    for each in sweep.runs:
        if each.recording is not None:
            path = tmp_path / "a.sweep" / each.recording
            add_counts(path, groups, seen, lambda ran: (ran.running_ns // 2, 0))
    said = answer(run, tmp_path / "a.sweep")
    assert (said["step"], said["counters"]) == ("CPI", False)
    (message,) = (each["message"] for each in said["warnings"] if each["id"] == "HW456")
    assert "not used in work, (rest)" in message


def test_imported_counters_take_the_place_of_what_was_counted(run: Run, tmp_path: Path) -> None:
    sweep = counted_sweep(tmp_path, lambda ran: (2 * ran.running_ns, ran.running_ns))
    rows = ["threads,program,region,cycles,instructions", "1,sequential,work,7200,3600", "1,sequential,(rest),800,400"]
    for n in THREADS:
        rows += [f"{n},parallel,work,14400,7200", f"{n},parallel,(rest),800,400"]
    (tmp_path / "c.csv").write_text("\n".join(rows) + "\n")
    assert run("import", tmp_path / "c.csv", "-o", sweep / "counters.headway")[0] == 0
    for row in answer(run, sweep)["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] == pytest.approx(0.5)
        assert "efficiency_intervals" not in row
