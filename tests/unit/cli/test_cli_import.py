"""`headway import` as a user meets it: what becomes of files of other tools, and what is said of those that are wrong."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headway.record.imports import importing
from headway.record.imports.bring_in import import_file
from headway.record.imports.sample_table import SampleTable
from headway.record.imports.waits import WaitTables
from headway.record.jfr.reader import EventBatch, JfrFile
from headway.store import open_recording
from support.builders import jfr_builder

Run = Callable[..., tuple[int, str, str]]
COUNT = 20


@pytest.fixture(scope="module")
def jfr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jfr") / "app.jfr"
    path.write_bytes(jfr_builder.chunk(jfr_builder.usual(COUNT)))
    return path


@pytest.fixture
def imported(run: Run, jfr: Path, tmp_path: Path) -> Path:
    target = tmp_path / "app.headway"
    code, _, err = run("import", jfr, "-o", target)
    assert (code, "imported" in err) == (0, True)
    return target


def test_waits_become_blocks_of_one_object_with_sums_that_hold(imported: Path) -> None:
    recording = open_recording(imported)
    rows = recording.query(
        "SELECT class_name, times_parked, peak_parked, thread_time_ns, real_time_ns FROM blocker"
    ).fetchall()
    # Each round one thread waits 600 ns, and the other the last 400 of the same 700.
    assert rows == [("org.example.Lock", 2 * COUNT, 2, 1000 * COUNT, 700 * COUNT)]
    starts = [row[0] for row in recording.query("SELECT start_ns FROM block").fetchall()]
    assert starts == sorted(starts)
    assert len(starts) == 2 * COUNT


def in_pieces(batches: Iterable[EventBatch], most: int) -> Iterator[EventBatch]:
    """The same rows in batches of `most`."""
    for batch in batches:
        for at in range(0, batch.rows, most):
            columns = {
                name: dataclasses.replace(each, values=each.values[at : at + most])
                for name, each in batch.columns.items()
            }
            chunks = [chunk for chunk, rows in batch.chunks for _ in range(rows)][at : at + most]
            counted = [(chunk, len(list(rows))) for chunk, rows in itertools.groupby(chunks)]
            yield dataclasses.replace(batch, rows=len(chunks), columns=columns, chunks=counted)


def test_rows_that_memory_does_not_hold_are_those_of_a_file_that_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "long.jfr"
    late = bytearray(jfr_builder.chunk(jfr_builder.usual(300)))
    late[32:40] = (jfr_builder.START_NS - 100_000_000_000).to_bytes(8, "big")  # the second chunk is the earlier one
    source.write_bytes(jfr_builder.chunk(jfr_builder.usual(300)) + late)
    import_file(source, tmp_path / "held.headway")
    batches = JfrFile.__iter__
    monkeypatch.setattr(JfrFile, "__iter__", lambda self: in_pieces(batches(self), 50))
    monkeypatch.setattr(importing, "SampleTable", partial(SampleTable, in_memory=1000))
    monkeypatch.setattr(importing, "WaitTables", partial(WaitTables, in_memory=1000))
    import_file(source, tmp_path / "spilled.headway")
    for table, rows in (("block", 1200), ("blocker", 1), ("sample", 600), ("jfr_ThreadPark", 1200)):
        in_memory, spilled = (
            pq.read_table(tmp_path / f"{name}.headway/{table}.parquet") for name in ("held", "spilled")
        )
        assert (in_memory.num_rows, spilled.equals(in_memory)) == (rows, True), table
    names = [{each.name for each in (tmp_path / f"{name}.headway").iterdir()} for name in ("held", "spilled")]
    assert names[0] == names[1]


def bytes_read() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar:")))


def test_a_file_of_short_chunks_is_read_about_once(tmp_path: Path) -> None:
    source, count = tmp_path / "chunks.jfr", 6
    chunk = jfr_builder.chunk(jfr_builder.usual(7000))
    source.write_bytes(chunk * count)
    assert len(chunk) > 500_000
    before = bytes_read()
    assert sum(batch.rows for batch in JfrFile(source)) == (4 * 7000 + 6) * count
    assert bytes_read() - before < 1.3 * len(chunk) * count


def test_samples_stand_for_the_period_that_the_file_sets(imported: Path) -> None:
    rows = (
        open_recording(imported)
        .query(
            "SELECT t.name, count(*), sum(s.weight), min(s.ns) FROM sample s JOIN thread t USING (thread_id)"
            " WHERE s.event = 'cpu' GROUP BY 1 ORDER BY 1"
        )
        .fetchall()
    )
    half = COUNT // 2
    assert rows == [
        ("main", half, half * 20_000_000, jfr_builder.START_NS + 10),
        ("worker", half, half * 20_000_000, jfr_builder.START_NS + 1010),
    ]


def test_a_number_where_a_thread_should_be_is_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, fields = jfr_builder._EVENTS[jfr_builder.PARK]
    other = [("eventThread", jfr_builder.LONG, "") if each[0] == "eventThread" else each for each in fields]
    monkeypatch.setitem(jfr_builder._EVENTS, jfr_builder.PARK, (name, other))
    source = tmp_path / "odd.jfr"
    source.write_bytes(
        jfr_builder.chunk([jfr_builder.event(jfr_builder.PARK, 1000, 600, 5_000_000_000, 1, 1, 0, 0x1000)])
    )
    import_file(source, tmp_path / "odd.headway")
    recording = open_recording(tmp_path / "odd.headway")
    assert recording.query("SELECT thread_id, java_id FROM block").fetchall() == [(None, 0)]
    assert recording.query("SELECT eventThread FROM jfr_ThreadPark").fetchall() == [(5_000_000_000,)]


def test_an_event_that_nobody_knows_is_a_table_for_query(run: Run, imported: Path) -> None:
    code, out, _ = run("query", imported, "SELECT what, amount FROM jfr_org_example_Odd WHERE amount = -7", "--json")
    assert (code, json.loads(out)) == (0, [{"what": "what 7", "amount": -7}])


def test_locks_and_profiles_work_and_say_what_they_come_from(run: Run, imported: Path) -> None:
    code, out, err = run("locks", imported, "--json")
    assert (code, len(json.loads(out))) == (0, 1)
    assert "HW221" in err
    assert "waits below 10 ms are not in" in err
    code, out, _ = run("top", imported, "--json")
    assert code == 0
    assert "org.example.Lock" in out
    assert run("threads", imported)[0] == 0
    assert run("report", imported, "-o", imported.with_suffix(".html"))[0] == 0


def test_a_file_with_a_threshold_of_zero_is_said_to_have_every_wait(run: Run, tmp_path: Path) -> None:
    settings = [jfr_builder.event(jfr_builder.SETTING, 0, jfr_builder.PARK, "threshold", "0 ms")]
    parks = [each for each in jfr_builder.usual(2) if each != jfr_builder.usual(2)[3]]
    source = tmp_path / "all.jfr"
    source.write_bytes(jfr_builder.chunk(settings + parks))
    _, _, err = run("import", source, "-o", tmp_path / "all.headway")
    assert "HW222" in err
    assert "every wait is in" in err


def test_parallelism_says_that_there_are_no_thread_states_and_what_the_load_tells(run: Run, imported: Path) -> None:
    code, _, err = run("parallelism", imported)
    assert (code, err.startswith("HW450")) == (1, True)
    assert "by 2 readings of its CPU load the JVM used 2 of 4 cores on average, 3 at most" in err
    assert run("walltime", imported, "--cores", "1,2")[2].startswith("HW450")


def test_a_compressed_file_gives_the_same(run: Run, jfr: Path, imported: Path, tmp_path: Path) -> None:
    packed = tmp_path / "app.jfr.gz"
    packed.write_bytes(gzip.compress(jfr.read_bytes()[:500]) + gzip.compress(jfr.read_bytes()[500:]))
    target = tmp_path / "packed.headway"
    assert run("import", packed, "-o", target)[0] == 0
    sql = "SELECT * FROM block ORDER BY start_ns, java_id"
    assert open_recording(target).query(sql).fetchall() == open_recording(imported).query(sql).fetchall()
    assert sorted(each.name for each in target.iterdir() if each.suffix != ".parquet") == ["manifest.json"]


def test_a_compressed_file_that_breaks_off_gives_what_was_unpacked(run: Run, jfr: Path, tmp_path: Path) -> None:
    packed = tmp_path / "app.jfr.gz"
    packed.write_bytes(gzip.compress(jfr.read_bytes())[:-30])
    target = tmp_path / "packed.headway"
    assert run("import", packed, "-o", target)[0] == 0
    manifest = open_recording(target).manifest
    assert manifest.state == "partial"
    assert any("it ends in the middle" in notice.message for notice in manifest.notices)


def test_a_cut_off_file_gives_what_is_left_and_is_marked(run: Run, jfr: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jfr"
    cut.write_bytes(jfr.read_bytes() * 2)
    whole = len(jfr.read_bytes())
    cut.write_bytes(cut.read_bytes()[: whole + whole * 3 // 4])
    target = tmp_path / "cut.headway"
    code, _, err = run("import", cut, "-o", target)
    assert (code, "HW220" in err) == (0, True)
    manifest = open_recording(target).manifest
    assert manifest.state == "partial"
    assert manifest.tables["block"].rows >= 2 * COUNT


@pytest.mark.parametrize(
    ("head", "command"), [(b"\x28\xb5\x2f\xfd", "zstd -d"), (b"\xfd7zXZ\x00", "xz -dk"), (b"BZh", "bzip2 -dk")]
)
def test_for_another_compression_the_command_that_unpacks_it_is_named(
    tmp_path: Path, run: Run, head: bytes, command: str
) -> None:
    packed = tmp_path / "a.jfr.packed"
    packed.write_bytes(head + b"....")
    _, _, err = run("import", str(packed), "-o", str(tmp_path / "a.headway"))
    assert f"next: {command} {packed}" in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jfr", b"", "HW310"),
        ("a.jfr", b"PK not a jfr file" * 20, "HW310"),
        ("a.jfr", jfr_builder.chunk(jfr_builder.usual(1), major=3), "HW311"),
        ("a.jfr", jfr_builder.chunk([]), "HW313"),
        ("a.jfr.gz", b"\x1f\x8bno gzip at all", "HW312"),
        ("a.jfr.zst", b"\x28\xb5\x2f\xfd....", "HW312"),
        ("a.bin", b"something else", "HW313"),
        ("a.collapsed", b"", "HW313"),
        ("a.collapsed", b"a;b 3\nno count\n", "HW314"),
        ("a.collapsed", b"a;b 99999999999999999999\n", "HW314"),
        ("a.collapsed", b"a;b " + b"1" * 5000, "HW314"),
        ("a.csv", b"threads,cycles\n", "HW313"),
        ("a.csv", b"threads,cycles,cycles\n1,2,3\n", "HW313"),
        ("a.csv", b"threads,cache-misses,cache_misses\n1,2,3\n", "HW313"),
        ("a.csv", b"threads,cycles\n1," + b"9" * 5000, "HW314"),
        ("a.csv", b"threads,cycles\n" + b"9" * 5000 + b",1", "HW314"),
        ("a.csv", b'threads,cycles\n1,"' + b"x" * 200_000 + b'"\n', "HW314"),
        ("a.csv", b'"' + b"x" * 200_000 + b'"\n', "HW314"),
        ("a.csv", b"threads,bogus\n1,2\n", "HW313"),
        ("a.csv", b"threads,cycles\n1,many\n", "HW314"),
        ("a.csv", b"threads,cycles\n1\n", "HW314"),
        ("a.csv", b"threads,program,cycles\n1,both,7\n", "HW314"),
    ],
)
def test_what_can_not_be_imported_is_refused_and_leaves_nothing(
    run: Run, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    source, target = tmp_path / name, tmp_path / "out.headway"
    source.write_bytes(content)
    code, out, err = run("import", source, "-o", target)
    assert (code, out, err[:5]) == (1, "", message)
    assert sorted(each.name for each in tmp_path.iterdir()) == [name]


def test_a_file_that_is_not_there_is_said_not_to_be_there(run: Run, tmp_path: Path) -> None:
    code, out, err = run("import", tmp_path / "none.jfr", "-o", tmp_path / "out.headway")
    assert (code, out, err[:5]) == (1, "", "HW315")
    assert "there is no such file" in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []
    assert run("import", tmp_path, "-o", tmp_path / "out.headway")[2].startswith("HW315")
    assert run("import", tmp_path / "none.jfr")[2].startswith("HW315")


@pytest.mark.parametrize("name", ["service.jfr", "service.jfr.gz"])
def test_a_recording_has_the_name_of_its_file_where_none_is_given(
    name: str, run: Run, jfr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = jfr.read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    code, _, err = run("import", tmp_path / name)
    assert (code, "imported service.headway" in err) == (0, True)
    assert open_recording(here / "service.headway").has("thread")


def test_a_recording_that_is_there_is_replaced_only_by_force(run: Run, jfr: Path, imported: Path) -> None:
    assert run("import", jfr, "-o", imported)[2].startswith("HW305")
    assert run("import", jfr, "-o", imported, "--force")[0] == 0


def test_a_hostile_name_stays_a_name(run: Run, tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    source, target = tmp_path / "evil.jfr", tmp_path / "evil.headway"
    source.write_bytes(jfr_builder.chunk(jfr_builder.usual(3), pools=jfr_builder.constants(evil, evil)))
    assert run("import", source, "-o", target)[0] == 0
    page = tmp_path / "evil.html"
    assert run("report", target, "-o", page)[0] == 0
    assert "<script>alert(1)" not in page.read_text()


def test_collapsed_stacks_become_a_profile(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "cpu.collapsed", tmp_path / "cpu.headway"
    source.write_text(
        "[main tid=7];java/lang/Thread.run_[j];org/example/A.work_[i] 3\n"
        "[main tid=7];java/lang/Thread.run_[j];memcpy 2\n# a remark\n\nvfs_read_[k] 1\n"
    )
    assert run("import", source, "-o", target, "--event", "cpu", "--interval", "10ms")[0] == 0
    recording = open_recording(target)
    assert recording.query("SELECT sum(weight) FROM sample WHERE event = 'cpu'").fetchall() == [(60_000_000,)]
    rows = recording.query("SELECT class_name, method, f.kind FROM frame f ORDER BY method").fetchall()
    assert rows == [
        ("", "memcpy", "native"),
        ("java.lang.Thread", "run", "java"),
        ("", "vfs_read", "kernel"),
        ("org.example.A", "work", "inlined"),
    ]
    assert recording.query("SELECT name, tid FROM thread").fetchall() == [("main", 7)]
    code, out, _ = run("top", target, "--json")
    assert (code, "org.example.A" in out) == (0, True)


def test_digits_that_no_number_has_are_part_of_a_name_and_leading_zeros_are_nothing(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "a.collapsed", tmp_path / "a.headway"
    tid = "7" * 5000
    source.write_text(f"[main tid={tid}];a {'0' * 5000}12\n[main];a {2**63 - 13}\n")
    assert run("import", source, "-o", target)[0] == 0
    recording = open_recording(target)
    assert recording.query("SELECT weight FROM sample").fetchall() == [(12,), (2**63 - 13,)]
    assert recording.query("SELECT name, tid FROM thread").fetchall() == [(f"main tid={tid}", 0), ("main", 0)]


@pytest.mark.parametrize("interval", [1, 2, 3, 7])
def test_the_largest_count_is_the_last_that_fits_64_bits_with_its_interval(
    run: Run, tmp_path: Path, interval: int
) -> None:
    source, target = tmp_path / "a.collapsed", tmp_path / "a.headway"
    most = (2**63 - 1) // interval
    for count, fits in ((most, True), (most + 1, False)):
        source.write_text(f"a;b {count}\n")
        code, _, err = run("import", source, "-o", target, "--interval", f"{interval}ns", "--force")
        assert (code == 0, "HW314" in err) == (fits, not fits)


def test_counts_whose_sum_does_not_fit_are_refused(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "a.collapsed", tmp_path / "a.headway"
    source.write_text(f"a;b {2**62}\na;c {2**62}\n")
    code, _, err = run("import", source, "-o", target)
    assert (code, err[:5]) == (1, "HW314")
    source.write_text(f"a;b {2**62}\na;c {2**62 - 1}\n")
    assert run("import", source, "-o", target)[0] == 0
    assert json.loads(run("top", target, "--json")[1])["total"] == 2**63 - 1


def test_samples_of_collapsed_stacks_are_counted_and_not_the_stacks(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "a.collapsed", tmp_path / "a.headway"
    source.write_text("[main tid=7];a;b 300\n[main tid=7];a;c 33\na;d 7\n")
    code, _, err = run("import", source, "-o", target, "--event", "cpu", "--interval", "10ms")
    assert (code, "(340 samples, 1 thread)" in err) == (0, True)
    said = json.loads(run("top", target, "--json")[1])
    assert (said["samples"], said["total"]) == (340, 340 * 10_000_000)
    # A line without a thread is of a thread that is not told: nothing says that it is a virtual one.
    assert {each["thread"]: each["samples"] for each in said["threads"]} == {"main": 333, "(threads not told)": 7}
    assert "virtual" not in run("top", target, "--tree")[1]


@pytest.mark.parametrize("event", ["native", "execution"])
def test_what_samplers_by_the_clock_tell_is_time(run: Run, tmp_path: Path, event: str) -> None:
    source, target = tmp_path / "a.collapsed", tmp_path / "a.headway"
    source.write_text("a;b 3\n")
    assert run("import", source, "-o", target, "--event", event, "--interval", "20ms")[0] == 0
    said = json.loads(run("top", target, "--json")[1])
    assert (said["event"], said["total"], said["unit"]) == (event, 60_000_000, "ns")


def test_threads_that_a_file_does_not_tell_are_called_so(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "a.collapsed", tmp_path / "a.headway"
    source.write_text("a;b 3\n")
    assert run("import", source, "-o", target)[0] == 0
    code, out, _ = run("top", target)
    assert code == 0
    assert "(threads not told)" in out
    assert "virtual" not in out


def renamed(name: str) -> str:
    """What JDK 9 and 10 called an event or a type."""
    name = name.replace("jdk.types.", "com.oracle.jfr.types.")
    return "com.oracle." + name if name.startswith("jdk.") and not name.startswith("jdk.jfr.") else name


def test_events_under_the_names_of_jdk_9_are_those_of_today(
    run: Run, imported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for every in (jfr_builder._EVENTS, jfr_builder._TYPES):
        for number, (name, fields) in every.items():
            old = [("klass", *each[1:]) if each[0] == "parkedClass" else each for each in fields]
            monkeypatch.setitem(every, number, (renamed(name), old))
    source = tmp_path / "old.jfr"
    source.write_bytes(jfr_builder.chunk(jfr_builder.usual(COUNT), major=1))
    assert b"com.oracle.jdk.ThreadPark" in source.read_bytes()
    assert run("import", source, "-o", tmp_path / "old.headway")[0] == 0
    recordings = open_recording(tmp_path / "old.headway"), open_recording(imported)
    for table in ("sample", "block", "blocker", "thread", "stack", "frame", "counter", "jvm"):
        rows = [each.query(f"SELECT * FROM {table}").fetchall() for each in recordings]
        assert rows[0] == rows[1], table


def test_samples_of_a_profiler_that_nobody_knows_are_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, fields = jfr_builder._EVENTS[jfr_builder.SAMPLE]
    monkeypatch.setitem(jfr_builder._EVENTS, jfr_builder.SAMPLE, ("datadog.ExecutionSample", fields))
    source, target = tmp_path / "dd.jfr", tmp_path / "dd.headway"
    source.write_bytes(jfr_builder.chunk(jfr_builder.usual(COUNT)))
    code, _, err = run("import", source, "-o", target)
    assert code == 0
    assert f"datadog.ExecutionSample ({COUNT})" in " ".join(err.split())
    assert "HW227" in err
    recording = open_recording(target)
    assert recording.query("SELECT count(*) FROM jfr_datadog_ExecutionSample").fetchall() == [(COUNT,)]
    assert "sample" not in recording.manifest.tables


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not a recording at all" * 10, "HW310"),
        (jfr_builder.chunk(jfr_builder.usual(1), major=3), "HW311"),
        (jfr_builder.chunk([]), "HW313"),
    ],
)
def test_errors_of_a_compressed_file_name_it_and_no_unpacked_copy(
    run: Run, tmp_path: Path, content: bytes, message: str
) -> None:
    source = tmp_path / "app.jfr.gz"
    source.write_bytes(gzip.compress(content))
    code, _, err = run("import", source, "-o", tmp_path / "a.headway")
    assert (code, err[:5]) == (1, message)
    assert str(source) in "".join(err.split())
    assert ".unpacked" not in err


def test_counters_of_another_machine_become_a_table(run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "perf.csv", tmp_path / "perf.headway"
    source.write_text(
        "threads,program,region,cycles,instructions,cache-misses\n1,sequential,,1000,2000,3\n2,parallel,kmeans,1100,,4\n"
    )
    assert run("import", source, "-o", target)[0] == 0
    rows = open_recording(target).query("SELECT * FROM region_counter ORDER BY threads").fetchall()
    assert rows == [(1, "sequential", "", 1000, 2000, 3, None), (2, "parallel", "kmeans", 1100, None, 4, None)]


HANDLER = jfr_builder.constants("libasyncProfiler.so", "WallClock::signalHandler")


def samples_of(with_stack: int, without: int, *settings: bytes) -> list[bytes]:
    stacks = [1] * with_stack + [0] * without
    return [*settings, *(jfr_builder.event(jfr_builder.SAMPLE, 1000 * i, 1, stack) for i, stack in enumerate(stacks))]


def of_profiler(engine: str) -> list[bytes]:
    return [jfr_builder.event(jfr_builder.SETTING, 0, jfr_builder.SAMPLE, name, engine) for name in ("engine", "event")]


@pytest.mark.parametrize(
    ("engine", "pools", "said"),
    [("ctimer", HANDLER, True), ("ctimer", jfr_builder.constants(), False), (None, HANDLER, False)],
)
def test_time_of_async_profilers_own_handlers_is_said(
    run: Run, tmp_path: Path, engine: str | None, pools: bytes, said: bool
) -> None:
    source = tmp_path / "a.jfr"
    settings = of_profiler(engine) if engine else []
    source.write_bytes(jfr_builder.chunk(samples_of(30, 70, *settings), pools=pools))
    target = tmp_path / "a.headway"
    assert run("import", source, "-o", target)[0] == 0
    messages = {each["id"]: each["message"] for each in json.loads((target / "manifest.json").read_text())["notices"]}
    assert ("HW225" in messages) == said
    assert not said or messages["HW225"].startswith("30 % of the CPU time")


def test_little_time_of_async_profilers_own_is_not_worth_a_message(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.jfr"
    source.write_bytes(jfr_builder.chunk(samples_of(1, 99, *of_profiler("ctimer")), pools=HANDLER))
    run("import", source, "-o", tmp_path / "a.headway")
    assert "HW225" not in (tmp_path / "a.headway" / "manifest.json").read_text()


def is_odd(event: bytes) -> bool:
    return event[5:6] == bytes([jfr_builder.ODD])  # behind its length


def tables_of(run: Run, source: Path, data: bytes) -> dict[str, int]:
    source.write_bytes(data)
    target = source.with_suffix(".headway")
    code, _, err = run("import", source, "-o", target)
    assert code == 0, err
    manifest = json.loads((target / "manifest.json").read_text())
    return {name: each["rows"] for name, each in manifest["tables"].items() if each["rows"]}


@pytest.mark.parametrize("letters", [10, 100, 2_000, 30_000, 300_000])
@pytest.mark.parametrize("first", [True, False])
def test_what_a_damaged_event_leaves_takes_nothing_else_with_it(
    run: Run, tmp_path: Path, letters: int, first: bool
) -> None:
    """Its text was in a table without rows, which looked like the end of the file."""
    whole = [each for each in jfr_builder.usual(5) if not is_odd(each)]
    expected = tables_of(run, tmp_path / "whole.jfr", jfr_builder.chunk(whole) * 2)
    damaged = jfr_builder.event(jfr_builder.ODD, 0, "x" * letters)  # its last field is missing
    chunks = [jfr_builder.chunk([damaged, *whole] if first else [*whole, damaged]), jfr_builder.chunk(whole)]
    found = tables_of(run, tmp_path / "damaged.jfr", b"".join(chunks if first else reversed(chunks)))
    assert found == expected


def test_many_damaged_events_are_passed_over_and_what_follows_is_read(run: Run, tmp_path: Path) -> None:
    """Their texts, all different, are more than waits at a time."""
    texts = [jfr_builder.event(jfr_builder.ODD, 0, f"{number:0900}") for number in range(45_000)]
    whole = [each for each in jfr_builder.usual(5) if not is_odd(each)]
    expected = tables_of(run, tmp_path / "whole.jfr", jfr_builder.chunk(whole))
    found = tables_of(run, tmp_path / "damaged.jfr", jfr_builder.chunk(texts) + jfr_builder.chunk(whole))
    assert found == expected
