"""The command that a verdict proposes runs on the sweep that it is about, and shows what it says. Times are ns."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.analyses.regions.primitives import REST
from headway.analyses.speedups.advice import NAMES
from headway.analyses.speedups.next_commands import beyond, next_command
from headway.analyses.speedups.runs import SweepRuns, read_runs
from headway.store.sweep import Sweep
from support.builders import primitives_builder as build
from support.builders import sweep_builder
from support.builders.sweep_builder import Shape
from support.builders.synthetic import ORIGIN

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", params=["cpu", "cycles", "instructions", "cpu,cache-misses", "after a warm-up"])
def runs(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> SweepRuns:
    """Runs of a sweep with locks and some events; counters of the others may have been imported."""
    path = tmp_path_factory.mktemp("next") / "made.sweep"
    if request.param == "after a warm-up":
        shape = Shape(locked=200, warm_up=600)
    else:
        shape = Shape(locked=200, events=tuple(request.param.split(",")))
    return read_runs(sweep_builder.make(path, (4,), 1, shape))


def test_the_next_command_of_every_limit_runs(
    runs: SweepRuns, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many limits share a command, which runs once."""
    asked = itertools.product(NAMES, ("work", REST))
    commands = {next_command(limit, region, runs.sequential, runs.parallel[4]) for limit, region in asked}
    for number, command in enumerate(sorted(commands)):
        own = tmp_path / str(number)
        own.mkdir()
        monkeypatch.chdir(own)
        words = shlex.split(command)
        assert words[0] == "headway"
        code, out, err = run(*words[1:])
        assert code == 0, (words, err)
        assert out, words
        assert words[1] != "flame" or Path(words[words.index("-o") + 1]).stat().st_size


def event_of(limit: str, runs: SweepRuns) -> str:
    words = shlex.split(next_command(limit, "work", runs.sequential, runs.parallel[4]))
    return words[words.index("--event") + 1]


def test_the_event_is_the_one_that_shows_the_limit_best_of_those_that_both_programs_have(tmp_path: Path) -> None:
    def counted(*events: str) -> tuple[str, ...]:
        path = tmp_path / f"{'-'.join(events)}.sweep"
        found = read_runs(sweep_builder.make(path, (4,), 1, Shape(events=events)))
        return tuple(event_of(limit, found) for limit in ("instruction_overhead", "cpi_overhead", "work_inflation"))

    assert counted("cpu") == ("cpu", "cpu", "cpu")
    assert counted("cycles") == ("cycles", "cycles", "cycles")
    assert counted("cpu", "instructions", "cache-misses") == ("instructions", "cache-misses", "cpu")


def test_an_event_that_one_program_lacks_is_not_compared(tmp_path: Path) -> None:
    cpu = read_runs(sweep_builder.make(tmp_path / "cpu.sweep", (4,), 1, Shape()))
    cycles = read_runs(sweep_builder.make(tmp_path / "cycles.sweep", (4,), 1, Shape(events=("cycles",))))
    words = next_command("work_inflation", "work", cpu.sequential, cycles.parallel[4])
    assert "--diff" not in words
    assert "--event cycles" in words


def test_a_region_that_the_sequential_program_lacks_is_not_compared(runs: SweepRuns) -> None:
    lacking = tuple(
        dataclasses.replace(each, regions=tuple(part for part in each.regions if part.name == REST))
        for each in runs.sequential
    )
    words = shlex.split(next_command("work_inflation", "work", lacking, runs.parallel[4]))
    assert "--diff" not in words
    assert words[words.index("--region") + 1] == "work"
    assert "--diff" in shlex.split(next_command("work_inflation", "work", runs.sequential, runs.parallel[4]))


def test_the_thread_of_the_sequential_fraction_is_the_one_that_is_busiest_in_it(
    runs: SweepRuns, run: Run, tmp_path: Path
) -> None:
    """Each worker has 900 of CPU time and more, the main thread 400: all of the rest."""
    words = shlex.split(next_command("parallel_fraction", REST, runs.sequential, runs.parallel[4]))
    code, out, err = run(*words[1:], "--json")
    assert code == 0, err
    assert [(each["thread"], each["weight"]) for each in json.loads(out)["threads"]] == [("main", 400)]


@pytest.mark.parametrize(
    ("sampled", "shown"),
    [
        (None, "top a.headway --event cpu --thread '^short$'"),
        (frozenset({"main", "long"}), "top a.headway --event cpu --thread '^long$'"),
        (frozenset(), "threads a.headway"),
    ],
)
def test_threads_that_are_too_short_for_a_sample_are_in_no_profile_that_is_shown(
    sampled: frozenset[str] | None, shown: str
) -> None:
    spent = {"main": 1, "short": 3, "long": 2}
    parts = (
        build.region("work", wall_ns=9, cpu_ns=9, sampled=sampled),
        build.region(REST, wall_ns=3, cpu_ns=6, thread_cpu_ns=spent, sampled=sampled),
    )
    run = build.run(4, parts, recording="a.headway")
    assert next_command("parallel_fraction", REST, (), (run,)) == f"headway {shown}"
    for limit in ("load_balance", "work_inflation"):
        words = shlex.split(next_command(limit, "work", (run,), (run,)))
        assert words[1] == ("threads" if sampled == frozenset() else "flame")


def test_a_threads_name_is_no_pattern_and_no_shell_reads_it() -> None:
    evil = "pool-1 [a-z]+ $(touch x) 'y'"
    rest = build.region(REST, wall_ns=3, cpu_ns=3, thread_cpu_ns={"main": 1, evil: 2})
    words = shlex.split(next_command("parallel_fraction", REST, (), (build.run(4, (rest,), recording="a b.headway"),)))
    assert words[2] == "a b.headway"
    pattern = words[words.index("--thread") + 1]
    assert re.search(pattern, evil)
    assert not re.search(pattern, f"{evil}2")
    assert not re.search(pattern, "pool-1 b $(touch x) 'y'")


def test_other_waiting_is_shown_in_all_regions_for_a_sleep_or_io_has_no_stack(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main thread of this sweep is blocked by nothing that was recorded."""
    monkeypatch.chdir(tmp_path)
    found = read_runs(sweep_builder.make(tmp_path / "a.sweep", (4,), 1, Shape()))
    words = shlex.split(next_command("waiting", "work", found.sequential, found.parallel[4]))
    code, _, err = run(*words[1:])
    assert code == 0, err
    (blocked,) = json.loads(run("top", words[2], "--event", "off-cpu", "--json")[1])["threads"]
    assert (blocked["thread"], blocked["weight"]) == ("main", 900 + 3 * sweep_builder.EVERY)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Main threads that warm up for 600 before anything counts."""
    return sweep_builder.make(tmp_path_factory.mktemp("warm") / "warm.sweep", (4,), 1, Shape(locked=200, warm_up=600))


def words_of(limit: str, runs: SweepRuns) -> list[str]:
    return shlex.split(next_command(limit, "work", runs.sequential, runs.parallel[4]))


@pytest.mark.parametrize("limit", ["parallel_fraction", "load_balance", "spinning", "waiting", "lock_contention"])
def test_warm_up_that_the_figures_leave_out_is_not_in_what_the_next_command_shows(limit: str, warm: Sweep) -> None:
    words = words_of(limit, read_runs(warm))
    assert words[words.index("--from") + 1] == "0.0000006s"
    assert "--to" not in words


def test_a_window_of_every_run_is_that_of_the_next_command(warm: Sweep, run: Run) -> None:
    """From 25 % on, of what comes after the warm-up: 400 of the main thread, 960 and 200 of the workers."""
    found = read_runs(warm, lambda length: (length // 4, length // 2))
    words = words_of("lock_contention", found)
    assert words[words.index("--from") :] == ["--from", "0.00000099s", "--to", "0.00000138s"]
    assert run(*words[1:])[0] == 0
    words = words_of("work_inflation", found)
    assert words[words.index("--diff-from") :][:4] == ["--diff-from", "0.0000016s", "--diff-to", "0.0000026s"]


def test_the_pauses_of_the_collector_are_those_that_count(warm: Sweep) -> None:
    begin = ORIGIN + 600
    assert f"kind = 'gc_pause' AND start_ns + dur_ns > {begin} GROUP BY 1" in words_of("gc", read_runs(warm))[3]
    found = read_runs(warm, lambda length: (0, 100))
    assert f"start_ns + dur_ns > {begin} AND start_ns < {begin + 100} GROUP" in words_of("gc", found)[3]


def test_a_command_without_a_window_is_said_to_show_all(warm: Sweep) -> None:
    found = read_runs(warm).parallel[4]
    said = beyond("headway threads a.headway", found)
    assert said == "the command shows all of the run; the figures are those from 0.0000006s to its end"
    assert beyond("headway locks a.headway", found) is None
    assert beyond("headway threads a.headway", [dataclasses.replace(found[0], window_ns=None)]) is None


def totals(page: Path) -> tuple[int, int]:
    """Return the weight of all stacks on a page, and that of the other recording."""
    text = page.read_text()
    data = json.loads(text.partition('id="headway-payload">')[2].partition("</script>")[0])
    (graph,) = data["flames"]["graphs"]
    return graph["total"], graph["versus"]["total"]


@pytest.mark.parametrize("windowed", [False, True])
def test_a_comparison_leaves_out_the_warm_up_of_both(
    windowed: bool, warm: Sweep, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = read_runs(warm)
    sequential = runs.sequential[0] if windowed else dataclasses.replace(runs.sequential[0], window_ns=None)
    words = shlex.split(next_command("work_inflation", REST, [sequential], runs.parallel[4]))
    code, _, err = run(*words[1:])
    assert code == 0, err
    workers = sum(900 + sweep_builder.EVERY * i for i in range(4))
    assert totals(tmp_path / "cpu.html") == (400 + workers, 4000 if windowed else 4600)


def test_a_window_of_the_other_recording_needs_one(warm: Sweep, run: Run) -> None:
    path = warm.open(warm.runs[1]).path
    code, _, err = run("flame", path, "--diff-from", "0s")
    assert (code, "--diff names" in err) == (2, True)
