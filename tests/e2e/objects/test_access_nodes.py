"""Accesses by memory node of a program that knows how many it makes: with each collector samples are of pages that are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

ROUNDS = 1
FEW = 0.02
FAR = 25_000
"""Accesses of one kind behind the last sample: as many come once in e^25 times."""
NODES = {int(path.name.removeprefix("node")) for path in Path("/sys/devices/system/node").glob("node[0-9]*")}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nodes")
    compile_java(folder, PROGRAMS / "NodeAccesses.java")
    return folder


def recorded(java: Path, path: Path, classes: Path, *options: str, objects: str = "accesses,nodes") -> int:
    command = ["record", "--mode", "agent", "--objects", objects, "-o", path, "--", java, *options, "-Xmx256m"]
    done = headway(*command, "-cp", classes, "NodeAccesses", ROUNDS)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def answer(path: Path) -> dict[str, Any]:
    done = headway("objects", path, "--by", "thread", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


COLLECTORS = [("jdk17", "G1"), ("jdk17", "Z"), ("jdk17", "Serial"), ("jdk25", "Parallel"), ("jdk25", "Z")]


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_counts_are_exact_and_samples_are_of_pages_that_are_there(
    jdk: str, collector: str, classes: Path, tmp_path: Path
) -> None:
    each_way = recorded(JAVAS[jdk], tmp_path / "a.headway", classes, f"-XX:+Use{collector}GC") // 2
    found = answer(tmp_path / "a.headway")
    groups = {each["thread"]: each for each in found["accesses"]["groups"]}
    other = groups["other"]
    assert other["tuple"]["write"]["count"] + other["array"]["write"]["count"] == each_way
    nodes = found["accesses"]["nodes"]
    assert nodes["samples"] > 2 * each_way // 1000
    assert nodes["samples_unknown"] <= FEW * nodes["samples"]
    assert {each["page_node"] for each in found["nodes"]} <= NODES | {None}
    assert {each["cpu_node"] for each in found["nodes"]} <= NODES


def test_samples_stand_for_accesses_of_their_thread_and_kind_but_for_those_behind_the_last_one(
    classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.headway"
    recorded(JAVAS["jdk17"], path, classes, objects="accesses,nodes,owners")
    kinds = ("tuple_reads", "tuple_writes", "array_reads", "array_writes")
    counts = " UNION ALL ".join(f"SELECT java_id, '{kind}' AS kind, {kind} AS counted FROM access" for kind in kinds)
    text = f"""SELECT counted, n.accesses FROM ({counts}) c JOIN (SELECT java_id, kind, sum(accesses) AS accesses
      FROM access_node GROUP BY ALL) n USING (java_id, kind)"""
    done = headway("query", path, text, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 2 * len(kinds)
    assert all(0 <= row["counted"] - row["accesses"] <= FAR for row in rows)
    pairs = {(each["accessor"], each["owner"]): each["nodes"] for each in answer(path)["pairs"] if each["nodes"]}
    assert pairs["other", "main"]["samples"] > 1000
