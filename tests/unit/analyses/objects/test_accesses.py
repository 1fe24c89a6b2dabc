"""Reads and writes: an agent's records, the table they become, and what `headway objects` says of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from headway import _native
from headway.analyses.memory.allocated import allocation_figures
from headway.analyses.objects.analysis import objects
from headway.analyses.objects.types import Grouping
from headway.errors import HeadwayError
from headway.report.analyses.objects import OBJECTS
from headway.report.analysis import Shown
from headway.report.json.objects import objects_json
from headway.report.terminal import make_console
from headway.store import Recording, open_recording
from support.builders.access_agent import COMPLETE, accessing_agent, finished
from support.builders.allocation_spool_builder import AllocatingAgent, access_recording

MANY, VIRTUAL = 0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFE
KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes", "static_reads", "static_writes")


def decoded(spool: Path, agent: AllocatingAgent) -> dict[tuple[int, str], list[tuple[int, ...]]]:
    agent.write(spool)
    (found,) = _native.Decoder(str(spool)).agents()
    names = [name.decode() for name in found["allocations"]["texts"]]
    rows: dict[tuple[int, str], list[tuple[int, ...]]] = {}
    columns = [found["accesses"][kind].tolist() for kind in KINDS]
    for java_id, name, *counts in zip(
        found["accesses"]["java_id"].tolist(), found["accesses"]["class"].tolist(), *columns, strict=True
    ):
        rows.setdefault((java_id, names[name]), []).append(tuple(counts))
    return rows


def printed(recording: Recording, by: Grouping) -> str:
    out = io.StringIO()
    OBJECTS.render(Shown(objects(recording, by), False), make_console(out), "a.headway")
    return " ".join(out.getvalue().split())


def ids(recording: Recording, by: Grouping = "class") -> set[str]:
    return {notice.id for notice in objects(recording, by).notices}


def test_of_two_records_of_a_row_the_one_with_more_accesses_counts_and_blocks_add_up(tmp_path: Path) -> None:
    agent = accessing_agent({})
    agent.accessed(7, 1, 1, (5, 0, 0, 0, 0, 0))
    agent.accessed(7, 1, 1, (9, 1, 0, 0, 0, 3))
    agent.accessed(7, 1, 1, (6, 0, 0, 0, 0, 0))
    agent.accessed(7, 1, 2, (1, 1, 1, 1, 1, 1))
    agent.accessed(VIRTUAL, 2, 3, (0, 0, 4, 0, 0, 0))
    found = decoded(tmp_path, agent)
    assert sorted(found[7, "com.acme.Order"]) == [(1, 1, 1, 1, 1, 1), (9, 1, 0, 0, 0, 3)]
    assert found[VIRTUAL, ""] == [(0, 0, 4, 0, 0, 0)]


@pytest.mark.parametrize(("java_id", "count"), [(1, 2**64 - 1), (1, 2**59), (2**63, 1), (2**64 - 1, 1), (0, 1)])
def test_counts_that_no_program_can_cause_are_left_out(java_id: int, count: int, tmp_path: Path) -> None:
    agent = accessing_agent({})
    agent.accessed(java_id, 1, 1, (count, 0, 0, 0, 0, 0))
    assert decoded(tmp_path, agent) == {}


def test_a_thread_s_rows_are_its_own_and_add_up(tmp_path: Path) -> None:
    agent = accessing_agent(COMPLETE)
    agent.accessed(21, 1, 1, (5, 0, 0, 0, 0, 0))
    agent.accessed(21, 1, 2, (2, 0, 0, 0, 0, 1))
    agent.accessed(1, 1, 3, (0, 7, 0, 0, 0, 0))
    agent.accessed(VIRTUAL, 1, 4, (0, 0, 8, 0, 0, 0))
    agent.accessed(MANY, 1, 0, (0, 0, 0, 9, 0, 0))
    recording = finished(tmp_path, agent)
    found = objects(recording, "thread").accesses
    assert found is not None
    got = {(each.thread, each.java_id): each.accessed for each in found.groups}
    assert got["w1", 21].tuple_reads == 7
    assert got["w1", 21].static_writes == 1
    assert got["main", 1].tuple_writes == 7
    assert (got[None, -2].array_reads, got[None, -1].array_writes) == (8, 9)
    assert ids(recording).isdisjoint({"HW841", "HW842", "HW846", "HW806"})
    assert ids(recording) >= {"HW843", "HW844"}


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({b"accesses_end": b""}, "HW842"),
        ({b"accesses_coverage": b"classes=3,instructions=9,instructions_left_out=1,methods_left_out=1"}, "HW841"),
        ({b"accesses_coverage": b"classes=3,classes_left_out=2"}, "HW841"),
        ({b"accesses_coverage": b"classes=3,loaded_before=1"}, "HW841"),
        ({b"accesses_coverage": b"classes=3,threads_left_out=1"}, "HW841"),
        ({b"accesses_coverage": b"classes=0,classes_left_out=0"}, "HW846"),
    ],
)
def test_what_was_not_counted_is_said(change: dict[bytes, bytes], wanted: str, tmp_path: Path) -> None:
    recording = finished(tmp_path, accessing_agent(COMPLETE | change))
    assert wanted in ids(recording)


def test_a_jvm_that_refuses_says_why(tmp_path: Path) -> None:
    recording = finished(tmp_path, accessing_agent({b"accesses_problem": b"no memory for the counters"}))
    with pytest.raises(HeadwayError, match="no memory for the counters") as raised:
        objects(recording)
    assert raised.value.notice.id == "HW840"


@pytest.mark.parametrize("text", [b"", b"classes", b"classes=x,instructions=-5", b"=,=,==", b"classes=" + b"9" * 300])
def test_a_coverage_that_can_t_be_read_is_unknown(text: bytes, tmp_path: Path) -> None:
    recording = finished(tmp_path, accessing_agent(COMPLETE | {b"accesses_coverage": text}))
    (jvm,) = recording.manifest.extra["accesses"]["jvms"]
    assert jvm["instructions"] is None


def test_accesses_are_by_class_and_thread_and_none_is_called_local(tmp_path: Path) -> None:
    recording = open_recording(access_recording(tmp_path / "a.headway"))
    found = objects_json(objects(recording, by="class"))
    assert found["allocations"] is None
    assert found["groups"] == []
    totals = found["accesses"]
    assert totals["tuple"]["read"] == {"count": 555, "local": 0, "remote": 0, "unknown": 555}
    assert totals["array"]["write"]["unknown"] == 222
    assert totals["static"] == {"read": 111, "write": 0}
    assert [(each["class"], each["tuple"]["read"]["count"]) for each in totals["groups"]] == [
        ("Book", 500),
        ("Order", 55),
    ]
    by_thread = objects_json(objects(recording, by="thread"))["accesses"]["groups"]
    assert [(each["java_id"], each["array"]["read"]["count"]) for each in by_thread] == [(-1, 300), (-2, 30), (None, 3)]
    assert {notice["id"] for notice in found["warnings"]} >= {"HW844"}
    assert "HW845" in {notice.id for notice in objects(recording, by="thread").notices}


def test_the_table_names_threads_that_share_a_row(tmp_path: Path) -> None:
    recording = open_recording(access_recording(tmp_path / "a.headway"))
    said = printed(recording, "thread")
    assert "(virtual threads)" in said
    assert "(many threads)" in said
    assert "read fields and array elements 888 times and wrote them 666 times" in said
    (table,) = OBJECTS.section(Shown(objects(recording), False)).tables
    assert table.rows[0][:2] == ("Book", "90%")


def test_there_are_no_accesses_by_site_and_it_says_so(tmp_path: Path) -> None:
    assert "not by site" in printed(open_recording(access_recording(tmp_path / "a.headway")), "site")


def test_memory_says_that_allocations_were_not_recorded(tmp_path: Path) -> None:
    figures, _, total = allocation_figures(open_recording(access_recording(tmp_path / "a.headway")), None)
    assert total is None
    assert {each.reason for each in figures} == {"allocations were not recorded"}
