"""The row of a lock as JSON text: the one encoder of `locks`, `locks --pid` and `dump`.

Rows of a recording and of a running JVM have most keys in common, in one order; each has some more, in four places of the row.
The text is that of `json_text`, to the byte; what surrounds the values is made once, as there may be a million rows.
"""

from __future__ import annotations

from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from headway.report.json.text import around, json_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.analyses.locks.metrics import LockSumsLike, Metrics

SUMS = {
    "times_parked": "times_parked",
    "times_measured": "times_measured",
    "parked_now": "parked_now",
    "peak_parked": "peak_parked",
    "parking_thread_time_ns": "thread_time_ns",
    "parking_real_time_ns": "real_time_ns",
}
"""Keys of whole numbers, and the attribute of LockSums that each shows."""
METRICS = (
    *("average_parking_time_ns", "average_hold_time_ns", "real_time_util_pct", "thread_time_util_pct"),
    *("real_life_time_util_pct", "thread_life_time_util_pct"),
)
"""Keys of the derived metrics; null where one is undefined."""
TRUTH = {None: "null", False: "false", True: "true"}
_KEPT = 4096
_sums_of = attrgetter(*SUMS.values())


class LockRowEncoder:
    """Writes the rows of one command. What it is made with are the keys that only rows of that command have.

    `of_object` come behind what the object is, `of_first_wait` before the thread of the first wait, `of_state` behind "dead",
    `others` at the end. A colon behind a key begins its value's format; without one the value is JSON text.
    """

    def __init__(
        self, depth: int, *, of_object: str = "", of_first_wait: str = "", of_state: str = "", others: str = ""
    ) -> None:
        """Make what surrounds the values of a row that stands `depth` levels deep."""
        self._depth = depth
        self._format = object_format(
            f"name place blocker_id class_name identity_hash kind {of_object} contention waiting rule"
            f" {of_first_wait} first_thread first_stack dead {of_state}"
            f" {' '.join(f'{key}:%d' for key in SUMS)} first_ns:%d last_ns:%d {' '.join(METRICS)} {others}",
            depth,
        )

    def text(
        self,
        name: str,
        place: str | None,
        blocker_id: int | None,
        class_name: str,
        identity_hash: int | None,
        kind: str,
        *,
        contention: bool | None,
        waiting: str | None,
        rule: str,
        first_wait: tuple[str | None, tuple[str, ...] | None],
        is_dead: bool,
        sums: LockSumsLike,
        since_ns: int = 0,
        metrics: Metrics,
        of_object: Iterable[Any] = (),
        of_first_wait: Iterable[Any] = (),
        of_state: Iterable[Any] = (),
        others: Iterable[Any] = (),
    ) -> str:
        """Return the text of a row, its times from `since_ns` on. `rule` is JSON text; so are values of keys without a format."""
        return self._format % (  # one value for each of its keys
            quoted(name),
            "null" if place is None else quoted(place),
            "null" if blocker_id is None else blocker_id,
            quoted(class_name),
            "null" if identity_hash is None else identity_hash,
            quoted(kind),
            *of_object,
            TRUTH[contention],
            "null" if waiting is None else quoted(waiting),
            rule,
            *of_first_wait,
            *_first_wait_texts(*first_wait, self._depth + 1),
            TRUTH[is_dead],
            *of_state,
            *_sums_of(sums),
            sums.first_ns - since_ns,
            sums.last_ns - since_ns,
            *_metric_texts(metrics),
            *others,
        )


def object_format(keys: str, depth: int) -> str:
    """Return an object with these keys as %-format; what is behind a key's colon is its format, %s by itself."""
    pairs = [key.partition(":") for key in keys.split()]
    names, forms = tuple(name for name, _, _ in pairs), tuple(form or "%s" for _, _, form in pairs)
    return around(names, "\n" + " " * depth, forms)


def list_text(texts: list[str], depth: int) -> str:
    """Return the text of a list that stands `depth` levels deep, of the texts of its items."""
    line = "\n" + " " * (depth + 1)
    return f"[{line}{f',{line}'.join(texts)}{line[:-1]}]" if texts else "[]"


@lru_cache(maxsize=_KEPT)
def stack_text(frames: tuple[str, ...], depth: int) -> str:
    """Return the text of a stack: many rows have the same ones."""
    return json_text(frames, depth)


def _first_wait_texts(thread: str | None, stack: tuple[str, ...] | None, depth: int) -> tuple[str, str]:
    return "null" if thread is None else quoted(thread), "null" if stack is None else stack_text(stack, depth)


def number(value: float | None) -> str:
    """Return the text of a number."""
    return "null" if value is None else repr(value)


def _metric_texts(metrics: Metrics) -> tuple[int | str, ...]:
    """Return the values of METRICS, times rounded."""
    return (
        _whole(metrics.average_parking_time_ns),
        _whole(metrics.average_hold_time_ns),
        number(metrics.real_time_util_pct),
        number(metrics.thread_time_util_pct),
        number(metrics.real_life_time_util_pct),
        number(metrics.thread_life_time_util_pct),
    )


def _whole(ns: float | None) -> int | str:
    return "null" if ns is None else round(ns)
