"""Builds recordings of parallel programs: threads, waits, pauses and stack samples in one.

Thread 0 is Java's main thread. Stacks of waits are numbered as in `stacks`; those of samples are frames from the root down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.builders import sample_builder
from support.builders.lock_builder import LOCK_FRAMES, LockRecording
from support.builders.sample_builder import Sample
from support.builders.synthetic import thread_row

JOIN_FRAMES = (("java.lang.Object", "wait"), ("java.lang.Thread", "join"), ("org.example.App", "main"))
LOCK_STACK, JOIN_STACK = 0, 1
STACKS = ((*LOCK_FRAMES, ("org.example.App", "work")), JOIN_FRAMES)

MAIN = ("org.example.App.main",)
WORK = ("java.lang.Thread.run", "org.example.App.work")


@dataclass
class ParallelRun(LockRecording):
    """A run with samples of some events; `native` threads have no Java id, others start at `first_java_id`."""

    samples: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    native: Sequence[int] = ()
    first_java_id: int = 1

    def _stacks(self) -> dict[str, list[dict[str, Any]]]:
        tables = super()._stacks()
        added = sample_builder.tables(self.samples)
        frames, stacks = len(tables["frame"]), len(self.stacks)
        tables["frame"] += [{**row, "frame_id": row["frame_id"] + frames} for row in added["frame"]]
        tables["stack"] += [
            {**row, "stack_id": row["stack_id"] + stacks, "frame_id": row["frame_id"] + frames}
            for row in added["stack"]
        ]
        tables["sample"] = [
            {**row, "stack_id": None if row["stack_id"] is None else row["stack_id"] + stacks}
            for row in added["sample"]
        ]
        tables["thread"] = [
            {**thread_row(i, thread, self.wall), "java_id": None if i in self.native else i + self.first_java_id}
            for i, thread in enumerate(self.threads)
        ]
        return tables
