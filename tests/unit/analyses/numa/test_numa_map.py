"""On which memory nodes a heap is: which addresses are asked for, what the kernel says against its own counts, what is shown."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.common import limits
from headway.analyses.common.uncertainty import interval_of_share
from headway.analyses.numa import heap_map as heap_map_module
from headway.analyses.numa.heap_map import heap_now
from headway.model.heap_look import HeapLook
from headway.record.collect.heap_nodes import HeapAsker
from headway.record.finalise.heap_node_rows import heap_node_rows
from headway.record.target_process import heap_memory
from headway.record.target_process.heap_memory import (
    MOST_PAGES,
    HeapPart,
    _Mapping,
    heap_size,
    look_at_heap,
    pages_to_ask,
)
from headway.record.target_process.jvm_facts import parse_performance_numbers
from headway.record.target_process.move_pages import PAGE, MappedMemory
from headway.record.target_process.processes import Process
from headway.report.analyses.numa_map import _mean_sentences
from headway.store import Recording, open_recording
from headway.store.writer import write_recording
from support.builders.edited_manifest import edit
from support.builders.recording_builder import ONE_THREAD

Run = Callable[..., tuple[int, str, str]]
PAGES = 2053
"""Of a mapping of this test's own; no other is likely to have as many."""
NORESERVE = 0x4000
TIB = 1 << 40


def myself() -> Process:
    found = Process.of(os.getpid())
    assert found is not None
    return found


def address_of(memory: mmap.mmap) -> int:
    byte = ctypes.c_char.from_buffer(memory)
    return ctypes.addressof(byte)


def counted_by_kernel(address: int) -> dict[int, int]:
    """Return the pages by node of the mapping at an address, as /proc/self/numa_maps counts them."""
    for line in Path("/proc/self/numa_maps").read_text().splitlines():
        if int(line.split()[0], 16) == address:
            return {int(node): int(count) for node, count in re.findall(r"\bN(\d+)=(\d+)", line)}
    return {}


@pytest.fixture
def memory() -> Iterator[mmap.mmap]:
    """Give memory of which every third page is there."""
    with mmap.mmap(-1, PAGES * PAGE) as found:
        for page in range(0, PAGES, 3):
            found[page * PAGE] = 1
        yield found


@pytest.mark.skipif(
    not Path("/proc/self/numa_maps").exists(), reason="the kernel does not say on which nodes memory is"
)
def test_pages_are_on_the_nodes_that_the_kernel_counts_and_those_that_are_not_there_on_none(memory: mmap.mmap) -> None:
    wanted = counted_by_kernel(address_of(memory))
    assert sum(wanted.values()) == len(range(0, PAGES, 3))
    look = look_at_heap(myself(), PAGES * PAGE)
    assert (look.is_heap, look.is_exact, look.memory_pages) == (True, True, PAGES)
    assert dict(look.pages) == wanted
    assert look.unknown_pages == PAGES - sum(wanted.values())


def test_a_process_whose_heap_is_not_known_has_all_of_its_memory_shown_and_that_is_said() -> None:
    look = look_at_heap(myself(), 0)
    assert not look.is_heap
    assert look.memory_pages * PAGE > 8 << 20
    assert look.pages
    (notice,) = heap_now(look, look.ns, (0,)).notices
    assert notice.id == "HW734"


def test_of_a_terabyte_that_is_reserved_a_sample_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    try:
        reserved = mmap.mmap(-1, TIB, flags=flags)
    except OSError as error:
        pytest.skip(f"this machine reserves no terabyte: {error}")
    with reserved:
        start = address_of(reserved)
        whole = heap_memory.HeapMemory((HeapPart(start, start + TIB),), is_heap=True)
        monkeypatch.setattr(heap_memory, "heap_memory", lambda pid, size: whole)
        look = look_at_heap(myself(), TIB)
    assert (look.asked_pages, look.memory_pages) == (MOST_PAGES, TIB // PAGE)
    (shown,) = heap_now(look, look.ns, (0,)).looks
    unknown = shown.nodes[-1]
    assert unknown.low <= TIB == unknown.high


@given(
    sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=9),
    most=st.integers(1, 300),
    chance=st.randoms(use_true_random=False),
)
def test_one_page_is_asked_for_out_of_each_piece_of_equal_length(
    sizes: list[int], most: int, chance: random.Random
) -> None:
    starts = [PAGE * (10_000 * place + 7) for place in range(len(sizes))]
    parts = [MappedMemory(at, at + size * PAGE) for at, size in zip(starts, sizes, strict=True)]
    asked = pages_to_ask(parts, most, chance)
    total = sum(sizes)
    every = array("Q", (at for part in parts for at in range(part.start, part.end, PAGE)))
    if total <= most:
        assert asked == every
        return
    place_of = {at: place for place, at in enumerate(every)}
    for number, at in enumerate(asked):
        assert number * total // most <= place_of[at] < (number + 1) * total // most
    assert len(asked) == most


def test_the_interval_of_a_sample_holds_the_true_share_of_a_random_heap() -> None:
    """95 of 100 in the mean; a heap comes in stretches of one node each, as collectors and huge pages make it."""
    chance, covered = random.Random(11), 0
    for _ in range(200):
        heap: list[int] = []
        while len(heap) < 6000:
            heap += [chance.randrange(2)] * chance.choice([1, 16, 512])
        asked = pages_to_ask([MappedMemory(0, len(heap) * PAGE)], 400, chance)
        count = sum(heap[at // PAGE] for at in asked)
        low, high = interval_of_share(count, len(asked))
        covered += low <= sum(heap) / len(heap) <= high
    assert covered >= 190


def mapping(start: int, end: int, name: bytes = b"", *, writable: bool = True) -> _Mapping:
    return _Mapping(start, end, writable, True, 0, 0, name)


def test_the_heap_is_the_lowest_stretch_of_its_size_without_a_gap() -> None:
    stretch = [mapping(0x1000, 0x3000), mapping(0x3000, 0x5000, writable=False)]
    others = [
        mapping(0x5000, 0x6000, b"/x/classes.jsa"),
        mapping(0x6000, 0x7000, b"/lib/x.so"),
        mapping(0x7000, 0xB000),
    ]
    assert heap_memory._of_size([*stretch, *others], 0x4000) == stretch
    assert heap_memory._of_size([*stretch, *others], 0x5000) == [*stretch, others[0]]
    assert heap_memory._of_size([*stretch, *others], 0x6000) == []
    assert heap_memory._of_size([*stretch, *others], 0) == []


def test_memory_that_is_mapped_several_times_is_looked_at_once() -> None:
    name = b"/memfd:java_heap (deleted)"
    views = [_Mapping(at, at + 0x4000, True, False, 0, 5, name) for at in (0x10000, 0x20000, 0x30000)]
    beyond = _Mapping(0x40000, 0x46000, True, False, 0x2000, 5, name)
    found = heap_memory._once([*views, beyond])
    assert found == (HeapPart(0x10000, 0x14000, (0x20000, 0x30000)), HeapPart(0x42000, 0x46000))


def test_a_page_that_is_there_at_any_of_the_places_of_its_memory_is_there(tmp_path: Path) -> None:
    """ZGC of JDK 17 maps its heap three times, and uses a page at one of them."""
    file = os.memfd_create("java_heap")
    os.truncate(file, 64 * PAGE)
    with mmap.mmap(file, 64 * PAGE) as one, mmap.mmap(file, 64 * PAGE) as two, mmap.mmap(file, 64 * PAGE) as three:
        for view, pages in ((one, (3, 60)), (two, (7, 60)), (three, (9, 11))):
            for page in pages:
                view[page * PAGE] = 1
        look = look_at_heap(myself(), 0)
    os.close(file)
    assert (look.is_heap, look.memory_pages, sum(look.pages.values())) == (True, 64, 5)


def test_a_memory_map_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap_memory, "MOST_MAPPINGS", 3)
    with pytest.raises(OSError, match="long"):
        look_at_heap(myself(), 0)


def test_a_heap_is_of_the_size_of_its_generations_together_or_of_one_that_they_share() -> None:
    name, collectors = "sun.gc.generation.{}.maxCapacity", "sun.gc.policy.collectors"
    capacities = {name.format(0): 2 << 20, name.format(1): (4 << 20) + 24}
    assert heap_size(capacities | {collectors: 2}) == 6 << 20
    assert heap_size(capacities | {collectors: 1}) == heap_size(capacities) == 4 << 20
    assert heap_size({name.format(0): -5}) == heap_size({}) == 0


@given(st.binary(max_size=400))
def test_performance_data_of_any_bytes_give_numbers_or_none(data: bytes) -> None:
    prologue = b"\xca\xfe\xc0\xc0\x01\x02\x00\x01" + bytes(16) + (32).to_bytes(4, "little") + (99).to_bytes(4, "little")
    for each in (data, prologue + data):
        assert all(isinstance(value, int) for value in parse_performance_numbers(each).values())


def test_a_process_that_has_ended_is_an_error_and_no_look() -> None:
    with pytest.raises(ProcessLookupError):
        HeapAsker(Process((1 << 22) - 1, 1), size=PAGE).look()


# --- what is recorded and shown ------------------------------------------------------------------------------------


def recording(place: Path, nodes: list[int] | None = None) -> Recording:
    """Return a recording of three looks: all there and on two nodes, a sample of a larger heap, nothing there."""
    looks = [
        HeapLook(1_000, 7, True, 100, 4096, 100, {0: 60, 1: 30}),
        HeapLook(2_000, 7, True, 1_000_000, 4096, 10_000, {1: 5_000}),
        HeapLook(3_000, 7, True, 10, 4096, 10, {}),
    ]
    rows = [
        (look.ns, look.pid, True, look.memory_pages, look.page_bytes, look.asked_pages, node, pages)
        for look in looks
        for node, pages in [*look.pages.items(), (None, look.unknown_pages)]
    ]
    names = ("ns", "pid", "is_heap", "memory_pages", "page_bytes", "asked_pages", "node", "pages")
    columns = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]}), "heap_node": pa.table(columns)}
    facts = {"window": {"start_ns": 0, "end_ns": 1_000_000}, "mode": "agent"}
    path = write_recording(place / "a.headway", facts, tables)
    edit(path, heap_nodes={"interval_ns": 1000, "looks": 3, "cpu_ns": 5, "problems": []}, host={"memory_nodes": nodes})
    return open_recording(path)


def test_each_look_has_what_is_on_each_node_and_what_is_not_there(tmp_path: Path, run: Run) -> None:
    path = recording(tmp_path, [0, 1]).path
    found: dict[str, Any] = json.loads(run("numa-map", path, "--json")[1])
    exact, sampled, empty = found["looks"]
    assert exact["nodes"] == [
        {"node": 0, "bytes": 60 * 4096, "bytes_low": 60 * 4096, "bytes_high": 60 * 4096},
        {"node": 1, "bytes": 30 * 4096, "bytes_low": 30 * 4096, "bytes_high": 30 * 4096},
    ]
    assert (exact["is_exact"], exact["unknown"]["bytes"]) == (True, 10 * 4096)
    (half,) = sampled["nodes"]
    assert (sampled["is_exact"], half["bytes"]) == (False, 500_000 * 4096)
    assert 0.0195 < (half["bytes_high"] - half["bytes_low"]) / sampled["memory_bytes"] < 0.0197  # 2 x 1.96 x 0.5 / 100
    assert (empty["nodes"], empty["unknown"]["bytes"]) == ([], 40_960)
    assert (found["machine_nodes"], found["all_local"], found["interval_ns"]) == ([0, 1], False, 1000)
    text = " ".join(run("numa-map", path)[1].split())
    assert "33.3% on node 0, 66.7% on node 1" in text  # (2/3 + 0) / 2, (1/3 + 1) / 2
    assert "In brackets are 95 % intervals" in text  # the second look is at a sample


def test_how_often_was_looked_is_what_was_done_and_not_what_was_asked_for(tmp_path: Path, run: Run) -> None:
    path = recording(tmp_path).path
    edit(path, heap_nodes={"interval_ns": 200_000_000, "looks": 3, "cpu_ns": 5, "problems": []})
    text = " ".join(run("numa-map", path)[1].split())
    assert "Looked 3 times, every 1e-06 s in the mean (--numa-map asks for 0.2 s at least)" in text


def test_of_more_looks_than_a_list_has_the_first_are_shown_and_the_others_counted(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (heap_map_module, limits):
        monkeypatch.setattr(module, "MOST_ROWS", 2)
    found = json.loads(run("numa-map", recording(tmp_path).path, "--json")[1])
    assert [each["at_ns"] for each in found["looks"]] == [1_000, 2_000]
    (notice,) = found["warnings"]
    assert (notice["id"], "of looks at heaps the 2 first are listed and 1 more" in notice["message"]) == ("HW329", True)


def test_of_several_processes_each_has_its_own_mean(tmp_path: Path) -> None:
    """A small heap of another node would else weigh as much as a large one."""
    looks = [
        HeapLook(number, pid, True, 100, 4096, 100, {node: 50})
        for number, pid, node in ((1, 7, 0), (2, 8, 1), (3, 8, 1))
    ]
    found = replace(heap_now(looks[0], 0, (0, 1)), looks=tuple(heap_now(each, 0, (0, 1)).looks[0] for each in looks))
    assert _mean_sentences(found) == [
        "Of the heap of process 8 that is there, in the mean over all looks: 0.0% on node 0, 100.0% on node 1.",
        "Of the heap of process 7 that is there, in the mean over all looks: 100.0% on node 0, 0.0% on node 1.",
    ]


def test_with_one_node_it_says_that_everything_is_local(tmp_path: Path, run: Run) -> None:
    assert "everything is local" in run("numa-map", recording(tmp_path, [0]).path)[1]


def test_a_recording_without_looks_says_how_to_make_one_with(tmp_path: Path, run: Run) -> None:
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]})}
    facts = {"window": {"start_ns": 0, "end_ns": 1}, "mode": "agent"}
    code, _, err = run("numa-map", write_recording(tmp_path / "a.headway", facts, tables))
    assert (code, "HW733" in err, "--numa-map 1s" in err) == (1, True, True)


def test_lines_that_are_no_looks_and_looks_outside_of_the_recording_are_left_out(tmp_path: Path) -> None:
    look = {
        "ns": 50,
        "pid": 7,
        "is_heap": True,
        "memory_pages": 9,
        "page_bytes": 4096,
        "asked_pages": 9,
        "pages": {"0": 4},
    }
    wrong: list[Any] = [
        *({**look, "pages": pages} for pages in (None, [1], {"x": 1}, {"0": 99}, {"-1": 1})),
        *({**look, name: -1} for name in look if name not in ("is_heap", "pages")),
        *([], 5, {}, look | {"ns": 101}, look | {"ns": 1 << 70}),
    ]
    lines = [json.dumps(each) for each in (look, *wrong, look)]
    (tmp_path / "heap-nodes.jsonl").write_text("\n".join([*lines, "{", lines[0][:-3]]))
    rows = [*heap_node_rows(tmp_path, (0, 100))]
    assert rows == 2 * [(50, 7, True, 9, 4096, 9, 0, 4), (50, 7, True, 9, 4096, 9, None, 5)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--pid PID"),
        (("{path}", "--pid", 1), "--pid PID"),
        (("{path}", "--interval", "1s"), "go with --pid"),
        (("--pid", 1, "--all"), "with a recording"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: tuple[Any, ...], said: str, tmp_path: Path, run: Run
) -> None:
    code, _, err = run("numa-map", *(str(word).format(path=tmp_path) for word in words))
    assert (code, said in err) == (2, True)


@pytest.mark.parametrize("given_text", ["0s", "99ms", "10%"])
def test_an_interval_that_is_too_short_is_refused(given_text: str, tmp_path: Path, run: Run) -> None:
    code, _, err = run("record", "-o", tmp_path / "a.headway", "--numa-map", given_text, "--", "true")
    assert (code, "--numa-map" in err) == (2, True)
