"""Stack samples, from `--sample` to the tables, against what programs measured of themselves in the same run."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.profile.analysis import profile
from headway.analyses.stacks.tree import flat_rows
from headway.store import open_recording
from support.drivers.live_process import open_files
from support.drivers.recording_cli import headway, javas, manifest, notice_ids, wait_for_file
from support.drivers.workloads import compile_java

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")
BOTH = pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
JAVA_17, JAVA_25 = javas()
PROGRAMS = Path(__file__).resolve().parents[2] / "programs"
KERNEL_TIME, FAULTS = PROGRAMS / "KernelTime.java", PROGRAMS / "Faults.java"
SHORT_THREADS = PROGRAMS / "ShortThreads.java"
FAILURES = {"HW211", "HW212", "HW214", "HW215", "HW216"}


@contextmanager
def running(words: list[str], output: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process to attach to, which has printed something; killed at the end if it is still there."""
    with open(output, "wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_for_file(output)
        yield process
    finally:
        process.kill()
        process.wait()


def program(java: str, workloads: Path, name: str, *arguments: object, jvm: tuple[str, ...] = ()) -> list[str]:
    return [java, *jvm, "-cp", str(workloads), f"headway.workloads.{name}", *map(str, arguments)]


def query(recording: Path, sql: str) -> list[tuple[Any, ...]]:
    opened = open_recording(recording)
    try:
        return opened.query(sql).fetchall()
    finally:
        opened.close()


def single(recording: Path, sql: str) -> Any:
    ((value,),) = query(recording, sql)
    return value


# --- the figures ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def sampled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, workloads: Path) -> Any:
    """A recording of Sampled with all events, and the lines in which the program says what it did."""
    recording = tmp_path_factory.mktemp("sampled") / "r.headway"
    words = program(request.param, workloads, "Sampled", 1200)
    done = headway("record", "--sample", "cpu:4ms,alloc,wall:20ms", "--locks", "-o", recording, "--", *words)
    assert done.returncode == 0, done.stderr
    return recording, [json.loads(line) for line in done.stdout.splitlines()]


def test_cpu_samples_of_a_thread_sum_up_to_what_it_executed(sampled: Any) -> None:
    recording, _ = sampled
    rows = query(
        recording,
        "SELECT name, exec_ns, (SELECT sum(weight) FROM sample s WHERE s.thread_id = t.thread_id AND event = 'cpu') "
        "FROM thread t WHERE name LIKE 'split-%'",
    )
    assert len(rows) == 2
    for name, exec_ns, weight in rows:
        # What follows the last sample is in none: a timer's period and some ticks of the kernel.
        assert 0.9 * exec_ns <= weight <= exec_ns, name


def test_cpu_samples_divide_a_thread_between_its_methods_as_its_cpu_clock_does(sampled: Any) -> None:
    recording, lines = sampled
    for line in (line for line in lines if line["event"] == "split"):
        rows = query(
            recording,
            "SELECT method, sum(weight), sum(weight * weight::DOUBLE) FROM sample JOIN thread USING (thread_id) "
            "JOIN stack USING (stack_id) JOIN frame USING (frame_id) WHERE event = 'cpu' "
            f"AND name = '{line['thread']}' AND class_name = 'headway.workloads.Sampled' AND method IN ('alpha', 'beta') "
            "GROUP BY method",
        )
        weights = {method: weight for method, weight, _ in rows}
        total, squares = sum(weights.values()), sum(square for _, _, square in rows)
        expected = line["alpha_ns"] / (line["alpha_ns"] + line["beta_ns"])
        # Five standard deviations of a share that is estimated from so many independent samples.
        tolerance = 5 * math.sqrt(expected * (1 - expected) * squares) / total
        assert weights["alpha"] / total == pytest.approx(expected, abs=tolerance), line["thread"]


@BOTH
def test_a_profile_of_threads_shorter_than_the_period_adds_up_to_their_cpu_time(tmp_path: Path, java: str) -> None:
    compile_java(tmp_path, SHORT_THREADS)
    recording = tmp_path / "r.headway"
    words = [java, "-cp", tmp_path, "ShortThreads", 200, 1200, 5]  # 6 ms each
    done = headway("record", "--sample", "cpu", "-o", recording, "--", *words)
    assert done.returncode == 0, done.stderr
    used_ns = int(done.stdout.split()[-1])
    exact = dict(
        query(
            recording,
            "SELECT thread_id, sum(s.exec_ns) FROM thread_state s JOIN thread USING (thread_id) "
            "WHERE state = 'running' AND kind <> 'headway' GROUP BY 1 HAVING sum(s.exec_ns) > 0",
        )
    )
    opened = open_recording(recording)
    whole = profile(opened, "cpu")
    assert {each.thread_id: each.weight for each in whole.threads} == exact
    assert whole.total == int(whole.tree.self_weight.sum()) == sum(exact.values())
    short = sum(
        row.self_weight
        for row in flat_rows(whole.tree, whole.frames)
        if "not sampled: thread Thread-" in row.frame.text
    )
    assert 0.9 * used_ns <= short <= 1.1 * used_ns + 200_000_000  # a thread's start and end are not in its own clock
    assert "HW449" in {notice.id for notice in whole.notices}
    borders = [0, opened.wall_ns * 3 // 10, opened.wall_ns // 2, opened.wall_ns]
    parts = [profile(opened, "cpu", window=window) for window in itertools.pairwise(borders)]
    assert sum(part.total for part in parts) == whole.total
    for thread_id, ns in exact.items():
        assert ns == sum(each.weight for part in parts for each in part.threads if each.thread_id == thread_id)


def test_alloc_samples_sum_up_to_what_the_jvm_counted(sampled: Any) -> None:
    recording, lines = sampled
    (allocated,) = (line["bytes"] for line in lines if line["event"] == "allocated")
    sql = "FROM sample JOIN thread USING (thread_id) WHERE event = 'alloc' AND name = 'allocator'"
    count, weight = query(recording, f"SELECT count(*), sum(weight) {sql}")[0]
    # The JVM samples at exponentially distributed distances: so many of them vary by a share of 1 / sqrt(count).
    assert weight == pytest.approx(allocated, rel=5 / math.sqrt(count))
    at = single(
        recording,
        "SELECT count(*) FROM sample JOIN thread USING (thread_id) JOIN stack USING (stack_id) JOIN frame f USING (frame_id) "
        "WHERE event = 'alloc' AND name = 'allocator' AND f.method = 'allocate' AND depth = 0",
    )
    assert at >= 0.95 * count


def test_wall_samples_agree_with_the_exact_states_of_the_threads(sampled: Any) -> None:
    recording, lines = sampled
    (napped,) = (line for line in lines if line["event"] == "napped")
    states = dict(
        query(
            recording,
            "SELECT s.state, sum(weight) FROM sample s JOIN thread USING (thread_id) "
            f"WHERE event = 'wall' AND name = 'napper' AND ns BETWEEN {napped['begin_ns']} AND {napped['end_ns']} GROUP BY ALL",
        )
    )
    nap = napped["end_ns"] - napped["begin_ns"]
    assert 0.7 * nap <= sum(states.values()) <= 1.1 * nap  # the first one comes when the sampler has a CPU
    assert states["sleeping"] >= 0.95 * sum(states.values())
    for name in ("split-0", "split-1"):
        running = single(
            recording,
            "SELECT sum(weight) FILTER (s.state = 'running') / sum(weight) FROM sample s JOIN thread USING (thread_id) "
            f"WHERE event = 'wall' AND name = '{name}'",
        )
        exact = single(
            recording,
            "SELECT sum(dur_ns) FILTER (state IN ('running', 'runnable')) / sum(dur_ns) FROM thread_state "
            f"JOIN thread USING (thread_id) WHERE name = '{name}'",
        )
        assert running == pytest.approx(exact, abs=0.2)


def test_nothing_of_headway_is_in_the_samples(sampled: Any) -> None:
    recording, _ = sampled
    assert (
        single(recording, "SELECT count(*) FROM thread WHERE kind = 'headway'") >= 2
    )  # they are there, and are told apart
    own = "SELECT count(*) FROM sample JOIN thread USING (thread_id) WHERE kind = 'headway'"
    assert single(recording, own) == 0
    assert (
        query(recording, "SELECT * FROM frame WHERE class_name ILIKE '%libheadway%' OR class_name LIKE '%HeadwayHook%'")
        == []
    )


def test_samples_share_the_tables_of_stacks_with_locks(sampled: Any) -> None:
    recording, _ = sampled
    assert single(recording, "SELECT count(*) FROM block WHERE stack_id IS NOT NULL") > 0
    for table, key in (("sample", "stack_id"), ("block", "stack_id")):
        lost = f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT stack_id FROM stack)"
        assert single(recording, lost) == 0, table
    assert single(recording, "SELECT count(*) FROM stack WHERE frame_id NOT IN (SELECT frame_id FROM frame)") == 0
    assert query(recording, "SELECT stack_id, depth FROM stack GROUP BY ALL HAVING count(*) > 1") == []
    ids = query(
        recording, "SELECT count(*), max(frame_id) + 1, count(DISTINCT (class_name, method, line, kind)) FROM frame"
    )
    assert len(set(ids[0])) == 1


def test_the_manifest_says_how_it_was_sampled(sampled: Any) -> None:
    recording, _ = sampled
    facts = manifest(recording)["sampling"]
    assert facts["events"] == ["cpu", "alloc", "wall"]
    assert facts["interval"] == {"cpu": 4_000_000, "alloc": 1 << 19, "wall": 20_000_000}
    assert (facts["engine"], facts["interval_ns"]) == ("ctimer", 4_000_000)
    assert facts["samples"] == single(recording, "SELECT count(*) FROM sample")
    # The sampler skips what comes while too many threads are held up in its handler.
    assert facts["lost"] < 0.1 * facts["samples"]
    assert bool({"HW213", "HW233"} & notice_ids(recording)) == (facts["lost"] > 0)
    assert not notice_ids(recording) & FAILURES


@BOTH
def test_a_timer_of_perf_events_samples_cpu_time_with_the_frames_of_the_kernel(tmp_path: Path, java: str) -> None:
    compile_java(tmp_path, KERNEL_TIME)
    recording = tmp_path / "r.headway"
    done = headway("run", "--sample", "cpu-clock:2ms", "-o", recording, "--", java, "-cp", tmp_path, "KernelTime")
    assert done.returncode == 0, done.stderr
    assert not notice_ids(recording) & FAILURES
    assert manifest(recording)["sampling"]["engine"] == "perf_events"
    assert query(recording, "SELECT DISTINCT event FROM sample") == [("cpu",)]
    kinds = query(
        recording, "SELECT DISTINCT f.kind FROM sample JOIN stack USING (stack_id) JOIN frame f USING (frame_id)"
    )
    assert {("kernel",), ("native",), ("jvm",), ("java",)} <= set(kinds)
    in_kernel = dict(
        query(
            recording,
            "SELECT t.name, avg((f.kind = 'kernel')::INT) FROM sample JOIN thread t USING (thread_id) "
            "JOIN stack USING (stack_id) JOIN frame f USING (frame_id) WHERE depth = 0 GROUP BY 1",
        )
    )
    assert in_kernel["reader"] > 0.2 > in_kernel["computer"]
    for name, exec_ns, weight in query(
        recording,
        "SELECT name, exec_ns, (SELECT sum(weight) FROM sample s WHERE s.thread_id = t.thread_id) FROM thread t "
        "WHERE name IN ('reader', 'computer')",
    ):
        assert 0.9 * exec_ns <= weight <= exec_ns, name
    for words in ([], ["--event", "cpu"], ["--event", "cpu-clock"]):
        said = headway("top", recording, *words, "--json")
        assert said.returncode == 0, said.stderr
        found = json.loads(said.stdout)
        assert (found["event"], found["unit"]) == ("cpu", "ns")
        assert "HW447" not in {each["id"] for each in found["warnings"]}


@BOTH
def test_an_event_that_the_kernel_counts_is_sampled_and_drawn(tmp_path: Path, java: str) -> None:
    compile_java(tmp_path, FAULTS)
    recording, every = tmp_path / "r.headway", 10
    words = ("--sample", f"page-faults:{every}", "-o", recording, "--", java, "-cp", tmp_path, "Faults", 120)
    done = headway("run", *words)
    assert done.returncode == 0, done.stderr
    assert not notice_ids(recording) & FAILURES
    counted = json.loads(done.stdout.splitlines()[0])["faults"]
    weights = dict(
        query(
            recording,
            "WITH filling AS (SELECT DISTINCT stack_id FROM stack JOIN frame f USING (frame_id) WHERE f.method = 'fill') "
            "SELECT name, sum(weight) FROM sample JOIN filling USING (stack_id) JOIN thread USING (thread_id) "
            "WHERE event = 'page-faults' GROUP BY 1",
        )
    )
    assert counted > 30_000
    assert 0.97 * counted <= weights.pop("toucher") <= counted + every
    assert not weights
    said = headway("top", recording, "--event", "page-faults", "--json")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    every_one = single(
        recording, "SELECT sum(weight) FROM sample JOIN thread USING (thread_id) WHERE kind <> 'headway'"
    )
    assert (found["unit"], found["total"]) == ("count", every_one)
    drawn = headway("flame", recording, "--event", "page-faults", "-o", tmp_path / "faults.html")
    assert drawn.returncode == 0, drawn.stderr
    assert "page-faults" in (tmp_path / "faults.html").read_text()


# --- into every JVM, and out again -------------------------------------------------------------------------------------


def test_each_jvm_of_a_tree_has_its_own_samples(tmp_path: Path, workloads: Path) -> None:
    recording = tmp_path / "r.headway"
    done = headway(
        "record", "--sample", "wall:5ms", "-o", recording, "--", *program(JAVA_25, workloads, "ChildJvm", 300, "1")
    )
    assert done.returncode == 0, done.stderr
    (child,) = (json.loads(line) for line in done.stdout.splitlines() if '"child"' in line)
    pids = {pid for (pid,) in query(recording, "SELECT DISTINCT pid FROM sample JOIN thread USING (thread_id)")}
    assert pids == {child["pid"], child["child_pid"]}


@BOTH
def test_a_running_jvm_is_sampled_and_left_as_it_was(tmp_path: Path, workloads: Path, java: str) -> None:
    words = program(java, workloads, "Sleeper", 600, 2, 1)
    with running(words, tmp_path / "out") as jvm:
        for number in (1, 2):  # the second one finds the library loaded
            recording = tmp_path / f"{number}.headway"
            done = headway("record", "--sample", "cpu,wall:5ms", "-o", recording, "--pid", jvm.pid, "--duration", "1s")
            assert done.returncode == 0, done.stderr
            sleepers = (
                "SELECT count(DISTINCT name) FROM sample JOIN thread USING (thread_id) WHERE name LIKE 'sleeper-%'"
            )
            assert single(recording, sleepers) == 2
            assert not notice_ids(recording) & FAILURES
            assert not any("sample-" in target for target in open_files(jvm.pid))
        assert jvm.poll() is None
    assert [json.loads(line)["event"] for line in (tmp_path / "out").read_text().splitlines()] == ["ready"]


def test_sampling_ends_with_a_recording_that_is_shorter_than_the_program(tmp_path: Path, workloads: Path) -> None:
    for seconds in (1, 5, 25):  # until the JVM has come up within the recording
        recording = tmp_path / f"{seconds}.headway"
        words = program(JAVA_25, workloads, "Sleeper", seconds + 2)
        done = headway("record", "--sample", "wall:5ms", "--duration", f"{seconds}s", "-o", recording, "--", *words)
        assert done.returncode == 0, done.stderr
        assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["ready", "done"]
        if manifest(recording)["sampling"]["samples"]:
            break
    assert not notice_ids(recording) & FAILURES
    window = manifest(recording)["window"]
    first, last = query(recording, "SELECT min(ns), max(ns) FROM sample")[0]
    assert window["start_ns"] <= first < last <= window["end_ns"]


def test_virtual_threads_are_sampled_on_their_carriers(tmp_path: Path, workloads: Path) -> None:
    recording = tmp_path / "r.headway"
    words = program(JAVA_25, workloads, "VirtualThreads", 40, 5, 4000)
    done = headway("record", "--sample", "cpu:4ms", "-o", recording, "--", *words)
    assert done.returncode == 0, done.stderr
    rows = query(
        recording,
        "SELECT t.kind, f.method = 'nap' FROM sample JOIN stack USING (stack_id) JOIN frame f USING (frame_id) "
        "JOIN thread t USING (thread_id) WHERE f.class_name = 'headway.workloads.VirtualThreads' AND method = 'nap' GROUP BY ALL",
    )
    assert rows == [("carrier", True)]
    warnings = {
        each["id"]: each["message"] for each in json.loads(headway("top", recording, "--json").stdout)["warnings"]
    }
    # Of what each thread executed the share of its samples that are virtual threads'; a thread without samples has none.
    theirs, every = query(
        recording,
        "WITH virtual AS (SELECT DISTINCT stack_id FROM stack JOIN frame f USING (frame_id) "
        "WHERE class_name = 'java.lang.VirtualThread' AND method = 'run' OR method LIKE '%return%arrier'), "
        "share AS (SELECT thread_id, sum(weight) FILTER (WHERE stack_id IN (FROM virtual)) / sum(weight) AS part "
        "FROM sample WHERE event = 'cpu' GROUP BY thread_id), "
        "executed AS (SELECT thread_id, sum(thread_state.exec_ns) AS ns FROM thread_state JOIN thread USING (thread_id) "
        "WHERE state = 'running' AND kind <> 'headway' GROUP BY thread_id) "
        "SELECT sum(ns * coalesce(part, 0)), sum(ns) FROM executed LEFT JOIN share USING (thread_id)",
    )[0]
    stated = int(warnings["HW448"].partition("%")[0]) / 100
    assert stated == pytest.approx(theirs / every, abs=0.02), warnings


# --- what goes wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("java", "how"),
    [(JAVA_17, ("hooks", 3)), (JAVA_25, ("halt", 4)), (JAVA_25, ("exception",))],
    ids=["jdk17-hooks", "jdk25-halt", "jdk25-exception"],
)
def test_output_and_exit_code_are_the_programs_own(
    tmp_path: Path, workloads: Path, java: str, how: tuple[object, ...]
) -> None:
    words = program(java, workloads, "Exit", *how)
    plain = subprocess.run(words, capture_output=True, text=True, check=False)
    done = headway("record", "--sample", "cpu,alloc,wall", "-o", tmp_path / "r.headway", "--", *words)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("headway: ", "  next: "))]
    assert lines == plain.stderr.splitlines()


def test_the_samples_of_a_killed_jvm_end_before_it_and_the_recording_says_so(tmp_path: Path, workloads: Path) -> None:
    recording = tmp_path / "r.headway"
    words = program(JAVA_25, workloads, "Exit", "signal", "KILL")
    done = headway("record", "--sample", "cpu,wall", "-o", recording, "--", *words)
    assert done.returncode == 137, done.stderr
    assert "HW212" in notice_ids(recording)
    assert single(recording, "SELECT count(*) FROM sample") == 0  # the first chunk takes ten seconds
    assert single(recording, "SELECT count(*) FROM thread WHERE name = 'main'") == 1  # the rest is whole


def test_another_async_profiler_in_the_jvm_keeps_it_to_itself(tmp_path: Path, workloads: Path) -> None:
    library = tmp_path / "libasyncProfiler.so"
    with zipfile.ZipFile(workloads.with_name("async-profiler.jar")) as packed:
        library.write_bytes(packed.read("linux-x64/libasyncProfiler.so"))
    other = f"-agentpath:{library}=start,event=ctimer,jfr,file={tmp_path}/out.jfr,log={tmp_path}/log"
    words = program(JAVA_25, workloads, "Exit", "code", 5, jvm=(other,))
    done = headway("record", "--sample", "cpu", "-o", tmp_path / "r.headway", "--", *words)
    assert done.returncode == 5, done.stderr
    (notice,) = (each for each in manifest(tmp_path / "r.headway")["notices"] if each["id"] == "HW211")
    assert "another async-profiler" in notice["message"]
    assert (tmp_path / "out.jfr").stat().st_size > 0


def test_a_jvm_that_checks_jni_calls_is_not_sampled_and_prints_nothing_about_it(
    tmp_path: Path, workloads: Path
) -> None:
    words = program(JAVA_17, workloads, "Exit", "code", 0, jvm=("-Xcheck:jni",))
    plain = subprocess.run(words, capture_output=True, text=True, check=True)
    done = headway("record", "--sample", "cpu", "-o", tmp_path / "r.headway", "--", *words)
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    (notice,) = (each for each in manifest(tmp_path / "r.headway")["notices"] if each["id"] == "HW211")
    assert "-Xcheck:jni" in notice["message"]


def test_an_event_that_the_machine_does_not_count_is_left_out_and_told(tmp_path: Path, workloads: Path) -> None:
    from headway import _native

    if not _native.probe_hardware_counter()["errno"]:
        pytest.skip("this machine has a PMU")
    recording = tmp_path / "r.headway"
    words = program(JAVA_17, workloads, "ForkJoin")
    done = headway("record", "--sample", "cycles,wall:1ms", "-o", recording, "--", *words)
    assert done.returncode == 0, done.stderr
    assert "HW067" in notice_ids(recording)
    assert manifest(recording)["sampling"]["events"] == ["wall"]
    assert query(recording, "SELECT DISTINCT event FROM sample") == [("wall",)]


def test_a_program_without_a_jvm_has_no_samples_and_says_so(tmp_path: Path) -> None:
    done = headway("record", "--sample", "cpu", "-o", tmp_path / "r.headway", "--", "true")
    assert done.returncode == 0, done.stderr
    assert "HW215" in notice_ids(tmp_path / "r.headway")


def test_an_event_that_there_is_not_is_refused_before_the_program_starts(tmp_path: Path) -> None:
    done = headway("record", "--sample", "bogus", "-o", tmp_path / "r.headway", "--", "touch", tmp_path / "started")
    assert done.returncode == 1
    assert done.stderr.startswith("HW068: ")
    assert not list(tmp_path.iterdir())


def test_samples_need_the_agent_and_events_that_there_are(tmp_path: Path) -> None:
    for words in (
        ["--no-agent", "--sample", "cpu"],
        ["--sample", "cpu:3 bananas"],
        ["--sample", "lock"],
        ["--sample", ""],
    ):
        done = headway("record", *words, "-o", tmp_path / "r.headway", "--", "true")
        assert done.returncode == 2, words
        assert "--sample" in done.stderr
