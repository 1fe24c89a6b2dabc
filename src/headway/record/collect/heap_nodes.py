"""Asks every now and then on which memory nodes the heaps of recorded JVMs are, and keeps that in the recording's spool.

It does so on a thread of its own, so that a JVM that keeps its memory from being looked at holds nothing else up. What it may ask
of a process that is another user's it asks as that user (rights.py).
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.model.heap_look import HEAP_LOOKS_FILE, HeapLook
from headway.record.target_process import processes
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.heap_memory import heap_size, look_at_heap
from headway.record.target_process.jvm_facts import performance_numbers
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import Rights, act_as, acts_here, rights_of
from headway.store.files import open_new

_LIMIT_S = 5.0
"""For one look at one process."""
_MOST_PROCESSES, _MOST_JVMS = 256, 16
_MOST_REASONS = 16
_WITHOUT_HEAP = 20
"""So many looks at a JVM whose heap is not known are left out: it is starting. Then all of its memory is looked at."""
_MOST_OF_TIME = 0.05
"""Part of a CPU that looks may take."""
_LOOKS_BEFORE_RARER = 10_000
"""After so many looks the interval doubles, each time: a recording's size is bounded so."""
_END_S = 2.0
_STARTING_S = 0.1
"""Until the next look where there was no JVM to look at; the time doubles up to the interval."""


@dataclass(slots=True)
class HeapAsker:
    """Looks at the heap of one process. `size`: how large it may get, 0 until its JVM says so."""

    process: Process
    size: int = 0
    looks_without_heap: int = 0
    was_without_first_thread: bool = False

    def look(self) -> HeapLook | None:
        """Return where the heap's pages are now; None while the JVM is starting. Raises OSError with the reason why not."""
        if processes.runs_without_first_thread(self.process.pid):
            if self.was_without_first_thread:
                raise OSError(errno.ENODATA, "its first thread has ended, and headway finds its memory by that one")
            self.was_without_first_thread = True  # or another thread replaces the program just now (exec)
            return None
        deadline = Deadline.after(_LIMIT_S)
        rights = rights_of(self.process.pid)
        may_start = self.looks_without_heap < _WITHOUT_HEAP and processes.is_jvm(self.process.pid)
        if not self.size and may_start:
            self.size = heap_size(performance_numbers(self.process.pid, rights, deadline))
        if self.size or not may_start:
            is_apart = not acts_here(rights)
            found = act_as(rights, deadline, lambda: self._look(rights if is_apart else None))
            if found.is_heap or not may_start:
                return found
        self.looks_without_heap += 1
        return None

    def _look(self, rights: Rights | None) -> HeapLook:
        """Look, in a process apart with these rights: move_pages(2) goes by real ids, which it takes from its effective ones."""
        if rights is not None:
            os.setresgid(rights.gid, rights.gid, rights.gid)
            os.setresuid(rights.uid, rights.uid, rights.uid)
        return look_at_heap(self.process, self.size)


class HeapNodes:
    """Looks at the heaps of all JVMs below a process. None of its calls fails: what can't be asked is said with its reason."""

    def __init__(self, spool: Path, root_pid: int, interval_ns: int | None) -> None:
        """Prepare to look so often; None: nothing is asked for."""
        self.interval_ns = interval_ns
        self.reasons: dict[int, str] = {}
        """Why processes could not be asked, by their number: of the first _MOST_REASONS. A program may start them without end."""
        self.reasons_left_out = 0
        self._refused: set[Process] = set()
        self.looks = self.cpu_ns = 0
        self._spool, self._root = spool, root_pid
        self._file = -1
        self._askers: dict[Process, HeapAsker] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look from now on."""
        if self.interval_ns is None:
            return
        try:
            self._file = open_new(self._spool, HEAP_LOOKS_FILE)
            self._thread = threading.Thread(target=self._run, name="headway-heap", daemon=True)
            self._thread.start()
        except (OSError, RuntimeError) as error:
            self.reasons[self._root] = str(error)
            self._thread = None

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_END_S)
            self._thread = None

    def as_json(self) -> dict[str, Any] | None:
        """Return what the manifest keeps: {interval_ns, looks, cpu_ns, problems}; None: nothing was asked for.

        `cpu_ns`: CPU time of the looks themselves.
        """
        if self.interval_ns is None:
            return None
        problems = [{"pid": pid, "reason": reason} for pid, reason in [*self.reasons.items()]]
        if problems and self.reasons_left_out:
            problems[-1]["reason"] = f"{problems[-1]['reason']} (and of {self.reasons_left_out:,} more processes)"
        return {"interval_ns": self.interval_ns, "looks": self.looks, "cpu_ns": self.cpu_ns, "problems": problems}

    def _run(self) -> None:
        assert self.interval_ns is not None
        every_s, pause_s, starting_s = self.interval_ns / 1e9, 0.0, _STARTING_S
        with contextlib.suppress(OSError), os.fdopen(self._file, "wb", buffering=0) as file:
            while not self._ended.wait(pause_s):
                began_s, spent_ns = time.monotonic(), -time.thread_time_ns()
                looks = self._look_at_all()
                for look in looks:
                    file.write(_line(look))
                    self.looks += 1
                    self.cpu_ns += look.cpu_ns
                    spent_ns += look.cpu_ns
                    if self.looks % _LOOKS_BEFORE_RARER == 0:
                        every_s *= 2
                took_s, spent_ns = time.monotonic() - began_s, spent_ns + time.thread_time_ns()
                wait_s = every_s if looks else min(every_s, starting_s)
                starting_s = _STARTING_S if looks else 2 * starting_s
                pause_s = max(wait_s - took_s, took_s, spent_ns / 1e9 / _MOST_OF_TIME)

    def _look_at_all(self) -> list[HeapLook]:
        """Return a look at each JVM that can be asked."""
        found = []
        for asker in self._jvms():
            try:
                look = asker.look()
            except ProcessLookupError:
                continue
            except OSError as error:
                self._refuse(asker.process, error.strerror or str(error))
                continue
            if look is not None:
                found.append(look)
        return found

    def _refuse(self, process: Process, reason: str) -> None:
        """Note that a process can't be asked, so that it is not asked again."""
        self._refused = {each for each in self._refused if each.is_alive} | {process}
        if len(self.reasons) < _MOST_REASONS:
            self.reasons[process.pid] = reason
        else:
            self.reasons_left_out += 1

    def _jvms(self) -> list[HeapAsker]:
        """Return what looks at each JVM that there is now, of those that could be asked so far."""
        there: dict[Process, HeapAsker] = {}
        for pid in processes.tree(self._root)[:_MOST_PROCESSES]:
            if len(there) >= _MOST_JVMS or self._ended.is_set():
                break
            process = Process.of(pid)
            if process is None or process in self._refused:
                continue
            with contextlib.suppress(OSError):
                if process in self._askers or processes.is_jvm(pid):
                    there[process] = self._askers.get(process) or HeapAsker(process)
        self._askers = there
        return [*there.values()]


def _line(look: HeapLook) -> bytes:
    facts = {
        name: getattr(look, name) for name in ("ns", "pid", "is_heap", "memory_pages", "page_bytes", "asked_pages")
    }
    return json.dumps({**facts, "pages": look.pages}).encode() + b"\n"
