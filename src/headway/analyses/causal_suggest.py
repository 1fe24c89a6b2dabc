"""Progress points worth using: methods that were called steadily, with their rates (`headway causal --suggest`)."""

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

_SAME = 0.01
"""Numbers of calls that differ by no more than this share of them are the same: the recording ends in the middle of a unit."""
_FEW = 100
"""Calls below which the same number says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A method that may be a progress point. `variation`: standard deviation / mean of its calls per second; None: unknown."""

    where: str
    hits: int
    hits_per_s: float
    variation: float | None

    @property
    def option(self) -> str:
        """Return what to paste."""
        return f"--progress '{self.where}'"

    def as_json(self) -> dict[str, Any]:
        """Return the stable form {where, hits, hits_per_s, variation, option}."""
        rounded = None if self.variation is None else round(self.variation, 4)
        return {
            "where": self.where,
            "hits": self.hits,
            "hits_per_s": round(self.hits_per_s, 3),
            "variation": rounded,
            "option": self.option,
        }


def suggestions(recording: Recording) -> list[Suggestion]:
    """Return the candidates of a recording made with --suggest, the best first; [] when there are none.

    What was not called in the last third of a run belongs to its start: left out, if there is anything else.
    """
    rows = recording.query(
        """SELECT "where", sum(hits), sum(dur_ns), avg(variation),
                  bool_or(coalesce(last_hit_ns, start_ns + dur_ns) - start_ns >= dur_ns * 2 / 3)
           FROM causal_point JOIN causal_run USING (run)
           WHERE causal_point.kind = 'candidate' AND hits > 0 GROUP BY "where" """
    ).fetchall()
    rows = [row for row in rows if row[4]] or rows
    found = [
        Suggestion(where=where, hits=int(hits), hits_per_s=int(hits) * 1e9 / max(1, int(dur_ns)), variation=variation)
        for where, hits, dur_ns, variation, _ in rows
    ]
    return sorted((each for each in found if each.hits_per_s <= _MOST_PER_S), key=_rank)


def _rank(each: Suggestion) -> tuple[int, float, float, str]:
    """Return what to sort by. Of methods as steady as each other the rarer one is the unit of work, others are called by it.

    Too frequent is better than too rare: a method that is called once is none at all.
    """
    least, most = _BEST_PER_S
    fitness = 0 if least <= each.hits_per_s <= most else 1 if each.hits_per_s > most else 2
    unsteady = 9.0 if each.variation is None else round(each.variation, 1)
    return fitness, unsteady, each.hits_per_s, each.where


def as_often_as_the_first(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Return those after the first that are called as often as it is: one calls the other, once each, and both count the same."""
    if not found or found[0].hits < _FEW:
        return []
    return [each for each in found[1:] if abs(each.hits - found[0].hits) <= _SAME * found[0].hits]


def nothing_to_suggest(out_of_scope: Sequence[str]) -> Notice:
    """Return HW616, with what the program did instead, if that is known."""
    methods = f"; the program works in {', '.join(out_of_scope[:5])}" if out_of_scope else ""
    return Notice.of("HW616", methods=methods)
