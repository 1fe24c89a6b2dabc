"""docs/reference/json.md names every key that the commands print with --json, and no other."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT

import made_causal
import made_sweep
import synthetic
from headway.analyses.live import live_rows
from headway.model.live_lock import LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.report.lock_json import live_json
from made_locks import LOCK_FRAMES, Made, Wait
from synthetic import FakeThread

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
HEADWAY = ROOT / ".venv" / "bin" / "headway"
WORKLOADS = ROOT / "java" / "workloads" / "target" / "workloads.jar"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("json") / "a.headway"
    program = ["java", "-cp", str(WORKLOADS), "headway.workloads.ForkJoin"]
    subprocess.run([HEADWAY, "record", "-o", target, "--", *program], check=True, stdin=subprocess.DEVNULL)
    return target


def documented(command: str, table: int = 0) -> set[str]:
    """Return the keys in the first column of a table of a command's section."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(f"{command}\n"))
    rows = re.split(r"^\| key \| meaning \|\n", text, flags=re.MULTILINE)[table + 1]
    firsts = [row.split("|")[1] for row in rows.splitlines() if row.startswith("| `")]
    return {key for cell in firsts for key in re.findall(r"`(\w+)`", cell)}


def ask(*arguments: str | Path) -> Any:
    done = subprocess.run([HEADWAY, *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_why_prints_the_documented_keys(tmp_path: Path) -> None:
    said = ask("why", synthetic.write(tmp_path / "a.headway", [FakeThread(states=[("R", 100)])], 100))
    assert set(said) == documented("why")
    assert set(said["lost"][0]) == documented("why", 1)
    account = documented("why") - {"by_cause", "phases", "mode", "warnings"}
    assert set(said["phases"][0]) == account | documented("why", 2)
    assert all(set(row["place"]) == {"method", "line", "lock", "thread", "pid"} for row in said["lost"])


def test_causal_prints_the_documented_keys(tmp_path: Path) -> None:
    made = made_causal.Made({"half": made_causal.serial(0.5)}, pairs=30)
    said = ask("causal", made_causal.write(tmp_path / "a.headway", made_causal.data_of(made)))
    assert set(said) == documented("causal")
    assert set(said["progress_points"][0]) == documented("causal", 1)
    assert set(said["lines"][0]) == documented("causal", 2)
    assert set(said["lines"][0]["points"][0]) == documented("causal", 3)


def test_parallelism_prints_the_documented_keys(recording: Path) -> None:
    said = ask("parallelism", recording)
    assert set(said) == documented("parallelism")
    assert set(said["by_kind"]) == {"app", "gc", "jit", "vm"}
    assert {"active", "ns"} <= set(said["levels"][0])
    assert {"running", "ns"} <= set(said["running_levels"][0])


def test_walltime_prints_the_documented_keys(recording: Path) -> None:
    said = ask("walltime", recording, "--cores", "1,2")
    assert set(said) == documented("walltime")
    assert set(said["predictions"][0]) == documented("walltime", 1)


def test_threads_prints_the_documented_keys(recording: Path) -> None:
    assert set(ask("threads", recording)[0]) == documented("threads")


def test_critical_path_prints_the_documented_keys(recording: Path) -> None:
    said = ask("critical-path", recording)
    assert set(said) == documented("critical-path")
    assert set(said["by_thread"][0]) == set(said["thread"]) == documented("critical-path", 1)
    assert set(said["segments"][0]) == documented("critical-path", 2)


def test_locks_prints_the_documented_keys(tmp_path: Path) -> None:
    stacks = [LOCK_FRAMES]
    made = Made(
        [FakeThread(states=[("R", 100)]), FakeThread()],
        [Wait(0, 0, 10, 90, owner=1, waker=1, waking=90, stack=0)],
        stacks=stacks,
    )
    (row,) = ask("locks", made.write(tmp_path / "a.headway"))
    assert set(row) == documented("locks")
    assert set(row["sites"][0]) == documented("locks", 1)
    assert set(row["holders"][0]) == documented("locks", 2)
    assert set(row["wakers"][0]) == documented("locks", 3)


def test_top_prints_the_documented_keys(recording: Path) -> None:
    said = ask("top", recording, "--event", "off-cpu", "--tree")
    assert set(said) == documented("top")
    assert set(said["threads"][0]) == documented("top", 1)
    assert set(said["flat"][0]) == documented("top", 2)
    assert set(said["tree"][0]) == documented("top", 3)


def test_speedups_prints_the_documented_keys(tmp_path: Path) -> None:
    made_sweep.make(tmp_path / "a.sweep", (1, 2))
    said = ask("speedups", tmp_path / "a.sweep")
    assert set(said) == documented("speedups")
    row = said["threads"][0]
    assert set(row) == documented("speedups", 1)
    assert set(row["efficiencies"]) | set(row["possible"]) | set(row["stack"]) == documented("speedups", 2)
    assert set(said["verdict"]) == documented("speedups", 3)


def test_the_live_table_has_the_documented_keys() -> None:
    sums = LockSums(1, 1, 0, 1, 1, 1, 1, 2, 3)
    lock = LiveLock(1, "park", "a.B", 1, 1, "t", (), False, 0, sums, 0, 0, False)
    table = LiveTable(1, 0, 3, (lock,), 0, 0, 0, 0)
    said = live_json(table, live_rows(table))
    assert set(said) == documented("dump")
    assert set(said["locks"][0]) == documented("dump", 1)


def test_doctor_prints_the_documented_keys() -> None:
    said = ask("doctor")
    assert set(said) == documented("doctor")
    assert set(said["checks"][0]) == documented("doctor", 1)
