"""Oracles for locks: what a program measured itself, and what JFR recorded in the same run."""

from __future__ import annotations

import bisect
import csv
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from headway.store import Recording, open_recording
from headway.store.packing import TICK_NS
from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import workloads_jar

Span = tuple[int, int]
# The programs look into a lock to say which object its threads park on.
OPEN_LOCKS = "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED"
LOG_COLUMNS = ("java_id", "asked_ns", "acquired_ns", "released_ns")
JFR_EVENTS = ("jdk.ThreadPark", "jdk.JavaMonitorEnter", "jdk.JavaMonitorWait")
# JFR prints about itself on the program's standard output; and it must read the same clock as everybody else.
JFR_QUIET = (
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:-UseFastUnorderedTimeStamps",
)
KIND_OF_JFR = dict(zip(JFR_EVENTS, ("park", "monitor", "wait"), strict=True))


@dataclass(frozen=True)
class Acquisition:
    """One acquisition of a lock, as the program measured it."""

    java_id: int
    asked_ns: int
    acquired_ns: int
    released_ns: int
    queued: bool

    @property
    def held_ns(self) -> int:
        return self.released_ns - self.acquired_ns


@dataclass(frozen=True)
class JfrBlock:
    """One of JFR's events: `class_name` is that of the object, None for a park without a blocker."""

    kind: str
    java_id: int
    class_name: str | None
    dur_ns: int


@dataclass
class LockRun:
    """A recorded run: the recording, the program's own line, its log of acquisitions by lock, JFR's events."""

    path: Path
    said: dict[str, Any]
    log: dict[str, list[Acquisition]]
    jfr: list[JfrBlock]

    @cached_property
    def recording(self) -> Recording:
        return open_recording(self.path)

    @cached_property
    def locks(self) -> list[dict[str, Any]]:
        """The rows of `headway locks --json`."""
        return locks_json(self.path)

    def own(self, name: str) -> dict[str, Any]:
        """Return what the program says about one of its locks."""
        (found,) = (lock for lock in self.said["locks"] if lock["name"] == name)
        return dict(found)

    def row(self, name: str) -> dict[str, Any]:
        """Return headway's row for a lock of the program (for a lock that is not waited on)."""
        own = self.own(name)
        (found,) = (row for row in self.locks if row["identity_hash"] == own["identity_hash"] and row["kind"] != "wait")
        assert found["class_name"] == own["class"]
        return found

    def rows(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.recording.query(text, parameters).fetchall()

    @cached_property
    def thread_ids(self) -> dict[int, int]:
        """thread.thread_id by java id, of the threads whose names the program gave."""
        return dict(self.rows("SELECT java_id, thread_id FROM thread WHERE java_id IS NOT NULL AND kind = 'app'"))

    @cached_property
    def _asleep(self) -> dict[int, tuple[list[int], list[int]]]:
        spans: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for thread_id, start, dur in self.rows(
            "SELECT thread_id, start_ns, dur_ns FROM thread_state WHERE state = 'sleeping' ORDER BY 1, 2"
        ):
            spans[thread_id][0].append(start)
            spans[thread_id][1].append(start + dur)
        return spans

    def asleep(self, java_id: int, span: Span) -> Iterator[Span]:
        """Return the times inside a span in which a thread slept, by the kernel's switches."""
        starts, ends = self._asleep[self.thread_ids[java_id]]
        begin, end = span
        for at in range(max(0, bisect.bisect_right(starts, begin) - 1), len(starts)):
            if starts[at] >= end:
                break
            if ends[at] > begin:
                yield max(begin, starts[at]), min(end, ends[at])

    def awake_ns(self, java_id: int, span: Span) -> int:
        """Return how much of a span a thread did not sleep, by the kernel's switches: it ran, or was ready to."""
        return span[1] - span[0] - length_ns(self.asleep(java_id, span))


def locks_json(path: Path, *options: object) -> list[dict[str, Any]]:
    """Return the list that `headway locks --json` prints, a row for each object unless something else is asked for."""
    by = () if "--by" in options else ("--by", "lock")
    done = headway("locks", path, "--json", *by, *options)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return list(said["locks"] if isinstance(said, dict) else said)


def record_locks(
    folder: Path, program: str, *arguments: object, java: str = JAVA_17, jfr: bool = False, log: Path | None = None
) -> LockRun:
    """Record a program of java/workloads with its locks; its last argument is the log, where it is to write one."""
    folder.mkdir(parents=True, exist_ok=True)
    jvm = [OPEN_LOCKS, *(jfr_options(folder) if jfr else ())]
    words = [*arguments, *([log] if log else [])]
    command = [java, *jvm, "-cp", workloads_jar(), f"headway.workloads.{program}", *words]
    done = headway("record", "--locks", "-o", folder / "r.headway", "--", *command)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1, lines  # nothing but what the program prints
    events = read_jfr(folder / "r.jfr") if jfr else []
    return LockRun(folder / "r.headway", json.loads(lines[0]), read_log(log) if log else {}, events)


def read_log(file: Path) -> dict[str, list[Acquisition]]:
    """Return the acquisitions of each lock, in the order in which it was held."""
    found: dict[str, list[Acquisition]] = defaultdict(list)
    with file.open() as lines:
        for row in csv.DictReader(lines):
            java_id, asked, acquired, released = (int(row[name]) for name in LOG_COLUMNS)
            found[row["lock"]].append(Acquisition(java_id, asked, acquired, released, row["queued"] == "1"))
    return found


def jfr_options(folder: Path) -> list[str]:
    """Return what has a JVM record every park, enter and wait in folder/r.jfr."""
    events = "".join(
        f'<event name="{name}"><setting name="enabled">true</setting><setting name="threshold">0 ns</setting>'
        '<setting name="stackTrace">false</setting></event>'
        for name in JFR_EVENTS
    )
    settings = folder / "locks.jfc"
    settings.write_text(f'<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">{events}</configuration>')
    return [*JFR_QUIET, f"-XX:StartFlightRecording:settings={settings},filename={folder / 'r.jfr'},dumponexit=true"]


def read_jfr(file: Path) -> list[JfrBlock]:
    """Return the parks, enters and waits of a JFR recording, by the JDK's own tool."""
    tool = Path(JAVA_17).parent / "jfr"
    words = [str(tool), "print", "--json", "--stack-depth", "0", "--events", ",".join(JFR_EVENTS), str(file)]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    blocks = []
    for event in json.loads(printed)["recording"]["events"]:
        values = event["values"]
        of = values.get("parkedClass") or values.get("monitorClass")
        blocks.append(
            JfrBlock(
                KIND_OF_JFR[event["type"]],
                values["eventThread"]["javaThreadId"],
                of and of["name"].replace("/", "."),
                _duration_ns(values["duration"]),
            )
        )
    return blocks


def _duration_ns(text: str) -> int:
    """Read ISO 8601, as "PT1H2M3.004S"."""
    match = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?", text)
    assert match, text
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + int((match[4] or "0").ljust(9, "0"))


def length_ns(spans: Iterable[Span], window: Span | None = None) -> int:
    """Return the sum of the lengths of spans, each cut to the window."""
    low, high = window or (0, 1 << 62)
    return sum(max(0, min(end, high) - max(begin, low)) for begin, end in spans)


def peak(spans: Iterable[Span]) -> int:
    """Return the most spans that overlap; one that ends where another begins does not overlap it."""
    changes = sorted(change for begin, end in spans for change in ((begin, 1), (end, -1)))
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def union(spans: Iterable[Span]) -> list[Span]:
    """Return the spans' union as disjoint spans in order."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def compare_with_jfr(run: LockRun, java_ids: set[int]) -> None:
    """Hold headway's blocks of some threads against JFR's, per kind and class of the blocker.

    JFR takes a park's times inside Unsafe.park, headway right around it: what is between is time awake inside headway's
    blocks. A monitor's and a wait's begin and end before and after the JVM's own events: what is between may be time awake
    outside of them as well. Threads that wait for a class to be initialised do so on an int[] of the JVM's own, which JFR names
    "[I" and headway by the class; JVMTI does not tell all of these waits, and none of them is for an object of the program.
    """
    jfr: dict[tuple[str, str | None], list[JfrBlock]] = defaultdict(list)
    for block in run.jfr:
        if block.java_id in java_ids and block.class_name != "[I":
            jfr[block.kind, block.class_name].append(block)
    own: dict[tuple[str, str | None], list[tuple[int, Span]]] = defaultdict(list)
    for kind, class_name, java_id, start, dur in run.rows(
        "SELECT block.kind, b.class_name, java_id, start_ns, dur_ns FROM block LEFT JOIN blocker b USING (blocker_id)"
    ):
        if java_id in java_ids and not str(class_name).startswith(("class initialisation", "int[]")):
            own[kind, class_name or None].append((java_id, (start, start + dur)))
    counts = ({key: len(blocks) for key, blocks in of.items()} for of in (own, jfr))
    assert next(counts) == next(counts)
    ever_awake = dict(run.rows("SELECT java_id, running_ns + runnable_ns FROM thread WHERE java_id IS NOT NULL"))
    for key, blocks in own.items():
        difference = length_ns(span for _, span in blocks) - sum(block.dur_ns for block in jfr[key])
        ticks = 4 * TICK_NS * len(blocks)
        if key[0] == "park":
            awake = sum(run.awake_ns(java_id, span) for java_id, span in blocks)
            assert 0 <= difference <= awake + ticks, key
        else:
            assert abs(difference) <= sum(ever_awake[java_id] for java_id in {java_id for java_id, _ in blocks}), key
