"""`headway query` reads a recording's own tables and nothing else: no file, no variable, no setting, no spill folder."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.errors import HeadwayError
from headway.store import TABLES, Recording, open_recording, sandbox
from headway.store.manifest import write_manifest
from support.builders import recording_builder

Run = Callable[..., tuple[int, str, str]]
SECRET = "the-secret-of-another-file"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording, and beside it what no query may read: a table, a text, and a folder that looks like a spill folder."""
    place = tmp_path_factory.mktemp("sandbox")
    (place / "secret.txt").write_text(SECRET)
    (place / "secret.csv").write_text(f"a\n{SECRET}\n")
    pq.write_table(pa.table({"a": [SECRET]}), place / "secret.parquet")
    return recording_builder.make(place / "r.headway", recording_builder.Shape(threads=9, slices=400))


ATTEMPTS = [
    "FROM read_text('PLACE/secret.txt')",
    "FROM read_blob('PLACE/secret.txt')",
    "FROM READ_TEXT('PLACE/secret.txt')",
    "FROM read_csv('PLACE/secret.csv')",
    "FROM read_csv_auto('PLACE/secret.csv')",
    "FROM read_json('PLACE/secret.txt')",
    "FROM read_parquet('PLACE/secret.parquet')",
    "FROM parquet_scan('PLACE/secret.parquet')",
    "FROM parquet_metadata('PLACE/secret.parquet')",
    "FROM parquet_kv_metadata('PLACE/secret.parquet')",
    "FROM parquet_schema('PLACE/secret.parquet')",
    "FROM sniff_csv('PLACE/secret.csv')",
    "FROM glob('PLACE/*')",
    "FROM 'PLACE/secret.parquet'",
    "FROM 'PLACE/r.headway/thread.parquet'",
    "FROM read_parquet('PLACE/r.headway/thread.parquet')",
    "FROM read_text('PLACE/r.headway/manifest.json')",
    "FROM read_blob('.tmp/x')",
    'FROM "PLACE/secret.csv"',
    "WITH \"PLACE/secret.csv\" AS (SELECT 1) SELECT * FROM (FROM 'PLACE/secret.csv')",
    "SELECT * FROM (WITH \"PLACE/secret.csv\" AS (SELECT 1) SELECT 1), 'PLACE/secret.csv'",
    "SELECT (SELECT content FROM read_text('PLACE/secret.txt'))",
    "FROM thread WHERE name = (SELECT a FROM 'PLACE/secret.parquet')",
    "FROM thread WHERE EXISTS (FROM read_text('PLACE/secret.txt'))",
    "WITH x AS (FROM read_text('PLACE/secret.txt')) FROM x",
    "SELECT * FROM thread, LATERAL (FROM read_text('PLACE/' || 'secret.txt'))",
    "(FROM thread) UNION ALL (FROM read_text('PLACE/secret.txt'))",
    "FROM query('FROM read_text(''PLACE/secret.txt'')')",
    "FROM query_table('PLACE/secret.parquet')",
    "FROM query_table(['thread', 'PLACE/secret.parquet'])",
    "FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''PLACE/secret.txt'')'))",
    "SELECT getenv('HOME')",
    "SELECT current_setting('home_directory')",
    "SELECT getvariable('x')",
    "FROM duckdb_secrets()",
    "FROM duckdb_settings()",
    "FROM duckdb_settings",
    "FROM duckdb_temporary_files()",
    "FROM duckdb_logs",
    "FROM duckdb_views",
    "FROM which_secret('x', 's3')",
    "FROM pragma_database_size()",
    "FROM information_schema.tables",
    "FROM pg_catalog.pg_settings",
    "FROM sqlite_master",
    "FROM read_csv('/proc/self/environ')",
    "FROM 's3://bucket/x.parquet'",
    "FROM 'https://localhost:1/x.parquet'",
    "FROM read_csv('https://localhost:1/x.csv')",
    "FROM python_scan",
    "FROM secret_rows",
    "FROM arrow_scan(1, 2, 3)",
    "FROM pandas_scan(1)",
    "SHOW DATABASES",
    "SHOW ALL TABLES",
    "DESCRIBE 'PLACE/secret.parquet'",
    "SUMMARIZE 'PLACE/secret.parquet'",
    "FROM (DESCRIBE 'PLACE/secret.parquet')",
    "FROM other.main.thread",
    "FROM system.main.duckdb_settings",
    "SELECT write_log('x')",
    "SELECT nextval('x')",
]
NO_SELECT = [
    "COPY thread TO 'PLACE/stolen.csv'",
    "COPY (FROM thread) TO 'PLACE/stolen.parquet'",
    "EXPORT DATABASE 'PLACE/stolen'",
    "IMPORT DATABASE 'PLACE/stolen'",
    "ATTACH 'PLACE/stolen.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL spatial FROM community",
    "SET temp_directory = 'PLACE/stolen'",
    "RESET enable_external_access",
    "PRAGMA database_list",
    "PRAGMA temp_directory = 'PLACE/stolen'",
    "CALL duckdb_settings()",
    "CREATE TABLE x AS FROM read_text('PLACE/secret.txt')",
    "CREATE MACRO f() AS TABLE FROM read_text('PLACE/secret.txt')",
    "CREATE SECRET s (TYPE s3)",
    "CHECKPOINT",
    "PREPARE x AS FROM thread",
    "EXPLAIN ANALYZE FROM thread",
    "SET VARIABLE x = 1",
    "USE other",
    "BEGIN",
    "SELECT 1; COPY thread TO 'PLACE/stolen.csv'",
]
secret_rows = pa.table({"a": [SECRET]})
"""A variable of Python: DuckDB takes such names for tables unless told not to."""


@pytest.fixture(scope="module")
def opened(recording: Path) -> Iterator[Recording]:
    """The recording, open: no attempt may get far enough to shut it off for those that follow."""
    with contextlib.closing(open_recording(recording)) as found:
        yield found


@pytest.mark.parametrize("text", [*ATTEMPTS, *NO_SELECT])
def test_an_attempt_to_reach_outside_reads_nothing_and_leaves_nothing(opened: Recording, text: str) -> None:
    place = opened.path.parent
    before = sorted(path.name for path in place.iterdir())
    with pytest.raises(HeadwayError) as refused:
        sandbox.run(opened, text.replace("PLACE", str(place))).fetchall()
    assert refused.value.notice.id == ("HW406" if text in NO_SELECT else "HW306")
    assert SECRET not in str(refused.value)
    assert sorted(path.name for path in place.iterdir()) == before


def test_each_wall_holds_by_itself(recording: Path) -> None:
    """Without the first wall DuckDB itself refuses, but for the recording's own tables."""
    with contextlib.closing(open_recording(recording)) as opened:
        connection = opened.connection()
        sandbox.shut_off(connection, [os.fspath(recording / f"{name}.parquet") for name in opened.table_names()])
        for text in [
            each for each in [*ATTEMPTS, *NO_SELECT] if any(word in each for word in ("PLACE", "://", "secret_rows"))
        ]:
            try:
                rows = str(connection.execute(text.replace("PLACE", str(recording.parent))).fetchall())
            except duckdb.Error:
                rows = ""
            assert SECRET not in rows
            # [(1,)]: what WITH gave a file's name to.
            assert rows in ("", "[]", "[(1,)]") or "r.headway/thread.parquet" in text, text
    assert not [path for path in recording.parent.iterdir() if "stolen" in path.name]


FINE = [
    ("SELECT count(*) FROM thread", [(9,)]),
    ("FROM THREAD SELECT count(*)", [(9,)]),
    ('SELECT count(*) FROM main."thread"', [(9,)]),
    ("SELECT count(*) FROM memory.main.thread", [(9,)]),
    ("WITH x AS (SELECT 1 AS a), y AS (FROM x) SELECT a FROM Y", [(1,)]),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT max(n) FROM r", [(3,)]),
    ("SELECT sum(range) FROM range(4)", [(6,)]),
    ("SELECT a FROM (VALUES (7)) t(a)", [(7,)]),
    ("SELECT unnest([1, 2])", [(1,), (2,)]),
    ("SELECT list_transform([1], lambda x: x + 1)", [([2],)]),
    ("SELECT count(*) FROM (SHOW TABLES)", [(len(TABLES),)]),
    ("SELECT count(*) > 3 FROM (DESCRIBE thread)", [(True,)]),
    ("SELECT count(*) > 3 FROM (SUMMARIZE thread)", [(True,)]),
    ("SELECT count(*) FROM thread_state WHERE state = 'running' AND dur_ns < 0", [(0,)]),
    ("SELECT t.kind, row_number() OVER (ORDER BY tid) FROM thread t WHERE thread_id = 0", [("app", 1)]),
    ("SELECT count(*) FROM thread a JOIN slice b USING (thread_id) WHERE thread_id < 0", [(0,)]),
    ("SELECT value FROM json_each('[5]')", [("5",)]),
]


@pytest.mark.parametrize(("text", "rows"), FINE)
def test_a_query_of_the_recordings_own_tables_runs(recording: Path, text: str, rows: list[Any]) -> None:
    opened = open_recording(recording)
    assert sandbox.run(opened, text).fetchall() == rows
    opened.close()


def test_a_manifest_that_names_other_files_makes_no_tables_of_them(run: Run, tmp_path: Path) -> None:
    path = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    pq.write_table(pa.table({"a": [SECRET]}), tmp_path / "secret.parquet")
    data = json.loads((path / "manifest.json").read_text())
    size = (tmp_path / "secret.parquet").stat().st_size
    names = ["../secret", f"{tmp_path}/secret", "jfr_x/../../secret", "jfr_é", "jfr_x\n", "*", "secret", "..", ""]
    data["tables"] |= {name: {"rows": 1, "bytes": size} for name in names}
    write_manifest(path, data)
    assert json.loads(run("query", path, "SELECT count(*) AS n FROM thread", "--json")[1]) == [{"n": 4}]
    with contextlib.closing(open_recording(path)) as opened:
        assert set(opened.table_names()) == set(TABLES)
        for name in names:
            for text in (f'FROM "{name}"', f"FROM '{path}/{name}.parquet'", f"FROM '{tmp_path}/secret.parquet'"):
                with pytest.raises(HeadwayError) as refused:
                    sandbox.run(opened, text).fetchall()
                assert SECRET not in str(refused.value), (name, text)


def test_a_table_whose_file_is_a_link_or_no_file_is_not_read(run: Run, tmp_path: Path) -> None:
    path = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    table = path / "thread.parquet"
    os.rename(table, tmp_path / "moved.parquet")
    table.symlink_to(tmp_path / "moved.parquet")
    code, out, err = run("query", path, "FROM thread")
    assert (code, out, err[:5]) == (1, "", "HW303")
    table.unlink()
    os.mkfifo(table)
    code, out, err = run("query", path, "FROM thread")
    assert (code, out, err[:5]) == (1, "", "HW303")


def test_nothing_is_put_aside_where_another_query_could_read_it(tmp_path: Path) -> None:
    """A query of more rows than its memory holds ends with a message; no file is written, here or anywhere."""
    path = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    opened = open_recording(path)
    opened.connection().execute("SET memory_limit = '40MB'")
    with pytest.raises(HeadwayError) as error:
        sandbox.run(opened, "SELECT * FROM range(3000000) a(n) ORDER BY hash(n), n").fetchall()
    assert error.value.notice.id == "HW316"
    opened.close()


def test_what_an_analysis_puts_aside_is_its_own_and_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's own choice is .tmp in the current directory, which may be a link of somebody else's."""
    path = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    place, here, elsewhere = tmp_path / "tmp", tmp_path / "here", tmp_path / "elsewhere"
    for each in (place, here, elsewhere):
        each.mkdir()
    (here / ".tmp").symlink_to(elsewhere)
    program = f"""
import headway.store, pathlib, os, stat
recording = headway.store.open_recording({str(path)!r})
connection = recording.connection()
connection.execute("SET memory_limit = '60MB'")
connection.execute("SET threads = 1")
rows = connection.execute("SELECT * FROM range(6000000) a(n) ORDER BY hash(n), n")
[directory] = pathlib.Path(os.environ["TMPDIR"]).iterdir()
assert stat.S_IMODE(directory.stat().st_mode) == 0o700
print(len(list(directory.iterdir())) > 0)
"""
    environment = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=here, env=environment, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert list(place.iterdir()) == list(elsewhere.iterdir()) == []


def test_a_recording_in_a_directory_with_a_strange_name_can_be_queried(run: Run, tmp_path: Path) -> None:
    path = recording_builder.make(tmp_path / "[a]*?'\".headway", recording_builder.Shape(threads=4, slices=40))
    code, out, _ = run("query", path, "SELECT count(*) AS n FROM thread", "--json")
    assert (code, json.loads(out)) == (0, [{"n": 4}])


def test_a_query_that_is_nested_too_deeply_is_refused(recording: Path) -> None:
    opened = open_recording(recording)
    with pytest.raises(HeadwayError) as error:
        sandbox.run(opened, "SELECT " + "(" * 5000 + "1" + ")" * 5000)
    assert error.value.notice.id == "HW306"
    with pytest.raises(HeadwayError) as error:
        sandbox.run(opened, "SELECT " + "abs(" * 900 + "1" + ")" * 900)
    assert error.value.notice.id == "HW306"
    opened.close()
