"""Looks after experiments while they run: reads the agents' notes, warns of what goes wrong, and ends what is known well enough.

A progress point that does not exist, or a scope that matches nothing, would cost its user the whole recording; so each is told as
soon as it is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from headway.errors import Notice
from headway.record import causal_messages
from headway.record.capture import Capture
from headway.record.causal_estimate import Estimate, estimates
from headway.record.causal_messages import PATIENCE_NS
from headway.record.causal_notes import Notes, Tail
from headway.record.causal_spec import CausalOptions

_PERIOD_NS = 500_000_000
_MAY_COME = ("HW602", "HW606")
"""What is missed may only be late."""
_STATUS_NS = 10_000_000_000
_LEAST_SAMPLED_NS = 500_000_000
"""Less CPU time than that in a while is a program that waits for something to do."""
_END_LIMIT_S = 5.0

_LEAST_NS = 30_000_000_000
_LEAST_EXPERIMENTS = 40
_TIGHT = 0.02
_LEADING = 3


class Live:
    """The notes of all JVMs of a recording that runs, and what has been told of them."""

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
        """Look for notes in `folder`; more of them may be added to `folders`. `calls`: points that the program names.

        `tell` takes what is no warning.
        """
        self.folders = [folder]
        self._tails: dict[Path, Tail] = {}
        self._say = say
        self._scope = scope
        self._calls = calls
        self._target = target
        self._warmup_ms = warmup_ms
        self._told: set[str] = set()
        self._tell = tell
        self._missed: list[Notice] = []

    @property
    def notes(self) -> list[Notes]:
        """Return what each JVM that has begun noted so far."""
        return [tail.notes for tail in self._tails.values() if tail.notes.begin is not None]

    def look(self) -> None:
        """Read what is new."""
        for folder in dict.fromkeys(self.folders):
            for path in sorted(folder.glob("causal-*.jsonl")):
                self._tails.setdefault(path, Tail(path))
        for tail in self._tails.values():
            tail.poll()

    def warn(self, now_ns: int, *, suggests: bool) -> None:
        """Tell what is wrong, each thing once."""
        for notice in self._found(now_ns, suggests):
            key = causal_messages.key(notice)
            if key not in self._told:
                self._told.add(key)
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
            yield from causal_messages.near_notices(notes, is_late=notes in at_work, yet=" yet")
        yield from causal_messages.problems(self.notes)
        if at_work and len(at_work) == len(self.notes):
            if not suggests:
                yield from causal_messages.never_visited(self.notes, self._calls)
            yield from causal_messages.out_of_scope(self.notes, self._scope)
            if not any(notes.begin is not None and notes.begin["mode"] == "end-to-end" for notes in self.notes):
                yield from causal_messages.without_target(self.notes, self._target, self._warmup_ms)


def _has_worked(notes: Notes, now_ns: int) -> bool:
    """Tell whether a JVM has had time enough, and used it, for its points to be visited."""
    began_ns = notes.begin["ns"] if notes.begin is not None else now_ns
    return now_ns - began_ns >= PATIENCE_NS and notes.sampled_ns >= _LEAST_SAMPLED_NS


class CausalCapture(Capture):
    """What runs beside a program under experiments: no collector, but the eyes on the agents' notes."""

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
        self.live = Live(spool, say, options.scope, calls, tell, options.target, options.warmup_ms or 0)
        self._options = options
        self._say = say
        self._status = status
        self._next_look_ns = 0
        self._next_status_ns = time.monotonic_ns() + _STATUS_NS
        self._began_ns = time.monotonic_ns()

    def due_ms(self, now_ns: int) -> int:
        """Return how long nothing needs to be done here, in milliseconds."""
        return min(super().due_ms(now_ns), max(0, (self._next_look_ns - now_ns) // 1_000_000 + 1))

    def tick(self, now_ns: int) -> None:
        """Look at the notes when it is time to, warn, tell how far it is, and see whether that is enough."""
        super().tick(now_ns)
        if now_ns < self._next_look_ns:
            return
        self._next_look_ns = now_ns + _PERIOD_NS
        self.live.look()
        self.live.warn(now_ns, suggests=self._options.mode == "suggest")
        if now_ns >= self._next_status_ns:
            self._next_status_ns = now_ns + _STATUS_NS
            self._tell_status(now_ns)

    def end(self, ended_by: str, *, is_gone: bool) -> None:
        """Wait until the agents that were told to stop have written their last notes, but not for what is gone."""
        limit_ns = time.monotonic_ns() + (0 if is_gone else round(_END_LIMIT_S * 1e9))
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
