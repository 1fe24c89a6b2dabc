"""`headway causal`: experiments in real JVMs. The program says how many units of work it did: so often its point was visited."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import HEADWAY, JAVA_17, headway, javas, manifest, notice_ids, wait_for

POINT = ("--progress", "work=Units.unit")
CPU_MS = "1000"


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    source = Path(__file__).resolve().parents[2] / "programs" / "Units.java"
    subprocess.run(["javac", "-g", "--release", "17", "-d", folder, source], check=True)
    return folder


@pytest.fixture
def units(classes: Path) -> tuple[str, ...]:
    return (JAVA_17, "-cp", str(classes), "Units")


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Path]:
    """The file at which a program stops; it is there at the end, whatever happens."""
    path = tmp_path / "stop"
    yield path
    path.touch()


def rows(directory: Path, sql: str) -> list[dict[str, Any]]:
    with contextlib.closing(open_recording(directory)) as recording:
        cursor = recording.query(sql)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def count(directory: Path, what: str) -> int:
    return int(rows(directory, f"SELECT count(*) AS n FROM {what}")[0]["n"])


def done_units(output: str) -> int:
    return sum(map(int, re.findall(r"^units (\d+)$", output, re.MULTILINE)))


def is_visited(experiment: dict[str, Any]) -> bool:
    """Return whether a note is of a whole experiment in which the point was visited."""
    return experiment["complete"] == 1 and any(visits for _, visits in experiment["visits"])


class Started:
    """headway in a session of its own, its output in files that are read while it runs."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.out, self.err = folder / "out", folder / "err"
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [*HEADWAY, *map(str, words)], stdout=out, stderr=err, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def wait_for(self, text: str) -> None:
        wait_for(lambda: text in self.err.read_text())

    def wait_for_experiments(self, directory: Path) -> None:
        """Wait for two that can be compared: where the machine is busy, the program may have had no CPU in the first ones."""

        def look() -> bool:
            files = [path.read_text() for path in (directory / "spool").glob("causal-*.jsonl")]
            lines = [line for text in files for line in text.splitlines(keepends=True) if line.endswith("\n")]
            experiments = [note for note in map(json.loads, lines) if note["t"] == "experiment"]
            return any(
                first["speedup_pct"] == 0 < second["delay_ns"] and is_visited(first) and is_visited(second)
                for first, second in itertools.pairwise(experiments)
            )

        wait_for(look)

    def java(self) -> int:
        """Return the pid of the program."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        (pid,) = (each for each in children if Path(f"/proc/{each}/comm").read_text().strip() == "java")
        return int(pid)


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_experiments_are_made_and_every_visit_counts_and_the_program_stays_itself(
    tmp_path: Path, classes: Path, java: str
) -> None:
    words = [java, "-cp", classes, "Units", CPU_MS, "7"]
    done = headway("causal", *POINT, "-o", tmp_path / "a.headway", "--", *words)
    assert done.returncode == 7, done.stderr
    assert re.fullmatch(r"units \d+\n", done.stdout)
    (point,) = rows(tmp_path / "a.headway", "FROM causal_point")
    assert (point["name"], point["where"], point["hits"]) == ("work", "Units.unit", done_units(done.stdout))
    assert count(tmp_path / "a.headway", "experiment WHERE is_complete AND speedup_pct = 0") > 0
    assert count(tmp_path / "a.headway", "experiment WHERE is_complete AND speedup_pct > 0 AND delay_ns > 0") > 0
    for control in rows(tmp_path / "a.headway", "FROM experiment WHERE is_control"):
        assert control["speedup_pct"] == 0
        assert not control["is_spin"]
        # All stand still for five milliseconds at a time, and one thread at least pays for each.
        assert control["delay_ns"] % 5_000_000 == 0
    assert count(tmp_path / "a.headway", "experiment WHERE is_control AND stood_ns > 0") > 0
    (run,) = rows(tmp_path / "a.headway", "FROM causal_run")
    assert (run["mode"], run["exit_code"]) == ("experiments", 7)
    assert rows(tmp_path / "a.headway", "FROM causal_line ORDER BY cpu_ns DESC")[0]["method"] == "unit"
    assert manifest(tmp_path / "a.headway")["kind"] == "causal"
    assert "Units.java:" in done.stderr


def test_runs_of_the_same_command_add_up_and_others_are_refused(tmp_path: Path, units: tuple[str, ...]) -> None:
    output = tmp_path / "a.headway"
    first = headway("causal", *POINT, "--repeat", "2", "-o", output, "--", *units, "400")
    second = headway("causal", *POINT, "-o", output, "--", *units, "400")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    visits = [row["hits"] for row in rows(output, "FROM causal_point ORDER BY run")]
    assert visits == list(map(int, re.findall(r"units (\d+)", first.stdout + second.stdout)))
    other = headway("causal", "--progress", "Units.main", "-o", output, "--", *units, "400")
    assert (other.returncode, other.stdout) == (1, "")
    assert "HW610" in other.stderr
    assert count(output, "causal_run") == 3
    forced = headway("causal", "--progress", "Units.main", "--force", "-o", output, "--", *units, "400")
    assert forced.returncode == 0
    assert count(output, "causal_run") == 1


def test_a_point_that_does_not_exist_is_told_while_the_program_runs_with_names_that_are_near(
    tmp_path: Path, units: tuple[str, ...], stop: Path
) -> None:
    points = ("--progress", "Units.unitt", "--progress", "Units:3")
    started = Started(tmp_path, "causal", *points, "-o", tmp_path / "a.headway", "--", *units, stop)
    started.wait_for("HW603: Units.unitt: the class is loaded, but there is no method unitt in it; near: Units.unit")
    started.wait_for("HW603: Units:3: the class is loaded, but there is no line 3 in it; near: Units:")
    assert started.process.poll() is None
    stop.touch()
    assert started.process.wait(100) == 0
    assert notice_ids(tmp_path / "a.headway") >= {"HW603"}


def test_a_scope_that_matches_nothing_is_told_while_the_program_runs(
    tmp_path: Path, units: tuple[str, ...], stop: Path
) -> None:
    output = tmp_path / "a.headway"
    asked = ("--progress", "Units.main", "--scope", "com.none.*")
    started = Started(tmp_path, "causal", *asked, "-o", output, "--", *units, stop)
    started.wait_for("HW607: no sample is in scope (com.none.*): the program works in ")
    assert started.process.poll() is None
    stop.touch()
    assert started.process.wait(100) == 0


def test_a_running_jvm_is_attached_to_and_left_as_it_was(tmp_path: Path, units: tuple[str, ...], stop: Path) -> None:
    output = tmp_path / "a.headway"
    program = subprocess.Popen([*units, str(stop)], stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: "libjvm.so" in Path(f"/proc/{program.pid}/maps").read_text())
        started = Started(tmp_path, "causal", *POINT, "--pid", program.pid, "-o", output)
        started.wait_for_experiments(output)
        refused = headway("causal", *POINT, "--pid", program.pid, "-o", tmp_path / "b.headway")
        assert (refused.returncode, "HW008" in refused.stderr) == (1, True)
        os.kill(started.process.pid, signal.SIGINT)
        assert started.process.wait(100) == 0, started.err.read_text()
        assert program.poll() is None
        stop.touch()
        printed, _ = program.communicate(timeout=100)
    finally:
        program.kill()
    assert program.returncode == 0
    assert 0 < rows(output, "FROM causal_point")[0]["hits"] < done_units(printed)
    assert count(output, "experiment WHERE is_complete") >= 2
    assert manifest(output)["ended_by"] == "interrupt"


def test_after_the_time_the_program_runs_on_without_experiments(
    tmp_path: Path, units: tuple[str, ...], stop: Path
) -> None:
    output = tmp_path / "a.headway"
    started = Started(tmp_path, "causal", *POINT, "--time", "4s", "-o", output, "--", *units, stop)
    wait_for(lambda: manifest(output)["state"] == "complete")
    assert started.process.poll() is None
    visits = rows(output, "FROM causal_point")[0]["hits"]
    stop.touch()
    assert started.process.wait(100) == 0
    assert visits < done_units(started.out.read_text())
    assert manifest(output)["ended_by"] == "duration"


def test_ctrl_c_ends_the_program_and_what_was_tried_counts(tmp_path: Path, units: tuple[str, ...], stop: Path) -> None:
    output = tmp_path / "a.headway"
    started = Started(tmp_path, "causal", *POINT, "-o", output, "--", *units, stop)
    started.wait_for_experiments(output)
    os.killpg(started.process.pid, signal.SIGINT)
    assert started.process.wait(100) == 128 + signal.SIGINT
    assert manifest(output)["state"] == "complete"
    assert count(output, "experiment WHERE is_complete") >= 2
    assert "Units.java:" in started.err.read_text()


def test_a_killed_program_leaves_what_was_tried_by_then(tmp_path: Path, units: tuple[str, ...], stop: Path) -> None:
    output = tmp_path / "a.headway"
    started = Started(tmp_path, "causal", *POINT, "-o", output, "--", *units, stop)
    started.wait_for_experiments(output)
    os.kill(started.java(), signal.SIGKILL)
    assert started.process.wait(100) == 128 + signal.SIGKILL
    assert count(output, "experiment WHERE is_complete") >= 2
    assert rows(output, "FROM causal_run")[0]["exit_code"] == 128 + signal.SIGKILL


def test_a_killed_recorder_leaves_a_recording_that_is_recovered(
    tmp_path: Path, units: tuple[str, ...], stop: Path
) -> None:
    output = tmp_path / "a.headway"
    started = Started(tmp_path, "causal", *POINT, "-o", output, "--", *units, stop)
    started.wait_for_experiments(output)
    java = started.java()
    started.process.kill()
    started.process.wait()
    (notes,) = (output / "spool").glob("causal-*.jsonl")
    wait_for(lambda: '{"t":"end"' in notes.read_text())  # nobody is delayed for results that nobody will see
    assert Path(f"/proc/{java}").exists()
    stop.touch()
    wait_for(lambda: not Path(f"/proc/{java}").exists())
    assert done_units(started.out.read_text()) > 0  # the program was left alone
    recovered = headway("recover", output)
    assert recovered.returncode == 0, recovered.stderr
    assert manifest(output)["state"] == "partial"
    assert count(output, "experiment WHERE is_complete") >= 2


def test_end_to_end_every_run_is_an_experiment(tmp_path: Path, units: tuple[str, ...]) -> None:
    output = tmp_path / "a.headway"
    done = headway("causal", "--end-to-end", "--repeat", "5", "-o", output, "--", *units, "300")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 5
    lines = "experiment LEFT JOIN causal_line USING (line)"
    found = rows(output, f"SELECT run, speedup_pct, delay_ns > 0 AS is_delayed, method FROM {lines} ORDER BY run")
    assert [(each["run"], each["speedup_pct"]) for each in found] == [(0, 0), (1, 0), (2, 100), (3, 0), (4, 50)]
    assert [each["is_delayed"] for each in found] == [False, False, True, False, True]
    assert {each["method"] for each in found[1:]} == {"unit"}
    assert {row["mode"] for row in rows(output, "FROM causal_run")} == {"end-to-end"}


def test_suggestions_are_methods_with_their_rates(tmp_path: Path, units: tuple[str, ...]) -> None:
    # Four seconds of CPU time, so that at least three seconds were counted, however fast the machine is.
    done = headway("causal", "--suggest", "-o", tmp_path / "a.headway", "--", *units, "4500")
    assert done.returncode == 0
    assert "--progress 'Units.unit'" in done.stderr
    (unit,) = (each for each in suggestions(tmp_path / "a.headway") if each["where"] == "Units.unit")
    assert unit["hits"] == done_units(done.stdout)
    assert unit["variation"] >= 0


def test_after_a_run_too_short_to_tell_what_is_steady_nothing_is_recommended(
    tmp_path: Path, units: tuple[str, ...]
) -> None:
    done = headway("causal", "--suggest", "-o", tmp_path / "a.headway", "--", *units, "100")
    assert done.returncode == 0
    found = suggestions(tmp_path / "a.headway")
    assert {each["where"]: each["hits"] for each in found}["Units.unit"] == done_units(done.stdout)
    if found[0]["variation"] is None:  # it took less than three seconds, as it does unless the machine stood still
        assert "too short" in done.stderr
        assert "--progress" not in done.stderr


def suggestions(recording: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(headway("causal", recording, "--json").stdout)["suggestions"]
    return found


def test_a_program_too_short_for_an_experiment_is_told_how_long_it_takes(
    tmp_path: Path, units: tuple[str, ...]
) -> None:
    words = ("--warmup", "1000s", "-o", tmp_path / "a.headway", "--", *units, "100")
    done = headway("causal", *POINT, *words)
    assert done.returncode == 0
    assert "HW608" in done.stderr
    assert "--end-to-end" in done.stderr


def test_without_a_jvm_no_experiments_are_made_and_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    done = headway("causal", *POINT, "-o", tmp_path / "a.headway", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert "HW053" in done.stderr
    assert "headway causal --progress CLASS.METHOD -- java" in done.stderr
    assert "headway record" not in done.stderr


def test_json_of_results_goes_to_standard_output(tmp_path: Path, units: tuple[str, ...]) -> None:
    done = headway("causal", *POINT, "--json", "-o", tmp_path / "a.headway", "--", *units, CPU_MS)
    printed, _, result = done.stdout.partition("\n")
    found = json.loads(result)
    assert found["progress_points"][0]["hits"] == done_units(printed)
    assert found["lines"][0]["line"].startswith("Units.java:")
