"""Accesses by the thread that wrote to the object last: what a simulation of owners says of a program's known schedule."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

SCOPE = ("WriterSteps$Work", "WriterSteps$Thing")
RULES = ("allocator", "last-writer")
RACERS, RACES = 4, 20_000
COLLECTORS = [(jdk, each) for jdk in ("jdk17", "jdk25") for each in ("Serial", "Parallel", "G1", "Z", "Shenandoah")]
UNKNOWN = "?"
Step = tuple[str, str, str, int]
Pairs = dict[tuple[str, str], tuple[int, ...]]
"""By accessor and owner: reads and writes of fields, of elements."""

PING_PONG: list[Step] = [
    ("b-0", "new", "b", 0),
    ("b-1", "write", "b", 4),
    ("c-0", "new", "c", 0),
    *((f"c-{turn % 2}", "write", "c", 1) for turn in (1, 2, 3, 4)),
]
"""Figure 6.2 of Papadakis 2022: four writes by another thread than the one that allocated (b), and by both in turn (c)."""


LONG_METHODS = {
    "fits": "t.a = 1;",
    "reads": "int sum = 0;" + " sum += t.b;" * 800 + " t.a = sum;",
    "interpreted": "int sum = 1;" + " sum = sum * 3 + 1;" * 1_500 + " t.a = sum;",
    "writes": " t.a = 1;" * 900,
}
"""Methods that write to an object; those but the first would be longer than 8,000 bytes with a call at each access."""
LONG_WORK = (
    """
public class LongWork {
  static class Thing { int a; int b; }
  static class Work {
    static Thing thing() { return new Thing(); }
    static int read(Thing t) { int sum = 0; for (int i = 0; i < 10; i++) sum += t.a; return sum; }
"""
    + "".join(f"    static void {name}(Thing t) {{ {code} }}\n" for name, code in LONG_METHODS.items())
    + """
  }
  public static void main(String[] args) throws Exception {
    Thing thing = Work.thing(), own = Work.thing();
    Thread other = new Thread(() -> { switch (args[0]) {"""
    + "".join(f'case "{name}": Work.{name}(thing); break; ' for name in LONG_METHODS)
    + """ } }, "other");
    other.start();
    other.join();
    Work.read(thing);
    Work.read(own);
  }
}
"""
)
HASHES = """
public class Hashes {
  static class Work { static Object thing() { return new int[1]; } }
  public static void main(String[] args) {
    java.util.BitSet ofTable = new java.util.BitSet(), ofMap = new java.util.BitSet();
    for (int i = 0; i < 1 << 20; i++) {
      Object object = Work.thing();
      if (i % 1024 != 0) continue;
      int hash = System.identityHashCode(object);
      ofTable.set(hash & 1023);
      ofMap.set((hash ^ hash >>> 16) & 1023);
    }
    System.out.println("places " + ofTable.cardinality() + " " + ofMap.cardinality());
  }
}
"""


@dataclass
class Simulation:
    """Who owns each object by both rules, and how often each thread used whose."""

    allocator: dict[str, str] = field(default_factory=dict)
    writer: dict[str, str] = field(default_factory=dict)
    hashed: set[str] = field(default_factory=set)
    uses: dict[str, Counter[tuple[str, str, int]]] = field(default_factory=lambda: {rule: Counter() for rule in RULES})
    arrays: set[str] = field(default_factory=set)

    def turn(self, step: Step) -> None:
        """Let a thread do one step."""
        thread, what, name, count = step
        if what == "gc":
            return
        if name not in self.allocator:
            self.allocator[name] = thread if what in ("new", "array") else UNKNOWN
            self.writer[name] = self.allocator[name]
            self.hashed |= {name} if what == "hashed" else set()
            self.arrays |= {name} if what != "new" else set()
            return
        is_write = what.endswith("write")
        kind = 2 * (name in self.arrays) + is_write
        for _ in range(count):
            self.uses["allocator"][thread, self.allocator[name], kind] += 1
            self.uses["last-writer"][thread, self.writer[name], kind] += 1
            if is_write and name not in self.hashed:
                self.writer[name] = thread

    def pairs(self, rule: str) -> Pairs:
        """Return the accesses of each pair that has any."""
        keys = {(thread, owner) for thread, owner, _ in self.uses[rule]}
        return {key: tuple(self.uses[rule][*key, kind] for kind in range(4)) for key in keys}


def random_steps(seed: int, turns: int) -> list[Step]:
    choose, steps, objects = random.Random(seed), list[Step](), list[str]()
    ways = [f"{lock}{use}" for lock in ("", "", "locked-", "waited-") for use in ("read", "write")]
    for number in range(turns):
        thread = f"w-{choose.randrange(4)}"
        if choose.random() < 0.15 or not objects:
            objects.append(f"o{number}")
            steps.append((thread, choose.choice(["new", "new", "array", "array", "jdk", "hashed"]), objects[-1], 0))
        elif choose.random() < 0.03:
            steps.append((thread, "gc", "-", 0))
        else:
            steps.append((thread, choose.choice(ways), choose.choice(objects[-12:]), choose.randrange(1, 30)))
    return steps


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("writers")
    (folder / "LongWork.java").write_text(LONG_WORK)
    (folder / "Hashes.java").write_text(HASHES)
    for source in (PROGRAMS / "WriterSteps.java", folder / "LongWork.java", folder / "Hashes.java"):
        compile_java(folder, source)
    return folder


def recorded(java: Path, classes: Path, path: Path, steps: list[Step], owner: str, *options: str) -> None:
    """Record the program that does these steps, and then lets threads write to one object without taking turns."""
    file = path.with_suffix(".steps")
    file.write_text("".join(f"{' '.join(map(str, step))}\n" for step in steps))
    scope = [part for name in SCOPE for part in ("--object-scope", name)]
    asked = ["record", "--mode", "agent", "--objects", "accesses", "--owner", owner, *scope, "-o", path, "--", java]
    done = headway(*asked, *options, "-Xmx256m", "-cp", classes, "WriterSteps", file, RACERS, RACES)
    assert done.returncode == 0, done.stderr


def said(path: Path, rule: str) -> dict[str, Any]:
    done = headway("objects", path, "--json", "--by", "thread", "--owner", rule)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["owner"] == rule
    return found


def counts_of(cell: dict[str, dict[str, int]]) -> tuple[int, ...]:
    return tuple(cell[what][how] for what in ("tuple", "array") for how in ("read", "write"))


def name_of(name: str | None, java_id: int) -> str:
    return name or {-2: "virtual"}.get(java_id, UNKNOWN)


def pairs_of(found: dict[str, Any], *, of_racers: bool = False) -> Pairs:
    rows = [
        (name_of(each["accessor"], each["java_id"]), name_of(each["owner"], each["owner_java_id"]), counts_of(each))
        for each in found["pairs"]
    ]
    return {
        (accessor, owner): counts
        for accessor, owner, counts in rows
        if any(counts) and accessor.startswith("racer") == of_racers
    }


def assert_nothing_is_lost_where_threads_race(found: dict[str, Any], rule: str) -> None:
    pairs = pairs_of(found, of_racers=True)
    for number in range(RACERS):
        of_racer = [counts for (accessor, _), counts in pairs.items() if accessor == f"racer-{number}"]
        assert [sum(each) for each in zip(*of_racer, strict=True)] == [RACES] * 4
    owners = {owner for _, owner in pairs}
    assert owners == {"main"} if rule == "allocator" else owners <= {"main", *(f"racer-{n}" for n in range(RACERS))}


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_each_access_is_counted_for_the_owner_that_a_simulation_has_by_each_rule(
    jdk: str, collector: str, classes: Path, tmp_path: Path
) -> None:
    option = f"-XX:+Use{collector}GC"
    if subprocess.run([JAVAS[jdk], option, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this JVM has no such collector")
    simulation, steps = Simulation(), [*PING_PONG, *random_steps(COLLECTORS.index((jdk, collector)), 400)]
    for step in steps:
        simulation.turn(step)
    path = tmp_path / "a.headway"
    recorded(JAVAS[jdk], classes, path, steps, ",".join(RULES), option)
    for rule in RULES:
        found = said(path, rule)
        assert pairs_of(found) == simulation.pairs(rule)
        assert_nothing_is_lost_where_threads_race(found, rule)


def test_ping_pong_between_threads_is_four_shared_writes_by_the_last_writer_and_two_by_the_allocator(
    classes: Path, tmp_path: Path
) -> None:
    """The published figure: by the last writer one of case b and four of case c; by the allocator four and two."""
    path = tmp_path / "a.headway"
    recorded(JAVAS["jdk25"], classes, path, PING_PONG, "allocator,last-writer", "-XX:+UseCompactObjectHeaders")
    for rule, wanted in (("last-writer", {"b": 1, "c": 4}), ("allocator", {"b": 4, "c": 2})):
        shared = Counter[str]()
        for (accessor, owner), counts in pairs_of(said(path, rule)).items():
            assert owner != UNKNOWN
            shared[accessor[0]] += counts[1] if accessor != owner else 0
        assert shared == wanted


def test_what_more_threads_than_have_a_number_wrote_last_is_unknown_to_them_as_well(
    classes: Path, tmp_path: Path
) -> None:
    """Main, which checks identity hashes at the start, and 252 more of 260 threads have one."""
    threads = [f"t-{number}" for number in range(260)]
    steps: list[Step] = [("t-0", "new", "o", 0), *((name, "write", "o", 1) for name in threads)]
    steps += [("t-259", "read", "o", 3), ("t-0", "write", "o", 2), ("t-259", "write", "o", 1)]
    path = tmp_path / "a.headway"
    recorded(JAVAS["jdk17"], classes, path, steps, "last-writer")
    found = said(path, "last-writer")
    pairs = pairs_of(found)
    for before, name in pairwise(threads[:-1]):
        assert pairs == pairs | {(name, before if int(before[2:]) < 252 else UNKNOWN): (0, 1, 0, 0)}
    assert pairs["t-0", "t-0"] == (0, 2, 0, 0)
    assert pairs["t-0", UNKNOWN] == (0, 1, 0, 0)
    assert {owner: counts for (name, owner), counts in pairs.items() if name == "t-259"} == {
        UNKNOWN: (3, 1, 0, 0),
        "t-0": (0, 1, 0, 0),
    }
    of_last = next(each for each in found["accesses"]["groups"] if each["thread"] == "t-259")
    assert sum(counts_of(of_last["owners"]["local"])) == 0


def test_virtual_threads_are_one_last_writer_whose_own_objects_are_unknown(classes: Path, tmp_path: Path) -> None:
    steps: list[Step] = [
        ("p", "new", "o", 0),
        ("virtual-0", "write", "o", 3),
        ("virtual-1", "write", "o", 2),
        ("p", "read", "o", 4),
        ("p", "write", "o", 1),
        ("virtual-0", "read", "o", 5),
    ]
    path = tmp_path / "a.headway"
    recorded(JAVAS["jdk25"], classes, path, steps, "last-writer")
    found = said(path, "last-writer")
    assert pairs_of(found) == {
        ("virtual", "p"): (5, 1, 0, 0),
        ("virtual", "virtual"): (0, 4, 0, 0),
        ("p", "virtual"): (4, 1, 0, 0),
    }
    virtual = next(each["owners"] for each in found["accesses"]["groups"] if each["java_id"] == -2)
    assert [counts_of(virtual[whose]) for whose in ("local", "shared", "unknown")] == [
        (0, 0, 0, 0),
        (5, 1, 0, 0),
        (0, 4, 0, 0),
    ]


def test_the_last_writer_alone_is_the_same_and_needs_no_rule_to_be_shown(classes: Path, tmp_path: Path) -> None:
    simulation, steps = Simulation(), random_steps(99, 300)
    for step in steps:
        simulation.turn(step)
    path = tmp_path / "a.headway"
    recorded(JAVAS["jdk17"], classes, path, steps, "last-writer")
    shown = headway("objects", path, "--json").stdout
    assert json.loads(shown)["owners_recorded"] == ["last-writer"]
    assert pairs_of(said(path, "last-writer")) == pairs_of(json.loads(shown)) == simulation.pairs("last-writer")
    refused = headway("objects", path, "--owner", "allocator")
    assert refused.returncode != 0
    assert "HW815" in refused.stderr


@pytest.mark.parametrize("method", LONG_METHODS)
def test_a_write_in_a_long_method_changes_the_last_writer_or_makes_it_unknown(
    method: str, classes: Path, tmp_path: Path
) -> None:
    """Another thread writes to one of two objects of main, which then reads each ten times."""
    path = tmp_path / "a.headway"
    scope = [part for name in ("LongWork$Work", "LongWork$Thing") for part in ("--object-scope", name)]
    asked = ["record", "--mode", "agent", "--objects", "accesses", "--owner", "last-writer", *scope]
    done = headway(*asked, "-o", path, "--", JAVAS["jdk17"], "-cp", classes, "LongWork", method)
    assert done.returncode == 0, done.stderr
    found = said(path, "last-writer")
    reads = Counter[str]()
    for (accessor, owner), counts in pairs_of(found).items():
        reads[owner] += counts[0] if accessor == "main" else 0
    is_known = method != "writes"
    assert +reads == Counter({"other": 10, "main": 10} if is_known else {UNKNOWN: 20})
    assert ("HW818" in {each["id"] for each in found["warnings"]}) == (not is_known)


def test_identity_hashes_that_are_numbers_fill_hash_tables_evenly(classes: Path, tmp_path: Path) -> None:
    """IdentityHashMap looks at their low bits, HashMap at those with the high ones mixed in."""
    asked = [
        "record",
        "--mode",
        "agent",
        "--objects",
        "accesses",
        "--owner",
        "last-writer",
        "--object-scope",
        "Hashes$Work",
    ]
    done = headway(*asked, "-o", tmp_path / "a.headway", "--", JAVAS["jdk25"], "-cp", classes, "Hashes")
    assert done.returncode == 0, done.stderr
    places = next(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("places "))
    assert all(int(each) > 600 for each in places)  # of random hashes 647 of 1,024
