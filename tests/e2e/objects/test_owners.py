"""Accesses by owner of a program that knows which of its threads uses whose objects: exact, whatever moves the objects."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

ROUNDS = 5_000
SCOPE = ("OwnerCounts$Work", "OwnerCounts$Node", "OwnerCounts$Made")
COLLECTORS = [(jdk, each) for jdk in ("jdk17", "jdk25") for each in ("Serial", "Parallel", "G1", "Z", "Shenandoah")]
Pairs = dict[tuple[str, str], tuple[int, ...]]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("owners")
    compile_java(folder, PROGRAMS / "OwnerCounts.java")
    return folder


def added_up(rows: list[tuple[str, str, tuple[int, ...]]]) -> Pairs:
    sums: dict[tuple[str, str], Counter[int]] = {}
    for accessor, owner, counts in rows:
        sums.setdefault((accessor, owner), Counter()).update(dict(enumerate(counts)))
    return {key: tuple(found[kind] for kind in range(4)) for key, found in sums.items() if any(found.values())}


def recorded(
    java: Path, classes: Path, path: Path, *options: str, owner: str = "allocator"
) -> tuple[Pairs, dict[str, Any]]:
    """Record the program; return what it says of itself, and what `headway objects` says."""
    scope = [part for name in SCOPE for part in ("--object-scope", name)]
    how = ["--objects", "accesses,owners", "--owner", owner]
    asked = ["record", "--mode", "agent", *how, *scope, "-o", path, "--", java, *options]
    done = headway(*asked, "-Xmx256m", "-cp", classes, "OwnerCounts", ROUNDS, "hashes")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.split("end\n")[0].splitlines() if line.startswith("worker-")]
    stated = added_up([(accessor, owner, tuple(map(int, counts))) for accessor, owner, *counts in lines])
    assert len(stated) == 4 * 5
    said = headway("objects", path, "--json", "--by", "thread")
    assert said.returncode == 0, said.stderr
    return stated, json.loads(said.stdout)


def counts_of(cell: dict[str, dict[str, int]]) -> tuple[int, ...]:
    return tuple(cell[what][how] for what in ("tuple", "array") for how in ("read", "write"))


def pairs_of(said: dict[str, Any]) -> Pairs:
    rows = [(each["accessor"], each["owner"] or "?", counts_of(each)) for each in said["pairs"]]
    return {key: counts for key, counts in added_up(rows).items() if key[0].startswith("worker-")}


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_each_access_is_counted_for_the_thread_that_allocated_the_object(
    jdk: str, collector: str, classes: Path, tmp_path: Path
) -> None:
    option = f"-XX:+Use{collector}GC"
    if subprocess.run([JAVAS[jdk], option, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this JVM has no such collector")
    stated, said = recorded(JAVAS[jdk], classes, tmp_path / "a.headway", option)
    assert pairs_of(said) == stated
    for each in said["accesses"]["groups"]:
        of_thread = {key: counts for key, counts in stated.items() if key[0] == each["thread"]}
        if not of_thread:
            continue
        local = sum(map(sum, (of_thread[key] for key in of_thread if key[1] == each["thread"])))
        unknown = sum(map(sum, (of_thread[key] for key in of_thread if key[1] == "?")))
        found = {whose: sum(counts_of(cell)) for whose, cell in each["owners"].items()}
        shared = sum(map(sum, of_thread.values())) - local - unknown
        assert found == {"local": local, "shared": shared, "unknown": unknown}


@pytest.mark.parametrize("jdk", ["jdk17", "jdk25"])
def test_beside_the_last_writer_the_owner_that_allocated_is_the_same_and_identity_hashes_hold(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    """Objects have numbers in their hashes then, which the program compares before and after collections."""
    stated, said = recorded(JAVAS[jdk], classes, tmp_path / "a.headway", owner="allocator,last-writer")
    assert said["owners_recorded"] == ["allocator", "last-writer"]
    assert pairs_of(said) == stated


def test_compact_object_headers_change_nothing(classes: Path, tmp_path: Path) -> None:
    stated, said = recorded(JAVAS["jdk25"], classes, tmp_path / "a.headway", "-XX:+UseCompactObjectHeaders")
    assert pairs_of(said) == stated


def test_shares_are_those_of_the_pairs(classes: Path, tmp_path: Path) -> None:
    stated, said = recorded(JAVAS["jdk17"], classes, tmp_path / "a.headway")
    reads = [counts[0] + counts[2] for counts in stated.values()]
    known = {key: counts[0] + counts[2] for key, counts in stated.items() if key[1] != "?"}
    of_others = sum(count for (accessor, owner), count in known.items() if accessor != owner)
    main = [each for each in said["pairs"] if each["accessor"] == "main"]
    assert sum(sum(counts_of(each)) for each in main) == 0
    assert said["shared"]["read"] == pytest.approx(of_others / sum(known.values()))
    assert said["shared"]["read_unknown"] == pytest.approx(1 - sum(known.values()) / sum(reads))
    shown = headway("objects", tmp_path / "a.headway", "--matrix").stdout
    assert "worker-3" in shown
    assert "HW847" in shown


def test_a_jvm_that_makes_identity_hashes_in_another_way_has_unknown_owners(classes: Path, tmp_path: Path) -> None:
    asked = ("-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=0")
    _, said = recorded(JAVAS["jdk17"], classes, tmp_path / "a.headway", *asked)
    assert "HW848" in {each["id"] for each in said["warnings"]}
    assert said["pairs"] is None
    assert said["shared"] is None
