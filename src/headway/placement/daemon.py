"""The daemon: sleeps, measures, lets the policy decide, moves, and records each decision with what came of it.

Nothing is moved before a policy asks for it, so that a program which ends soon, or is not faster anywhere, is left as it is.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from headway.analyses.placement.types import ALL, ONE, Observation, Placement, Policy
from headway.errors import HeadwayError
from headway.errors.plurals import counted
from headway.placement.affinities import Cpus, Moved
from headway.placement.memory_follower import MemoryFollower, end_of_memory
from headway.placement.mover import BASE, HOME, LOOK, Mover, MoverEnded
from headway.placement.nodes import allowed_by_cpuset, balances_itself
from headway.placement.orphans import OrphanSearch
from headway.placement.readings import MeasuredInterval, Readings
from headway.placement.types import Event, NodeChoice, Record
from headway.record.machine.host import format_cpu_list

LOOK_S = 1.0
"""How often new threads, the machine's CPUs and what else moves the program are looked at."""
MOST_OF_A_CPU, MOST_OF_LOOKS = 0.001, 0.0004
"""What measuring and deciding may take, and looking for new threads: of very many threads it is done more rarely."""
COLD_S = 0.5
"""After a move: readings in this time tell nothing of the spell."""

Ended = Literal["exit", "signal", "duration", "decided", ""]


@dataclass(slots=True)
class _Spell:
    """A time on one placement, and how fast the program was: seconds for each unit of every warm reading."""

    placement: Placement
    began_s: float
    costs: list[float] = field(default_factory=list)
    before_memory: int | None = None
    """So many readings there were when memory began to be moved, and when that was over."""
    after_memory: int | None = None

    def see_memory(self, *, is_under_way: bool) -> None:
        """Note when memory is moved."""
        if is_under_way and self.before_memory is None:
            self.before_memory = len(self.costs)
        if self.before_memory is not None:
            self.after_memory = None if is_under_way else self.after_memory or len(self.costs)

    def speed_after_memory(self) -> float | None:
        """Return how fast the program was after its memory had been moved, relative to before; None where not known."""
        if self.before_memory is None or self.after_memory is None:
            return None
        before, after = self.costs[: self.before_memory], self.costs[self.after_memory :]
        return statistics.fmean(before) / statistics.fmean(after) if before and after else None


@dataclass(slots=True)
class Daemon:
    """Measure and place one program until it or headway ends. `wait`: waits some seconds, and returns what ended the wait.

    `mover`: the process that moves the threads; None where decisions are recorded only (--dry-run). `tells_speed`: whether
    readings tell how fast the program is.
    """

    places: NodeChoice
    policy: Policy
    readings: Readings
    mover: Mover | None
    observe: Callable[[MeasuredInterval, Placement], Observation]
    emit: Callable[[Record], None]
    wait: Callable[[float], Ended]
    duration_s: float | None = None
    moves_memory: bool = False
    tells_speed: bool = True
    _memory: MemoryFollower | None = None
    _is_trial: bool = False
    _spell: _Spell = field(default_factory=lambda: _Spell(ALL, time.monotonic()))
    _before: _Spell | None = None
    _why: str = ""
    _began_s: float = field(default_factory=time.monotonic)
    _next_look_s: float = 0.0
    _allowed: Cpus = frozenset()
    _is_balanced: bool = False
    _left_alone: int = 0
    _orphans: OrphanSearch | None = None
    """Set when threads are first moved."""

    def run(self) -> None:
        """Place the program until it ends, or somebody asks to end; then put its threads back."""
        reason = "an error"
        try:
            self._start()
            reason = self._until_end()
        except HeadwayError as error:
            reason = f"{error.notice.id}: {error.notice.message}"
            raise
        except MoverEnded:
            reason = "the process that moves threads was ended by somebody"
            raise HeadwayError("HW726") from None
        finally:
            self._end(reason)

    def _start(self) -> None:
        places, root = self.places, self.readings.root
        self._allowed, self._is_balanced = allowed_by_cpuset(root.pid), balances_itself()
        facts = {
            "pid": root.pid,
            "nodes": places.nodes,
            "nodes_declared": places.is_declared,
            "home": places.home.number,
            "home_cpus": sorted(places.home.cpus),
            "cpus": sorted(places.base),
            "progress": self.readings.progress.name,
            "kernel_balances": self._is_balanced,
            "memory_by_node": _by_number(places.memory_by_node),
            "remote_share_at_home": places.remote_share,
            "dry_run": self.mover is None,
        }
        declared = ", declared by --nodes" if places.is_declared else ""
        also = "; the kernel balances nodes itself, and may undo what is decided" if self._is_balanced else ""
        text = f"process {root.pid}: {places.nodes} nodes{declared}; judged by {self.readings.progress.name}"
        text += f"{_memory_text(places)}{also}"
        self._emit("start", text, facts)
        if self.moves_memory and self.mover is not None:
            self._memory = MemoryFollower(
                self.mover, places.text(ONE), lambda text, facts: self._emit("memory", text, facts)
            )
        self.readings.begin()

    def _until_end(self) -> str:
        """Return why it ended."""
        decision = self.policy.first()
        ended = self._act(decision.placement, decision.why, None)
        pause_s = decision.seconds
        while not ended:
            ended = self._pause(pause_s if self.duration_s is None else min(pause_s, max(0.0, self._left_s())))
            if ended:
                break
            if self.duration_s is not None and self._left_s() <= 0:
                ended = "duration"
                break
            began_s = time.thread_time()
            if (changed := self._look()) is not None:
                return changed
            measured = self.readings.read()
            if measured is not None:
                if time.monotonic() - self._spell.began_s - measured.seconds >= COLD_S:
                    self._spell.costs.append(measured.seconds / measured.units)
                decision = self.policy.decide(self.observe(measured, self._spell.placement))
                self._is_trial = decision.is_trial
                ended = self._act(decision.placement, decision.why, measured)
            pause_s = max(decision.seconds, (time.thread_time() - began_s) / MOST_OF_A_CPU)
        reasons = {
            "exit": "the program ended",
            "signal": "somebody asked to end",
            "duration": "the time is over",
            "decided": "a dry run moves nothing, so that there is nothing more to tell",
        }
        return reasons[ended]

    def _act(self, placement: Placement, why: str, measured: MeasuredInterval | None) -> Ended:
        """Do what was decided; record it where it is something else than before. Return "decided" where a dry run ends."""
        is_move = placement != self._spell.placement
        if not is_move and why == self._why:
            return ""
        moved = self._move(placement) if is_move else None
        facts: dict[str, Any] = {"placement": placement, "why": why, "is_move": is_move}
        if measured is not None:
            facts["measured"] = measured.as_json()
        if moved is not None:
            facts |= moved.as_json()
        would = "would " if self.mover is None else ""
        where = self.places.text(placement)
        action = f"{would}move to {where}" if is_move else f"{would}stay on {where}"
        self._why = why if measured is not None else ""  # what is decided by a reading is told with it
        if is_move:
            self._close_spell()
            self._spell = _Spell(placement, time.monotonic())
        self._emit("decision", f"{action}: {why}{_moved_text(moved)}", facts)
        if is_move and self.mover is not None:
            self.readings.begin()
        return "decided" if is_move and self.mover is None else ""

    def _move(self, placement: Placement) -> Moved | None:
        if self.mover is None:
            return None
        self._orphans = self._orphans or OrphanSearch.of(self.readings.root)
        moved = self.mover.ask(HOME if placement == ONE else BASE)
        self._left_alone = moved.left_alone
        return moved

    def _pause(self, seconds: float) -> Ended:
        """Wait, and return what ended it. Memory is moved meanwhile after threads that stay where they are, at its own pace."""
        if self._memory is None or self._is_trial or self._is_balanced:
            return self.wait(seconds)
        end_s = time.monotonic() + seconds
        while (left_s := end_s - time.monotonic()) > 0:
            if ended := self.wait(min(left_s, self._memory.wait_s())):
                return ended
            self._memory.follow(self._spell.placement, self._spell.began_s)
            self._spell.see_memory(is_under_way=self._memory.is_under_way)
        return ""

    def _look(self) -> str | None:
        """Look for new threads and for changes of the machine, now and then. Return why to end, if so."""
        now_s = time.monotonic()
        if now_s < self._next_look_s:
            return None
        self._next_look_s = now_s + LOOK_S
        allowed = allowed_by_cpuset(self.readings.root.pid)
        if allowed != self._allowed and self.readings.root.is_alive:
            return "the CPUs that the program may use changed"
        if balances_itself() != self._is_balanced:
            self._is_balanced = not self._is_balanced
            text = f"automatic balancing of nodes was switched {'on' if self._is_balanced else 'off'}"
            text += (
                "; meanwhile the kernel alone moves memory" if self._is_balanced and self._memory is not None else ""
            )
            self._emit("note", text, {"kernel_balances": self._is_balanced})
        if self.mover is not None:
            moved = self.mover.ask(LOOK)
            if moved.left_alone > self._left_alone:
                text = f"the program set the affinity of {moved.left_alone} of its threads itself: what it set is left alone"
                self._emit("note", text, moved.as_json())
            self._left_alone = moved.left_alone
            self._next_look_s = now_s + max(LOOK_S, self.mover.used_s / MOST_OF_LOOKS)
        return None

    def _close_spell(self) -> None:
        """Record what came of a spell: how fast the program was, beside the spell before."""
        spell = self._spell
        if spell.costs and self.tells_speed:
            cost = statistics.fmean(spell.costs)
            seconds = time.monotonic() - spell.began_s
            facts = {
                "placement": spell.placement,
                "seconds": seconds,
                "readings": len(spell.costs),
                "seconds_per_unit": cost,
            }
            text = f"{seconds:.1f} s on {self.places.text(spell.placement)}: {1 / cost:.4g} units of work in a second"
            before = self._before
            if before is not None and before.placement != spell.placement:
                facts["speed_to_spell_before"] = statistics.fmean(before.costs) / cost
                text += f", {facts['speed_to_spell_before']:.3f} times as many as before"
            if (after := spell.speed_after_memory()) is not None:
                facts["speed_after_memory"] = after
                text += f"; {after:.3f} times as fast once memory was moved"
            self._emit("spell", text, facts)
            self._before = spell

    def _end(self, reason: str) -> None:
        """Put all threads back, and record that. Raises HeadwayError HW729."""
        moved = None
        try:
            if self.mover is not None:
                moved = self.mover.undo()
        except MoverEnded:
            root = self.readings.root
            cpus = {"cpus": format_cpu_list(set(self.places.home.cpus)), "all": format_cpu_list(set(self.places.base))}
            raise HeadwayError("HW729", pid=root.pid, **cpus) from None
        finally:
            self.readings.progress.close()
        self._close_spell()
        if self._orphans is not None and (note := self._orphans.note(self.places.home.cpus, self.places.base)):
            self._emit("note", *note)
        of_memory, memory_facts = end_of_memory(None if self.mover is None else self.mover.memory)
        facts: dict[str, Any] = {"why": reason} | ({} if moved is None else moved.as_json()) | memory_facts
        text = f"end: {reason}" + (
            "" if moved is None or not moved.moved else f"; {counted(moved.moved, 'thread')} put back"
        )
        if moved is not None and not moved.is_complete:
            text += "; threads start without end, and some may not be"
        self._emit("end", f"{text}{of_memory}", facts)

    def _left_s(self) -> float:
        assert self.duration_s is not None
        return self._began_s + self.duration_s - time.monotonic()

    def _emit(self, event: Event, text: str, facts: dict[str, Any]) -> None:
        self.emit(Record(event, time.monotonic_ns(), text, facts))


def _by_number(memory: dict[int, int] | None) -> dict[str, int] | None:
    return None if memory is None else {str(node): size for node, size in memory.items()}


def _memory_text(places: NodeChoice) -> str:
    share = places.remote_share
    return "" if share is None else f"; {100 * share:.0f} % of its memory is not on node {places.home.number}"


def _moved_text(moved: Moved | None) -> str:
    if moved is None:
        return ""
    parts = [counted(moved.moved, "thread")]
    parts += [f"{moved.left_alone} left alone"] if moved.left_alone else []
    parts += [f"{moved.refused} refused by the kernel"] if moved.refused else []
    parts += [] if moved.is_complete else ["threads start without end, and some may be elsewhere"]
    return f" ({', '.join(parts)})"
