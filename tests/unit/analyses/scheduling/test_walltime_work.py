"""Predictions beside a recording on another number of cores: whether the work grows, and what that makes of the intervals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.builders import synthetic
from support.builders.counted_slices import Ran, add_counts
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
PAIR = (("cycles", "instructions"),)
IDLE = 1000
WORK = 8000
CORES = "1,2,4,8"


def write_recording(path: Path, cores: int, work: int, **facts: Any) -> Path:
    """Divide so much work among as many threads as cores, after a time in which nothing happens."""
    each = work // cores
    threads = [FakeThread("app", IDLE, [("R", each)], f"worker-{n}") for n in range(cores)]
    return synthetic.write(path, threads, IDLE + each, recorded_cores=cores, **facts)


def counted(cycles: int, instructions: int, cpi_of: int = 1) -> Callable[[Ran], tuple[int, ...]]:
    return lambda ran: (cycles * ran.running_ns // cpi_of, instructions * ran.running_ns // cpi_of)


def walltime(run: Run, *words: object) -> Any:
    code, out, err = run("walltime", *words, "--cores", CORES, "--json")
    assert code == 0, err
    return json.loads(out)


def ids(said: Any) -> set[str]:
    return {each["id"] for each in said["warnings"]}


def test_work_that_grows_with_the_cores_is_said_and_moves_the_ends_of_predictions(run: Run, tmp_path: Path) -> None:
    """On four cores the program executes 30 % more instructions, each as fast as on two."""
    two, four = (
        write_recording(tmp_path / "two.headway", 2, WORK),
        write_recording(tmp_path / "four.headway", 4, WORK * 13 // 10),
    )
    plain = walltime(run, two)
    for path in (two, four):
        add_counts(path, PAIR, counted(2, 1))
    assert walltime(run, two) == plain
    said = walltime(run, two, "--against", four)
    exact = {"value": pytest.approx(1.3), "low": pytest.approx(1.3), "high": pytest.approx(1.3)}
    same = {"value": pytest.approx(1.0), "low": pytest.approx(1.0), "high": pytest.approx(1.0)}
    assert said["work"] == {"against": str(four), "cores": 4, "instructions": exact, "cycles": exact, "cpi": same}
    (message,) = (each["message"] for each in said["warnings"] if each["id"] == "HW426")
    assert (
        "on 4 cores the program executes 1.30 times as many instructions, 1.00 times as many cycles for each as on 2"
        in message
    )
    before, after = ({each["cores"]: each for each in answer["predictions"]} for answer in (plain, said))
    for cores, factor in ((1, 1 / 1.3), (4, 1.3), (8, 1.3**2)):
        ns = before[cores]["ns"]
        assert after[cores]["ns"] == ns, "the figure stays that of the model"
        share = 1 + (ns - IDLE) * (factor - 1) / ns
        low, high = (before[cores][end] or ns for end in ("low_ns", "high_ns"))
        ends = (low * share, high) if factor < 1 else (low, high * share)
        assert (after[cores]["low_ns"], after[cores]["high_ns"]) == (
            pytest.approx(ends[0], abs=2),
            pytest.approx(ends[1], abs=2),
        )
        assert "work that differs with the number of cores as on 4" in after[cores]["interval"]
    assert after[2] == before[2], "what was measured stays"
    terminal = " ".join(run("walltime", two, "--against", four, "--cores", CORES)[1].split())
    assert (
        "work on 4 cores: 1.30 times as many instructions, 1.00 times as many cycles for each as on 2 cores" in terminal
    )


def test_the_same_work_moves_nothing(run: Run, tmp_path: Path) -> None:
    two, four = write_recording(tmp_path / "two.headway", 2, WORK), write_recording(tmp_path / "four.headway", 4, WORK)
    for path in (two, four):
        add_counts(path, PAIR, counted(2, 1))
    said = walltime(run, two, "--against", four)
    assert said.pop("work")["instructions"]["value"] == pytest.approx(1.0)
    assert said == walltime(run, two)


def test_the_same_instructions_that_get_slower_grow_in_cycles(run: Run, tmp_path: Path) -> None:
    two, four = (
        write_recording(tmp_path / "two.headway", 2, WORK),
        write_recording(tmp_path / "four.headway", 4, 2 * WORK),
    )
    add_counts(two, PAIR, counted(2, 2))
    add_counts(four, PAIR, counted(2, 1))
    said = walltime(run, two, "--against", four)
    values = {name: said["work"][name]["value"] for name in ("instructions", "cycles", "cpi")}
    assert values == pytest.approx({"instructions": 1.0, "cycles": 2.0, "cpi": 2.0})
    assert "HW426" in ids(said)


def test_counts_that_are_not_all_known_are_no_certain_growth(run: Run, tmp_path: Path) -> None:
    """A worker of the second recording has no counts: there were at least so many instructions, and nobody knows how many."""
    two, four = write_recording(tmp_path / "two.headway", 2, WORK), write_recording(tmp_path / "four.headway", 4, WORK)
    add_counts(two, PAIR, counted(2, 1))
    add_counts(four, PAIR, lambda ran: None if ran.thread == 3 else counted(2, 1)(ran))
    said = walltime(run, two, "--against", four)
    work = said["work"]["instructions"]
    # In 2,000 ns no processor executes more than 65 a ns.
    most = (6000 + 2000 * 65) / 8000
    assert (work["value"], work["low"], work["high"]) == pytest.approx((0.75, 0.75, most))
    assert "HW426" not in ids(said), "fewer instructions may be ones that were not seen"


@pytest.mark.parametrize(
    ("cores", "is_counted", "facts", "reason"),
    [
        (2, True, {}, "both are recorded on 2 cores"),
        (4, False, {}, "four.headway has no count of instructions"),
        (4, True, {"ended_by": "duration"}, "one of them is a part of a run"),
    ],
)
def test_what_can_not_be_compared_is_said_and_changes_nothing(
    cores: int, is_counted: bool, facts: dict[str, Any], reason: str, run: Run, tmp_path: Path
) -> None:
    two, other = (
        write_recording(tmp_path / "two.headway", 2, WORK),
        write_recording(tmp_path / "four.headway", cores, WORK, **facts),
    )
    add_counts(two, PAIR, counted(2, 1))
    if is_counted:
        add_counts(other, PAIR, counted(2, 1))
    said = walltime(run, two, "--against", other)
    plain = walltime(run, two)
    (message,) = (each["message"] for each in said["warnings"] if each["id"] == "HW427")
    assert reason in message
    assert said["predictions"] == plain["predictions"]
    assert "work" not in said


def test_a_published_table_has_no_other_recording(run: Run, tmp_path: Path) -> None:
    words = ("--levels", "t.csv", "--column", "h2", "--recorded-cores", "1", "--against", tmp_path / "a.headway")
    code, _, err = run("walltime", *words, "--cores", "2")
    assert code == 2
    assert "--against goes with a recording" in err
