"""Locks in the reports: the page's values and Perfetto's tracks say what the tables and the command say."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from headway.analyses.locks.analysis import locks
from headway.analyses.locks.timeline import waiters_over_time
from headway.report.export import export_perfetto
from headway.report.html import build_payload
from headway.report.html.locks import BINS, MAX_LOCKS
from headway.report.json.locks import lock_texts, locks_json
from headway.store import Recording, open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

WALL = 1000
STACK = (*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))


def threads(count: int) -> list[FakeThread]:
    return [FakeThread() for _ in range(count)]


def recording_of(path: Path, waits: list[Wait], holds: list[LockHold] | None = None, count: int = 4) -> Recording:
    lock_recording = LockRecording(threads(count), waits, holds or [], wall=WALL, stacks=[STACK])
    return open_recording(lock_recording.write(path))


@pytest.fixture
def contended(tmp_path: Path) -> Recording:
    waits = [
        Wait(0, 0, 100, 400, owner=3, waker=3, stack=0),
        Wait(1, 0, 150, 500, owner=3, waker=0, stack=0),
        Wait(2, 1, 600, 700, owner=1, waker=1, stack=0),
    ]
    return recording_of(tmp_path / "x.headway", waits, [LockHold(0, 3, 50, 400), LockHold(0, 0, 400, 500)])


@settings(max_examples=25)
@given(
    waits=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, WALL - 1), st.integers(0, 300)), min_size=1, max_size=20
    ),
    bins=st.integers(1, 50),
)
def test_the_waiters_in_each_bin_are_those_counted_moment_by_moment(
    tmp_path_factory: pytest.TempPathFactory, waits: list[tuple[int, int, int]], bins: int
) -> None:
    lock_recording = [Wait(i, lock, start, min(WALL, start + length)) for i, (lock, start, length) in enumerate(waits)]
    recording = recording_of(tmp_path_factory.mktemp("t") / "x.headway", lock_recording, count=len(lock_recording))
    found = waiters_over_time(recording, [[0], [1], [2]], bins)
    recording.close()
    edges = np.linspace(0, WALL, bins + 1)
    for lock in range(3):
        slow = [
            sum(max(0.0, min(w.end, high) - max(w.start, low)) for w in lock_recording if w.lock == lock) / (high - low)
            for low, high in itertools.pairwise(edges)
        ]
        assert found[lock] == pytest.approx(slow, abs=1e-9)


def test_the_page_holds_the_rows_of_the_command_in_its_order(contended: Recording) -> None:
    view = build_payload(contended)["locks"]
    rows = list(locks_json(locks(contended)))
    assert [row["name"] for row in view["rows"]] == [row["name"] for row in rows]
    for shown, row in zip(view["rows"], rows, strict=True):
        for key in ("times_parked", "peak_parked", "parking_thread_time_ns", "lost_core_ns", "contention"):
            assert shown[key] == row[key]
        waited = sum(shown["waiters"]) * WALL / BINS
        assert waited == pytest.approx(row["parking_thread_time_ns"], rel=0.01)  # three digits are kept per bin
    assert [holder["thread"] for holder in view["rows"][0]["holders"]] == ["worker (3 threads)"]
    assert view["rows"][0]["holders"][0]["wait_ns"] == sum(holder["wait_ns"] for holder in rows[0]["holders"])


@pytest.mark.parametrize("by", ["place", "lock", "class", "site"])
def test_the_text_of_each_row_is_what_python_writes_of_its_values(contended: Recording, by: str) -> None:
    found = locks(contended, by=by)
    texts = list(lock_texts(found))
    assert len(texts) == len(found.rows) > 0
    for text, row in zip(texts, found.rows, strict=True):
        plain = json.loads(text)
        assert text == json.dumps(plain, indent=1).replace("\n", "\n ")
        assert (plain["name"], plain["site"], plain["blocker_id"]) == (row.name, row.site, row.blocker_id)
        assert (plain["place"], plain["objects"]) == (row.place, row.objects)
        assert (plain["first_ns"], plain["last_ns"], plain["dead"]) == (row.first_ns, row.last_ns, row.dead)
        for key in ("times_parked", "times_measured", "parked_now", "peak_parked"):
            assert plain[key] == getattr(row.sums, key)
        assert plain["parking_real_time_ns"] == row.sums.real_time_ns
        for key in ("real_time_util_pct", "thread_time_util_pct", "real_life_time_util_pct"):
            assert plain[key] == getattr(row.metrics, key)
        assert plain["rule"] == {"id": row.rule.id, "text": row.rule.text, "share": row.rule_share}
        assert plain["first_stack"] == (None if row.first_stack is None else list(row.first_stack))
        for key in ("share", "times", "stacks_taken"):
            assert [site[key] for site in plain["sites"]] == [getattr(site, key) for site in row.sites]
        assert [each["wait_ns"] for each in plain["holders"]] == [each.wait_ns for each in row.holders]
        for key in ("thread", "tid", "java_id", "line", "share", "times"):
            assert [each[key] for each in plain["wakers"]] == [getattr(each, key) for each in row.wakers]
        assert plain["more_wakers"] == row.more_wakers
        assert (plain["lost_core_ns"], plain["more_sites"]) == (row.lost_core_ns, row.more_sites)


def test_more_locks_than_rows_fill_a_bounded_part_of_the_page(tmp_path: Path) -> None:
    waits = [Wait(i % 4, i, i % 900, i % 900 + 1 + i % 90) for i in range(90)]  # without stacks: each has its own place
    payload = build_payload(recording_of(tmp_path / "x.headway", waits))
    assert len(payload["locks"]["rows"]) == MAX_LOCKS
    assert payload["locks"]["hidden"] == 90 - MAX_LOCKS


def test_a_recording_in_which_nobody_waited_for_a_lock_has_no_rows_and_nothing_missing(tmp_path: Path) -> None:
    payload = build_payload(recording_of(tmp_path / "x.headway", []))
    assert payload["locks"]["rows"] == []
    assert payload["missing"]["locks"] is None


def test_perfetto_shows_each_wait_under_its_thread_with_who_ended_it(contended: Recording, tmp_path: Path) -> None:
    trace = Trace()
    trace.ParseFromString(export_perfetto(contended, tmp_path / "x.trace").read_bytes())
    descriptors = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    tids = dict(contended.query("SELECT thread_id, tid FROM thread").fetchall())
    names = dict(contended.query("SELECT thread_id, name FROM thread").fetchall())
    found = []
    open_waits: dict[int, tuple[int, str, str]] = {}
    for packet in trace.packet:
        event = packet.track_event
        if not packet.HasField("track_event") or descriptors[event.track_uuid].name != "waits for":
            continue
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            waker = next((a.string_value for a in event.debug_annotations if a.name == "ended by"), "")
            open_waits[event.track_uuid] = (packet.timestamp, event.name, waker)
        else:
            start, name, waker = open_waits.pop(event.track_uuid)
            thread = descriptors[descriptors[event.track_uuid].parent_uuid].thread
            found.append((thread.tid, start - ORIGIN, packet.timestamp - start, name.split("@")[0], waker))
    assert open_waits == {}
    assert sorted(found) == sorted(
        [
            (tids[0], 100, 300, "park ReentrantLock", names[3]),
            (tids[1], 150, 350, "park ReentrantLock", names[0]),
            (tids[2], 600, 100, "park ReentrantLock", names[1]),
        ]
    )
