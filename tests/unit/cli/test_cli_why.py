"""`headway why` as a user meets it, and what it does with recordings that are odd, poor or damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.common import causes
from headway.analyses.lost_cores.analysis import why
from headway.errors import HeadwayError
from headway.store import open_recording, write_manifest
from support.builders import synthetic
from support.builders.edited_manifest import take_tables_as_they_are
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
WALL = 1000
THREADS = [
    FakeThread("app", 0, [("R", 300), ("B", 200), ("W", 50), ("R", 450)], "main", stolen=[30, 45]),
    FakeThread("gc", 100, [("R", 100), ("B", 200), ("R", 100)], "GC Thread#0"),
    FakeThread("app", 500, [("R", 200)], "[bold]\x1b[31mred\u202e[/bold]"),
    FakeThread("headway", 600, [("R", 50)], "headway agent"),
]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write(
        tmp_path_factory.mktemp("why") / "a.headway", THREADS, WALL, recorded_cores=4, affinity=[0, 1, 2, 3]
    )


def ask(run: Run, *words: object) -> dict[str, Any]:
    code, out, err = run("why", *words, "--json")
    assert code == 0, err
    said: dict[str, Any] = json.loads(out)
    return said


def total(part: dict[str, Any]) -> int:
    """What an account says went anywhere."""
    used = sum(ns for ns in part["used"].values() if ns is not None)
    lost = sum(row["core_ns"] for row in part["lost"])
    return int(used + (part["stolen_ns"] or 0) + (part["other_processes_ns"] or 0) + lost)


def test_the_account_agrees_with_counting_moment_by_moment(run: Run, recording: Path) -> None:
    said = ask(run, recording)
    ran = {"app": 300 + 450 + 200 - 75, "gc": 200, "jit": 0, "vm": 0, "headway": 50}
    assert said["used"] == ran
    assert said["stolen_ns"] == 75
    running = [sum(thread.at(t) == "R" for thread in THREADS) for t in range(WALL)]
    assert said["lost_ns"] == sum(4 - level for level in running)
    assert total(said) == said["core_ns"] == 4 * WALL
    assert said["invariant_error"] == 0
    assert sum(said["by_cause"].values()) == said["lost_ns"]


@pytest.mark.parametrize("window", [("0ns", "300ns"), ("250ns", "777ns"), ("999ns", "1000ns")])
def test_a_window_is_accounted_for_like_the_whole(run: Run, recording: Path, window: tuple[str, str]) -> None:
    said = ask(run, recording, "--from", window[0], "--to", window[1])
    first, last = (int(each.removesuffix("ns")) for each in window)
    ran = sum(thread.at(t) == "R" for thread in THREADS for t in range(first, last))
    assert said["core_ns"] == 4 * (last - first) == total(said)
    assert said["lost_ns"] == said["core_ns"] - ran


def test_the_phases_add_up_to_the_whole_and_each_is_the_account_of_its_own(run: Run, tmp_path: Path) -> None:
    alone, together = ("R", 5000), ("R", 5000)
    threads = [FakeThread("app", 0, [alone, together], "main"), FakeThread("app", 5000, [together], "worker")]
    path = synthetic.write(tmp_path / "a.headway", threads, 10_000)
    said = ask(run, path)
    assert [(part["from_ns"], part["to_ns"], part["active"]) for part in said["phases"]] == [
        (0, 5000, 1),
        (5000, 10_000, 2),
    ]
    assert sum(part["lost_ns"] for part in said["phases"]) == said["lost_ns"] == 5000
    alone_again = ask(run, path, "--phase", 1)
    for one, again in zip(said["phases"][0]["lost"], alone_again["lost"], strict=True):
        assert {**again, "evidence": [], "figures": {}} == {**one, "evidence": [], "figures": {}}, (
            "less is told of a phase"
        )
    (loss,) = alone_again["lost"]
    assert (loss["cause"], loss["place"]["thread"], loss["core_ns"]) == (causes.SERIAL, "main", 5000)
    assert loss["bound_speedup"] == pytest.approx(2.0)


def test_the_terminal_says_the_same_first_and_fits_80_columns(run: Run, recording: Path) -> None:
    code, out, err = run("why", recording)
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert text.startswith("* 4 cores x 1.00 us = 4.00 core-us: 0.88 us used by the application, 0.20 us by GC")
    assert max(len(line) for line in out.splitlines() if "headway why" not in line) <= 80
    assert all(char.isprintable() or char == "\n" for char in out)


@pytest.mark.parametrize(
    "words", [["--cores", "0"], ["--cores", "-1"], ["--cores", "many"], ["--cores", "1.5"], ["--phase", "0"]]
)
def test_nonsense_is_wrong_usage(run: Run, recording: Path, words: list[str]) -> None:
    code, out, err = run("why", recording, *words)
    assert (code, out) == (2, "")
    assert words[0] in err


@pytest.mark.parametrize("words", [["--from", "500ns", "--to", "500ns"], ["--from", "2s"], ["--to", "2s"]])
def test_an_empty_window_or_one_outside_is_refused_as_elsewhere(run: Run, recording: Path, words: list[str]) -> None:
    assert run("why", recording, *words)[0] == 2
    with pytest.raises(HeadwayError, match="HW401"):
        why(open_recording(recording), window=(5, 5))


def test_a_phase_that_is_not_there_is_refused_with_how_many_there_are(run: Run, recording: Path) -> None:
    code, _, err = run("why", recording, "--phase", 99)
    assert code == 1
    assert err.startswith("HW488: phase 99")


def test_more_cores_than_there_were_are_lost_and_fewer_than_were_used_are_refused(run: Run, recording: Path) -> None:
    few, many = ask(run, recording), ask(run, recording, "--cores", 16)
    assert many["used"] == few["used"]
    assert many["core_ns"] == total(many) == 16 * WALL
    code, _, err = run("why", recording, "--cores", 1)
    assert code == 1
    assert err.startswith("HW487: --cores 1")


# --- odd programs ------------------------------------------------------------------------------------------------------


def account_json(tmp_path: Path, threads: list[FakeThread], wall: int = WALL, **facts: Any) -> dict[str, Any]:
    from headway.report.json.lost_cores import why_json

    said = why_json(why(open_recording(synthetic.write(tmp_path / "odd.headway", threads, wall, **facts))))
    assert total(said) == said["core_ns"] == said["cores"] * wall
    return said


def test_one_thread_that_never_blocks_leaves_the_other_core_to_the_serial_section(tmp_path: Path) -> None:
    said = account_json(tmp_path, [FakeThread("app", 0, [("R", WALL)], "main")])
    assert [(row["cause"], row["core_ns"]) for row in said["lost"]] == [(causes.SERIAL, WALL)]
    assert said["lost"][0]["bound_speedup"] == pytest.approx(2.0)


def test_a_program_that_fills_all_cores_loses_none(tmp_path: Path) -> None:
    said = account_json(tmp_path, [FakeThread("app", 0, [("R", WALL)], name) for name in "ab"])
    assert said["lost"] == []
    assert len(said["phases"]) == 1


def test_a_program_that_only_sleeps_loses_all_and_not_to_a_lock(tmp_path: Path) -> None:
    said = account_json(tmp_path, [FakeThread("app", 0, [("R", 1), ("B", WALL - 2), ("R", 1)], "main")])
    assert said["lost_ns"] == 2 * WALL - 2
    assert {row["cause"] for row in said["lost"]} <= {
        causes.SLEEP,
        causes.BLOCKED,
        causes.UNKNOWN,
        causes.SERIAL,
        causes.OTHERS_WAIT,
    }


def test_ten_thousand_threads_that_take_turns(tmp_path: Path) -> None:
    count, each = 10_000, 10
    threads = [FakeThread("app", i * each, [("R", each)], f"t{i}") for i in range(count)]
    wall = count * each
    row = dict.fromkeys([f"{what}_{kind}" for what in ("active", "running") for kind in synthetic.KINDS], 0)
    row |= {"active_app": 1, "running_app": 1, "bin_start_ns": synthetic.ORIGIN, "dur_ns": wall, "stolen_ns": 0}
    said = account_json(tmp_path, threads, wall, activity=[row])
    assert said["by_cause"] == {causes.SERIAL: wall}
    assert len(said["lost"]) < 100


def test_no_thread_at_all_is_lost_to_what_is_not_known(tmp_path: Path) -> None:
    idle = dict.fromkeys([f"{what}_{kind}" for what in ("active", "running") for kind in synthetic.KINDS], 0)
    idle |= {"bin_start_ns": synthetic.ORIGIN, "dur_ns": WALL, "stolen_ns": 0}
    said = account_json(tmp_path, [], activity=[idle])
    assert said["by_cause"] == {causes.UNKNOWN: 2 * WALL}
    assert said["lost"][0]["bound_speedup"] is None


def test_places_tell_several_jvms_apart(tmp_path: Path) -> None:
    path = synthetic.write(
        tmp_path / "a.headway",
        [FakeThread("app", 0, [("R", 400)], "main"), FakeThread("app", 500, [("R", 400)], "main")],
        WALL,
    )
    places = [row.place for row in why(open_recording(path)).account.lost if row.cause == causes.SERIAL]
    assert {place.thread for place in places} == {"main"}
    assert all(place.pid == 100 for place in places)


# --- poor recordings ---------------------------------------------------------------------------------------------------


def test_a_quota_accounts_for_whole_cores_and_throttled_time_is_lost_to_it(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 300), ("W", 200), ("R", 500)], name) for name in "ab"]
    ticks = [
        {"ns": synthetic.ORIGIN + at, "event": "cgroup_throttled", "cpu": -1, "value": value}
        for at, value in ((0, 0), (490, 0), (500, 400), (1000, 400))
    ]
    facts: dict[str, Any] = {"affinity": [0, 1, 2, 3], "recorded_cores": 4, "quota_cores": 1.5}
    said = account_json(tmp_path, threads, tables={"counter": ticks}, **facts)
    assert said["cores"] == 2
    assert said["by_cause"] == {causes.QUOTA: 400}
    assert [row["bound_speedup"] for row in said["lost"]] == [pytest.approx(1000 / 800)]
    assert "HW486" in [notice["id"] for notice in said["warnings"]]


def test_what_ran_beyond_the_cores_is_told_even_where_a_quota_allows_it(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 300), ("W", 690), ("R", 10)], name) for name in "ab"]
    brief = FakeThread("app", 10, [("R", 1)], "brief")
    said = account_json(tmp_path, [*threads, brief], affinity=[0, 1, 2, 3], recorded_cores=4, quota_cores=1.5)
    assert (said["cores"], said["invariant_error"]) == (2, 0)
    assert said["excess_ns"] == 1
    assert said["lost_ns"] == 2 * 690 - 1


def test_lost_records_widen_what_is_unknown(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", WALL)], "main")]
    loss = {"source": "sched", "cpu": -1, "start_ns": synthetic.ORIGIN + 200, "dur_ns": 300, "events": 9}
    said = account_json(tmp_path, threads, tables={"loss": [loss]}, losses={"events": 9, "spans": 1})
    assert said["by_cause"] == {causes.SERIAL: 700, causes.UNKNOWN: 300}
    assert "HW484" in [notice["id"] for notice in said["warnings"]]


def test_without_locks_what_is_merged_is_told_with_the_command_that_refines_it(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 800), ("R", 100)], "main"),
        FakeThread("app", 0, [("R", WALL)], "w"),
    ]
    said = account_json(tmp_path, threads)
    assert said["by_cause"] == {causes.BLOCKED: 800}
    (notice,) = [each for each in said["warnings"] if each["id"] == "HW480"]
    assert "--locks" in notice["remedy"]


def test_a_recording_of_before_says_what_it_lacks(run: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 800), ("R", 100)], "main"),
        FakeThread("app", 0, [("R", WALL)], "w"),
    ]
    path = synthetic.write(tmp_path / "a.headway", threads, WALL)
    assert "HW485" not in [notice["id"] for notice in ask(run, path)["warnings"]]
    file = path / "slice.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["blocked_in"]), file)
    take_tables_as_they_are(path)
    said = ask(run, path)
    assert said["by_cause"] == {causes.BLOCKED: 800}
    assert "HW485" in [notice["id"] for notice in said["warnings"]]


def test_mode_agent_gives_the_sums_that_are_known(run: Run, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"mode": "agent", "rusage": {"user_ns": 700, "system_ns": 100}}
    facts |= {"busy_ns": {"0": 600, "1": 500}, "steal_ns": {"0": 50, "1": 0}}
    path = synthetic.write(tmp_path / "a.headway", THREADS, WALL, **facts)
    said = ask(run, path)
    assert said["used"]["not_told_apart"] == 800
    assert (said["stolen_ns"], said["other_processes_ns"]) == (50, 300)
    assert said["by_cause"] == {causes.UNKNOWN: 850}
    assert total(said) == said["core_ns"] == 2 * WALL
    assert "HW482" in [notice["id"] for notice in said["warnings"]]
    assert "used by the program" in " ".join(run("why", path)[1].split())
    assert run("why", path, "--phase", 1)[0] == 1
    assert run("why", path, "--from", "10ns")[0] == 1


def test_mode_agent_without_sums_says_that_nothing_is_known(run: Run, tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.headway", THREADS, WALL, mode="agent")
    code, out, err = run("why", path)
    assert (code, out) == (1, "")
    assert err.startswith("HW400")


def test_an_imported_recording_gives_the_mean_of_the_load_and_nothing_it_does_not_know(
    run: Run, tmp_path: Path
) -> None:
    loads = [
        {"ns": synthetic.ORIGIN + at, "event": "cpu_load_machine", "cpu": -1, "value": 750_000} for at in (100, 600)
    ]
    used = {"mean": 1.2, "peak": 1.5, "readings": 2, "cores": 2}
    facts: dict[str, Any] = {"mode": "import", "affinity": [], "import": {"source": "a JFR file", "cores_used": used}}
    path = synthetic.write(tmp_path / "a.headway", THREADS, WALL, tables={"counter": loads}, **facts)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["tables"]["activity"]  # imports have none
    write_manifest(path, manifest)
    said = ask(run, path)
    assert said["used"]["not_told_apart"] == 1200
    assert said["other_processes_ns"] == 300
    assert said["by_cause"] == {causes.UNKNOWN: 500}
