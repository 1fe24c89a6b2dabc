"""Runs programs that fail in the middle of parks, and reads what they counted themselves."""

from __future__ import annotations

import array
import csv
import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headway.store import Recording, open_recording
from support.drivers.recording_cli import javas, manifest, wait_for
from support.drivers.workloads import workloads_jar
from support.oracles.lock_oracle import OPEN_LOCKS, Span

JAVAS = dict(zip(("jdk17", "jdk25"), javas(), strict=True))
PROGRAM = "headway.workloads"


def command(java: str, program: str, *arguments: object, jvm: tuple[str, ...] = ()) -> list[str]:
    """Return the command line of a program of java/workloads."""
    words = [java, OPEN_LOCKS, *jvm, "-cp", str(workloads_jar()), f"{PROGRAM}.{program}", *arguments]
    return [str(word) for word in words]


@contextmanager
def fed(words: Sequence[str], folder: Path, lines: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until it has printed so many lines, then end its standard input; `folder` gets out and err."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=out, stderr=err)
    try:
        wait_for(lambda: len(whole_lines(folder / "out")) == lines)
        yield process
    finally:
        process.kill()
        process.wait()


def own_lines(stderr: str) -> list[str]:
    """Return the program's own lines on standard error, without headway's."""
    return [line for line in stderr.splitlines() if not line.startswith(("headway: ", "  next: "))]


@dataclass
class Locks:
    """The locks in a recording."""

    path: Path

    @cached_property
    def recording(self) -> Recording:
        return open_recording(self.path)

    def rows(self, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self.recording.query(text, parameters).fetchall()

    def blocker(self, identity_hash: int, kind: str = "park") -> dict[str, Any]:
        """Return the only blocker with this hash."""
        (row,) = self.blockers(identity_hash, kind)
        return row

    def blockers(self, identity_hash: int, kind: str = "park") -> list[dict[str, Any]]:
        names = ("blocker_id", "class_name", "times_parked", "parked_now", "peak_parked")
        found = self.rows(
            f"SELECT {', '.join(names)} FROM blocker WHERE identity_hash = $1 AND kind = $2", identity_hash, kind
        )
        return [dict(zip(names, row, strict=True)) for row in found]

    def blocks(self, blocker_id: int, where: str = "NOT is_open AND NOT is_attached") -> dict[int, list[Span]]:
        """Return begin and end of blocks by java id, in order."""
        found: dict[int, list[Span]] = defaultdict(list)
        for java_id, start, dur in self.rows(
            f"SELECT java_id, start_ns, dur_ns FROM block WHERE blocker_id = $1 AND {where} ORDER BY start_ns",
            blocker_id,
        ):
            found[java_id].append((start, start + dur))
        return found

    def count(self, blocker_id: int, where: str = "true") -> int:
        ((count,),) = self.rows(f"SELECT count(*) FROM block WHERE blocker_id = $1 AND {where}", blocker_id)
        return int(count)

    def assert_nothing_lost(self) -> None:
        """Check that no records were lost, so that every block has its row."""
        said = manifest(self.path)
        assert said["losses"]["events"] == 0, said["losses"]


@dataclass
class Counts:
    """Parks begun and ended by each parker, as the program counted in its mapped file."""

    begun: list[int]
    ended: list[int]


def read_counts(path: Path) -> Counts:
    """Return what the program counted in its mapped file."""
    numbers = array.array("q", path.read_bytes())
    return Counts(list(numbers[0::2]), list(numbers[1::2]))


@dataclass(frozen=True)
class Park:
    """One park as its thread measured it."""

    how: str
    span: Span


def read_log(path: Path, identity_hash: int) -> dict[int, list[Park]]:
    """Return the parks on one object by Java id, in order."""
    found: dict[int, list[Park]] = defaultdict(list)
    with path.open() as lines:
        for row in csv.DictReader(lines):
            if int(row["identity_hash"]) == identity_hash:
                park = Park(row["how"], (int(row["before_ns"]), int(row["after_ns"])))
                found[int(row["java_id"])].append(park)
    return found


def only_line(stdout: str) -> dict[str, Any]:
    """Return a program's single line of output; fail if there are others."""
    (line,) = stdout.splitlines()
    said: dict[str, Any] = json.loads(line)
    return said


def whole_lines(path: Path) -> list[str]:
    """Return the lines that end in a line break."""
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
