"""Oracle for the account of lost cores: every instant on its own, from the documented rules, by brute force.

docs/decisions/0007-lost-cores.md has the rules. Times are small numbers; each thread's state is looked up anew at each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.types import USED
from support.builders.account_cases import Case, Piece, Slice

CODE = {cause: code for code, cause in enumerate(CAUSES)}
TIMERS = (CODE["sleep"], CODE["io"])
IDLENESS = (*TIMERS, CODE["condition"], CODE["starved_consumer"])
"""What a thread in the background waits for that nobody needs."""

WATCHER = 2
"""A background thread that joins who started it."""

PAUSES = {1: CODE["gc_pause"], 2: CODE["jit"], 3: CODE["safepoint"]}
"""Why a thread was blocked that a thread of such a kind (gc, jit, vm) woke."""

Row = tuple[int, int, int]
"""Cause, key, thread."""


@dataclass
class Sums:
    """The sums of a stretch of time."""

    used: list[float] = field(default_factory=lambda: [0.0] * len(USED))
    stolen: float = 0.0
    other: float = 0.0
    excess: float = 0.0
    lost: dict[Row, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, moment: Sums) -> None:
        """Add another."""
        self.used = [a + b for a, b in zip(self.used, moment.used, strict=True)]
        self.stolen += moment.stolen
        self.other += moment.other
        self.excess += moment.excess
        for row, core_ns in moment.lost.items():
            self.lost[row] += core_ns

    @property
    def total(self) -> float:
        """Return everything, what was borrowed included."""
        return sum(self.used) + self.stolen + self.other + sum(self.lost.values())

    def settled(self) -> Sums:
        """Return the sums after what was borrowed is paid back: out of throttled time, of what else was lost, of what ran."""
        quota = sum(value for row, value in self.lost.items() if row[0] == CODE["cpu_quota"])
        rest = sum(self.lost.values()) - quota
        from_quota = min(self.excess, quota)
        from_rest = min(self.excess - from_quota, rest)
        from_ran = self.excess - from_quota - from_rest
        ran = sum(self.used) + self.stolen
        factor = 1 - from_ran / ran if ran else 1.0
        done = Sums([each * factor for each in self.used], self.stolen * factor, self.other, self.excess)
        for row, value in self.lost.items():
            part, whole = (from_quota, quota) if row[0] == CODE["cpu_quota"] else (from_rest, rest)
            done.lost[row] = value * (1 - part / whole) if whole else 0.0
        return done


SAMPLER = 4
"""The kind of headway's own threads: the only signals that they send are their sampler's."""
HANDLER_NS = 2_000_000
EXIT = -3
"""Instead of a waker: the thread was woken to die with its process."""


class Oracle:
    """The states at each instant of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.slices = self._effective()
        self.pieces = self._flattened()
        top = max([len(case.kinds) - 1, *(p.thread for p in case.pieces if self._is_kept(p))])
        top = max([top, *(p.target for p in case.pieces if self._is_kept(p))])
        self.threads = top + 1

    @staticmethod
    def _is_kept(piece: Piece) -> bool:
        return piece.thread >= 0 and piece.cause < len(CAUSES) and piece.end > piece.start

    def _effective(self) -> list[Slice]:
        """Return the slices that count, in the table's order, with ends that do not go back."""
        kept: list[Slice] = []
        following: dict[
            int, tuple[int | None, int]
        ] = {}  # by thread: where the next slice's block begins, and who ended it
        before = 1 << 61
        for row in reversed(self.case.slices):
            if row.end <= self.case.window[0]:
                break
            if 0 <= row.thread < len(self.case.kinds):
                before = min(before, row.end)
                lengths = {name: max(getattr(row, name), 0) for name in ("running", "runnable", "blocked", "stolen")}
                waker = -1 if row.irq else max(row.waker, -1)
                if before - lengths["running"] - lengths["runnable"] >= self.exit_of(row.thread):
                    waker = EXIT
                begin, next_waker = following.get(row.thread, (None, -1))
                is_signal = 0 <= waker < len(self.case.kinds) and self.case.kinds[waker] == SAMPLER
                if is_signal and begin == before and lengths["running"] <= HANDLER_NS:
                    waker = next_waker
                start = before - lengths["running"] - lengths["runnable"] - lengths["blocked"]
                following[row.thread] = (start if lengths["blocked"] else None, waker)
                kept.append(Slice(row.thread, before, **lengths, waker=waker, blocked_in=row.blocked_in))
        return kept[::-1]

    def exit_of(self, thread: int) -> int:
        """Return from when on whoever wakes a thread wakes it to die."""
        return self.case.exits[thread] if thread < len(self.case.exits) else (1 << 62)

    def _flattened(self) -> dict[int, list[Piece]]:
        by_thread: dict[int, list[Piece]] = defaultdict(list)
        for piece in self.case.pieces:
            if self._is_kept(piece):
                by_thread[piece.thread].append(piece)
        for pieces in by_thread.values():
            pieces.sort(key=lambda each: each.start)
        return by_thread

    def piece(self, thread: int, ns: int) -> Piece | None:
        """Return the wait at an instant: of several the one that began last."""
        begun = [each for each in self.pieces.get(thread, []) if each.start <= ns]
        return begun[-1] if begun and begun[-1].end > ns else None

    def state(self, thread: int, ns: int) -> tuple[str, Slice | None]:
        """Return what a thread does: the first slice that ends later tells."""
        if thread >= len(self.case.kinds):
            return "blocked", None
        row = next((each for each in self.slices if each.thread == thread and each.end > ns), None)
        if row is None:
            return "none", None
        start = row.end - row.running
        if start <= ns:
            return "running", row
        if start - row.runnable <= ns:
            return "runnable", row
        return ("blocked", row) if start - row.runnable - row.blocked <= ns else ("none", None)

    def kind(self, thread: int) -> int:
        """Return a thread's kind; virtual threads are the application's."""
        return self.case.kinds[thread] if thread < len(self.case.kinds) else 0

    def is_background(self, thread: int) -> bool:
        """Return whether a thread's idleness counts only if there is nothing else."""
        return thread < len(self.case.background) and self.case.background[thread] in (1, WATCHER)

    def hardly_runs(self, thread: int) -> bool:
        """Return whether a thread is no stage of a pipeline, needed or not."""
        return thread < len(self.case.background) and self.case.background[thread] > 0

    def is_watcher(self, thread: int) -> bool:
        """Return whether a thread's joins count only if nobody works."""
        return thread < len(self.case.background) and self.case.background[thread] == WATCHER

    def wait(self, thread: int, row: Slice | None, ns: int) -> tuple[Row, str, int] | None:
        """Return (row, class, begin of the piece) of a blocked application thread."""
        piece = self.piece(thread, ns)
        if piece is not None:
            timer = piece.cause in TIMERS
            directed = piece.directed and not (piece.cause in IDLENESS and self.is_background(thread))
            undirected = "outside" if piece.cause == CODE["idle"] else "background" if timer else "idle"
            waits = "directed" if directed else undirected
            return (piece.cause, max(piece.key, -1), max(piece.target, -1)), waits, piece.start
        if row is None:
            return None
        cause, whom = self.kernel(thread, row)
        background = self.is_background(thread)
        timer = cause in TIMERS
        if background and cause in PAUSES.values():
            cause = CODE["waiting_for_threads"]
        in_vain = row.waker == EXIT and cause == CODE["blocked"]
        waits = "directed" if not (background or in_vain) else "background" if timer else "idle"
        return (cause, -1, whom), waits, -1

    def kernel(self, thread: int, row: Slice) -> tuple[int, int]:
        """Return (cause, thread) of a wait that only the kernel knows."""
        waker = row.waker
        if 0 <= waker < self.threads and self.kind(waker) == SAMPLER:
            waker = -1
        if row.blocked_in == 3 or (row.blocked_in == 2 and waker < 0):
            return CODE["sleep"], thread
        if row.blocked_in in (4, 5, 6, 7, 9):
            return CODE["io"], thread
        if row.blocked_in == 8 or not 0 <= waker < self.threads:
            return CODE["blocked"], thread
        return PAUSES.get(self.kind(waker), CODE["waiting_for_threads"]), waker

    def weight(self, code: int, ns: int) -> float:
        """Return for which part of the idle cores spans of a code speak."""
        return min(1.0, sum(min(s[3], 1.0) for s in self.case.spans if s[2] == code and s[0] <= ns < s[1]))

    def moment(self, ns: int) -> tuple[Sums, dict[int, tuple[float, float]]]:
        """Return what one instant gives, and for each thread the cores it keeps idle (directed, undirected)."""
        return Moment(self, ns).divided()


class Moment:
    """One instant: who does what, and how the idle cores are given away."""

    def __init__(self, oracle: Oracle, ns: int) -> None:
        self.oracle, self.ns = oracle, ns
        self.states = [oracle.state(thread, ns) for thread in range(oracle.threads)]
        self.waits: dict[int, tuple[Row, str, int]] = {}
        for thread, (state, row) in enumerate(self.states):
            if state == "blocked" and oracle.kind(thread) == 0:
                wait = oracle.wait(thread, row, ns)
                if wait is not None:
                    self.waits[thread] = wait
        self.sums = Sums()
        self.blame: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def does(self, what: str) -> list[int]:
        """Return the threads in a state."""
        return [thread for thread, (state, _) in enumerate(self.states) if state == what]

    def divided(self) -> tuple[Sums, dict[int, tuple[float, float]]]:
        """Give the cores away."""
        case, kind, sums = self.oracle.case, self.oracle.kind, self.sums
        idle = self.taken_off()
        self.active = [t for t in self.does("running") + self.does("runnable") if kind(t) == 0]
        lost = idle * self.oracle.weight(0, self.ns)
        sums.lost[(CODE["unknown"], -1, -1)] += lost
        idle -= lost
        ready = min(idle, float(sum(kind(t) == 0 for t in self.does("runnable"))))
        throttled = any(s[2] == 4 and s[3] > 0 and s[0] <= self.ns < s[1] for s in case.spans)
        sums.lost[(CODE["cpu_quota" if throttled else "scheduler"], -1, -1)] += ready
        self.give(self.in_phases(idle - ready))
        return sums, {thread: (a, b) for thread, (a, b) in self.blame.items()}

    def taken_off(self) -> float:
        """Return the cores that are idle; what is not is used, stolen or others'."""
        case, sums = self.oracle.case, self.sums
        running = [t for t in self.does("running") if self.oracle.kind(t) < 5]
        strangers = len(self.does("running")) - len(running)
        for thread in running:
            row = self.states[thread][1]
            assert row is not None
            stolen = min(row.stolen, row.running) / row.running
            share = min(1.0, case.cores / len(running)) if case.shares_cores else 1.0
            sums.stolen += stolen * share
            sums.used[self.oracle.kind(thread)] += (1 - stolen) * share
        room = max(0.0, case.cores - len(running)) if case.shares_cores else case.cores - len(running)
        sums.excess = max(0.0, -room)
        rates = [(o[2] / (o[1] - o[0]), o) for o in case.others if o[0] <= self.ns < o[1] and o[2] > 0]
        others = sum(rate for rate, _ in rates) + strangers
        ours = sum(min(max(o[3], 0) / (o[1] - o[0]), rate) for rate, o in rates)
        taken = min(others, max(0.0, room))
        headway = ours * taken / others if others else 0.0
        sums.used[4] += headway
        sums.other += taken - headway
        return min(max(0.0, room) - taken, case.most_idle)

    def in_phases(self, idle: float) -> float:
        """Give pauses, start and end their part; return the rest."""
        left = 1.0
        for code, cause in ((1, "gc_pause"), (5, "safepoint"), (2, "jvm_start"), (3, "jvm_end")):
            part = min(left, self.oracle.weight(code, self.ns))
            left -= part
            self.sums.lost[(CODE[cause], -1, -1)] += idle * part
            if cause in ("gc_pause", "safepoint"):
                by = 1 if cause == "gc_pause" else 3
                collectors = [t for t in self.does("running") if self.oracle.kind(t) == by]
                for thread in collectors:
                    self.blame[thread][0] += idle * part / len(collectors)
            if cause in ("jvm_start", "jvm_end"):
                for thread in self.active:
                    self.blame[thread][1] += idle * part / len(self.active)
        return idle * left

    def of_class(self, waits: str) -> list[Row]:
        """Return the rows of the threads that wait so."""
        return [row for row, each, _ in self.waits.values() if each == waits]

    def give(self, idle: float) -> None:
        """Give the idle cores to those who wait, and what is left to one reason."""
        directed = self.of_class("directed")
        if idle > 1e-12 and directed:
            rate = idle / len(directed) if not self.active else min(1.0, idle / len(directed))
            for each in directed:
                self.sums.lost[each] += rate
                self.blame[each[2]][0] += rate
            idle -= rate * len(directed)
        if idle <= 1e-12:
            return
        row: Row | None = self.joined(False)
        if row is not None and row[0] == CODE["too_few_tasks"] and self.active:
            row = self.starved() or row
        if row is None and self.active:
            row = self.starved() or ((CODE["too_few_tasks"], -1, -1) if len(self.active) > 1 else None)
            row = row or (CODE["serial_section"], -1, self.active[0])
        elif row is None:
            row = self.joined(True)
            rows = self.of_class("outside") or self.of_class("background") or self.of_class("idle")
            if row is None and rows:
                for each in rows:
                    self.sums.lost[each] += idle / len(rows)
                return
        self.to_one(row or (CODE["unknown"], -1, -1), idle)

    def to_one(self, row: Row, idle: float) -> None:
        """Give the rest to one row."""
        self.sums.lost[row] += idle
        if row[0] == CODE["too_few_tasks"]:
            for thread in self.active:
                self.blame[thread][1] += idle / len(self.active)
        else:
            self.blame[row[2]][row[0] == CODE["serial_section"]] += idle

    def joins(self, thread: int) -> bool:
        """Return whether a thread looks after another one; a watcher does where nobody works."""
        row, waits, _ = self.waits[thread]
        if self.active and self.oracle.is_watcher(thread):
            return False
        return self.oracle.piece(thread, self.ns) is not None and (
            waits != "directed" and row[0] in (CODE["imbalance"], CODE["too_few_tasks"]) and row[2] >= 0
        )

    def joined(self, includes_background: bool) -> Row | None:
        """Return what the threads wait for that have looked after another one the longest."""
        joiners = sorted(
            (self.oracle.is_watcher(thread), self.waits[thread][2], thread)
            for thread in self.waits
            if self.joins(thread)
        )
        follows = [self.follow(self.waits[thread][0], includes_background) for *_, thread in joiners[:4]]
        found = [row for row in follows if row is not None]
        more = [row for row in found if row[0] != CODE["too_few_tasks"]]
        return next(iter(more or found), None)

    def follow(self, row: Row, includes_background: bool) -> Row | None:
        """Return what a chain of joins ends in."""
        for _ in range(16):
            target = row[2]
            if self.states[target][0] in ("running", "runnable"):
                return row
            if target not in self.waits:
                return row if target >= len(self.oracle.case.kinds) else None
            other, waits, _ = self.waits[target]
            if not self.joins(target):
                return other if waits == "directed" or includes_background else None
            row = other
        return (CODE["unknown"], -1, -1)

    def starved(self) -> Row | None:
        """Return the wait for a producer that is at work: the longest; nobody needs those in the background."""
        rows = [
            (start, thread, row)
            for thread, (row, waits, start) in self.waits.items()
            if waits != "directed" and row[0] == CODE["starved_consumer"] and row[2] >= 0
            and self.oracle.piece(thread, self.ns) is not None and not self.oracle.hardly_runs(thread)
            and self.states[row[2]][0] in ("running", "runnable")
        ]  # fmt: skip
        return min(rows)[2] if rows else None


def account(case: Case) -> tuple[list[Sums], list[tuple[float, float]]]:
    """Return the sums of each segment, paid back, and the probes."""
    oracle = Oracle(case)
    begin, end = case.window
    edges = sorted({begin, end, *(cut for cut in case.cuts if begin < cut < end)})
    segments = []
    blames: dict[int, Mapping[int, tuple[float, float]]] = {}
    for first, last in pairwise(edges) if begin < end else [(begin, end)]:
        sums = Sums()
        for ns in range(first, last):
            moment, blames[ns] = oracle.moment(ns)
            sums.add(moment)
        segments.append(sums.settled())
    return segments, [blames.get(ns, {}).get(thread, (0.0, 0.0)) for ns, thread in case.probes]
