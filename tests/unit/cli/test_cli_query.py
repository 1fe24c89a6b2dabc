"""`headway query`: reads a recording in SQL, and nothing else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.drivers.live_process import thread_cpu_ns
from support.drivers.recording_cli import wait_for

Run = Callable[..., tuple[int, str, str]]


def test_a_query_gives_rows_as_table_json_or_csv(run: Run, recording: Path) -> None:
    sql = "SELECT tid, kind, end_ns FROM thread ORDER BY tid LIMIT 2"
    assert run("query", recording, sql)[1].split() == [
        "tid",
        "kind",
        "end_ns",
        "100",
        "app",
        "101",
        "gc",
        "1000000000500",
    ]
    assert json.loads(run("query", recording, sql, "--json")[1]) == [
        {"tid": 100, "kind": "app", "end_ns": None},
        {"tid": 101, "kind": "gc", "end_ns": 1000000000500},
    ]
    assert run("query", recording, sql, "--csv")[1] == "tid,kind,end_ns\n100,app,\n101,gc,1000000000500\n"


def works_in_the_query(pid: int) -> bool:
    """Tell whether the query runs: one of DuckDB's threads has worked, or the first one for longer than any import takes."""
    ran = thread_cpu_ns(pid)
    return any(ns > (8_000_000_000 if tid == pid else 200_000_000) for tid, ns in ran.items())


def test_an_interrupted_query_ends_at_once(recording: Path) -> None:
    forever = "SELECT sum(a.range * b.range) FROM range(100000) a, range(1000000) b"
    words = [sys.executable, "-m", "headway", "query", str(recording), forever]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: works_in_the_query(process.pid))
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=100)
        finally:
            process.kill()
    assert (process.returncode, err) == (-signal.SIGINT, "")


def test_rows_too_wide_for_a_table_are_shown_as_blocks(run: Run, recording: Path) -> None:
    code, out, _ = run("query", recording, "SELECT * FROM thread ORDER BY thread_id LIMIT 2")
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split() for line in lines if line.startswith(("thread_id ", "kind "))] == [
        ["thread_id", "0"],
        ["kind", "app"],
        ["thread_id", "1"],
        ["kind", "gc"],
    ]


def test_views_can_be_queried_like_tables(run: Run, recording: Path) -> None:
    sql = "SELECT state, sum(dur_ns) AS ns FROM thread_state WHERE tid = 100 GROUP BY state ORDER BY state"
    assert json.loads(run("query", recording, sql, "--json")[1]) == [
        {"state": "runnable", "ns": 50},
        {"state": "running", "ns": 750},
        {"state": "sleeping", "ns": 200},
    ]


def test_values_that_json_does_not_know_become_text_or_null(run: Run, recording: Path) -> None:
    sql = "SELECT 'nan'::DOUBLE AS a, 1.5::DECIMAL(4,2) AS b, DATE '2020-01-02' AS c, [1, NULL] AS d, {'k': true} AS e"
    assert json.loads(run("query", recording, sql, "--json")[1]) == [
        {"a": None, "b": "1.50", "c": "2020-01-02", "d": [1, None], "e": {"k": True}}
    ]


def test_a_long_answer_is_cut_off_for_people_only(run: Run, recording: Path) -> None:
    _, out, err = run("query", recording, "FROM range(150)")
    assert len(out.splitlines()) == 101
    assert "first 100 rows" in err
    assert len(json.loads(run("query", recording, "FROM range(150)", "--json")[1])) == 150


@pytest.mark.parametrize(
    "sql",
    [
        "COPY thread TO 'OUT/stolen.csv'",
        "EXPLAIN ANALYZE COPY thread TO 'OUT/stolen.csv'",
        "CREATE TABLE x AS SELECT 1",
        "ATTACH 'OUT/new.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELECT 1; SELECT 2",
        "",
        "DROP VIEW thread",
    ],
)
def test_anything_but_one_select_is_refused(run: Run, recording: Path, tmp_path: Path, sql: str) -> None:
    code, out, err = run("query", recording, sql.replace("OUT", str(tmp_path)))
    assert (code, out) == (1, "")
    assert err.startswith("HW406")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('https://localhost:1/x.csv')",
        "SELECT nothing FROM thread",
        "SELEC 1",
    ],
)
def test_a_select_reaches_nothing_but_the_recording(run: Run, recording: Path, sql: str) -> None:
    code, out, err = run("query", recording, sql)
    assert (code, out) == (1, "")
    assert err.startswith("HW306")
    assert "root:" not in err


def test_the_schema_explains_every_column(run: Run) -> None:
    from headway.store import TABLES

    out = run("query", "--schema")[1]
    assert max(map(len, out.splitlines())) <= 80
    data = json.loads(run("query", "--schema", "--json")[1])
    assert set(data) == set(TABLES)
    for name, table in TABLES.items():
        assert [column["name"] for column in data[name]["columns"]] == [column.name for column in table.columns]
        assert all(column["meaning"] for column in data[name]["columns"])
        assert name in out


@pytest.mark.parametrize("arguments", [[], ["REC"], ["REC", "FROM thread", "--csv", "--json"]])
def test_a_query_without_its_parts_is_wrong_usage(run: Run, recording: Path, arguments: list[str]) -> None:
    assert run("query", *(recording if each == "REC" else each for each in arguments))[0] == 2
