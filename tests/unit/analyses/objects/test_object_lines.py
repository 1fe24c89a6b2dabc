"""Cache lines that threads write in turn: from the agent's records to tables, answers and what is said of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headway.analyses.objects import lines
from headway.analyses.objects.analysis import objects
from headway.analyses.objects.line_types import LineAnswer, Meeting, SharedPlaces
from headway.record.request.objects import parse
from headway.report.analyses.object_lines import line_sentences, line_table
from support.builders.access_agent import COMPLETE, accessing_agent, finished
from support.builders.line_agent import LINE, PAIR, SAME, line_agent, met, placed, wrote


def answered(folder: Path) -> LineAnswer:
    """Return what is said of a recording with each sort of sharing."""
    agent = line_agent()
    for times in (5, 10, 7):  # sums: the largest is the last
        wrote(agent, 1, 1, times)
    wrote(agent, 21, 2, 20)
    wrote(agent, 1, 3, 100)
    met(agent, (1, 21), (1, 2), LINE, 4)
    met(agent, (1, 21), (1, 2), LINE, 9)
    met(agent, (21, 1), (2, 1), LINE, 8)
    met(agent, (1, 21), (3, 3), PAIR, 50)
    met(agent, (1, 21), (1, 1), SAME, 2)
    met(agent, (1, 21), (1, 1), PAIR, 3, same_object=0)
    found = objects(finished(folder, agent), "field").lines
    assert found is not None
    return found


def test_both_ways_between_two_fields_are_one_row_and_the_most_false_sharing_is_first(tmp_path: Path) -> None:
    found = answered(tmp_path)
    assert found.writes == 130
    rows = [(row.fields, row.same_object, row.same, row.line, row.pair, row.writes) for row in found.rows]
    hits, misses, run = "com.acme.Order.hits", "com.acme.Order.misses", "long[] in com.acme.Work.run"
    assert rows == [
        ((run, run), True, 0, 0, 50, 100),
        ((hits, misses), True, 0, 17, 0, 30),
        ((hits, hits), False, 0, 0, 3, 10),
        ((hits, hits), True, 2, 0, 0, 10),
    ]
    assert [row.bytes_apart for row in found.rows] == [None, 8, None, None]
    assert [(each.thread, each.other_thread, each.writes) for each in found.rows[1].meetings] == [
        ("main", "w1", 9),
        ("w1", "main", 8),
    ]


def test_a_hundred_thousand_threads_at_one_place_are_named_in_one_pass() -> None:
    """Each name was compared with all of them."""
    meetings = [Meeting(f"w{n}", n, None, "A.f", f"w{n}", n + 1, None, "A.f", "same", 1) for n in range(1, 100_000, 2)]
    row = SharedPlaces(1, ("A.f", "A.f"), (8, 8), True, 50_000, 0, 0, writes=99, meetings=tuple(meetings))
    began_s = time.process_time()
    table = line_table(LineAnswer(99, (row,), 0, 50_000, 0, 0), None)
    assert table.rows[0][-1] == 100_000
    assert time.process_time() - began_s < 20, "in the square of the threads it takes minutes"


def test_padding_is_named_by_where_the_fields_are(tmp_path: Path) -> None:
    found = answered(tmp_path)
    total, of_array, of_fields, of_neighbours = line_sentences(found)
    assert "2 came after another thread's to the very same place, 17 after another thread's elsewhere" in total
    assert "elements of one array are written in turn by main, w1" in of_array
    assert "8 bytes apart in one object" in of_fields
    assert "56 bytes more for lines of 64, 120 bytes more for lines of 128" in of_fields
    assert "objects beside each other on the heap" in of_neighbours
    assert [row[2:5] for row in line_table(found, None).rows] == [(0, 0, 50), (0, 17, 0), (0, 0, 3), (2, 0, 0)]


@pytest.mark.parametrize(("writes", "is_told"), [(100, True), (101, False)])
def test_padding_is_not_advised_where_few_writes_came_after_another_thread_s(writes: int, *, is_told: bool) -> None:
    meeting = Meeting("w1", 1, None, "A.f", "w2", 2, None, "A.g", "line", 1)
    row = SharedPlaces(1, ("A.f", "A.g"), (8, 16), True, 0, 1, 0, writes=writes, meetings=(meeting,))
    _, said = line_sentences(LineAnswer(writes, (row,), 0, 0, 1, 0))
    assert ("A.f and A.g are 8 bytes apart" in said) is is_told
    assert ("In 1 row less than 1% of the writes came after another thread's near by" in said) is not is_told


def test_two_fields_whose_places_differ_between_classes_are_no_elements_of_an_array(tmp_path: Path) -> None:
    agent = line_agent()
    placed(agent, 4, 32, 48)  # another class of this name
    for place in (1, 2, 4):
        wrote(agent, 1, place, 10)
    met(agent, (1, 21), (1, 2), LINE, 4)
    _, said = line_sentences(objects(finished(tmp_path, agent), "field").lines)
    assert "com.acme.Order.hits and com.acme.Order.misses are in one object" in said
    assert "64 bytes of fields between them" in said


def test_sums_are_those_of_rows_that_are_left_out_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_GROUPS", 1)
    found = answered(tmp_path)
    assert (len(found.rows), found.left_out) == (1, 3)
    assert (found.same, found.line, found.pair) == (2, 17, 53)


def test_damaged_records_of_lines_are_left_out(tmp_path: Path) -> None:
    agent = line_agent()
    wrote(agent, 0, 1, 5)
    wrote(agent, 1, 1, 1 << 60)
    wrote(agent, 1, 9, 5)
    met(agent, (1, 21), (1, 2), 7, 4)
    met(agent, (1, 0), (1, 2), LINE, 4)
    met(agent, (1, 21), (1, 2), LINE, 4, same_object=9)
    placed(agent, 2, 31, 1 << 31)
    found = objects(finished(tmp_path, agent), "field").lines
    assert found == LineAnswer(5, ())


@pytest.mark.parametrize(
    ("facts", "notice"),
    [
        ({b"access_lines": b"unknown"}, "HW813"),
        ({b"accesses_coverage": COMPLETE[b"accesses_coverage"] + b",lines_pushed_out=3"}, "HW814"),
        ({b"accesses_coverage": COMPLETE[b"accesses_coverage"] + b",lines_pushed_out=0"}, None),
    ],
)
def test_what_was_not_watched_is_said(facts: dict[bytes, bytes], notice: str | None, tmp_path: Path) -> None:
    recording = finished(tmp_path, line_agent(facts))
    said = {each.id for each in recording.manifest.notices}
    assert said & {"HW813", "HW814"} == ({notice} if notice else set())
    assert (objects(recording, "field").lines is None) == (notice == "HW813")


def test_a_recording_without_lines_says_so_only_where_they_are_asked_for(tmp_path: Path) -> None:
    agent = accessing_agent(COMPLETE)
    agent.accessed(1, 1, 0, (1, 0, 0, 0, 0, 0))
    recording = finished(tmp_path, agent)
    assert objects(recording, "field").lines is None
    assert "HW819" in {each.id for each in objects(recording, "field").notices}
    assert "HW819" not in {each.id for each in objects(recording, "class").notices}


def test_lines_are_asked_for_beside_accesses_and_owners() -> None:
    assert parse("accesses,lines").agent_parts == ["accesses=1", "access_lines=1"]
    assert parse("accesses,lines,owners").agent_parts == ["accesses=1", "access_owners=1", "access_lines=1"]
    assert parse("accesses,lines").as_json()["lines"] is True
    for wrong in ("accesses,lines,lines", "accesses,line", "allocations,lines"):
        with pytest.raises(ValueError, match="write allocations"):
            parse(wrong)
