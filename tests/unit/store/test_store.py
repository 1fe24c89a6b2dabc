"""A recording on disk: what is written comes back, and damage is told apart from absence."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from headway.errors import HeadwayError
from headway.record.target_process.processes import Process
from headway.store import TABLES, checking_engine, open_recording, read_manifest, write_manifest
from headway.store.checks import footer
from headway.store.recorder import boot_id
from headway.store.writer import conform, write_recording
from support.builders.edited_manifest import edit, take_tables_as_they_are

THREADS = pa.table(
    {
        "thread_id": [0, 1],
        "pid": [10, 10],
        "tid": [10, 11],
        "start_ns": [1000, 2000],
        "name": ["main", "worker"],
        "comm": ["java", "worker"],
        "kind": ["app", "app"],
        "from_snapshot": [False, False],
    }
)
SLICES = pa.table(
    {
        "thread_id": [0, 1, 0],
        "start_ns": [1000, 2500, 5000],
        "blocked_ns": [0, 0, 2000],
        "runnable_ns": [0, 500, 1000],
        "running_ns": [1000, 1500, 1000],
        "stolen_ns": [0, None, 100],
        "cpu": [0, 1, 0],
        "blocked_state": [0, 0, 1],
        "blocked_in": [0, 0, 5],
        "waker_id": [-1, 0, 1],
        "waker_irq": [False, False, False],
        "is_open": [False, False, True],
    }
)
MANIFEST: dict[str, Any] = {"mode": "ebpf", "command": ["java", "X"], "window": {"start_ns": 1000, "end_ns": 6000}}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recording(tmp_path / "a.headway", MANIFEST, {"thread": THREADS, "slice": SLICES})


def error_of(path: Path) -> HeadwayError:
    with pytest.raises(HeadwayError) as caught:
        open_recording(path)
    return caught.value


def test_rows_come_back_as_they_were_written(recording: Path) -> None:
    got = open_recording(recording)
    assert got.wall_ns == 5000
    rows = got.connection().sql("SELECT * FROM slice").to_arrow_table()
    assert rows.select(SLICES.column_names).to_pylist() == SLICES.to_pylist()
    others = rows.drop_columns(SLICES.column_names)  # counts, of which there are none
    assert all(column.null_count == len(rows) for column in others.columns)
    assert got.columns("thread", "tid", "name")["name"].tolist() == ["main", "worker"]


def test_a_slice_is_spelled_out_as_blocked_then_runnable_then_running(recording: Path) -> None:
    rows = open_recording(recording).query(
        "SELECT start_ns, dur_ns, exec_ns, state, cpu, waker_tid, waker_context FROM thread_state "
        "WHERE thread_id = 0 ORDER BY start_ns"
    )
    assert rows.fetchall() == [
        (1000, 1000, 1000, "running", 0, None, None),
        (2000, 2000, None, "sleeping", None, 11, "thread"),
        (4000, 1000, None, "runnable", None, None, None),
        (5000, 1000, 900, "running", 0, None, None),
    ]


def test_a_table_the_recording_lacks_reads_as_empty_with_its_columns(recording: Path) -> None:
    got = open_recording(recording)
    assert not got.has("jvm_phase")
    assert set(got.columns("jvm_phase")) == {column.name for column in TABLES["jvm_phase"].columns}


def test_what_a_newer_minor_writer_adds_is_ignored_and_kept(recording: Path) -> None:
    import pyarrow.parquet as pq

    path = recording / "thread.parquet"
    pq.write_table(pq.read_table(path).append_column("mood", pa.array(["good", "bad"])), path)
    take_tables_as_they_are(recording)
    tables = json.loads((recording / "manifest.json").read_text())["tables"]
    edit(recording, tables=tables | {"moods": {"rows": 1, "bytes": 1}}, weather="fine")
    got = open_recording(recording)
    assert "mood" not in got.columns("thread")
    write_manifest(recording, got.manifest)
    assert json.loads((recording / "manifest.json").read_text())["weather"] == "fine"


def test_a_nullable_column_that_an_older_writer_did_not_have_reads_as_null(recording: Path) -> None:
    import pyarrow.parquet as pq

    path = recording / "thread.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["bottle_width"]), path)
    take_tables_as_they_are(recording)
    assert open_recording(recording).columns("thread", "bottle_width")["bottle_width"].tolist() == [None, None]


def test_a_directory_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    assert error_of(tmp_path).notice.id == "HW301"
    assert error_of(tmp_path / "none").notice.id == "HW301"
    (tmp_path / "sweep.json").write_text("{}")
    assert "its directory runs" in error_of(tmp_path).notice.message
    (tmp_path / "manifest.json").write_text('{"name": "a web app"}')
    assert error_of(tmp_path).notice.id == "HW301"


def test_a_newer_version_is_refused(recording: Path) -> None:
    edit(recording, version=2)
    assert error_of(recording).notice.id == "HW302"


@pytest.mark.parametrize("name", ["slice.parquet", "manifest.json"])
def test_a_cut_off_file_is_named_with_the_command_that_may_help(recording: Path, name: str) -> None:
    path = recording / name
    path.write_bytes(path.read_bytes()[:-7])
    error = error_of(recording)
    assert error.notice.id == "HW303"
    assert str(path) in error.notice.message
    assert error.notice.remedy.startswith("copy it again")  # there is no spool, so recover could do nothing
    (recording / "spool").mkdir()
    advises_recover = error_of(recording).notice.remedy == f"headway recover {recording}"
    assert advises_recover == (name != "manifest.json")  # recover has to read the manifest, too


@pytest.mark.parametrize(
    ("facts", "helps"),
    [
        ({}, "headway record -o NAME.headway -- CMD"),
        ({"kind": "causal"}, "headway causal --progress CLASS.METHOD -- CMD"),
        ({"mode": "import"}, "headway import FILE -o NAME.headway"),
    ],
)
def test_what_is_advised_for_a_damaged_table_makes_such_a_recording_anew(
    recording: Path, facts: dict[str, str], helps: str
) -> None:
    edit(recording, **facts)
    (recording / "slice.parquet").write_bytes(b"PAR1")
    assert error_of(recording).notice.remedy.endswith(helps)


def test_a_damaged_footer_is_an_error_with_the_file_named(recording: Path) -> None:
    path = recording / "slice.parquet"
    data = bytearray(path.read_bytes())
    data[-40:-8] = b"\xff" * 32
    path.write_bytes(data)
    take_tables_as_they_are(recording)
    with pytest.raises(HeadwayError) as caught:
        open_recording(recording).connection()
    assert caught.value.notice.id == "HW303"
    assert str(path) in caught.value.notice.message


def test_sql_that_this_duckdb_does_not_understand_says_nothing_of_the_file(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footer, "_DESCRIBED", "SELECT no_such_function(7) FROM parquet_metadata({file})")
    with pytest.raises(duckdb.CatalogException, match="no_such_function"):
        open_recording(recording).verify("thread")


def test_a_file_that_the_system_refuses_to_open_is_not_called_damaged(recording: Path) -> None:
    opened = open_recording(recording)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(HeadwayError) as caught:
            opened.verify("slice")
        assert error_of(recording).notice.id == "HW328"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert caught.value.notice.id == "HW328"
    assert caught.value.notice.message == f"{recording / 'slice.parquet'} can't be opened: Too many open files"
    opened.verify("slice")


def test_a_manifest_value_of_the_wrong_type_is_an_error_not_a_crash(recording: Path) -> None:
    for key, value in {"window": 3, "host": [], "tables": 1, "command": 5, "losses": "many"}.items():
        data = json.loads((recording / "manifest.json").read_text())
        edit(recording, **{key: value})
        assert error_of(recording).notice.id == "HW303"
        write_manifest(recording, data)


def test_a_recording_in_progress_is_told_apart_from_a_finished_one(recording: Path) -> None:
    edit(recording, state="recording")
    notice = error_of(recording).notice
    assert (notice.id, notice.remedy) == ("HW304", f"headway recover {recording}")
    with subprocess.Popen(["sleep", "60"]) as recorder:
        try:
            its = Process.of(recorder.pid)
            assert its is not None
            edit(
                recording,
                state="recording",
                recorder_pid=its.pid,
                recorder_start_ticks=its.start_ticks,
                boot_id=boot_id(),
            )
            lives = error_of(recording).notice
        finally:
            recorder.kill()
    assert lives.id == "HW304"
    assert f"process {its.pid} (sleep 60) still records it" in lives.message
    assert lives.remedy.startswith(f"kill -INT {its.pid} ")


def test_paths_that_look_like_patterns_or_sql_are_only_paths(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a*[b]?'\".headway", MANIFEST, {"thread": THREADS})
    assert len(open_recording(path).columns("thread", "tid")["tid"]) == 2


def test_a_path_that_is_no_utf8_is_read_like_any_other(tmp_path: Path) -> None:
    """DuckDB and Arrow take UTF-8 alone: tables that were whole were said to have columns whose names are no text."""
    path = write_recording(
        Path(os.fsdecode(os.fsencode(tmp_path / "b") + b"\xff.headway")), MANIFEST, {"thread": THREADS}
    )
    recording = open_recording(path)
    assert len(recording.columns("thread", "tid")["tid"]) == 2
    recording.close()
    assert open_recording(path).query("SELECT count(*) FROM thread_state").fetchone() == (0,)


def test_a_recording_whose_ending_was_left_out_or_mistaken_is_named(recording: Path) -> None:
    for written in (recording.with_suffix(""), recording.with_suffix(".html")):
        assert str(recording) in error_of(written).notice.message
    assert "recording of that name" not in error_of(recording.with_name("b")).notice.message


def test_an_existing_output_is_never_overwritten_unasked(recording: Path) -> None:
    with pytest.raises(HeadwayError) as caught:
        write_recording(recording, MANIFEST, {})
    assert caught.value.notice.id == "HW305"


def test_a_wrong_query_gives_the_databases_reason(recording: Path) -> None:
    with pytest.raises(HeadwayError) as caught:
        open_recording(recording).query("SELECT nonsense FROM thread")
    assert caught.value.notice.id == "HW306"
    assert "nonsense" in caught.value.notice.message


def test_rows_that_do_not_fit_their_table_are_refused() -> None:
    with pytest.raises(ValueError, match=r"missing columns \['comm'"):
        conform(TABLES["thread"], THREADS.drop_columns(["comm", "kind"]))
    with pytest.raises(ValueError, match=r"unknown columns \['mood'\]"):
        conform(TABLES["thread"], THREADS.append_column("mood", pa.array([1, 2])))


def test_repeats_are_opened_in_the_order_they_were_made(recording: Path) -> None:
    for number in (10, 2, 1000):
        write_recording(recording / f"repeats/{number}.headway", MANIFEST | {"pid": number}, {})
    assert [each.manifest.pid for each in open_recording(recording).repeats()] == [None, 2, 10, 1000]


def test_what_is_called_like_no_repeat_is_not_opened(recording: Path) -> None:
    for name in ("02", "1", "1001", "99999999999", "\N{ARABIC-INDIC DIGIT TWO}", "two"):
        write_recording(recording / f"repeats/{name}.headway", MANIFEST, {})
    (recording / "repeats" / "3.headway").symlink_to("1.headway")
    (recording / "repeats" / "4.headway").write_text("no directory")
    assert len(open_recording(recording).repeats()) == 1


def test_a_manifest_survives_a_rewrite_unchanged(recording: Path) -> None:
    before = (recording / "manifest.json").read_text()
    write_manifest(recording, read_manifest(recording))
    assert (recording / "manifest.json").read_text() == before


def test_one_duckdb_checks_the_files_of_all_recordings_until_it_has_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    connect = duckdb.connect

    def counted(*words: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        started.append(options["config"].get("threads"))
        return connect(*words, **options)

    monkeypatch.setattr(duckdb, "connect", counted)
    broken = duckdb.InternalException("a defect of DuckDB's own")
    for number, expected in enumerate((1, 1, 2)):
        if number != 1:
            checking_engine.drop_if_broken(broken)
        checking_engine.drop_if_broken(duckdb.IOException("a file that is no Parquet"))
        path = write_recording(tmp_path / f"{number}.headway", MANIFEST, {"thread": THREADS})
        assert open_recording(path).query("SELECT count(*) FROM thread").fetchall() == [(2,)]
        assert started.count(1) == expected
