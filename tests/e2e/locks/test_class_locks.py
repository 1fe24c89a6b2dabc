"""Locks of classes: the JVM's own, on the JDK that has them, named by the class that threads are about to use; and objects that
stand for classes, named as programs write them.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.store import Recording, open_recording
from support.drivers.recording_cli import JAVA_17, headway, javas
from support.drivers.workloads import ROOT, compile_java
from support.oracles.lock_oracle import JfrBlock, jfr_options, locks_json, read_jfr

pytestmark = pytest.mark.root
WAITERS, MILLIS = 3, 200
PREFIX = "class initialisation for "


@dataclass
class Linked:
    path: Path
    said: list[dict[str, Any]]
    locks: list[dict[str, Any]]
    jfr: list[JfrBlock]

    @property
    def recording(self) -> Recording:
        return open_recording(self.path)

    def blocks(self, class_name: str) -> list[tuple[int, int, int]]:
        """Return (java id, start, end) of each block on objects that are called so."""
        return self.recording.query(
            "SELECT java_id, start_ns, start_ns + dur_ns FROM block JOIN blocker USING (blocker_id)"
            " WHERE class_name = $1 AND block.kind = 'monitor'",
            (class_name,),
        ).fetchall()


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Linked:
    folder = tmp_path_factory.mktemp("linked")
    compile_java(folder, ROOT / "tests/programs/SlowlyLinked.java")
    command = [JAVA_17, *jfr_options(folder), "-cp", folder, "SlowlyLinked", WAITERS, MILLIS]
    done = headway("record", "--locks", "-o", folder / "r.headway", "--", *command)
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    return Linked(folder / "r.headway", said, locks_json(folder / "r.headway"), read_jfr(folder / "r.jfr"))


def test_who_waits_for_a_class_is_seen_waiting_for_it_as_long_as_it_takes(linked: Linked) -> None:
    assert [each["class"].removeprefix("SlowlyLinked$") for each in linked.said] == ["Read", "Called", "Made", "int[]"]
    for each in linked.said:
        name = each["class"] if each["class"] == "int[]" else PREFIX + each["class"]
        found = linked.blocks(name)
        assert len(each["waits"]) == WAITERS
        for wait in each["waits"]:
            mine = [(start, end) for java_id, start, end in found if java_id == wait["java_id"]]
            assert all(wait["before_ns"] <= start and end <= wait["after_ns"] for start, end in mine)
            assert sum(start < each["sleep_end_ns"] <= end for start, end in mine) == 1, name


def test_only_locks_of_the_jvm_are_taken_for_such(linked: Linked) -> None:
    named = {row["class_name"]: row for row in linked.locks if row["kind"] == "monitor"}
    for each in linked.said[:3]:
        row = named[PREFIX + each["class"]]
        assert row["name"] == row["class_name"]
        assert (row["rule"]["id"], row["contention"]) == ("class-initialisation", True)
        assert row["peak_parked"] == WAITERS
    assert named["int[]"]["rule"]["id"] == "monitor"
    assert named["int[]"]["name"].startswith("int[]@")


def test_jfr_counts_as_many_enters_of_int_arrays(linked: Linked) -> None:
    waiters = {wait["java_id"] for each in linked.said for wait in each["waits"]}
    jfr = Counter(block.java_id for block in linked.jfr if (block.kind, block.class_name) == ("monitor", "[I"))
    rows = linked.recording.query(
        "SELECT java_id FROM block JOIN blocker USING (blocker_id) WHERE block.kind = 'monitor'"
        " AND (class_name = 'int[]' OR class_name LIKE 'class initialisation%')"
    ).fetchall()
    own = Counter(java_id for (java_id,) in rows)
    assert {java_id: own[java_id] for java_id in waiters} == {java_id: jfr[java_id] for java_id in waiters}
    assert all(own[java_id] >= 1 for java_id in waiters)


def test_people_read_the_same_name(linked: Linked) -> None:
    shown = headway("locks", linked.path, "--all")
    assert shown.returncode == 0, shown.stderr
    for each in linked.said[:3]:
        assert PREFIX + each["class"] in shown.stdout


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_what_static_synchronized_methods_lock_has_the_name_that_programs_write(tmp_path: Path, java: str) -> None:
    compile_java(tmp_path, ROOT / "tests/programs/ClassObjects.java")
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", java, "-cp", tmp_path, "ClassObjects")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in locks_json(tmp_path / "r.headway") if row["kind"] == "monitor"}
    for name in ("ClassObjects.class", "ClassObjects$Nested.class", "int[].class"):
        assert rows[name]["class_name"] == name
        assert (rows[name]["rule"]["id"], rows[name]["peak_parked"]) == ("monitor", 1)
        assert rows[name]["identity_hash"]
