"""Recordings among strangers: links, pipes, exchanges and damage that another user arranges harm nothing outside.

Each attack is one that an ordinary user can carry out against a headway that runs as root. What must stay as it is are the
user's bait outside: its content, owner, mode and time of change.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import stat
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headway.cli.main import invoke
from headway.errors import HeadwayError
from headway.record.directory.recording_dir import RecordingDir
from headway.record.finalise.recover import recover
from headway.record.imports.bring_in import import_file
from headway.record.request.causal_spec import CausalOptions
from headway.record.request.jvm_options import directory_for_jvm
from headway.record.series.sweep import SweepListener, resume_sweep, run_sweep
from headway.record.session.causal_dir import CausalPlace
from headway.report.html.source_lines import Sources
from headway.report.output import new_file
from headway.store import directory as directories
from headway.store import open_recording, read_manifest
from headway.store.column_writer import ColumnWriter, Numbers
from headway.store.manifest import write_manifest
from headway.store.recorder import boot_id
from headway.store.sandbox import run as run_sandboxed
from headway.store.sweep import Sweep, append_run, read_sweep, write_sweep
from headway.store.tables import TABLES, Column, TableSchema
from headway.store.writer import TableWriter, write_recording
from support.drivers.workloads import JAVAS, java_command

STRANGER = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act among the directories of others")
pytestmark = pytest.mark.root
PHASES = pa.table({"pid": [7], "start_ns": [5], "dur_ns": [6], "kind": ["gc_pause"], "cause": ["x"]})
MANIFEST: dict[str, Any] = {"mode": "ebpf", "command": ["java"], "window": {"start_ns": 0, "end_ns": 100}}


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """End what waits for the other end of a pipe: the test then fails instead of hanging."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(20)
    with directories.temporary_pins():
        yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[Path]:
    """Files outside that must stay as they are."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("root's own")
    (outside / "secret").chmod(0o640)
    before = _state(outside)
    yield outside
    assert _state(outside) == before


def _state(place: Path) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for path in (place, *sorted(place.rglob("*"))):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found.append((str(path), status.st_uid, status.st_gid, status.st_mode, status.st_mtime_ns, content))
    return found


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recording(tmp_path / "a.headway", MANIFEST, {"jvm_phase": PHASES})


def give_away(path: Path) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, STRANGER, STRANGER, follow_symlinks=False)


@contextmanager
def refused(message_id: str) -> Iterator[None]:
    with pytest.raises(HeadwayError) as caught:
        yield
    assert caught.value.notice.id == message_id
    assert caught.value.notice.remedy


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_link_in_the_place_of_a_table_is_replaced_and_not_followed(recording: Path, bait: Path) -> None:
    table = recording / "jvm_phase.parquet"
    table.unlink()
    table.symlink_to(bait / "secret")
    with TableWriter(recording, TABLES["jvm_phase"]) as writer:
        writer.write(PHASES)
    assert stat.S_ISREG(table.lstat().st_mode)
    (recording / "t.parquet").symlink_to(bait / "secret")
    with ColumnWriter(recording, TableSchema("t", "", (Column("a", "BIGINT", ""),))) as columns:
        columns.write(1, {"a": Numbers(np.arange(1), None)})
    assert not (recording / "t.parquet").is_symlink()


def test_a_link_in_the_place_of_the_manifest_or_of_its_scratch_file_is_not_followed(
    recording: Path, bait: Path
) -> None:
    data = json.loads((recording / "manifest.json").read_text())
    (recording / f".manifest.json.{os.getpid()}.new").symlink_to(bait / "secret")
    (recording / "manifest.json").unlink()
    (recording / "manifest.json").symlink_to(bait / "secret")
    write_manifest(recording, data)
    assert read_manifest(recording).mode == "ebpf"


@root_only
def test_a_directory_that_is_exchanged_as_it_is_made_is_refused(
    tmp_path: Path, bait: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for exchanged_for in ("link", "directory"):
        home = tmp_path / exchanged_for
        home.mkdir()
        os.chown(home, STRANGER, STRANGER)

        def mkdir(
            name: Any,
            *args: Any,
            real_mkdir: Any = os.mkdir,
            home: Path = home,
            kind: str = exchanged_for,
            **options: Any,
        ) -> None:
            real_mkdir(name, *args, **options)
            (home / name).rmdir()
            if kind == "link":
                (home / name).symlink_to(bait)
            else:
                real_mkdir(home / name)
                os.chown(home / name, STRANGER, STRANGER)

        with monkeypatch.context() as patch:
            patch.setattr(os, "mkdir", mkdir)
            with refused("HW317"), RecordingDir(home / "a.headway", force=False):
                pass
        assert (home / "a.headway").exists()  # not ours: left alone


@root_only
def test_a_recording_goes_on_in_its_own_directory_when_its_name_leads_elsewhere(tmp_path: Path, bait: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    with RecordingDir(home / "a.headway", force=False) as place:
        (home / "a.headway").rename(home / "moved")
        (home / "a.headway").symlink_to(bait)  # what the owner of `home` may do
        write_manifest(place.directory, {"format": "headway-recording", "version": 1, "state": "recording"})
        with TableWriter(place.directory, TABLES["jvm_phase"]) as writer:
            writer.write(PHASES)
        assert (directories.pinned(place.spool)).is_dir()
    # It was not kept: all of it is gone, and nothing behind the link.
    assert list((home / "moved").iterdir()) == []
    assert (home / "a.headway").is_symlink()


@root_only
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_root_records_is_roots_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with RecordingDir(tmp_path / "a.headway", force=False) as place:
            write_manifest(place.directory, {"format": "headway-recording", "version": 1, "state": "complete"})
            with TableWriter(place.directory, TABLES["jvm_phase"]) as writer:
                writer.write(PHASES)
            place.keep()
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place.directory, *place.directory.iterdir())}
    assert modes == {"a.headway": 0o700, "spool": 0o700, "manifest.json": 0o600, "jvm_phase.parquet": 0o600}


@root_only
@pytest.mark.parametrize(("umask", "wanted"), [(0o000, 0o755), (0o002, 0o755), (0o027, 0o750)])
def test_what_a_user_records_goes_by_the_umask_but_is_never_written_by_others(
    tmp_path: Path, umask: int, wanted: int
) -> None:
    home = Path(tempfile.mkdtemp(dir="/tmp"))
    os.chown(home, STRANGER, STRANGER)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            os.umask(umask)
            with RecordingDir(home / "a.headway", force=False) as place:
                write_manifest(place.directory, {"format": "headway-recording", "version": 1, "state": "complete"})
                place.keep()
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (home / "a.headway", home / "a.headway" / "manifest.json")]
    assert modes == [wanted, wanted & 0o666]
    shutil.rmtree(home)


@root_only
def test_a_link_of_another_users_on_the_way_is_refused_and_roots_own_is_followed(tmp_path: Path, bait: Path) -> None:
    (tmp_path / "theirs").symlink_to(bait)
    os.chown(tmp_path / "theirs", STRANGER, STRANGER, follow_symlinks=False)
    with refused("HW317"), RecordingDir(tmp_path / "theirs" / "a.headway", force=False):
        pass
    (tmp_path / "big").mkdir()
    (tmp_path / "ours").symlink_to("big")
    with RecordingDir(tmp_path / "ours" / "a.headway", force=False) as place:
        place.keep()
    assert (tmp_path / "big" / "a.headway" / "spool").is_dir()


@root_only
def test_an_output_never_goes_through_a_link_of_another_users(tmp_path: Path, bait: Path) -> None:
    for name, target in (("there.html", bait / "secret"), ("new.html", bait / "new")):
        link = tmp_path / name
        link.symlink_to(target)
        os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
        with refused("HW317"), new_file(link, overwrite=True) as out:
            out.write(b"x")
    mine = tmp_path / "mine.html"
    mine.symlink_to("real.html")
    with new_file(mine) as out:
        out.write(b"report")
    assert (tmp_path / "real.html").read_bytes() == b"report"


# --- replacing, recovering, adding -----------------------------------------------------------------------------------


@root_only
def test_force_as_root_removes_no_recording_of_another_users_and_follows_no_link(
    tmp_path: Path, recording: Path, bait: Path
) -> None:
    (tmp_path / "link.headway").symlink_to(recording)
    with refused("HW317"), RecordingDir(tmp_path / "link.headway", force=True):
        pass
    give_away(recording)
    (recording / "link").symlink_to(bait)
    before = _state(recording)
    with refused("HW317"), RecordingDir(recording, force=True):
        pass
    assert _state(recording) == before


def test_force_removes_links_in_a_recording_and_not_what_they_lead_to(recording: Path, bait: Path) -> None:
    (recording / "spool").symlink_to(bait)
    (recording / "runs").mkdir()
    (recording / "runs" / "deep").symlink_to(bait)
    with RecordingDir(recording, force=True) as place:
        place.keep()
    assert [path.name for path in recording.iterdir()] == ["spool"]
    assert [path.name for path in recording.parent.iterdir() if path.name != "outside"] == ["a.headway"]


@root_only
def test_root_recovers_no_recording_of_another_users_and_names_the_command_that_does(
    recording: Path, bait: Path
) -> None:
    (recording / "spool").symlink_to(bait)
    give_away(recording)
    before = _state(recording)
    with pytest.raises(HeadwayError) as caught:
        recover(recording)
    assert caught.value.notice.id == "HW317"
    assert caught.value.notice.remedy == f"sudo -u nobody headway recover {recording}"
    assert _state(recording) == before
    for path in (recording, *recording.rglob("*")):
        os.chown(path, 0, 0, follow_symlinks=False)
    recording.chmod(0o777)
    with refused("HW317"):
        recover(recording)


@root_only
def test_root_adds_no_runs_to_a_causal_recording_or_a_sweep_of_another_users(tmp_path: Path) -> None:
    causal = write_recording(tmp_path / "c.headway", {**MANIFEST, "kind": "causal", "causal": {}}, {})
    give_away(causal)
    before = _state(causal)
    options = CausalOptions.__new__(CausalOptions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headway.record.session.causal_dir.check_addable", lambda *_: None)
        with refused("HW317"), CausalPlace(causal, False, options, ["java"]):
            pass
    assert _state(causal) == before
    sweep = Sweep(tmp_path / "a.sweep", "touch {threads}", threads=(1,), cwd=str(tmp_path))
    sweep.path.mkdir()
    write_sweep(sweep)
    give_away(sweep.path)
    with refused("HW317"):
        resume_sweep(sweep.path, SweepListener())
    with refused("HW317"):
        run_sweep(sweep, True, SweepListener())
    assert [path.name for path in sweep.path.iterdir()] == ["sweep.json"]


def test_a_sweeps_files_are_written_beside_links_and_not_through_them(tmp_path: Path, bait: Path) -> None:
    sweep = Sweep(tmp_path / "a.sweep", "true", threads=(1,))
    sweep.path.mkdir()
    (sweep.path / "sweep.json").symlink_to(bait / "secret")
    (sweep.path / f".sweep.json.{os.getpid()}.new").symlink_to(bait / "secret")
    (sweep.path / "runs.jsonl").symlink_to(bait / "secret")
    with pytest.raises(OSError, match="symbolic links"):
        append_run(sweep.path, 0, None)  # type: ignore[arg-type]
    write_sweep(sweep)
    assert read_sweep(sweep.path).parallel == "true"


@root_only
def test_directories_above_a_sweep_are_not_made_behind_links_of_others(tmp_path: Path, bait: Path) -> None:
    (tmp_path / "theirs").symlink_to(bait)
    os.chown(tmp_path / "theirs", STRANGER, STRANGER, follow_symlinks=False)
    sweep = Sweep(tmp_path / "theirs" / "new" / "a.sweep", "true", threads=(1,), cwd=str(tmp_path))
    with refused("HW317"):
        run_sweep(sweep, False, SweepListener())
    directories.make_parents(tmp_path / "x" / "y" / "a.sweep")
    assert list((tmp_path / "x" / "y").iterdir()) == []


# --- reading what is hostile -----------------------------------------------------------------------------------------


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _directory(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000)


def _no_utf8(path: Path) -> None:
    path.write_bytes(b'{"format": "\xff\xfe"}')


def _huge_number(path: Path) -> None:
    path.write_text(
        '{"format": "headway-recording", "version": 1, "window": {"start_ns": 1, "end_ns": 1' + "0" * 5000 + "}}"
    )


HOSTILE = [_fifo, _directory, _link, _sparse, _deep, _no_utf8, _huge_number]


@pytest.mark.parametrize("place", HOSTILE, ids=lambda each: each.__name__[1:])
def test_a_hostile_file_in_place_of_a_manifest_or_a_sweep_is_a_message(
    recording: Path, place: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (recording / "manifest.json").unlink()
    place(recording / "manifest.json")
    for command in (["parallelism", recording], ["recover", recording], ["query", recording, "SELECT 1"]):
        assert invoke([str(word) for word in command]) == 1
        assert capsys.readouterr().err.startswith("HW30")
    with pytest.raises(HeadwayError, match="HW050"), RecordingDir(recording, force=True):
        pass
    sweep = recording.with_name("b.sweep")
    sweep.mkdir()
    place(sweep / "sweep.json")
    with pytest.raises(HeadwayError, match=r"HW32[02]"):
        read_sweep(sweep)


@pytest.mark.parametrize("place", [_fifo, _directory], ids=lambda each: each.__name__[1:])
def test_a_hostile_file_to_import_is_a_message(tmp_path: Path, place: Any) -> None:
    place(tmp_path / "a.jfr")
    with refused("HW315"):
        import_file(tmp_path / "a.jfr", tmp_path / "a.headway")
    assert not (tmp_path / "a.headway").exists()


@pytest.mark.parametrize("place", [_fifo, _directory, _link, _sparse], ids=lambda each: each.__name__[1:])
def test_a_hostile_file_in_place_of_a_table_is_a_message(recording: Path, place: Any) -> None:
    (recording / "jvm_phase.parquet").unlink()
    place(recording / "jvm_phase.parquet")
    with refused("HW303"):
        open_recording(recording).query("SELECT count(*) FROM jvm_phase")


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_a_number_without_end_in_a_manifest_is_a_message(recording: Path, number: str) -> None:
    data = json.loads((recording / "manifest.json").read_text())
    for key, value in (("affinity", "[X]"), ("window", '{"start_ns": X, "end_ns": 1}'), ("steal_ns", '{"0": X}')):
        plain = json.dumps({**data, key: "HERE"}).replace('"HERE"', value.replace("X", number))
        (recording / "manifest.json").write_text(plain)
        with refused("HW303"):
            open_recording(recording)


def test_values_of_every_wrong_type_in_a_manifest_are_a_message_or_do_no_harm(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads((recording / "manifest.json").read_text())
    more = ("locks", "sampling", "causal", "import", "rusage", "kind", "busy_ns", "decoder")
    keys = sorted({*data, *more} - {"checksum", "format"})
    wrong: list[Any] = [[], {}, "text", 5, -(1 << 62), [[]], {"a": {"b": 1}}, [{"id": 3}], True, 1.5e300]
    accepted = []
    for key in keys:
        for value in wrong:
            write_manifest(recording, {**data, key: value})
            try:
                open_recording(recording)
            except HeadwayError:
                continue
            accepted.append((key, value))
    assert 20 < len(accepted) < len(keys) * len(wrong) / 2
    for key, value in random.Random(27).sample(accepted, 20):
        write_manifest(recording, {**data, key: value})
        assert invoke(["parallelism", str(recording)]) in (0, 1), (key, value)
    capsys.readouterr()


def test_names_of_tables_are_never_paths(recording: Path) -> None:
    data = json.loads((recording / "manifest.json").read_text())
    shutil.copy(recording / "jvm_phase.parquet", recording.parent / "x.parquet")
    size = (recording.parent / "x.parquet").stat().st_size
    data["tables"] |= {"../x": {"rows": 1, "bytes": size}, "/etc/passwd": {"rows": 1, "bytes": 1}}
    write_manifest(recording, data)
    opened = open_recording(recording)
    assert "../x" not in opened.table_names()
    with pytest.raises(HeadwayError, match="HW306"):
        opened.query('SELECT * FROM "../x"')


# --- damage ----------------------------------------------------------------------------------------------------------


def test_three_flipped_bits_anywhere_in_a_table_are_noticed_before_a_figure_is_given(recording: Path) -> None:
    chance = random.Random(25)
    path = recording / "jvm_phase.parquet"
    whole = path.read_bytes()
    noticed = 0
    for _ in range(150):
        data = bytearray(whole)
        for bit in chance.sample(range(8 * len(data)), chance.randint(1, 3)):
            data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(HeadwayError) as caught:
            open_recording(recording).query("SELECT * FROM jvm_phase").fetchall()
        assert caught.value.notice.id == "HW303"
        assert str(path) in caught.value.notice.message
        noticed += "checksum" in caught.value.notice.message
    assert noticed > 20  # the others did not even look like Parquet
    path.write_bytes(whole)
    assert len(open_recording(recording).query("SELECT * FROM jvm_phase").fetchall()) == 1


def test_a_table_that_grows_after_it_was_opened_is_not_read_to_its_end(recording: Path) -> None:
    """Its owner may make it 4 TiB of nothing: the checksum of that took an hour."""
    opened = open_recording(recording)
    os.truncate(recording / "jvm_phase.parquet", 4 << 40)
    with refused("HW303"):
        opened.query("SELECT * FROM jvm_phase")


def test_a_flipped_bit_in_the_manifest_is_noticed(recording: Path) -> None:
    chance = random.Random(26)
    path = recording / "manifest.json"
    whole = path.read_bytes()
    for _ in range(200):
        data = bytearray(whole)
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        try:
            read = read_manifest(recording)
        except HeadwayError:
            continue
        path.write_bytes(whole)
        assert read == read_manifest(recording)  # white space


def test_pages_have_checksums_that_other_readers_compare(recording: Path) -> None:
    import pyarrow.parquet as pq

    with ColumnWriter(recording, TableSchema("t", "", (Column("a", "BIGINT", ""),))) as columns:
        columns.write(100, {"a": Numbers(np.arange(100) ** 3, None)})
    for name in ("jvm_phase", "t"):
        path = recording / f"{name}.parquet"
        pq.read_table(path, page_checksum_verification=True)
        data = bytearray(path.read_bytes())
        start = pq.ParquetFile(path).metadata.row_group(0).column(0)
        data[(start.dictionary_page_offset or start.data_page_offset) + start.total_compressed_size - 1] ^= 4
        path.write_bytes(data)
        with pytest.raises(OSError, match="CRC"):
            pq.read_table(path, page_checksum_verification=True)


# --- a full disk -----------------------------------------------------------------------------------------------------


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let the kernel refuse longer files, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_names_the_recordings_file_and_not_the_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "a.collapsed"
    source.write_text("".join(f"main;work{random.Random(i).random()};leaf{i} {i}\n" for i in range(1, 2000)))
    with files_of_at_most(8192):
        assert invoke(["import", str(source), "-o", str(tmp_path / "a.headway")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"HW318: writing {tmp_path}/a.headway/")
    assert "File too large" in said
    assert not (tmp_path / "a.headway").exists()


def test_what_a_killed_writer_left_unfinished_is_removed_by_recover(tmp_path: Path) -> None:
    directory = write_recording(tmp_path / "c.headway", {**MANIFEST, "kind": "causal", "causal": {}}, {})
    manifest = json.loads((directory / "manifest.json").read_text())
    write_manifest(directory, {**manifest, "state": "recording"})
    (directory / "spool").mkdir()
    (directory / ".slice.parquet.0123456789ab.new").write_text("half")
    (directory / ".kept").write_text("not ours")
    recover(directory)
    assert {path.name for path in directory.iterdir() if path.name.startswith(".")} == {".kept"}


# --- the JVM's own files ---------------------------------------------------------------------------------------------


@root_only
def test_a_jvm_of_roots_is_given_the_descriptor_of_a_recording_that_others_could_exchange(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    os.chown(tmp_path, STRANGER, STRANGER)
    with RecordingDir(tmp_path / "r.headway", force=False) as place:
        given = directory_for_jvm(place.spool)
        assert given.is_relative_to(f"/proc/{os.getpid()}/fd")
        (tmp_path / "r.headway").rename(tmp_path / "aside")
        (tmp_path / "outside" / "spool").mkdir(parents=True)
        (tmp_path / "r.headway").symlink_to(tmp_path / "outside")
        (given / "agent-1.spool").touch()
        assert [path.name for path in (tmp_path / "aside" / "spool").iterdir()] == ["agent-1.spool"]
        assert list((tmp_path / "outside" / "spool").iterdir()) == []


def test_a_jvm_is_given_a_name_where_nobody_can_exchange_what_it_leads_to(tmp_path: Path) -> None:
    with RecordingDir(tmp_path / "r.headway", force=False) as place:
        assert directory_for_jvm(place.spool) == place.spool.resolve()


@root_only
def test_a_program_is_recorded_with_its_agent_in_a_directory_of_a_strangers(tmp_path: Path) -> None:
    os.chown(tmp_path, STRANGER, STRANGER)
    recording = tmp_path / "r.headway"
    command = [*java_command(JAVAS["jdk17"], "Sleeper", 1, 2, 20)]
    done = invoke(["record", "-o", str(recording), "--", *command])
    assert done == 0
    names = {row[0] for row in open_recording(recording).query("SELECT name FROM thread").fetchall()}
    assert "Notification Thread" in names, "what the agent knows: the kernel's names are cut to 15 bytes"


@root_only
@pytest.mark.parametrize("trick", ["another table", "a pipe"])
def test_what_was_checked_of_a_strangers_recording_is_what_is_read(recording: Path, tmp_path: Path, trick: str) -> None:
    other = write_recording(
        tmp_path / "b.headway", MANIFEST, {"jvm_phase": PHASES.set_column(1, "start_ns", pa.array([77]))}
    )
    give_away(recording)
    opened = open_recording(recording)
    file = recording / "jvm_phase.parquet"
    before = opened.query("SELECT start_ns FROM jvm_phase").fetchall()
    file.rename(tmp_path / "aside")
    if trick == "a pipe":
        os.mkfifo(file)
    else:
        shutil.copy(other / "jvm_phase.parquet", file)
    assert opened.query("SELECT start_ns FROM jvm_phase").fetchall() == before == [(5,)]
    assert run_sandboxed(opened, "SELECT start_ns FROM jvm_phase").fetchall() == before
    opened.close()


@root_only
def test_recover_writes_nothing_through_a_link_in_the_place_of_the_spool(recording: Path, bait: Path) -> None:
    place = Path("/tmp") / f".headway-{os.urandom(8).hex()}"
    place.mkdir(mode=0o700)
    try:
        (place / "agent-1.spool").write_bytes(struct.pack("<8sIIIII", b"HWSPOOL\0", 1, 3, 3, 0, 1).ljust(4096, b"\0"))
        (place / "sample-1.txt").write_text("what a log rotator would run")
        give_away(place)
        note = {
            "pid": 4194303,
            "start_ticks": 1,
            "uid": STRANGER,
            "gid": STRANGER,
            "same_mounts": True,
            "name": place.name,
        }
        draft = {**MANIFEST, "state": "recording", "ended_by": "recorder-died", "boot_id": boot_id()}
        write_manifest(recording, {"format": "headway-recording", "version": 1, **draft, "agents_elsewhere": [note]})
        (recording / "spool").symlink_to(bait)
        with refused("HW308"):
            recover(recording)
    finally:
        shutil.rmtree(place, ignore_errors=True)


@root_only
def test_a_recording_does_not_lead_to_those_of_others_as_its_repeats(recording: Path, tmp_path: Path) -> None:
    secret = write_recording(tmp_path / "secret.headway", MANIFEST, {})
    (recording / "repeats").mkdir()
    (recording / "repeats" / "1.headway").symlink_to(secret)
    assert len(open_recording(recording).repeats()) == 1


@pytest.mark.root
def test_links_and_pipes_of_strangers_among_sources_are_not_shown_in_a_report(tmp_path: Path) -> None:
    """Whoever owns a directory of sources chooses what lies there under the name of a source; reports are for others to read."""
    secret = tmp_path / "secret"
    secret.write_text("root's own\n")
    secret.chmod(0o600)
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "Own.java").write_text("class Own {}\n")
    os.symlink("../Real.java", sources / "Linked.java")
    (tmp_path / "Real.java").write_text("class Own {}\n")
    os.symlink(secret, sources / "Link.java")
    os.mkfifo(sources / "Pipe.java")
    (sources / "below").symlink_to("/")
    for path in (sources, sources / "Link.java", sources / "Pipe.java", sources / "Own.java"):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    found = Sources([sources])
    assert found.around("Link", "Link.java", 1) is None
    assert found.around("Pipe", "Pipe.java", 1) is None
    (sources / "Linked.java").rename(sources / "Root.java")  # root's own link
    for name in ("Own.java", "Root.java"):
        shown = Sources([sources]).around("Own", name, 1)
        assert shown is not None
        assert shown["lines"][0] == "class Own {}"
