"""Cache lines that threads write in turn: what a search through a program's own account of its writes says."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

COLLECTORS = [(jdk, each) for jdk in ("jdk17", "jdk25") for each in ("Serial", "Parallel", "G1", "Z", "Shenandoah")]
MOVE_WHILE_THE_PROGRAM_RUNS = ("Z", "Shenandoah")
RACERS, RACES = 2, 100_000
Step = tuple[str, str, str]
Meeting = tuple[str, str, str, str, str, bool]
"""Thread, other thread, field, other field, distance, whether it is one object."""
FIELDS = {
    "pair": ("a", "b", "c", "d", "e"),
    "child": ("a", "own", "b"),
    "padded": ("a", "b"),
    "longs": ("0", "1", "9", "20"),
    "bytes": ("0", "1", "63", "200"),
    "texts": ("3", "4"),
}
ARRAYS = {"longs": "long[]", "bytes": "byte[]", "texts": "Object[]"}


@dataclass(frozen=True)
class Wrote:
    """A write, as the program says of it."""

    thread: str
    field: str
    object: int
    address: int
    epoch: int


def random_steps(seed: int, turns: int, *, collects: bool) -> list[Step]:
    choose, steps = random.Random(seed), list[Step]()
    names = [f"{kind}{number}" for number in range(3) for kind in FIELDS]
    for _ in range(turns):
        name = choose.choice(names)
        if collects and choose.random() < 0.01:
            steps.append(("gc", "-", "-"))
        steps.append((f"w-{choose.randrange(3)}", name, choose.choice(FIELDS[name[:-1]])))
    return steps


def alternating(name: str, times: int, *fields: str) -> list[Step]:
    """Return a schedule of as many threads as fields, each of which writes to its own, in turn."""
    return [(f"w-{which}", name, field) for _ in range(times) for which, field in enumerate(fields)]


def shown_field(name: str, field: str) -> str:
    kind = name.rstrip("0123456789")
    if kind in ARRAYS:
        return f"{ARRAYS[kind]} in LineSteps$Work.write"
    declaring = {"padded": "Padded", "child": "Child" if field == "own" else "Pair"}.get(kind, "Pair")
    return f"LineSteps${declaring}.{'a' if field == 'own' else field}"


def writes_of(steps: list[Step], output: str, *, is_coloured: bool = False) -> list[Wrote]:
    """Return what the program wrote, in its order."""
    found, epoch, said = [], 0, {}
    for line in output.splitlines():
        word, *numbers = line.split()
        if word == "wrote":
            number, *where = map(int, numbers)
            said[number] = where
    for number, (thread, name, field) in enumerate(steps):
        if thread == "gc":
            epoch += 1
            continue
        base, offset = said[number]
        base = uncoloured(base) if is_coloured else base
        found.append(Wrote(thread, shown_field(name, field), base, base + offset, epoch))
    return found


def uncoloured(reference: int) -> int:
    """Return the address in a reference of ZGC with generations: above its colours, one of which says how far above."""
    colours = reference & 0xF000
    return reference >> (colours & -colours).bit_length()


def apart(writes: list[Wrote]) -> int:
    """Return how far from each other the first two writes were."""
    return abs(writes[0].address - writes[1].address)


def meetings_of(writes: list[Wrote]) -> Counter[Meeting]:
    """Return which writes met another thread's, by a search through all those before."""
    found = Counter[Meeting]()
    for number, now in enumerate(writes):
        past = [each for each in reversed(writes[:number]) if each.epoch == now.epoch]
        here = next((each for each in past if each.address == now.address), None)
        if here is None:
            continue
        if here.thread != now.thread:
            found[now.thread, here.thread, now.field, now.field, "same", True] += 1
            continue
        for distance, size in (("line", 64), ("pair", 128)):
            last = next(each for each in past if each.address // size == now.address // size)
            if last.thread != now.thread:
                is_one = last.object == now.object
                found[now.thread, last.thread, now.field, last.field, distance, is_one] += 1
                break
    return found


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    compile_java(folder, PROGRAMS / "LineSteps.java")
    return folder


def recorded(
    java: Path,
    classes: Path,
    path: Path,
    steps: list[Step],
    *options: str,
    stride: int = 1,
    what: str = "accesses,lines",
) -> tuple[list[Wrote], dict[str, Any]]:
    """Record the program that does these steps; return its own account, and what headway says."""
    file = path.with_suffix(".steps")
    file.write_text("".join(f"{' '.join(step)}\n" for step in steps))
    asked = ["record", "--mode", "agent", "--objects", what, "--object-scope", "LineSteps$Work", "-o", path, "--", java]
    jvm = ("-XX:-UseCompressedOops", "-Xms256m", "-Xmx256m", *options, "-cp", classes)
    done = headway(*asked, *jvm, "LineSteps", file, RACERS, RACES, stride)
    assert done.returncode == 0, done.stderr
    shown = headway("objects", path, "--json", "--by", "field")
    assert shown.returncode == 0, shown.stderr
    found: dict[str, Any] = json.loads(shown.stdout)
    is_coloured = java == JAVAS["jdk25"] and "-XX:+UseZGC" in options
    return writes_of(steps, done.stdout, is_coloured=is_coloured), found


def meetings_in(found: dict[str, Any], *, of_racers: bool = False) -> Counter[Meeting]:
    meetings = Counter[Meeting]()
    for row in found["lines"]["rows"]:
        for each in row["threads"]:
            names = (each["thread"], each["other_thread"])
            fields = (each["field"], each["other_field"])
            if each["thread"].startswith("racer") == of_racers:
                meetings[*names, *fields, each["distance"], row["same_object"]] += each["writes"]
    return meetings


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_each_write_meets_those_that_a_search_through_the_program_s_own_account_finds(
    jdk: str, collector: str, classes: Path, tmp_path: Path
) -> None:
    option = f"-XX:+Use{collector}GC"
    if subprocess.run([JAVAS[jdk], option, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this JVM has no such collector")
    collects = collector not in MOVE_WHILE_THE_PROGRAM_RUNS
    steps = random_steps(COLLECTORS.index((jdk, collector)), 600, collects=collects)
    writes, found = recorded(JAVAS[jdk], classes, tmp_path / "a.headway", steps, option)
    wanted = meetings_of(writes)
    assert meetings_in(found) == wanted
    assert {(key[4], key[5]) for key in wanted} >= {("same", True), ("line", True), ("line", False)}
    assert found["lines"]["writes"] == len(writes) + RACERS * RACES


@pytest.mark.parametrize("jdk", ["jdk17", "jdk25"])
def test_fields_beside_each_other_share_lines_and_padded_ones_do_not(jdk: str, classes: Path, tmp_path: Path) -> None:
    times, objects = 10, range(8)
    kinds = (("pair", "a", "b"), ("longs", "0", "1"))
    padded = (("padded", "a", "b"), ("longs", "3", "19"))
    before = [
        step for kind, *fields in kinds for each in objects for step in alternating(f"{kind}{each}", times, *fields)
    ]
    writes, found = recorded(JAVAS[jdk], classes, tmp_path / "before.headway", before, "-XX:+UseSerialGC")
    assert meetings_in(found) == meetings_of(writes)
    rows = {tuple(row["fields"]): row for row in found["lines"]["rows"] if row["same_object"]}
    of_fields = rows["LineSteps$Pair.a", "LineSteps$Pair.b"]
    assert of_fields["same"] == 0
    assert of_fields["line"] + of_fields["pair"] >= (2 * times - 2) * len(objects) // 2
    assert of_fields["bytes_apart"] == apart(writes)
    assert {each["thread"] for each in of_fields["threads"]} == {"w-0", "w-1"}
    after = [
        step for kind, *fields in padded for each in objects for step in alternating(f"{kind}{each}", times, *fields)
    ]
    writes, found = recorded(JAVAS[jdk], classes, tmp_path / "after.headway", after, "-XX:+UseSerialGC", stride=16)
    assert meetings_in(found) == meetings_of(writes)
    assert not [row for row in found["lines"]["rows"] if row["same_object"]]
    assert found["lines"]["writes"] == len(after) + RACERS * RACES


def test_one_field_that_both_write_is_true_sharing_whatever_lies_beside_it(classes: Path, tmp_path: Path) -> None:
    _, found = recorded(JAVAS["jdk25"], classes, tmp_path / "a.headway", alternating("pair0", 20, "a", "a"))
    (row,) = [each for each in found["lines"]["rows"] if each["threads"][0]["thread"].startswith("w-")]
    assert (row["fields"], row["same"], row["line"], row["pair"]) == (["LineSteps$Pair.a"] * 2, 39, 0, 0)
    assert row["bytes_apart"] is None


def test_an_object_that_is_handed_on_once_shares_no_line(classes: Path, tmp_path: Path) -> None:
    steps: list[Step] = [("w-0", "pair0", "a")] * 5 + [("w-1", "pair0", "b")] * 5
    _, found = recorded(JAVAS["jdk17"], classes, tmp_path / "a.headway", steps)
    assert not meetings_in(found)


def test_lines_are_the_same_beside_owners_and_compact_headers(classes: Path, tmp_path: Path) -> None:
    steps = random_steps(77, 400, collects=True)
    options = ("-XX:+UseCompactObjectHeaders", "-XX:+UseSerialGC", "-Xcheck:jni")
    path = tmp_path / "a.headway"
    writes, found = recorded(JAVAS["jdk25"], classes, path, steps, *options, what="accesses,owners,lines")
    assert meetings_in(found) == meetings_of(writes)
    assert found["owner"] == "allocator"


def test_what_is_shared_is_told_as_text_with_the_padding_that_separates_it(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    steps = [step for i in range(4) for step in alternating(f"pair{i}", 9, "a", "b")]
    writes, _ = recorded(JAVAS["jdk17"], classes, path, steps)
    shown = " ".join(headway("objects", path, "--by", "field").stdout.split())
    both = f"LineSteps$Pair.a and LineSteps$Pair.b are {apart(writes)} bytes apart in one object"
    assert f"{both}, and written in turn by w-0, w-1" in shown
    assert f"{64 - apart(writes)} bytes more for lines of 64" in shown


def test_a_recording_without_lines_says_how_they_are_recorded(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    _, found = recorded(JAVAS["jdk17"], classes, path, [("w-0", "pair0", "a")], what="accesses")
    assert found["lines"] is None
    assert "HW819" in {each["id"] for each in found["warnings"]}
