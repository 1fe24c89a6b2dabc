"""`headway why` on recorded programs: its account against SQL on the recording's tables, and what poorer recordings give."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.common import causes
from headway.analyses.common.units import duration
from headway.store import open_recording
from lib import lost_programs
from support.drivers.recording_cli import HEADWAY, headway
from support.drivers.workloads import JAVAS, java_command

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
PHASES = java_command(JAVAS["jdk17"], "Phases", 150)
TOLERANCE = 0.001


def record(path: Path, *words: object) -> Path:
    done = headway("record", "-o", path, *words)
    assert done.returncode == 0, done.stderr
    return path


def ask(path: Path, *words: object) -> dict[str, Any]:
    done = headway("why", path, *words, "--json")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def total(part: dict[str, Any]) -> int:
    used = sum(ns for ns in part["used"].values() if ns is not None)
    taken = (part["stolen_ns"] or 0) + (part["other_processes_ns"] or 0)
    return int(used + taken + sum(row["core_ns"] for row in part["lost"]))


def ids(said: dict[str, Any]) -> set[str]:
    return {notice["id"] for notice in said["warnings"]}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One, two, no and four threads active, in turn, with locks and samples recorded."""
    return record(tmp_path_factory.mktemp("why") / "a.headway", "--locks", "--sample", "cpu", "--", *PHASES)


def in_sql(path: Path, window: tuple[int, int] | None = None) -> dict[str, int]:
    """How long threads of each kind ran on a core that the host left them, and what it took, by the tables alone."""
    recording = open_recording(path)
    start, end = recording.window_ns
    low, high = (start, end) if window is None else (start + window[0], start + window[1])
    rows = recording.query(
        "SELECT CASE t.kind WHEN 'carrier' THEN 'app' ELSE t.kind END AS kind,"
        " sum((least(s.start_ns + s.running_ns, $2) - greatest(s.start_ns, $1))"
        "     * (1 - coalesce(s.stolen_ns, 0)::DOUBLE / greatest(s.running_ns, 1))),"
        " sum((least(s.start_ns + s.running_ns, $2) - greatest(s.start_ns, $1))"
        "     * (coalesce(s.stolen_ns, 0)::DOUBLE / greatest(s.running_ns, 1)))"
        " FROM slice s JOIN thread t ON t.thread_id = s.thread_id"
        " WHERE s.start_ns + s.running_ns > $1 AND s.start_ns < $2 GROUP BY 1",
        (low, high),
    ).fetchall()
    found = {kind: round(ran) for kind, ran, _ in rows}
    return {**found, "stolen": round(sum(stolen for _, _, stolen in rows))}


@pytest.mark.parametrize("window", [None, ("20%", "70%")])
def test_the_account_is_what_the_tables_say(recorded: Path, window: tuple[str, str] | None) -> None:
    said = ask(recorded, *(() if window is None else ("--from", window[0], "--to", window[1])))
    span = None if window is None else (said["from_ns"], said["to_ns"])
    tables = in_sql(recorded, span)
    allowed = TOLERANCE * said["core_ns"]
    assert said["core_ns"] == said["cores"] * said["wall_ns"]
    for kind in ("app", "gc", "jit", "vm"):
        assert said["used"][kind] == pytest.approx(tables.get(kind, 0), abs=allowed), kind
    assert said["stolen_ns"] == pytest.approx(tables["stolen"], abs=allowed)
    # What no thread of ours ran in is other processes', the recorder's, or lost.
    rest = said["core_ns"] - sum(tables.values()) + tables.get("headway", 0)
    assert said["used"]["headway"] + (said["other_processes_ns"] or 0) + said["lost_ns"] == pytest.approx(
        rest, abs=allowed
    )


def test_the_identity_holds_for_the_whole_and_for_each_phase(recorded: Path) -> None:
    said = ask(recorded)
    for part in (said, *said["phases"]):
        assert part["invariant_error"] <= TOLERANCE
        assert abs(total(part) - part["core_ns"]) <= TOLERANCE * part["core_ns"]
        assert part["lost_ns"] == sum(row["core_ns"] for row in part["lost"])
        assert sum(row["share"] for row in part["lost"]) == pytest.approx(part["lost_ns"] / part["core_ns"])
    assert sum(said["by_cause"].values()) == said["lost_ns"]
    assert [part["to_ns"] for part in said["phases"][:-1]] == [part["from_ns"] for part in said["phases"][1:]]
    assert (said["phases"][0]["from_ns"], said["phases"][-1]["to_ns"]) == (0, said["wall_ns"])
    assert said["core_ns"] == pytest.approx(sum(part["core_ns"] for part in said["phases"]), abs=20)
    lost_by_phase = sum(part["lost_ns"] for part in said["phases"])
    assert lost_by_phase == pytest.approx(said["lost_ns"], abs=TOLERANCE * said["core_ns"])


def assert_lost_time_is(lost_ns: int, text: str) -> None:
    """Compare the lost time of the first sentence, which is in one unit and rounded to a hundredth of it."""
    found = re.search(r"(<?)([\d.]+) (ms|s) \([^)]*\) lost\.", text)
    assert found is not None, text
    unit_ns = {"ms": 1e6, "s": 1e9}[found[3]]
    if found[1]:
        assert lost_ns < 0.01 * unit_ns
    else:
        assert float(found[2]) == pytest.approx(lost_ns / unit_ns, rel=0.005, abs=0.0051)


def test_the_terminal_the_json_and_the_library_say_the_same(recorded: Path) -> None:
    from headway.analyses.lost_cores.analysis import why
    from headway.analyses.whatif.predicted_gains import PredictedGains

    said, recording = ask(recorded), open_recording(recorded)
    account = why(recording, gains=PredictedGains(recording)).account
    assert [row["core_ns"] for row in said["lost"]] == [loss.core_ns for loss in account.lost]
    shown = headway("why", recorded)
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    assert all(len(line) <= 80 for line in lines if str(recorded) not in line)
    text = " ".join(shown.stdout.split())
    assert_lost_time_is(said["lost_ns"], text.split("Where the lost")[0])
    for row in said["lost"][:10]:
        if row["share"] > 0.001:
            assert re.search(
                rf"{re.escape(causes.TITLES[row['cause']])} .*{re.escape(duration(row['core_ns']))}", text
            ), row


def test_every_bound_is_at_least_one_and_none_above_what_all_cores_allow(tmp_path: Path) -> None:
    # One lock is waited for nearly all the time: were its wait all that counts, the bound would be far above what cores allow.
    output = tmp_path / "a.headway"
    done = headway(*lost_programs.command_of(output, str(JAVAS["jdk17"]), ["lock"], 0.9, 6, 0))
    assert done.returncode == 0, done.stderr
    begin, end = lost_programs.window(open_recording(output), lost_programs.played(done.stdout)["lock"])
    said = ask(output, "--from", f"{begin}ns", "--to", f"{end}ns")
    limited = [row for row in said["lost"] if row["bound_speedup"] is not None]
    assert limited, said["lost"]
    for row in limited:
        # The work has to be done by all cores together; what the collector does goes with its pauses.
        work_ns = sum(ns or 0 for kind, ns in said["used"].items() if kind != "headway")
        work_ns -= said["used"]["gc"] if row["cause"] == causes.GC else 0
        assert row["cause"] not in (causes.STARVED, causes.FULL), "no queue is in this program"
        assert 1 <= row["bound_speedup"] <= said["wall_ns"] * said["cores"] / work_ns + 1e-6, row
    assert all(set(row["place"]) == {"method", "line", "lock", "thread", "pid", "threads"} for row in said["lost"])


def test_run_prints_the_account_first(tmp_path: Path) -> None:
    done = headway("run", "-o", tmp_path / "x.headway", "--", *PHASES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stderr.split())
    account = ask(tmp_path / "x.headway")
    parts = [" core-", "used by the application", "active on average"]
    if account["lost_ns"] > 0.01 * account["core_ns"]:  # a busy machine may leave no core idle
        parts.insert(2, "Where the lost cores went")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert_lost_time_is(account["lost_ns"], text)


@pytest.mark.parametrize("mode", ["perf-switch", "agent"])
def test_poorer_modes_give_a_coarser_account_that_still_adds_up(tmp_path: Path, mode: str) -> None:
    said = ask(record(tmp_path / "a.headway", "--mode", mode, "--", *PHASES))
    assert abs(total(said) - said["core_ns"]) <= TOLERANCE * said["core_ns"]
    assert said["mode"] == mode
    assert {"perf-switch": "HW481", "agent": "HW482"}[mode] in ids(said)
    coarse = {causes.OTHERS_WAIT, causes.BLOCKED, causes.UNKNOWN, causes.SERIAL, causes.FEW}
    jvms_own = {
        causes.START,
        causes.END,
        causes.GC,
        causes.SCHEDULER,
        causes.SLEEP,
        causes.IO,
        causes.SAFEPOINT,
        causes.JIT,
    }
    assert {row["cause"] for row in said["lost"]} <= coarse | jvms_own


def test_two_jvms_in_one_recording_have_one_account_and_places_that_tell_them_apart(tmp_path: Path) -> None:
    both = " & ".join(" ".join(PHASES) for _ in range(2))
    path = record(tmp_path / "a.headway", "--", "sh", "-c", f"{both} & wait")
    said = ask(path)
    assert abs(total(said) - said["core_ns"]) <= TOLERANCE * said["core_ns"]
    tables = in_sql(path)  # of both: an account of one of them would be half of it
    for kind in ("app", "jit", "vm"):
        assert said["used"][kind] == pytest.approx(tables[kind], abs=TOLERANCE * said["core_ns"]), kind
    threads = set(open_recording(path).query("SELECT pid, name FROM thread").fetchall())
    assert len({pid for pid, name in threads if name == "VM Thread"}) == 2
    named = {(row["place"]["pid"], row["place"]["thread"]) for row in said["lost"] if row["place"]["thread"]}
    assert named <= threads


def test_programs_that_only_sleep_or_do_next_to_nothing(tmp_path: Path) -> None:
    slept = ask(record(tmp_path / "a.headway", "--", "sleep", "0.5"))
    assert slept["used"]["app"] < 0.5 * slept["core_ns"]
    assert slept["lost_ns"] + slept["other_processes_ns"] + slept["used"]["headway"] > 0.5 * slept["core_ns"]
    assert abs(total(slept) - slept["core_ns"]) <= TOLERANCE * slept["core_ns"]
    nothing = ask(record(tmp_path / "b.headway", "--", "true"))
    assert abs(total(nothing) - nothing["core_ns"]) <= TOLERANCE * nothing["core_ns"]


def test_the_output_may_end_early(recorded: Path) -> None:
    import subprocess

    done = subprocess.run(
        ["sh", "-c", f"{' '.join(HEADWAY)} why {recorded} | head -1"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("* ")
    assert "Traceback" not in done.stderr
