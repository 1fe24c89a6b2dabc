"""Runs in the guest of two CPUs: has headway record a program with counters while a CPU goes offline, or comes online.

What the program did is what it says itself, by the kernel's account of its threads; headway is asked what it counted at each of
those times.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from support.drivers.guest_stages import Headway, eventually

FOLDER = Path("/run")
SECOND_CPU = Path("/sys/devices/system/cpu/cpu1/online")
EVENTS = "page-faults,task-clock"
MODES = ("ebpf", "perf-switch")
REST_NS = 10_000_000
"""The program sleeps for longer before and after."""


class Touching:
    """The program of tests/programs/touches_on_cpus.c, which headway records."""

    def __init__(self, folder: str, mode: str, *more: str, name: str = "lost") -> None:
        base = FOLDER / f"{name}-{mode}"
        self.path, self.said, self.out = (base.with_suffix(f".{each}") for each in ("headway", "said", "out"))
        script, fifo = base.with_suffix(".sh"), base.with_suffix(".words")
        os.mkfifo(fifo)
        script.write_text(f"exec {folder}/touches <{fifo} >{self.said}\n")
        words = ["--mode", mode, "--no-agent", "--counters", EVENTS, *more, "-o", self.path, "--", "sh", script]
        self._headway = Headway(["record", *words], self.out)
        self._words = open(os.open(fifo, os.O_RDWR), "w")  # noqa: SIM115  (until `end`; the program may not read yet)
        eventually(lambda: bool(self._lines("pid")))

    def _lines(self, first: str) -> list[list[int]]:
        lines = self.said.read_text().splitlines() if self.said.exists() else []
        return [[*map(int, line.split()[1:])] for line in lines if line.startswith(f"{first} ")]

    def touch(self, cpu: int) -> list[int]:
        """Let it touch its pages on a CPU; return when, from and to, and how many faults it took."""
        before = len(self._lines("touched"))
        self._words.write(f"{cpu}\n")
        self._words.flush()
        eventually(lambda: len(self._lines("touched")) > before)
        return self._lines("touched")[-1]

    def end(self) -> dict[str, Any]:
        """End it; return the recorder's exit code, and for how long both threads ran and what the first one took of faults."""
        self._words.close()
        code = self._headway.wait()
        ((main_ns, spun_ns, faults),) = self._lines("ran")
        said = self.out.with_suffix(".err").read_text()
        return {"exit": code, "main_ns": main_ns, "spun_ns": spun_ns, "faults": faults, "said": said}


def asked(*words: object) -> dict[str, Any]:
    """Return what a command of headway answers as JSON."""
    out = FOLDER / "answer.json"
    assert Headway([*words, "--json"], out).wait() == 0, out.with_suffix(".err").read_text()
    answer: dict[str, Any] = json.loads(out.read_text())
    return answer


def _window(path: Path, origin_ns: int, touched: list[int]) -> dict[str, Any]:
    """Return what was counted while the program touched its pages, from just before to just after."""
    begun, ended, faults = touched
    span = ("--from", f"{begun - REST_NS - origin_ns}ns", "--to", f"{ended + REST_NS - origin_ns}ns")
    answer = asked("counters", path, *span)
    return {"touched": faults, "counted": answer["total"]["page-faults"], "warnings": answer["warnings"]}


def _answers(program: Touching, times: dict[str, list[int]], mode: str) -> dict[str, Any]:
    """Return what headway says of a recording: counts of each time and each thread, for how long threads ran, and warnings."""
    said, path = program.end(), program.path
    origin_ns = json.loads((path / "manifest.json").read_text())["window"]["start_ns"]
    of_times = times if mode == "ebpf" else {}  # in other modes there are totals of threads alone
    return said | {
        "windows": {name: _window(path, origin_ns, each) for name, each in of_times.items()},
        "touched": sum(faults for _, _, faults in times.values()),
        "counters": asked("counters", path),
        "by_cpu": asked("counters", path, "--by", "cpu") if mode == "ebpf" else None,
        "threads": asked("threads", path),
    }


def _set_online(is_online: bool) -> None:
    SECOND_CPU.write_text(f"{is_online:d}")


def unplugged(folder: str) -> dict[str, Any]:
    """Record in each mode while CPU 1, on which a thread computes, goes offline and comes back."""
    found = {}
    for mode in MODES:
        program = Touching(folder, mode, "--counter-scope", "thread+cpu" if mode == "ebpf" else "thread")
        times = {"before": program.touch(1)}
        _set_online(False)
        times["without"] = program.touch(0)
        _set_online(True)
        times["back"] = program.touch(1)
        times["on the other"] = program.touch(0)
        times["back again"] = program.touch(1)
        found[mode] = _answers(program, times, mode)
    return found


def plugged_in(folder: str) -> dict[str, Any]:
    """Record in each mode a program that is given a CPU which was offline when the recording began."""
    found = {}
    for mode in MODES:
        _set_online(False)
        program = Touching(folder, mode, name="late")
        times = {"before": program.touch(0)}
        _set_online(True)
        times["on the new one"] = program.touch(1)
        times["on the first"] = program.touch(0)
        found[mode] = _answers(program, times, mode)
    return found
