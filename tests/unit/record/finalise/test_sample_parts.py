"""What --sample asks for, and what of a sampler's files and figures can be checked without a JVM."""

from __future__ import annotations

import errno
import fcntl
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.errors.message import NOTE
from headway.model.native_part import build_command
from headway.record.finalise.samples.sample_files import (
    FileSamples,
    FileStacks,
    SampleFile,
    _without_own,
    read_sample_file,
)
from headway.record.finalise.samples.sample_tables import SampleTables
from headway.record.finalise.samples.sample_weights import ExecutedAt, until_next
from headway.record.finalise.threads.thread_lives import last_before
from headway.record.request import sampling
from headway.record.request.sampling import SampleOptions, parse, usable
from headway.store.packing import TICK_NS

# --- what is asked for ---------------------------------------------------------------------------------------------------


def test_events_have_intervals_of_their_own() -> None:
    asked = parse("alloc,cpu,wall:20ms")
    assert [(event.name, event.interval) for event in asked.events] == [
        ("cpu", 10_000_000),
        ("alloc", 1 << 19),
        ("wall", 20_000_000),
    ]
    assert asked.arguments == "event=ctimer,interval=10000000,and,alloc=524288,wall=20000000"
    assert asked.as_json()["interval_ns"] == 10_000_000


@pytest.mark.parametrize(
    ("text", "name", "interval"),
    [
        ("cpu:500us", "cpu", 500_000),
        ("alloc:2m", "alloc", 2 << 20),
        ("alloc:4096", "alloc", 4096),
        ("cycles:5m", "cycles", 5_000_000),
        ("sched:sched_switch", "sched:sched_switch", 1000),
        ("sched:sched_switch:7", "sched:sched_switch", 7),
        ("cpu-clock:1s", "cpu-clock", 1_000_000_000),
    ],
)
def test_an_interval_is_a_time_or_bytes_or_a_number_of_events(text: str, name: str, interval: int) -> None:
    (event,) = parse(text).events
    assert (event.name, event.interval) == (name, interval)


@pytest.mark.parametrize(
    "text", ["", "cpu,", "cpu,cpu", "cpu:", "cpu:10", "cpu:10 ms", "cpu:1us", "alloc:10ms", "wall:1k", "cycles:0", "lock",
             "task-clock", "a.b", "cpu;x", "cpu:99999999999999999999s", "cpu,file=/etc/passwd"],
)  # fmt: skip
def test_what_is_no_event_or_no_interval_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(text)


@pytest.mark.parametrize("name", ["bogus", "cycle", "cpu,bogus:5", "nothing/here/", "sched:sched_swich"])
def test_an_event_that_there_is_not_is_refused(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sched" / "sched_switch").mkdir(parents=True)
    monkeypatch.setattr(sampling, "_TRACING", (tmp_path,))
    monkeypatch.setattr(sampling, "_DEVICES", tmp_path)
    with pytest.raises(HeadwayError) as error:
        parse(name)
    assert error.value.notice.id == "HW068"


@pytest.mark.parametrize("name", ["ref-cycles", "r1a8", "kprobe:do_sys_openat2", "sched:sched_switch"])
def test_an_event_that_there_may_be_is_left_to_the_sampler(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sched" / "sched_switch").mkdir(parents=True)
    monkeypatch.setattr(sampling, "_TRACING", (tmp_path,))
    assert parse(name).events[0].name == name


def test_an_event_that_a_breakpoint_takes_is_refused_unless_it_may_end_the_program() -> None:
    with pytest.raises(HeadwayError) as error:
        parse("mem:malloc,wall")
    assert error.value.notice.id == "HW124"
    assert "mem:malloc" in error.value.notice.message
    assert parse("mem:malloc,wall", allow_breakpoints=True).events[0].name == "mem:malloc"


@pytest.mark.parametrize("name", [name for name in sampling.KNOWN if name not in ("alloc", "wall")])
def test_every_event_that_is_offered_is_one_of_async_profiler(name: str) -> None:
    path = sampling.library()
    if path is None or not path.exists():
        pytest.skip("async-profiler is not built in for this processor")
    option = re.search("event=([^,]+)", parse(name).arguments)
    assert option is not None
    assert option[1].encode() + b"\0" in path.read_bytes()  # a linker keeps "cycles" as the end of "ref-cycles"


@given(st.text(max_size=30))
def test_any_text_is_parsed_or_refused_with_a_reason(text: str) -> None:
    try:
        options = parse(text)
    except (ValueError, HeadwayError):
        return
    # Nothing but the events themselves gets into async-profiler's arguments.
    words = options.arguments.split(",")
    assert all(word == "and" or word.partition("=")[0] in ("event", "interval", "alloc", "wall") for word in words)


def test_one_event_of_the_cpu_at_a_time_is_sampled() -> None:
    sampler, notices = usable(parse("cpu,page-faults,wall"))
    assert sampler is not None
    assert [event.name for event in sampler.options.events] == ["cpu", "wall"]
    assert [notice.id for notice in notices] == ["HW067"]


def test_without_the_library_nothing_is_sampled_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for path, remedy in ((tmp_path / "none.so", build_command()), (None, "record without --sample")):
        monkeypatch.setattr(sampling, "library", lambda path=path: path)
        sampler, notices = usable(parse("cpu"))
        assert sampler is None
        assert [(notice.id, notice.remedy) for notice in notices] == [("HW066", remedy)]


def test_the_libraries_that_setup_puts_here_are_found() -> None:
    path = sampling.library()
    assert path is not None
    assert path.exists(), "build first: make build"
    assert (path.parent.parent / "LICENSE").read_text().count("Apache License") >= 1


# --- the files of a sampler ------------------------------------------------------------------------------------------------


def test_a_jvm_that_still_samples_is_waited_for(tmp_path: Path) -> None:
    notes = tmp_path / "sample-1.txt"
    notes.write_text("started_ns 1\n")
    assert not sampling._is_at_work(notes)
    with notes.open() as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        assert sampling._is_at_work(notes)
    sampling.wait_until_complete(tmp_path)


def test_a_sampler_that_could_not_begin_says_why(tmp_path: Path) -> None:
    notes = tmp_path / "sample-1.txt"
    notes.write_text("event_problem Perf events unavailable\nproblem no such thing\n")
    file = read_sample_file([notes], {"events": ["cycles"]}, 0)
    assert (file.problem, file.event_problem, file.engine) == ("no such thing", "Perf events unavailable", None)
    assert len(file.samples.ns) == 0


def test_a_jvm_that_was_killed_in_its_first_chunk_has_lost_all_since_the_start(tmp_path: Path) -> None:
    notes, part = tmp_path / "sample-1.txt", tmp_path / "sample-1.jfr.part"
    notes.write_text("started_ns 4711\n")
    for content in (b"", b"FLR\0" + bytes(64)):
        part.write_bytes(content)
        assert read_sample_file([notes, part], {"events": ["cpu"]}, 0).lost_from_ns == 4711


def test_a_file_that_is_no_recording_is_named_damaged(tmp_path: Path) -> None:
    notes, whole = tmp_path / "sample-1.txt", tmp_path / "sample-1.jfr"
    notes.write_text("started_ns 1\nstopped_ns 2\n")
    whole.write_bytes(b"not a recording" * 100)
    file = read_sample_file([notes, whole], {"events": ["cpu"]}, 0)
    assert file.damage
    assert file.lost_from_ns is None


@pytest.mark.parametrize(
    ("skipped", "total", "messages"),
    [
        (0, 373, []),
        (1, 373, ["HW233: JVM 7 skipped 1 of 373 stack samples, because too many came at once: less than 1%"]),
        (3, 300, ["HW213: JVM 7 skipped 3 of 300 stack samples, because too many came at once"]),
        (1, 1, ["HW213: JVM 7 skipped 1 of 1 stack sample, because too many came at once"]),
    ],
)
def test_samples_that_were_skipped_are_a_note_below_one_percent(skipped: int, total: int, messages: list[str]) -> None:
    stacks: Any = None
    file = SampleFile(FileSamples(), stacks, skipped=skipped, total=total)
    threads: Any = SimpleNamespace(pid_of_agent=[7])
    tables = SampleTables(threads, [{}], (0, 1), {"events": ["cpu"]}, {0: file})
    found = tables.notices()
    assert [f"{notice.id}: {notice.message}" for notice in found] == messages
    assert all((notice.level == NOTE) == (notice.id == "HW233") for notice in found)


@pytest.mark.parametrize(("lost_from_ns", "ids"), [(None, []), (100, ["HW212"]), (101, [])])
def test_samples_lost_after_the_end_of_the_recording_are_no_loss(lost_from_ns: int | None, ids: list[str]) -> None:
    stacks: Any = None
    file = SampleFile(FileSamples(), stacks, lost_from_ns=lost_from_ns)
    threads: Any = SimpleNamespace(pid_of_agent=[7])
    tables = SampleTables(threads, [{}], (0, 100), {"events": ["cpu"]}, {0: file})
    assert [notice.id for notice in tables.notices()] == ids


def test_frames_of_headway_are_left_out_and_depths_close_up() -> None:
    import pyarrow as pa

    frames = pa.table(
        {
            "class_name": ["jdk.internal.misc.HeadwayHook0", "a.App", "libheadway_agent.so", "libjvm.so", "libc.so.6"],
            "method": ["park", "run", "f", "g", "__restore_rt"],
            "line": pa.array([None] * 5, pa.int32()),
            "kind": ["java", "java", "native", "jvm", "native"],
        }
    )
    part = {
        "stack_id": np.array([0, 0, 0, 1, 1, 1, 2]),
        "depth": np.array([0, 1, 2, 0, 1, 2, 0]),
        "frame_id": np.array([2, 0, 1, 1, 0, 3, 4]),
        "is_cut": np.zeros(7),
    }
    stacks: FileStacks = _without_own([part], frames, 10)
    rows = list(zip(stacks.stack_id.tolist(), stacks.depth.tolist(), stacks.frame.tolist(), strict=True))
    assert rows == [(10, 0, 1), (11, 0, 1), (11, 1, 3)]
    assert stacks.count == 3


# --- whose a sample is, and what it stands for -----------------------------------------------------------------------------

_LIVES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 60)), unique=True, max_size=8)
_SEEN = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 70)), max_size=20)


@given(_LIVES, _SEEN)
def test_a_sample_belongs_to_the_last_life_of_its_tid_that_had_begun(
    lives: list[tuple[int, int]], seen: list[tuple[int, int]]
) -> None:
    lives.sort()
    seen.sort()
    tid, start = np.array(lives, dtype=np.int64).reshape(-1, 2).T
    tids, ns = np.array(seen, dtype=np.int64).reshape(-1, 2).T
    found = last_before(tid, start, tids, ns)
    for (wanted, at), index in zip(seen, found.tolist(), strict=True):
        begun = [i for i, (life, since) in enumerate(lives) if life == wanted and since <= at]
        assert index == begun[-1] if begun else index < 0 or lives[index][0] != wanted


@st.composite
def _schedules(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, int]], list[int]]:
    """Rows (thread, start, running, stolen) in ticks, that do not overlap within a thread; samples; where batches end."""
    rows = []
    for thread in range(draw(st.integers(1, 3))):
        at = 0
        for _ in range(draw(st.integers(0, 6))):
            start = at + draw(st.integers(1, 9))
            running = draw(st.integers(1, 20))
            rows.append((thread, start, running, draw(st.integers(0, running))))
            at = start + running
    rows.sort(key=lambda row: row[1] + row[2])
    samples = sorted(draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 200)), max_size=12)))
    return rows, samples, sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))


@given(_schedules())
def test_a_cpu_sample_stands_for_what_its_thread_executed_since_its_last_one(
    case: tuple[list[tuple[int, int, int, int]], list[tuple[int, int]], list[int]],
) -> None:
    rows, seen, cuts = case
    count = len(seen)
    samples = FileSamples(
        thread=np.array([thread for thread, _ in seen], dtype=np.int64),
        ns=np.array([at * TICK_NS for _, at in seen], dtype=np.int64),
        weight=np.full(count, 7_000),
        stack=np.zeros(count, dtype=np.int64),
        event=np.zeros(count, dtype=np.int64),
        state=np.zeros(count, dtype=np.int64),
        events=["cpu"],
    )
    executed = ExecutedAt(samples, np.ones(count, dtype=np.bool_), 0)
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        part = np.array(rows[begin:end], dtype=np.int64).reshape(-1, 4)
        executed.add(
            {
                "thread_id": part[:, 0].astype(np.int32),
                "end_ticks": part[:, 1] + part[:, 2],
                "running_ticks": part[:, 2],
                "stolen_ticks": part[:, 3],
            }
        )
    weights = executed.weights(samples.weight)

    def by_hand(thread: int, at: int) -> float | None:
        """Ticks that the thread had executed at a moment inside one of its running parts."""
        before = 0.0
        for owner, start, running, stolen in rows:
            if owner == thread and start <= at <= start + running:
                return before + (at - start) / running * (running - stolen)
            if owner == thread and start + running < at:
                before += running - stolen
        return None

    known = {thread for thread, at in seen if by_hand(thread, at) is not None}
    last: dict[int, float] = {}
    for (thread, at), weight in zip(seen, weights.tolist(), strict=True):
        here = by_hand(thread, at)
        if here is None:
            assert weight == (0 if thread in known else 7_000)
        else:
            assert weight == pytest.approx((here - last.get(thread, 0)) * TICK_NS, abs=1)
            last[thread] = here


def test_a_wall_sample_stands_for_the_time_until_the_next_of_its_thread() -> None:
    samples = FileSamples(
        thread=np.array([-1, -1, 3, 3, 3, 4]),
        ns=np.array([0, 9, 10, 15, 40, 12]),
        weight=np.full(6, 5),
        stack=np.zeros(6, dtype=np.int64),
        event=np.array([0, 0, 0, 1, 0, 0]),
        state=np.zeros(6, dtype=np.int64),
        events=["wall", "cpu"],
    )
    assert until_next(samples, samples.weight).tolist() == [5, 5, 30, 5, 5, 5]


def test_the_agent_is_told_what_to_sample_without_anything_that_its_options_could_be_cut_at() -> None:
    from headway.record.request.jvm_options import agent_options
    from headway.record.request.sampling import Sampler

    options = agent_options(Path("/spool"), sampler=Sampler(Path("/a,b/lib=x.so"), parse("cpu,wall")))
    keys = [part.partition("=")[0] for part in options.split(",")]
    assert keys == ["spool", "sampler", "sample"]
    assert options.count("=") == 3


def test_an_event_counted_by_hardware_is_named_with_what_is_missing() -> None:
    from headway import _native

    number = _native.probe_hardware_counter()["errno"]
    sampler, notices = usable(SampleOptions(parse("cycles,wall").events))
    assert sampler is not None
    assert {event.name for event in sampler.options.events} == ({"cycles", "wall"} if number == 0 else {"wall"})
    if number in (errno.ENOENT, errno.EOPNOTSUPP):
        assert "PMU" in notices[0].message
