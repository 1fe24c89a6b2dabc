"""headway speedups on a sweep of recordings on disk: one question, one answer, from the files alone."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headway.analyses.speedups import analysis as speedups
from headway.cli.main import cli
from headway.errors import HeadwayError
from headway.report.terminal import make_console
from headway.report.terminal.speedups import render
from headway.store.sweep import read_sweep, write_sweep
from support.builders import primitives_builder, sweep_builder


@pytest.fixture(scope="module")
def sweep_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweeps") / "made.sweep"
    sweep_builder.make(path)
    return path


@pytest.fixture
def sweep(sweep_path: Path, tmp_path: Path) -> Path:
    """A copy that may be spoiled."""
    shutil.copytree(sweep_path, tmp_path / "made.sweep")
    return tmp_path / "made.sweep"


def ask(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["speedups", *map(str, arguments)], catch_exceptions=True)


def answer(*arguments: object) -> Any:
    result = ask(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def why(result: Result) -> str:
    assert isinstance(result.exception, HeadwayError), result.output
    return result.exception.notice.id


def test_a_sweep_on_disk_gives_the_ratio_of_its_walls(sweep_path: Path) -> None:
    """4,000 ns alone; 400 ns and the largest share with n threads: 3600 + 0, 1800 + 20, 900 + 60."""
    said = answer(sweep_path)
    walls = {1: 4000, 2: 400 + 1820, 4: 400 + 960}
    assert {row["threads"]: row["computed_speedup"] for row in said["threads"]} == {
        n: pytest.approx(4000 / wall) for n, wall in walls.items()
    }
    for row in said["threads"]:
        assert row["real_speedup"] == pytest.approx(row["computed_speedup"])
        assert sum(row["stack"].values()) == pytest.approx(row["threads"])
    assert said["regions"] == ["work"]
    assert said["verdict"]["limit"] == "parallel_fraction"
    assert said["verdict"]["threads"] == 4


def test_efficiencies_are_those_that_the_programs_were_made_with(sweep_path: Path) -> None:
    row = answer(sweep_path)["threads"][2]
    # Alone, the region begins between two samples, somewhere in half an interval either way.
    assert row["efficiencies"]["parallel_fraction"] == pytest.approx(0.9, abs=sweep_builder.EVERY / 2 / 4000)
    assert row["efficiencies"]["load_balance"] == pytest.approx((900 + 920 + 940 + 960) / (4 * 960))
    assert row["efficiencies"]["work_inflation"] == pytest.approx(4000 / (400 + 900 + 920 + 940 + 960))
    assert row["efficiencies"]["scheduling"] == 1
    assert row["efficiencies"]["parallel_cpi_overhead"] is None


def test_a_region_alone_and_a_window_of_every_run(sweep_path: Path) -> None:
    row = answer(sweep_path, "--region", "work")["threads"][1]
    assert row["computed_speedup"] == pytest.approx(3600 / 1820, abs=sweep_builder.EVERY / 2 / 1820)
    assert row["real_speedup"] is None
    first = answer(sweep_path, "--from", "0%", "--to", "10%")
    assert first["threads"][0]["efficiencies"]["parallel_fraction"] == 0
    assert "HW474" in {notice["id"] for notice in first["warnings"]}


def test_an_unknown_region_names_those_there_are(sweep_path: Path) -> None:
    result = ask(sweep_path, "--region", "elsewhere")
    assert why(result) == "HW470"
    assert "it has work" in str(result.exception)


def test_the_text_names_the_limit_the_place_and_a_command(sweep_path: Path) -> None:
    result = ask(sweep_path)
    assert result.exit_code == 0
    assert "limits most at 4 threads" in result.stdout
    assert "in the sequential fraction" in result.stdout
    assert "headway top" in result.stdout
    assert "\u202e" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_text_has_the_intervals_of_possible_speedups_and_the_best_pairs(sweep_path: Path) -> None:
    said, out = answer(sweep_path), ask(sweep_path).stdout
    lines = [line.split() for line in out.splitlines()]
    for limit, label in (("parallel_fraction", "sequential fraction"), ("all", "all of these")):
        at = lines.index([*label.split(), *(f"{row['possible'][limit]:.2f}" for row in said["threads"])])
        bounds = [row["possible_intervals"][limit] for row in said["threads"]]
        assert lines[at + 1] == ["from-to", *(f"{low:.2f}-{high:.2f}" for low, high in bounds)]
    begin = out.splitlines().index("Without two limits at once, 4 threads")
    pair = max(said["threads"][-1]["pairs"], key=lambda pair: pair["speedup"])
    assert sorted(pair["limits"]) == ["parallel_fraction", "work_inflation"]
    assert lines[begin + 2] == [*["sequential", "fraction", "and", "work", "inflation"], f"{pair['speedup']:.2f}"]


def test_intervals_that_a_narrow_terminal_has_no_room_for_are_left_out(tmp_path: Path) -> None:
    counts = {n: [primitives_builder.one_second_each(uneven=0.1)] * 3 for n in (2, 4, 8, 16, 24, 32)}
    result = speedups.answer(primitives_builder.sweep_runs([primitives_builder.alone()] * 3, counts))
    shown = {}
    for width in (80, 140):
        text = io.StringIO()
        console = make_console(text)
        console.width = width
        render(result, console)
        shown[width] = text.getvalue()
        assert max(map(len, shown[width].splitlines())) <= width
    assert "from-to" not in shown[80]
    assert "from-to" in shown[140]


def test_a_sweep_without_a_sequential_program_takes_one_thread_for_it(sweep: Path) -> None:
    read = read_sweep(sweep)
    runs = tuple(run for run in read.runs if run.program == "parallel")
    write_sweep(dataclasses.replace(read, sequential=None, runs=runs))
    said = answer(sweep)
    assert said["threads"][0]["computed_speedup"] == 1
    assert "HW473" in {notice["id"] for notice in said["warnings"]}


def test_a_number_of_threads_that_failed_is_left_out_and_told(sweep: Path) -> None:
    read = read_sweep(sweep)
    runs = tuple(dataclasses.replace(run, state="failed") if run.threads == 2 else run for run in read.runs)
    write_sweep(dataclasses.replace(read, runs=runs))
    said = answer(sweep)
    assert [row["threads"] for row in said["threads"]] == [1, 4]
    assert "--threads 2:" in next(notice["message"] for notice in said["warnings"] if notice["id"] == "HW471")


@pytest.mark.parametrize("program", ["sequential", "parallel"])
def test_a_sweep_without_a_run_of_one_program_says_so(sweep: Path, program: str) -> None:
    read = read_sweep(sweep)
    runs = tuple(dataclasses.replace(run, state="planned") if run.program == program else run for run in read.runs)
    write_sweep(dataclasses.replace(read, runs=runs))
    result = ask(sweep)
    assert why(result) == "HW469"
    assert f"of the {program} program" in str(result.exception)


def test_a_sweep_without_plain_runs_has_no_real_speedup(sweep: Path) -> None:
    read = read_sweep(sweep)
    write_sweep(dataclasses.replace(read, runs=tuple(run for run in read.runs if run.recorded)))
    said = answer(sweep)
    assert {row["real_speedup"] for row in said["threads"]} == {None}
    assert "HW468" in {notice["id"] for notice in said["warnings"]}


def test_what_is_no_sweep_is_refused(tmp_path: Path) -> None:
    assert why(ask(tmp_path)) == "HW320"


def test_the_command_that_runs_it_again_is_whole(sweep_path: Path) -> None:
    from headway.analyses.speedups.runs import rerun

    command = rerun(dataclasses.replace(read_sweep(sweep_path), sample="cpu:500us"), 12)
    assert "--sample cpu:500us" in command
    assert "--threads 1,2,4 --repeat 12" in command
    assert "--parallel 'par {threads}'" in command
    assert r"--region 'work=App\.work'" in command
    assert command.endswith("-12.sweep")


COUNTERS = """threads,program,region,cycles,instructions,cache_misses
1,sequential,work,7200,3600,9
1,sequential,(rest),800,400,1
1,parallel,work,7200,4000,9
1,parallel,work,7200,5000,9
1,parallel,,8000,4900,10
2,parallel,work,8000,4500,20
2,parallel,,8800,4900,21
4,parallel,work,10800,4500,40
4,parallel,,11600,4900,41
"""


def with_counters(sweep: Path, text: str) -> None:
    (sweep.parent / "counters.csv").write_text(text)
    imported = CliRunner().invoke(
        cli, ["import", str(sweep.parent / "counters.csv"), "-o", str(sweep / "counters.headway")]
    )
    assert imported.exit_code == 0, imported.output


def test_counters_that_were_imported_into_a_sweep_tell_instructions_from_memory(sweep: Path) -> None:
    with_counters(sweep, COUNTERS)
    said = answer(sweep)
    of = {row["threads"]: row for row in said["threads"]}
    for n, cpi_ratio in ((1, 2 / (7200 / 4500)), (2, 2 / (8000 / 4500)), (4, 2 / (10800 / 4500))):
        found = of[n]["efficiencies"]
        assert found["parallel_instruction_overhead"] == pytest.approx(3600 / 4500), "a mean of two runs at 1 thread"
        assert found["parallel_cpi_overhead"] == pytest.approx(cpi_ratio)
        assert found["sequential_instruction_overhead"] == pytest.approx(1), "what the whole has beyond its regions"
        assert found["sequential_cpi_overhead"] == pytest.approx(1)
        assert found["work_inflation"] is None
        assert of[n]["computed_speedup"] == pytest.approx(of[n]["real_speedup"])
        assert sum(of[n]["stack"].values()) == pytest.approx(n)
    assert "HW466" not in {each["id"] for each in said["warnings"]}


def by_thread(n: int, cycles: list[int], instructions: list[int]) -> str:
    rows = zip(cycles, instructions, strict=True)
    return "".join(f"{n},parallel,work,worker-{i},{c},{k}\n" for i, (c, k) in enumerate(rows))


def test_counters_of_single_threads_split_the_imbalance_into_instructions_and_cpi(sweep: Path) -> None:
    # 1 thread: none. 2: the second executes twice as much. 4: as much each, but the first one's take three times as long.
    head = "threads,program,region,thread,cycles,instructions\n1,sequential,work,,7200,3600\n1,sequential,(rest),,800,400\n"
    rests = "".join(f"{n},parallel,(rest),,800,400\n" for n in (1, 2, 4))
    threads = by_thread(1, [7200], [3600]) + by_thread(2, [3000, 6000], [1200, 2400])
    threads += by_thread(2, [3200, 6400], [1200, 2400])  # a repeat: means are 3100 and 6200
    with_counters(sweep, head + rests + threads + by_thread(4, [6000, 2000, 2000, 2000], [900] * 4))
    said = answer(sweep)
    of = {row["threads"]: row for row in said["threads"]}
    assert of[1]["imbalance"] == {"instructions": 1, "cpi": 1}
    assert of[2]["imbalance"] == {"instructions": pytest.approx(3600 / 4800), "cpi": pytest.approx(1)}
    assert of[4]["imbalance"] == {"instructions": pytest.approx(1), "cpi": pytest.approx(12000 / (4 * 6000))}
    for row in said["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] == pytest.approx(1), "their sums are the region's"
    shown = ask(sweep).output
    assert "in instructions" in shown
    assert "in CPI" in shown


def test_without_counters_of_single_threads_the_imbalance_is_not_split(sweep: Path) -> None:
    with_counters(sweep, COUNTERS)
    assert all(row["imbalance"] == {"instructions": None, "cpi": None} for row in answer(sweep)["threads"])
    assert "in CPI" not in ask(sweep).output


def test_counters_that_lack_a_region_are_not_used_and_named(sweep: Path) -> None:
    with_counters(sweep, COUNTERS.replace("2,parallel,,8800,4900,21\n", ""))
    said = answer(sweep)
    (warning,) = (each for each in said["warnings"] if each["id"] == "HW477")
    assert "(rest) at 2 threads, parallel program" in warning["message"]
    assert all(row["efficiencies"]["parallel_instruction_overhead"] is None for row in said["threads"])
    assert all(row["efficiencies"]["work_inflation"] is not None for row in said["threads"])


def test_a_recording_without_counters_in_their_place_is_refused(sweep: Path) -> None:
    first = next((sweep / "runs").glob("*.headway"))
    shutil.copytree(first, sweep / "counters.headway")
    assert why(ask(sweep)) == "HW476"
