"""Watches causal experiments while they run: reads the agents' notes, warns of problems, and ends when results are precise.

A progress point that does not exist, or a scope that matches nothing, would cost its user the whole recording; so each is told as
soon as it is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headway.errors import Notice
from headway.record.causal import messages
from headway.record.causal.estimate import Estimate, estimates
from headway.record.causal.messages import PATIENCE_NS
from headway.record.causal.note_files import Tails
from headway.record.causal.notes import Notes
from headway.record.collect.capture import Capture
from headway.record.request.causal_spec import CausalOptions
from headway.store.directory import pinned

_PERIOD_NS = 500_000_000
_MAY_COME = ("HW602", "HW606")
"""What is missed may only be late."""
_STATUS_NS = 10_000_000_000
_STATUS_SHARE = 10
"""Of the time, one part in so many at most is spent on telling how far experiments are."""
_LEAST_SAMPLED_NS = 500_000_000
"""Less CPU time than that in a while is a program that waits for something to do."""
_END_LIMIT_S = 5.0

_LEAST_NS = 30_000_000_000
_LEAST_EXPERIMENTS = 40
_TIGHT = 0.02
_LEADING = 3


class LiveNotes:
    """The notes of all JVMs of a running recording, and the warnings already given."""

    def __init__(
        self,
        folder: Path,
        say: Callable[[Notice], None],
        scope: tuple[str, ...] = (),
        calls: tuple[str, ...] = (),
        tell: Callable[[str], None] = lambda text: None,
        target: str = "",
        warmup_ms: int = 0,
    ) -> None:
        """Watch `folder` for notes; others can be followed as well. `calls`: points that the program itself counts by name.

        `tell` takes what is no warning.
        """
        self._folder = folder
        self._tails = Tails()
        self._say = say
        self._scope = scope
        self._calls = calls
        self._target = target
        self._warmup_ms = warmup_ms
        self._reported: set[str] = set()
        self._tell = tell
        self._missed: list[Notice] = []

    @property
    def notes(self) -> list[Notes]:
        """Return the notes of each JVM that has started so far."""
        return [tail.notes for tail in self._tails.by_path.values() if tail.notes.begin is not None]

    def follow(self, path: Path, read: Callable[[int, int], bytes]) -> None:
        """Also read the notes `path` of a JVM of another user or container, through `read`."""
        self._tails.add(path, read)

    def look(self) -> None:
        """Read new notes."""
        for path in sorted(self._folder.glob("causal-*.jsonl")):
            self._tails.add(path)
        self._tails.look()

    def warn(self, now_ns: int, *, suggests: bool) -> None:
        """Report problems, each once."""
        for notice in self._found(now_ns, suggests):
            key = messages.key(notice)
            if key not in self._reported:
                self._reported.add(key)
                self._say(notice)
                if notice.id in _MAY_COME:
                    self._missed.append(notice)
        self._withdraw()

    def _withdraw(self) -> None:
        """Tell of points that were missed too early."""
        visited = {point["name"] for notes in self.notes for point in notes.points.values() if notes.hits(point["id"])}
        for name in sorted(visited):
            missed = [each for each in self._missed if each.message.startswith(f"{name}: ")]
            if missed:
                self._missed = [each for each in self._missed if each not in missed]
                self._tell(f"{name} is being visited now ({', '.join(each.id for each in missed)} is over)")

    def _found(self, now_ns: int, suggests: bool) -> Iterator[Notice]:
        at_work = [notes for notes in self.notes if _has_worked(notes, now_ns)]
        for notes in self.notes:
            yield from messages.near_notices(notes, is_late=notes in at_work, yet=" yet")
        yield from messages.problems(self.notes)
        if at_work and len(at_work) == len(self.notes):
            if not suggests:
                yield from messages.never_visited(self.notes, self._calls)
            yield from messages.out_of_scope(self.notes, self._scope)
            if not any(notes.begin is not None and notes.begin["mode"] == "end-to-end" for notes in self.notes):
                yield from messages.without_target(self.notes, self._target, self._warmup_ms)


def _has_worked(notes: Notes, now_ns: int) -> bool:
    """Tell whether a JVM has had time enough, and used it, for its points to be visited."""
    began_ns = notes.begin["ns"] if notes.begin is not None else now_ns
    return now_ns - began_ns >= PATIENCE_NS and notes.sampled_ns >= _LEAST_SAMPLED_NS


class CausalCapture(Capture):
    """The capture of a causal recording: no collector, but a watch over the agents' notes."""

    def __init__(
        self,
        spool: Path,
        root_pid: int,
        options: CausalOptions,
        say: Callable[[Notice], None],
        status: Callable[[str], None],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Prepare; nothing is touched before `start`."""
        super().__init__(spool, "agent", root_pid)
        calls = tuple(point.name for point in options.progress if not point.where)
        self.live = LiveNotes(pinned(spool), say, options.scope, calls, tell, options.target, options.warmup_ms or 0)
        self._options = options
        self._say = say
        self._status = status
        self._next_look_ns = 0
        self._next_status_ns = time.monotonic_ns() + _STATUS_NS
        self._began_ns = time.monotonic_ns()

    def due_ms(self, now_ns: int) -> int:
        """Return the time in ms until `tick` has something to do."""
        return min(super().due_ms(now_ns), max(0, (self._next_look_ns - now_ns) // 1_000_000 + 1))

    def tick(self, now_ns: int) -> None:
        """When due, read the notes, warn, report progress, and check whether results are precise enough to end."""
        super().tick(now_ns)
        if now_ns < self._next_look_ns:
            return
        self._next_look_ns = now_ns + _PERIOD_NS
        self.live.look()
        self.live.warn(now_ns, suggests=self._options.mode == "suggest")
        if now_ns >= self._next_status_ns:
            self._tell_status(now_ns)
            taken_ns = time.monotonic_ns() - now_ns  # notes without end must not keep us from all else
            self._next_status_ns = now_ns + max(_STATUS_NS, _STATUS_SHARE * taken_ns)

    def end(self, ended_by: str, *, has_ended: bool) -> None:
        """Wait until agents told to stop have written their last notes; processes that are gone are not waited for."""
        limit_ns = time.monotonic_ns() + (0 if has_ended else round(_END_LIMIT_S * 1e9))
        self.live.look()
        while time.monotonic_ns() < limit_ns and not all(notes.ended for notes in self.live.notes):
            time.sleep(0.02)
            self.live.look()
        if ended_by == "enough":
            ran_s = (time.monotonic_ns() - self._began_ns) / 1e9
            self._say(Notice.of("HW619", ran=f"{ran_s:.0f} s"))

    def _tell_status(self, now_ns: int) -> None:
        if self._options.mode != "experiments":
            return
        points, pairs = self._options.progress, self._options.latency
        asked = dict.fromkeys([*(each.name for each in points), *(each.name for each in pairs)])
        found = estimates(self.live.notes, asked)
        done = sum(each["complete"] for notes in self.live.notes for each in notes.experiments)
        self._status(f"{done} experiments; {_best(found, len(asked))}")
        of_each = [[each for each in found if each.point == name] for name in asked]
        self.has_enough = now_ns - self._began_ns >= _LEAST_NS and bool(asked) and all(map(_is_tight, of_each))


def _best(found: list[Estimate], points: int) -> str:
    """Return what is known of the line that gives most at least, as far as anything is."""
    known = [(each.gain - each.half_width, each) for each in found if each.half_width is not None]
    least, best = max(known, key=lambda pair: pair[0], default=(0.0, None))
    if best is None or least <= 0 or best.half_width is None:
        return "no line is known to give anything yet"
    of = f" of {best.point}" if points > 1 else ""
    return f"best so far {best.name}: {best.gain * 100:.0f} %{of} if it took no time (+-{best.half_width * 100:.0f})"


def _is_tight(found: list[Estimate]) -> bool:
    """Tell whether the lines that matter to a progress point are known so well that more experiments would not change them."""
    ranked = dict.fromkeys(each.name for each in sorted(found, key=lambda each: -each.experiments))
    leading = list(ranked)[:_LEADING]
    return bool(found) and all(
        each.experiments >= _LEAST_EXPERIMENTS and each.half_width is not None and each.half_width <= _TIGHT
        for each in found
        if each.name in leading
    )
