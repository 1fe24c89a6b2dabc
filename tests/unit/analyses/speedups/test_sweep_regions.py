"""The regions of a sweep: as they are given, in both programs, and given again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.record.series.sweep_plan import SweepOptions, parse_regions, plan_sweep
from headway.store.manifest import StoredNotice
from headway.store.sweep import Sweep, SweepRegion, read_sweep, write_sweep

Run = Callable[..., tuple[int, str, str]]
A, B, C = (SweepRegion(name, f"{name}-parallel") for name in "abc")
A_ALONE, B_ALONE = (SweepRegion(name, f"{name}-sequential") for name in "ab")


def wishes(path: Path, **regions: Any) -> SweepOptions:
    basis: dict[str, Any] = {"sequential": "true", "parallel": "true {threads}", "threads": (1, 2)}
    return SweepOptions(output=path / "a.sweep", **basis, **regions)


def refused(path: Path, **regions: tuple[str, ...]) -> HeadwayError:
    with pytest.raises(HeadwayError) as caught:
        plan_sweep(wishes(path, **regions))
    return caught.value


def made_before(path: Path, **other: Any) -> Sweep:
    """A sweep with the regions a and b that has nothing left to run."""
    plan = plan_sweep(wishes(path))
    runs = tuple(replace(run, state="complete", wall_ns=10, cpu_ns=5) for run in plan.runs)
    sweep = replace(plan, runs=runs, regions=(A, B), **other)
    (sweep.path / "runs").mkdir(parents=True)
    write_sweep(sweep)
    return sweep


def test_regions_have_a_name_and_a_pattern() -> None:
    (spaced,) = parse_regions(["the tally=KMeans.tally"], "--region")
    assert (spaced.name, spaced.pattern) == ("the tally", "KMeans.tally")
    found = parse_regions([r"kmeans=KMeans\.(assign|tally)", "Plain.method", "eq=a=b"], "--region")
    assert found == (
        SweepRegion("kmeans", r"KMeans\.(assign|tally)"),
        SweepRegion("Plain.method", "Plain.method"),
        SweepRegion("eq", "a=b"),
    )


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["a=(b"], "missing ), unterminated subpattern at character 1"),
        (["a=b", "a=c"], "given twice"),
        (["(rest)=b"], "in no region"),
        (["(parallel)=b"], "take for a region"),
        ([""], "empty"),
    ],
)
def test_a_region_that_cannot_be_used_is_refused(tmp_path: Path, texts: list[str], why: str) -> None:
    error = refused(tmp_path, regions=tuple(texts))
    assert error.notice.id == "HW082"
    assert why in error.notice.message


@pytest.mark.parametrize("regions", [(), ("a=b", "c=d")])
def test_a_region_of_the_sequential_program_that_no_region_is_called_as_is_refused(
    tmp_path: Path, regions: tuple[str, ...]
) -> None:
    error = refused(tmp_path, regions=regions, sequential_regions=("d=e",))
    assert error.notice.id == "HW082"
    there = " (there are: a, c)" if regions else ""
    assert error.notice.message == f"--sequential-region d 'e': no --region has this name{there}"


def test_a_region_of_the_sequential_program_stands_for_that_of_its_name_alone(tmp_path: Path) -> None:
    sweep = plan_sweep(wishes(tmp_path, regions=("a=b", "c=d", "e=f"), sequential_regions=("e=z", "c=y")))
    assert [(each.name, each.pattern) for each in sweep.regions_of("sequential")] == [
        ("a", "b"),
        ("c", "y"),
        ("e", "z"),
    ]
    assert sweep.regions_of("parallel") == sweep.regions


@pytest.mark.parametrize(
    ("is_found", "given", "regions", "alone"),
    [
        (False, (), (A, B), (A_ALONE,)),
        (False, ("--sequential-region", "b=b-sequential"), (A, B), (B_ALONE,)),
        (False, ("--region", "c=c-parallel", "--region", "a=other"), (C, SweepRegion("a", "other")), (A_ALONE,)),
        (False, ("--region", "c=c-parallel"), (C,), ()),
        (True, ("--sequential-region", "b=b-sequential"), (A, B), (B_ALONE,)),
        (True, ("--region", "a=a-parallel"), (A,), ()),
    ],
    ids=str,
)
def test_a_resumed_sweep_keeps_the_regions_of_the_side_that_is_not_given(
    tmp_path: Path,
    run: Run,
    is_found: bool,
    given: tuple[str, ...],
    regions: tuple[SweepRegion, ...],
    alone: tuple[SweepRegion, ...],
) -> None:
    notices = tuple(StoredNotice(key, "told") for key in ("HW083", "HW493"))
    made_before(tmp_path, sequential_regions=(A_ALONE,), regions_found=is_found, notices=notices)
    run("sweep", "--resume", tmp_path / "a.sweep", *given)
    found = read_sweep(tmp_path / "a.sweep")
    assert (found.regions, found.sequential_regions) == (regions, alone)
    assert not found.regions_found
    assert ("HW493" in {notice.id for notice in found.notices}) == (not given)


def test_a_resumed_sweep_whose_regions_do_not_fit_stays_as_it_is(tmp_path: Path, run: Run) -> None:
    before = made_before(tmp_path, sequential_regions=(A_ALONE,))
    code, _, err = run("sweep", "--resume", tmp_path / "a.sweep", "--sequential-region", "c=d")
    assert code == 1
    assert err.startswith("HW082: --sequential-region c 'd': no --region has this name (there are: a, b)")
    assert read_sweep(tmp_path / "a.sweep") == before
