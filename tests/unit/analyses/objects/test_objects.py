"""From what agents write about allocations to `headway objects`: whose they are, what is not known, and samples' intervals."""

from __future__ import annotations

import io
import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.objects.analysis import objects
from headway.analyses.objects.bounds import quantity
from headway.analyses.objects.types import Allocated, Grouping, ObjectsAnswer, Quantity
from headway.errors import HeadwayError
from headway.record.finalise.finalise import finalise
from headway.report.analyses.objects import OBJECTS
from headway.report.analysis import Shown
from headway.report.json.objects import objects_json
from headway.report.section import Section, Table
from headway.report.terminal import make_console
from headway.report.terminal.objects import render_objects
from headway.store import Recording, open_recording
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.edited_manifest import edit
from support.builders.spool_builder import Spool

MS = 1_000_000
JVM, T1, OWN = 10, 11, 15
MANY = (1 << 63) - 1


@pytest.fixture
def agent() -> AllocatingAgent:
    """A JVM with the threads main and w1, and headway's own; every object is told of."""
    agent = AllocatingAgent(JVM, created_ns=1 * MS)
    agent.thread(2 * MS, JVM, 1, b"main")
    agent.thread(2 * MS, T1, 21, b"w1")
    agent.thread(2 * MS, OWN, 40, b"headway", b"system")
    agent.fact(b"objects_interval", b"0")
    agent.fact(b"objects_end", b"complete")
    agent.java_class(1, b"app.Pair")
    agent.java_class(2, b"int[]")
    return agent


def finished(tmp_path: Path, agent: AllocatingAgent, **draft: Any) -> Recording:
    directory = tmp_path / "a.headway"
    (directory / "spool").mkdir(parents=True)
    spool = Spool()
    spool.snapshot(0, JVM, "S", pid=JVM)
    for i, tid in enumerate((T1, OWN)):
        spool.snapshot(0, tid, "S", start_ns=i + 1, pid=JVM)
    spool.write(directory / "spool")
    agent.write(directory / "spool")
    base = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": JVM}
    window = {"start_ns": 0, "end_ns": 100 * MS}
    asked = {"interval_bytes": 0, "sites": True}
    manifest = {**base, "ended_by": "exit", "window": window, "notices": [], "objects": asked, **draft}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    finalise(directory)
    return open_recording(directory)


def counts(answer: ObjectsAnswer) -> list[tuple[Any, ...]]:
    return [
        (each.thread, each.class_name, each.site, each.allocated.objects.value, each.allocated.bytes.value)
        for each in answer.groups
    ]


def total_of(answer: ObjectsAnswer) -> Allocated:
    assert answer.total is not None
    return answer.total


def ids_of_notices(answer: ObjectsAnswer) -> set[str]:
    return {notice.id for notice in answer.notices}


def test_each_object_is_its_thread_s_class_s_and_site_s(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.method(3, b"app.Main", b"work")
    agent.stack(5, [(3, 42)], is_cut=True)
    agent.stack(6, [(3, -1)], is_cut=True)
    agent.allocated(1, 1, 10, 32, stack_id=5)
    agent.allocated(21, 1, 5, 32, stack_id=6)
    agent.allocated(21, 2, 3, 56, length=10, stack_id=5)
    agent.allocated(40, 2, 1000, 56, length=10, stack_id=5)  # headway's own
    found = finished(tmp_path, agent)
    by: dict[Grouping, list[tuple[Any, ...]]] = {
        "class": [(None, "app.Pair", None, 15, 480), (None, "int[]", None, 3, 168)],
        "thread": [("w1", None, None, 8, 328), ("main", None, None, 10, 320)],
        "site": [(None, None, "app.Main.work:42", 13, 488), (None, None, "app.Main.work", 5, 160)],
        "thread-class": [
            ("main", "app.Pair", None, 10, 320),
            ("w1", "int[]", None, 3, 168),
            ("w1", "app.Pair", None, 5, 160),
        ],
    }
    for grouping, expected in by.items():
        answer = objects(found, grouping)
        assert counts(answer) == expected
        total = total_of(answer)
        assert (total.objects.value, total.bytes.value, total.arrays.value, total.array_length.value) == (
            18,
            648,
            3,
            30,
        )
        assert answer.unknown == {"class": 0, "thread": 0, "site": 0}
    assert counts(objects(found, "thread", "objects"))[0][0] == "main"
    assert counts(objects(found, "class", "array-length"))[0][1] == "int[]"


def test_of_several_sums_of_a_row_the_last_one_counts(agent: AllocatingAgent, tmp_path: Path) -> None:
    for count in (4, 9, 7):  # chunks are read in any order
        agent.allocated(1, 1, count, 32)
    answer = objects(finished(tmp_path, agent))
    assert (total_of(answer).objects.value, total_of(answer).bytes.value) == (9, 9 * 32)


def test_what_has_no_row_of_its_own_is_told_and_never_given_to_a_thread(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.allocated(1, 1, 6, 32)
    agent.allocated(MANY, 1, 3, 32)
    agent.allocated(MANY, 0, 1, 32)
    agent.allocated(77, 1, 10, 32)  # a virtual thread
    found = finished(tmp_path, agent)
    answer = objects(found, "thread")
    assert counts(answer) == [
        ("thread #77", None, None, 10, 320),
        ("main", None, None, 6, 192),
        (None, None, None, 4, 128),
    ]
    assert answer.unknown == {"class": 0.05, "thread": 0.2, "site": 1.0}
    assert "HW803" in ids_of_notices(answer)
    assert "4 objects" in next(notice.message for notice in answer.notices if notice.id == "HW803")


def test_samples_have_intervals_and_counted_objects_have_none(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.records = [each for each in agent.records if b"objects_interval" not in each]
    agent.fact(b"objects_interval", b"524288")
    agent.sampled(1, 1, 100, 32, 524288)
    agent.sampled(21, 2, 50, 6_000_000, 524288, length=1_500_000)
    answer = objects(finished(tmp_path, agent))
    assert answer.interval_bytes == 524288
    pairs, arrays = (
        next(each.allocated for each in answer.groups if each.class_name == name) for name in ("app.Pair", "int[]")
    )
    expected = 100 / -math.expm1(-32 / 524288)
    assert pairs.objects.value == round(expected)
    assert 0.78 * expected < pairs.objects.low < 0.85 * expected
    assert 1.18 * expected < pairs.objects.high < 1.25 * expected
    assert (arrays.objects.low, arrays.objects.value) == (50, 50)
    assert (pairs.arrays.value, pairs.arrays.high) == (0, 0)  # a Pair is no array
    assert arrays.array_length.value == round(75_000_000 / -math.expm1(-6_000_000 / 524288))
    assert "HW807" in ids_of_notices(answer)


def test_the_interval_covers_the_true_number_in_95_of_100_draws() -> None:
    draws = random.Random(29)
    size, interval = 40, 4096
    chance = -math.expm1(-size / interval)
    for objects_there in (500, 5000):
        covered, tries = 0, 400
        for _ in range(tries):
            samples = sum(draws.random() < chance for _ in range(objects_there))
            error = math.sqrt(samples * (1 - chance)) / chance
            found = quantity(round(samples / chance), error if samples else None, samples)
            covered += found.low <= objects_there <= found.high
        assert covered >= 0.93 * tries


def test_where_no_sites_were_asked_for_their_share_is_not_said(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.allocated(1, 1, 6, 32)
    found = objects(finished(tmp_path, agent, objects={"interval_bytes": 0, "sites": False}))
    assert found.unknown == {"class": 0, "thread": 0, "site": None}


def test_jvms_that_were_sampled_differently_have_no_common_interval(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.allocated(1, 1, 6, 32)
    found = finished(tmp_path, agent)
    assert objects(found).interval_bytes == 0
    asked = found.manifest.extra["objects"]
    other = {**asked["jvms"][0], "pid": JVM + 1, "interval_bytes": 4096}
    edit(found.path, objects={**asked, "jvms": [*asked["jvms"], other]})
    assert objects(open_recording(found.path)).interval_bytes is None


def test_impossible_sums_are_left_out(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.allocated(1, 1, 2, 32)
    agent.allocated(21, 1, 1 << 62, 1)
    agent.allocated(1 << 63, 1, 5, 32)
    agent.allocated(21, 2, 5, 32, estimates=(math.nan, 0, 0, 0, 0, 0))
    agent.allocated(21, 2, 5, 32, estimates=(1, 1, 1, -1, 0, 0))
    agent.records.append(agent.records[-1][:40])
    agent.records[-1] = agent.records[-1][:10] + struct.pack("<H", 40) + agent.records[-1][12:]
    assert total_of(objects(finished(tmp_path, agent))).objects.value == 2


@pytest.mark.parametrize(
    ("facts", "draft", "expected"),
    [
        ({}, {}, set()),
        ({b"objects_end": None}, {}, {"HW804"}),
        ({}, {"attached": True}, {"HW802"}),
    ],
)
def test_what_is_missing_is_told(
    agent: AllocatingAgent, tmp_path: Path, facts: dict[bytes, None], draft: dict[str, Any], expected: set[str]
) -> None:
    agent.records = [each for each in agent.records if not any(key in each for key in facts)]
    agent.allocated(1, 1, 6, 32)
    answer = objects(finished(tmp_path, agent, **draft))
    assert ids_of_notices(answer) & {"HW802", "HW803", "HW804", "HW807"} == expected
    assert {"HW805", "HW806"} <= ids_of_notices(answer)


def test_a_main_thread_whose_first_objects_were_not_counted_is_named(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.fact(b"objects_begin", b"late")
    agent.allocated(1, 1, 6, 32)
    found = finished(tmp_path, agent)
    (notice,) = (each for each in objects(found).notices if each.id == "HW808")
    assert f"JVM {JVM}" in notice.message
    assert [jvm["begins_late"] for jvm in found.manifest.extra["objects"]["jvms"]] == [True]


def test_a_recording_without_objects_says_how_to_make_one(tmp_path: Path) -> None:
    agent = AllocatingAgent(JVM, created_ns=1 * MS)
    agent.thread(2 * MS, JVM, 1, b"main")
    found = finished(tmp_path, agent, objects={})
    with pytest.raises(HeadwayError, match="HW800") as error:
        objects(found)
    assert "--objects allocations" in error.value.notice.remedy


def test_a_jvm_that_gives_no_allocations_says_why(tmp_path: Path) -> None:
    agent = AllocatingAgent(JVM, created_ns=1 * MS)
    agent.fact(b"objects_problem", b"another agent in this JVM samples allocations")
    with pytest.raises(HeadwayError, match=r"HW801.*another agent"):
        objects(finished(tmp_path, agent))


def test_json_has_every_figure_with_its_interval_and_null_for_what_was_not_recorded(
    agent: AllocatingAgent, tmp_path: Path
) -> None:
    agent.allocated(1, 2, 3, 56, length=10)
    found = objects_json(objects(finished(tmp_path, agent), "thread-class"))
    figures = {"objects": 3, "bytes": 168, "arrays": 3, "array_length": 30}
    figures |= {f"{name}_{end}": value for name, value in figures.items() for end in ("low", "high")}
    unknown = {"class": 0.0, "thread": 0.0, "site": 1.0}
    assert found["allocations"] == {**figures, "unknown_share": unknown}
    assert (found["accesses"], found["shared"], found["pairs"]) == (None, None, None)
    (group,) = found["groups"]
    who = {"pid": JVM, "thread": "main", "java_id": 1, "class": "int[]", "site": None}
    assert {key: group[key] for key in who} == who
    assert {key: group[key] for key in figures} == figures


def test_people_read_totals_first_then_the_largest_rows(agent: AllocatingAgent, tmp_path: Path) -> None:
    for class_id in range(100, 150):
        agent.java_class(class_id, b"app.C%d" % class_id)
        agent.allocated(1, class_id, class_id, 16)
    section = OBJECTS.section(Shown(objects(finished(tmp_path, agent))))
    assert section.sentences[0] == "The program allocated 6,225 objects of 97.3 KiB in all."
    (table,) = section.tables
    assert table.title == "Allocations by class (30 of 50: --all)"
    assert table.rows[0] == ("app.C149", 149, "2.33 KiB", "2.4%", 0, 0)


def printed(found: ObjectsAnswer, width: int) -> list[str]:
    console = make_console(io.StringIO())
    console.width = width
    OBJECTS.render(Shown(found), console, "a.headway")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_names_that_do_not_fit_lose_their_package_then_their_middle(agent: AllocatingAgent, tmp_path: Path) -> None:
    long = "com.example.very.deeply.nested.packages.of.an.application.Ledger$EntryWithALongName"
    agent.java_class(100, long.encode())
    agent.java_class(101, b"com.example." + b"deep." * 20 + b"Other" * 20 + b"$End")
    agent.allocated(1, 100, 5_000_000_000, 24)
    agent.allocated(1, 101, 4, 24)
    answer = objects(finished(tmp_path, agent), "thread-class")
    narrow = printed(answer, 80)
    (row,) = (line for line in narrow if "EntryWithALongName" in line)
    assert row.split()[:2] == ["main", "Ledger$EntryWithALongName"]
    (row,) = (line for line in narrow if "$End" in line)
    assert row.split()[1].startswith("Other")
    assert "…" in row.split()[1]
    assert max(len(line.rstrip()) for line in narrow if line.startswith("main")) <= 80
    assert any(line.split()[1:2] == [long] for line in printed(answer, 300))


@pytest.mark.parametrize(
    ("name", "shown"),
    [("pool-1-thread-{}", "pool-1…hread-{}"), ("server-{}-connection-of-a-client", "server-{}-connection-of-a-client")],
)
def test_rows_whose_shortened_names_would_read_alike_have_whole_names(name: str, shown: str) -> None:
    threads = [name.format(number) for number in range(1, 5)]
    table = Table("Reads", ("thread", *threads), tuple((name, *[10**14] * 4) for name in threads))
    out = io.StringIO()
    console = make_console(out)
    console.width = 80
    render_objects(Section("Objects", (), (table,)), lambda _: 1, console)
    read = "".join(line[:12].strip() for line in out.getvalue().splitlines())
    for number in range(1, 5):
        assert shown.format(number) in read


def test_by_site_without_sites_is_the_way_to_record_them(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.allocated(1, 1, 10, 32)
    answer = objects(finished(tmp_path, agent, objects={"interval_bytes": 0, "sites": False}), "site")
    section = OBJECTS.section(Shown(answer))
    assert "headway record --objects allocations,sites" in section.sentences[-1]
    assert not section.tables


def test_a_jvm_attached_to_that_showed_no_allocation_is_not_one_that_allocates_nothing(
    agent: AllocatingAgent, tmp_path: Path
) -> None:
    answer = objects(finished(tmp_path, agent, attached=True))
    (sentence,) = OBJECTS.section(Shown(answer)).sentences
    assert sentence.startswith("No allocation was seen.")
    assert "is not known" in sentence


def test_what_an_attached_jvm_showed_is_told_as_that(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.allocated(1, 1, 10, 32)
    sentence = OBJECTS.section(Shown(objects(finished(tmp_path, agent, attached=True)))).sentences[0]
    assert sentence == "Seen since headway attached are 10 objects of 320 B."


@pytest.mark.parametrize(("objects_counted", "is_said"), [(15_000, False), (25_000, True)])
def test_counting_that_took_more_than_a_tenth_of_the_time_is_said(
    objects_counted: int, is_said: bool, agent: AllocatingAgent, tmp_path: Path
) -> None:
    """Half a microsecond each, of a recording of 100 ms; threads that count at the same time don't add up."""
    agent.allocated(1, 1, objects_counted - 5000, 16)
    agent.allocated(1, 2, 5000, 16)
    agent.allocated(21, 1, 15_000, 16)
    agent.allocated(MANY, 1, 40_000, 16)
    recording = finished(tmp_path, agent, objects={"interval_bytes": 0, "sites": False})
    assert ("HW809" in {notice.id for notice in recording.notices}) == is_said
    assert ("HW809" in ids_of_notices(objects(recording))) == is_said


def test_a_program_of_which_no_object_was_sampled_allocated_little(tmp_path: Path) -> None:
    sampled = AllocatingAgent(JVM, created_ns=1 * MS)
    sampled.thread(2 * MS, JVM, 1, b"main")
    sampled.fact(b"objects_interval", b"1000")
    sampled.fact(b"objects_end", b"complete")
    found = objects(finished(tmp_path, sampled))
    assert found.groups == ()
    # Of n bytes in objects of s each the chance that none is told of is exp(-s/1000) for each, and 2.5 % at the bound.
    assert (total_of(found).bytes.value, total_of(found).bytes.low) == (0, 0)
    assert math.exp(-total_of(found).bytes.high / 1000) == pytest.approx(0.025, rel=0.001)
    assert total_of(found).objects.high == total_of(found).bytes.high // 8
    assert {"HW805", "HW807"} <= ids_of_notices(found)
    shown = json.loads(json.dumps(objects_json(found)))
    assert shown["allocations"]["bytes_high"] == total_of(found).bytes.high


def test_a_thread_of_which_no_array_was_sampled_may_have_allocated_some(agent: AllocatingAgent, tmp_path: Path) -> None:
    agent.records = [each for each in agent.records if b"objects_interval" not in each]
    agent.fact(b"objects_interval", b"524288")
    agent.sampled(1, 1, 100, 32, 524288)
    found = objects(finished(tmp_path, agent), "thread")
    for allocated in (total_of(found), found.groups[0].allocated):
        assert (allocated.arrays.low, allocated.arrays.value) == (0, 0)
        assert math.exp(-8 * allocated.arrays.high / 524288) == pytest.approx(0.025, rel=0.001)


@pytest.mark.parametrize("error", [0.0, 5e-324, 1e-150, 1e-10])
def test_an_error_of_less_than_any_object_leaves_the_figure_as_it_is(error: float) -> None:
    """Whoever makes a recording, or an agent's file, may state any; the square of a quotient may be out of range."""
    for value in (0, 1, 10**18):
        assert quantity(value, error) == Quantity(value, value, value)


@pytest.mark.parametrize("error", [10.0**power for power in range(-8, 19, 2)])
def test_an_interval_encloses_its_figure_whatever_the_error(error: float) -> None:
    for value in (0, 1, 10**9, 10**18):
        found = quantity(value, error)
        assert 0 <= found.low <= value <= found.high
