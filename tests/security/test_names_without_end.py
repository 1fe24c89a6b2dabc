"""Names that take no room in a file and are repeated in each row or event: limits where they are written, read and passed on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.stacks.types import CallTree, Frame, Profile
from headway.errors import HeadwayError
from headway.report.export import collapsed, export_collapsed, export_perfetto
from headway.report.export import protobuf as pb
from headway.store import TABLES, open_recording, shared_texts
from headway.store.checks import values
from headway.store.files import checksum
from headway.store.manifest import TableInfo, write_manifest
from headway.store.possible import ImpossibleValueFilter
from headway.store.reader import Recording
from headway.store.writer import TableWriter
from support.builders import recording_builder
from support.builders.extreme_recordings import everything

NAME = "n" * 60_000


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return everything(tmp_path / "whole.headway")


def changed(path: Path, table: str, rows: pa.Table) -> Recording:
    """Give a recording another table, whose checksum fits."""
    manifest = json.loads((path / "manifest.json").read_text())
    file = path / f"{table}.parquet"
    pq.write_table(rows, file, compression="zstd")
    with file.open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    manifest["tables"][table] = {"rows": rows.num_rows, "bytes": size, "crc32": crc32}
    write_manifest(path, manifest)
    return open_recording(path)


def with_column(path: Path, table: str, column: str, values: list[object]) -> pa.Table:
    rows = pq.read_table(path / f"{table}.parquet")
    at = rows.column_names.index(column)
    return rows.set_column(at, rows.schema.field(column), pa.array(values, rows.schema.field(column).type))


def with_long_names(path: Path) -> Recording:
    threads = pq.read_table(path / "thread.parquet").num_rows
    return changed(path, "thread", with_column(path, "thread", "name", [NAME] * threads))


def test_no_name_is_longer_than_a_jvm_takes_one_but_options_may_be(whole: Path) -> None:
    """A recording of 40 kB had `headway locks` print names of 16 MiB for two minutes."""
    jvm = pa.table({"pid": pa.array([100], pa.int32()), "key": ["flags"], "value": ["x" * (1 << 20)]})
    changed(whole, "jvm", jvm).verify("jvm")
    count = pq.read_table(whole / "blocker.parquet").num_rows
    recording = changed(whole, "blocker", with_column(whole, "blocker", "class_name", ["x" * 65_537] * count))
    with pytest.raises(HeadwayError, match=r"HW323.*table blocker, column class_name: a text of 65537 bytes"):
        recording.verify("blocker")


def test_long_names_have_a_limit_together_and_short_ones_none(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_LONG_BYTES", 120_000)
    count = pq.read_table(whole / "thread.parquet").num_rows
    assert count >= 2
    changed(whole, "thread", with_column(whole, "thread", "name", ["x" * 256] * count)).verify("thread")
    with pytest.raises(HeadwayError, match=r"HW323.*names of more than 256 bytes"):
        with_long_names(whole).verify("thread")


def test_what_is_written_is_within_the_limits_of_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One JVM whose names are longer costs their ends, and not the recording."""
    path = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    for module in (shared_texts, values):
        monkeypatch.setattr(module, "MOST_LONG_BYTES", 120_000)
    count = pq.read_table(path / "thread.parquet").num_rows
    names: list[object] = ["ä" * 100_000, "honest", *["y" * 50_000] * (count - 2)]
    possible = ImpossibleValueFilter((0, 1 << 62))
    rows = with_column(path, "thread", "name", names)
    with TableWriter(tmp_path, TABLES["thread"], possible) as writer:
        for at in range(count):
            writer.write(rows.slice(at, 1))
    written = pq.read_table(tmp_path / "thread.parquet")
    found = written.column("name").to_pylist()
    assert found[0] == "ä" * 32_766 + "..."
    assert found[1:3] == ["honest", "y" * 50_000]
    assert all(name in ("y" * 50_000, "y" * 253 + "...") for name in found[2:])
    (notice,) = shared_texts.notices_of_cut_texts({"thread": writer.info, "slice": TableInfo(9, 9)})
    assert f": {sum(name.endswith('...') for name in found)} of table thread" in notice.message
    assert not possible.left_out, "they are there, but for their ends"
    changed(path, "thread", written).verify("thread")


def test_a_trace_does_not_repeat_a_long_name_with_each_event(whole: Path, tmp_path: Path) -> None:
    """Two thousand slices of threads with names of 16 MiB, 44 kB in all, were a trace of 32 GB."""
    recording = with_long_names(whole)
    block = pq.read_table(whole / "block.parquet").slice(0, 1)
    recording = changed(whole, "block", pa.concat_tables([block] * 500))
    trace = export_perfetto(recording, tmp_path / "o.perfetto")
    assert trace.stat().st_size < 1_000_000
    assert NAME[:252].encode() + b"..." in trace.read_bytes()
    assert NAME[:256].encode() not in trace.read_bytes()


def test_numbers_below_zero_are_what_the_format_has_for_them() -> None:
    assert pb.integer(1, -1) == b"\x08" + b"\xff" * 9 + b"\x01"
    assert pb.integer(1, 300) == b"\x08\xac\x02"


def test_a_trace_of_threads_and_times_below_zero_is_written(whole: Path, tmp_path: Path) -> None:
    count = pq.read_table(whole / "thread.parquet").num_rows
    changed(whole, "thread", with_column(whole, "thread", "tid", [-1] * count))
    phases = pq.read_table(whole / "jvm_phase.parquet").num_rows
    recording = changed(whole, "jvm_phase", with_column(whole, "jvm_phase", "start_ns", [-5] * phases))
    assert export_perfetto(recording, tmp_path / "o.perfetto").stat().st_size


def test_slices_before_the_clock_began_are_at_its_begin(whole: Path, tmp_path: Path) -> None:
    rows = pq.read_table(whole / "slice.parquet").num_rows
    recording = changed(whole, "slice", with_column(whole, "slice", "end_ticks", [*range(-100 - rows, -100)]))
    assert export_perfetto(recording, tmp_path / "o.perfetto").stat().st_size


def test_collapsed_stacks_are_whole_until_they_would_be_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line repeats the names of all its frames: a hundred levels of one name of 64 KiB are 6 MB in each line."""
    depth = 100
    ints = {
        name: np.zeros(depth, dtype=np.int64)
        for name in ("parent", "frame", "self_weight", "total_weight", "kind", "size", "depth")
    }
    ints["depth"] = np.arange(depth)
    ints["self_weight"] = np.ones(depth, dtype=np.int64)
    profile = _profile(CallTree(**ints))
    plain = export_collapsed(profile, tmp_path / "plain.txt").read_text().splitlines()
    assert plain[1] == f"{NAME};{NAME} 1"
    monkeypatch.setattr(collapsed, "MOST_BYTES", sum(map(len, plain)) // 2)
    short = export_collapsed(profile, tmp_path / "short.txt").read_text().splitlines()
    assert short[1] == f"{'n' * 253}...;{'n' * 253}... 1"
    assert len(short) == len(plain) == depth


def _profile(tree: CallTree) -> Profile:
    class Found:
        """As much of a profile as the export reads."""

        def __init__(self) -> None:
            self.tree = tree
            self.frames = [Frame("", NAME)]

    return Found()  # type: ignore[return-value]
