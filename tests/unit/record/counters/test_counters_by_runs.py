"""`headway counters` of runs that counted a group each, on recordings made by hand: what is joined, how alike the runs are."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.record.counters import groups
from headway.record.counters.usable import Usable
from headway.record.session.group_runs import plans_of
from headway.record.session.plan import Plan
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.edited_manifest import edit, take_tables_as_they_are
from support.drivers.recording_cli import headway

MS = 1_000_000
Run = Callable[..., tuple[int, str, str]]
Counts = Sequence[tuple[int, tuple[int, ...] | None]]
"""Of each thread for how many ms it ran, and what it counted; None: its counts are not known."""
GROUP = ("cycles", "instructions")


def run_of(
    first: Path,
    number: int,
    events: Sequence[str],
    threads: Counts,
    *,
    of: int = 3,
    in_turn: bool = False,
    **facts: Any,
) -> Path:
    """Write run `number` of a program whose threads ran one after the other."""
    path = first if number == 1 else first / "repeats" / f"{number}.headway"
    path.parent.mkdir(parents=True, exist_ok=True)
    slices, at = [], 0
    for thread, (length, counts) in enumerate(threads):
        if length:
            slices.append(CountedSlice(thread, 0, at, length * MS, counts))
            at += length * MS
    counted_recording(path, slices, at, (events,), ["app"] * len(threads))
    edit(path, counters_by_runs={"run": number, "of": of, "in_turn": in_turn}, **facts)
    return path


def asked(path: Path, *words: object) -> Any:
    done = headway("counters", path, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def two_runs(tmp_path: Path) -> Path:
    path = run_of(tmp_path / "a.headway", 1, GROUP, [(10, (60, 20)), (30, (90, 45))])
    run_of(path, 2, ("page-faults",), [(14, (7,)), (30, (5,))])
    return path


def test_threads_have_the_counts_of_each_group_from_its_run(tmp_path: Path) -> None:
    found = asked(two_runs(tmp_path))
    rows = {row["name"]: row for row in found["threads"]}
    exact = {name: {event: each["value"] for event, each in row["counts"].items()} for name, row in rows.items()}
    assert exact == {
        "thread-0": {"cycles": 60, "instructions": 20, "page-faults": 7},
        "thread-1": {"cycles": 90, "instructions": 45, "page-faults": 5},
    }
    assert [each["high"] for each in rows["thread-0"]["counts"].values()] == [60, 20, 7]
    assert rows["thread-0"]["metrics"]["CPI"]["value"] == 3
    assert (rows["thread-0"]["cpu_ns"], rows["thread-1"]["cpu_ns"]) == (12 * MS, 30 * MS)
    assert [row["name"] for row in found["threads"]] == ["thread-1", "thread-0"]
    assert {event: each["value"] for event, each in found["total"].items()} == {
        "cycles": 150,
        "instructions": 65,
        "page-faults": 12,
    }
    assert [group["events"] for group in found["groups"]] == [[*GROUP], ["page-faults"]]
    assert found["step"] == "CPI"


def test_namesakes_are_joined_by_the_order_of_their_births_whatever_numbers_they_have(tmp_path: Path) -> None:
    """In the second run the kernel's numbers have begun anew in between."""
    path = two_runs(tmp_path)
    for each, tids in ((path, [4000, 4001]), (path / "repeats" / "2.headway", [9000, 300])):
        file = each / "thread.parquet"
        threads = pq.read_table(file)
        start_ns = threads["start_ns"][0].as_py()
        for name, values in {"tid": tids, "name": ["worker"] * 2, "start_ns": [start_ns, start_ns + 1]}.items():
            at = threads.schema.get_field_index(name)
            threads = threads.set_column(at, threads.schema.field(at), pa.array(values, threads.schema.field(at).type))
        pq.write_table(threads, file)
        take_tables_as_they_are(each)
    counts = {row["tid"]: [each["value"] for each in row["counts"].values()] for row in asked(path)["threads"]}
    assert counts == {4000: [60, 20, 7], 4001: [90, 45, 5]}


def test_imbalance_of_an_event_is_that_of_its_run(tmp_path: Path) -> None:
    """Standard deviation by mean: of 60 and 90, of 20 and 45, and, of the second run, of 7 and 5."""
    found = asked(two_runs(tmp_path))["imbalance"]
    assert {event: each["value"] for event, each in found.items()} == {
        "cycles": pytest.approx(15 / 75),
        "instructions": pytest.approx(12.5 / 32.5),
        "page-faults": pytest.approx(1 / 6),
    }


def test_what_another_run_counted_is_not_absent(tmp_path: Path) -> None:
    path = two_runs(tmp_path)
    absent = [{"event": event, "reason": "it does not open"} for event in ("page-faults", "LLC-loads")]
    counters = json.loads((path / "manifest.json").read_text())["counters"]
    edit(path, counters={**counters, "absent": absent})
    assert asked(path)["absent"] == absent[1:]


def test_how_alike_the_runs_are_stands_beside(tmp_path: Path) -> None:
    """Thread 0 ran 10 and 14 ms, thread 1 30 ms twice: 4 of 42 ms on the average."""
    alike = asked(two_runs(tmp_path))["by_runs"]["alignment"]
    assert alike["cpu_ns"] == [40 * MS, 44 * MS]
    assert (alike["rows"], alike["unmatched"]) == (2, 0)
    assert alike["difference"] == pytest.approx(4 / 42)
    assert alike["shared"] == {}


def test_a_thread_that_one_run_lacks_has_unknown_counts_of_that_run_alone(tmp_path: Path) -> None:
    path = run_of(tmp_path / "a.headway", 1, GROUP, [(10, (60, 20)), (30, (90, 45))])
    run_of(path, 2, ("page-faults",), [(10, (7,)), (0, ())])
    found = asked(path)
    row = next(each for each in found["threads"] if each["name"] == "thread-1")
    assert row["counts"]["cycles"]["value"] == 90
    assert row["counts"]["page-faults"]["value"] is None
    assert "has no such thread" in row["counts"]["page-faults"]["withheld"]
    alike = found["by_runs"]["alignment"]
    assert (alike["rows"], alike["unmatched"], alike["unmatched_share"]) == (1, 1, pytest.approx(30 / 50))


def test_an_event_of_several_groups_has_the_mean_of_its_runs_and_their_range(tmp_path: Path) -> None:
    path = run_of(tmp_path / "a.headway", 1, GROUP, [(10, (60, 100))])
    run_of(path, 2, ("instructions", "page-faults"), [(10, (110, 7))])
    found = asked(path)
    assert found["threads"][0]["counts"]["instructions"] == {"value": 105, "low": 100, "high": 110}
    assert found["by_runs"]["alignment"]["shared"] == {"instructions": {"least": 100, "most": 110}}
    # A ratio is of one run: 60 cycles and the 100 instructions beside them.
    assert found["total_metrics"]["CPI"]["value"] == 0.6


def test_one_more_run_of_all_groups_is_compared_and_joined_with_none(run: Run, tmp_path: Path) -> None:
    path = two_runs(tmp_path)
    run_of(path, 3, (*GROUP, "page-faults"), [(20, (165, 65, 6)), (30, (0, 0, 0))], in_turn=True)
    found = asked(path)
    assert found["total"]["cycles"]["value"] == 150
    assert found["by_runs"]["alignment"]["cpu_ns"] == [40 * MS, 44 * MS]
    turn = found["by_runs"]["in_turn"]
    assert {event: each["value"] for event, each in turn.items()} == {
        "cycles": 165,
        "instructions": 65,
        "page-faults": 6,
    }
    differences = [each["difference"] for each in turn.values()]
    assert differences == [pytest.approx(0.1), 0, pytest.approx(-0.5)]
    assert found["by_runs"]["took_turns"] is False
    code, out, err = run("counters", path)
    assert code == 0, err
    assert ["cycles", "150", "165", "+10%"] in [line.split() for line in out.splitlines()]
    assert "joined from 2 runs; CPU time of a run: 40.0 ms to 44.0 ms" in " ".join(out.split())


def test_values_that_are_compared_are_shown_also_where_only_the_least_is_known(run: Run, tmp_path: Path) -> None:
    path = two_runs(tmp_path)
    run_of(path, 3, (*GROUP, "page-faults"), [(20, (165, 65, 6)), (30, None)], in_turn=True)
    assert asked(path)["by_runs"]["in_turn"]["cycles"]["high"] is None
    shown = run("counters", path)[1]
    assert ["cycles", "150", "~165", "+10%"] in [line.split() for line in shown.splitlines()]
    assert "the counters could not be read in some of the running time" in " ".join(shown.split())


def test_runs_that_did_something_else_or_are_not_there_are_told_and_not_joined(tmp_path: Path) -> None:
    path = run_of(tmp_path / "a.headway", 1, GROUP, [(10, (60, 20))], of=6)
    run_of(path, 2, ("page-faults",), [(10, (7,))], exit_code=3)
    run_of(path, 3, ("LLC-loads",), [(10, (7,))], command=["other"])
    run_of(path, 4, ("task-clock",), [(10, (7,))], state="partial")
    run_of(path, 5, ("cpu-clock",), [(10, (7,))], mode="perf-switch")
    found = asked(path)
    assert {*found["total"]} == {*GROUP}
    left_out = [(Path(each["path"]).name, each["reason"]) for each in found["by_runs"]["left_out"]]
    assert left_out == [
        ("2.headway", "another exit code"),
        ("3.headway", "another command"),
        ("4.headway", "not complete"),
        ("5.headway", "another mode"),
        ("run 6", "it was not made, or is gone"),
    ]


def test_kinds_and_phases_are_joined_and_cpus_locks_and_parts_are_refused(tmp_path: Path) -> None:
    path = two_runs(tmp_path)
    (kind,) = asked(path, "--by", "kind")["kinds"]
    assert [each["value"] for each in kind["counts"].values()] == [150, 65, 12]
    program = next(row for row in asked(path, "--by", "phase")["phases"] if row["phase"] == "program")
    assert [each["value"] for each in program["counts"].values()] == [150, 65, 12]
    for words in (("--by", "cpu"), ("--by", "lock"), ("--to", "2ms")):
        done = headway("counters", path, "--json", *words)
        assert (done.returncode, done.stderr[:5]) == (1, "HW118")


def test_a_later_run_answers_for_itself(tmp_path: Path) -> None:
    path = two_runs(tmp_path)
    found = asked(path / "repeats" / "2.headway")
    assert {*found["total"]} == {"page-faults"}
    assert "by_runs" not in found


def test_of_two_recordings_of_one_run_the_first_counts(tmp_path: Path) -> None:
    path = two_runs(tmp_path)
    other = run_of(path, 3, ("page-faults",), [(14, (700,)), (30, (500,))])
    edit(other, counters_by_runs={"run": 2, "of": 3, "in_turn": False})
    found = asked(path)
    assert found["total"]["page-faults"]["value"] == 12
    assert {"path": str(other), "reason": "another one is this run"} in found["by_runs"]["left_out"]


@pytest.mark.parametrize(
    "bad", [5, {"run": "1"}, {"run": 1, "of": 1 << 40}, {"run": 1, "of": "x", "in_turn": 7}, {"run": 1}]
)
def test_a_manifest_of_anybody_gives_an_answer(tmp_path: Path, bad: object) -> None:
    path = two_runs(tmp_path)
    edit(path, counters_by_runs=bad)
    edit(path / "repeats" / "2.headway", counters_by_runs=bad)
    assert asked(path)["total"]["cycles"]["value"] == 150


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "add --counters"),
        (("--counters", "page-faults;task-clock", "--counter-scope", "cpu"), "in scope thread"),
        (("--counters", "page-faults;task-clock", "--repeat", "2"), "no --pid or --repeat"),
    ],
)
def test_runs_that_make_no_sense_are_refused_before_anything_starts(
    run: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    code, _, err = run(
        "record", "--counters-by-runs", *words, "-o", tmp_path / "a.headway", "--", "touch", tmp_path / "started"
    )
    assert code == 2
    assert message in " ".join(err.split())
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("counters", "is_by_runs", "repeat", "runs"),
    [
        ("page-faults;task-clock", True, 1, [["page-faults"], ["task-clock"], ["page-faults", "task-clock"]]),
        ("page-faults,task-clock", True, 1, [["page-faults", "task-clock"]]),
        ("page-faults;task-clock", False, 2, [["page-faults", "task-clock"]] * 2),
    ],
)
def test_a_series_has_a_run_for_each_group_and_one_of_all(
    counters: str, is_by_runs: bool, repeat: int, runs: list[list[str]]
) -> None:
    usable = Usable(groups.parse(counters).groups, ())
    plan = Plan(Path("a.headway"), ("true",), repeat=repeat, counters_by_runs=is_by_runs, counted=usable)
    found = [each.counted for each in plans_of(plan)]
    assert [[event.name for group in each.groups for event in group] for each in found if each is not None] == runs
    without = dataclasses.replace(plan, counted=usable.without_mode("agent"))
    assert len(plans_of(without)) == repeat


@pytest.mark.parametrize(
    ("counters", "reason"), [("page-faults;task-clock", "needs mode ebpf"), ("cs", "fewer than two")]
)
def test_without_ebpf_the_one_run_is_told_with_its_reason(run: Run, tmp_path: Path, counters: str, reason: str) -> None:
    words = ("--mode", "agent", "--no-agent", "--counters", counters, "-o", tmp_path / "a.headway", "--", "true")
    code, _, err = run("record", "--counters-by-runs", *words)
    assert code == 0, err
    assert reason in " ".join(err.split())
    assert not (tmp_path / "a.headway" / "repeats").exists()
