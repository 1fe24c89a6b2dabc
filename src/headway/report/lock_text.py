"""The rows of `locks` as JSON text, without an object for each of them: there may be a million.

The form is that of `print_json`, to the byte: what surrounds the values of a row is made once. Keys may be added, never changed
(docs/reference/json.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from headway.analyses.lock_data import KINDS
from headway.analyses.lock_rules import RULES
from headway.report.json_text import around, json_text

if TYPE_CHECKING:
    from headway.analyses.lock_row_figures import Figures
    from headway.analyses.lock_rows import Rows
    from headway.analyses.lock_types import Distribution, Holder, Locks, Site, Waker

_DEPTH = 1
"""How deep a row stands in what is printed."""
_KEPT = 4096
_FALSE_TRUE = ("false", "true")


def _around(keys: str, depth: int) -> str:
    """Return an object with these keys as %-format; what is behind a key's colon is its format, %s by itself."""
    pairs = [key.partition(":") for key in keys.split()]
    names, forms = tuple(name for name, _, _ in pairs), tuple(form or "%s" for _, _, form in pairs)
    return around(names, "\n" + " " * depth, forms)


_ROW = _around(
    "name blocker_id class_name identity_hash kind site objects:%d contention waiting rule first_thread first_stack dead"
    " times_parked:%d times_measured:%d parked_now:%d peak_parked:%d parking_thread_time_ns:%d parking_real_time_ns:%d"
    " first_ns:%d last_ns:%d average_parking_time_ns average_hold_time_ns real_time_util_pct thread_time_util_pct"
    " real_life_time_util_pct thread_life_time_util_pct wait_time_ns true_hold_time_ns lost_core_ns speedup_bound"
    " sites more_sites:%d holders more_holders:%d wakers more_wakers:%d holding chain chain_is_cycle deadlocked patterns",
    _DEPTH,
)
_WAIT = _around("p50:%d p99:%d max:%d mean:%d count:%d", _DEPTH + 1)
_HOLD = _around("p50:%d p99:%d max:%d mean:%d count:%d source", _DEPTH + 1)
_WAKER = _around("thread tid java_id line share:%r times:%d", _DEPTH + 2)
_SITE = _around("line stack is_cut share:%r wait_ns:%d times:%d stacks_taken:%d rule contention", _DEPTH + 2)


def lock_texts(result: Locks) -> Iterator[str]:
    """Give the text of every row, as it stands in a list."""
    rows = result.rows.maker
    deadlocked = {link.blocker_id for each in result.deadlocks for link in each.links} - {None}
    for of in result.rows.figures():
        yield _row(rows, of, deadlocked)


def _row(rows: Rows, of: Figures, deadlocked: set[int | None]) -> str:
    rule, by, is_one = RULES[of.rule], rows.groups.by, rows.groups.by == "lock"
    links, is_cycle = rows.chain(of)
    limit, (sites, more_sites), held = rows.bound(of), of.sites, of.held
    return _ROW % (  # one value for each of its keys
        quoted(rows.name(of)),
        of.blocker_id if is_one else "null",
        quoted(of.class_name if of.objects == 1 or by == "class" else ""),
        of.identity_hash if is_one and of.is_object else "null",
        quoted(KINDS[of.kind]),
        quoted(rows.groups.label[of.group]) if by == "site" else "null",
        of.objects,
        _FALSE_TRUE[rule.contention],
        quoted(rule.waiting),
        _rule(of.rule, of.rule_share),
        quoted(of.first_thread) if is_one else "null",
        _stack(rows.stack(of), _DEPTH + 1) if is_one else "null",
        _FALSE_TRUE[of.is_dead],
        of.times_parked, of.times_measured, of.parked_now, of.peak_parked, of.thread_time_ns, of.real_time_ns,
        of.first_ns, of.last_ns,
        *_metrics(rows, of),
        _distribution(of.wait),
        _distribution(of.true_hold),
        "null" if rows.cost is None else round(of.lost_core_ns),
        "null" if limit is None or math.isinf(limit) else repr(limit),
        _list([_site(site) for site in sites]),
        more_sites,
        _nested([_holder(each) for each in held.holders]),
        held.more,
        _list([_waker(each) for each in of.wakers[0]]),
        of.wakers[1],
        _nested(held.holding and _doing(held.holding)),
        _nested([asdict(link) for link in links]),
        _FALSE_TRUE[is_cycle],
        _FALSE_TRUE[is_one and of.blocker_id in deadlocked],
        _nested([{"name": each.name, "text": each.text, **each.figures} for each in rows.patterns(of)]),
    )  # fmt: skip


def _nested(value: Any) -> str:
    """Return the text of a row's member that few rows have."""
    return json_text(value, _DEPTH + 1) if value else "null" if value is None else "[]"


def _list(texts: list[str]) -> str:
    line = "\n" + " " * (_DEPTH + 2)
    return f"[{line}{f',{line}'.join(texts)}{line[:-1]}]" if texts else "[]"


@lru_cache(maxsize=_KEPT)
def _rule(number: int, share: float) -> str:
    rule = RULES[number]
    return json_text({"id": rule.id, "text": rule.text, "share": share}, _DEPTH + 1)


@lru_cache(maxsize=_KEPT)
def _stack(frames: tuple[str, ...], depth: int) -> str:
    return json_text(frames, depth)


def _metrics(rows: Rows, of: Figures) -> tuple[Any, ...]:
    """Return the values of lock_metrics.metrics, times rounded."""
    found = rows.metrics(of)
    return (
        _rounded(found.average_parking_time_ns),
        _rounded(found.average_hold_time_ns),
        _number(found.real_time_util_pct),
        _number(found.thread_time_util_pct),
        _number(found.real_life_time_util_pct),
        _number(found.thread_life_time_util_pct),
    )


def _rounded(ns: float | None) -> int | str:
    return "null" if ns is None else round(ns)


def _number(value: float | None) -> str:
    return "null" if value is None else repr(value)


def _distribution(found: Distribution | None) -> str:
    if found is None:
        return "null"
    plain = (found.p50_ns, found.p99_ns, found.max_ns, round(found.mean_ns), found.count)
    return _WAIT % plain if found.source is None else _HOLD % (*plain, quoted(found.source))


def _site(site: Site) -> str:
    rule = site.rule
    return _SITE % (
        quoted(site.line), _stack(site.frames, _DEPTH + 3), _FALSE_TRUE[site.is_cut], site.share, site.thread_time_ns,
        site.times, site.stacks_taken, quoted(rule.id), _FALSE_TRUE[rule.contention],
    )  # fmt: skip


def _waker(waker: Waker) -> str:
    return _WAKER % (
        quoted(waker.thread), _or_null(waker.tid), _or_null(waker.java_id),
        "null" if waker.line is None else quoted(waker.line), waker.share, waker.times,
    )  # fmt: skip


def _or_null(number: int | None) -> int | str:
    return "null" if number is None else number


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "thread": holder.thread,
        "tid": holder.tid,
        "java_id": holder.java_id,
        "seen_by": holder.seen_by,
        "share": holder.share,
        "wait_ns": holder.wait_ns,
        "doing": _doing(holder.doing),
        "blocked_on": [asdict(each) for each in holder.blocked_on],
    }


def _doing(doing: Mapping[str, int]) -> dict[str, int]:
    return {f"{what}_ns": ns for what, ns in doing.items()}
