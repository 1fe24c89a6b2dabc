"""Suggests progress points: methods called steadily, with their rates (`headway causal --suggest`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.errors import Notice

if TYPE_CHECKING:
    from headway.store import Recording

_BEST_PER_S = (5.0, 50_000.0)
"""Rarer points need long experiments, more frequent ones cost the program."""
_MOST_PER_S = 1_000_000.0
STEADY = 0.5
"""Calls per second that vary more than this, as `Suggestion.variation`, are not steady."""

_MOST_OF_IT = 0.5
"""Methods on at least so much of the stacks that the most frequent one is on may be the unit of work itself."""
_SOME_OF_IT = 0.1
_NO_START = 0.2
"""Methods on at least so much of all stacks are no mere start of a run."""
_NO_SHARE = 3
_SAME = 0.01
"""Numbers of calls that differ by no more than this share of them are the same: the recording ends in the middle of a unit."""
_FEW = 100
"""Calls below which the same number says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A candidate method. `variation`: standard deviation / mean of its calls per second; None: unknown.

    `on_stacks`: the share of the sampled stacks that it is on; `outer_frames`: how many frames of the program's code are further
    out there, on average. None: not known.
    """

    where: str
    hits: int
    hits_per_s: float
    variation: float | None
    on_stacks: float | None = None
    outer_frames: float | None = None

    @property
    def is_lambda(self) -> bool:
        """Return whether the compiler generated the method's name: such names change with the source around them."""
        return "lambda$" in self.where or "$anonfun$" in self.where

    @property
    def option(self) -> str:
        """Return the option that makes `headway causal` count this progress point."""
        return f"--progress '{self.where}'"

    def as_json(self) -> dict[str, Any]:
        """Return the stable JSON form {where, hits, hits_per_s, variation, on_stacks_pct, option}."""
        rounded = None if self.variation is None else round(self.variation, 4)
        return {
            "where": self.where,
            "hits": self.hits,
            "hits_per_s": round(self.hits_per_s, 3),
            "variation": rounded,
            "on_stacks_pct": None if self.on_stacks is None else round(100 * self.on_stacks, 2),
            "option": self.option,
        }


def suggestions(recording: Recording) -> list[Suggestion]:
    """Return the candidates of a recording made with --suggest, best first; [] when there are none.

    What was not called in the last third of a run belongs to its start: left out, if there is anything else, and if it is on few
    stacks (an index is written for most of a run, and merged at the end).
    """
    rows = recording.query(
        """SELECT "where", sum(hits), sum(dur_ns), avg(variation), avg(on_stacks), avg(outer_frames),
                  bool_or(coalesce(last_hit_ns, start_ns + dur_ns) - start_ns >= dur_ns * 2 / 3)
           FROM causal_point JOIN causal_run USING (run)
           WHERE causal_point.kind = 'candidate' AND hits > 0 GROUP BY "where" """
    ).fetchall()
    rows = [row for row in rows if row[-1] or (row[4] or 0) >= _NO_START] or rows
    found = [
        Suggestion(
            where=where,
            hits=int(hits),
            hits_per_s=int(hits) * 1e9 / max(1, int(dur_ns)),
            variation=variation,
            on_stacks=on_stacks,
            outer_frames=outer_frames,
        )
        for where, hits, dur_ns, variation, on_stacks, outer_frames, _ in rows
    ]
    return ranked([each for each in found if each.hits_per_s <= _MOST_PER_S])


def ranked(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Rank candidates as an author would: containing most of the work, called steadily, as far out on stacks as possible.

    A unit of work is what the program does again and again: nearly every stack has it, and what is further out on them (main, a
    thread's loop) is called once. What it calls in turn is on fewer stacks, or further in. Of a lambda and a named method that
    are called as often, one for the other, the named one is taken.
    """
    usual = [each for each in found if _fitness(each) == 0]
    most = max((each.on_stacks or 0.0 for each in usual or found), default=0.0)
    best = sorted(found, key=lambda each: _rank(each, most))
    if best and best[0].is_lambda:
        same = (best[0], *equally_frequent(best))
        named = next(
            (each for each in same if not each.is_lambda and _level(each, most) == _level(best[0], most)), None
        )
        if named is not None:
            best.remove(named)
            best.insert(0, named)
    return best


def _fitness(each: Suggestion) -> int:
    """Return 0 for a rate that experiments like; too frequent is better than too rare: what is called once is no point at all."""
    least, most = _BEST_PER_S
    return 0 if least <= each.hits_per_s <= most else 1 if each.hits_per_s > most else 2


def _level(each: Suggestion, most: float) -> int:
    """Return how much of the work is in it, 0 being most of it; the same for all where stacks were not looked at."""
    if each.on_stacks is None or most <= 0:
        return _NO_SHARE
    return 0 if each.on_stacks >= _MOST_OF_IT * most else 1 if each.on_stacks >= _SOME_OF_IT * most else 2


def _rank(each: Suggestion, most: float) -> tuple[int, int, bool, float, float, float, str]:
    """Return what to sort by. Without stacks, of methods as steady as each other the rarer one is the unit of work."""
    level = _level(each, most)
    varies = 9.0 if each.variation is None else round(each.variation, 1)
    outer = 0.0 if each.outer_frames is None else each.outer_frames
    # Nothing is known of where the methods at level 2 lie: these go by their steadiness, as all do without stacks.
    known = (0.0, outer) if level < _NO_SHARE - 1 else (varies, 0.0)
    return _fitness(each), level, varies > STEADY, *known, each.hits_per_s, each.where


def equally_frequent(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Return later candidates called as often as the first: one calls the other once each time, so both count the same."""
    if not found or found[0].hits < _FEW:
        return []
    return [each for each in found[1:] if abs(each.hits - found[0].hits) <= _SAME * found[0].hits]


def nothing_to_suggest(out_of_scope: Sequence[str]) -> Notice:
    """Return HW616, with what the program did instead where that is known."""
    methods = f"; the program works in {', '.join(out_of_scope[:5])}" if out_of_scope else ""
    return Notice.of("HW616", methods=methods)
