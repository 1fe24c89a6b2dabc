"""The rows of `locks` as JSON text, without an object for each of them: there may be a million.

The form is that of `print_json`, to the byte; lock_row.py writes what rows of a running JVM have as well. Keys may be added,
never changed (docs/reference/json.md).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import TYPE_CHECKING, Any

from headway.analyses.common.limits import MOST_ROWS
from headway.analyses.locks.row_figures import whole_ns
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.tables.blocks import KINDS
from headway.analyses.waits.threads.thread_states import DOING
from headway.report.json.lock_row import TRUTH, LockRowEncoder, list_text, object_format, stack_text
from headway.report.json.text import json_text

if TYPE_CHECKING:
    from headway.analyses.locks.answer import Locks
    from headway.analyses.locks.row_figures import RowFigures
    from headway.analyses.locks.rows import Rows
    from headway.analyses.locks.types import Distribution, Holder, Link, Site, Waker

_DEPTH = 1
"""How deep a row stands in what is printed."""
_KEPT = 4096

_ROW = LockRowEncoder(
    _DEPTH,
    of_object="site objects:%d",
    others="wait_time_ns true_hold_time_ns lost_core_ns speedup_bound"
    " sites more_sites:%d holders more_holders:%d wakers more_wakers:%d holding chain chain_is_cycle deadlocked patterns",
)
_WAIT = object_format("p50:%d p99:%d max:%d mean:%d count:%d", _DEPTH + 1)
_HOLD = object_format("p50:%d p99:%d max:%d mean:%d count:%d source", _DEPTH + 1)
_WAKER = object_format("thread tid java_id line share:%r times:%d", _DEPTH + 2)
_SITE = object_format("line stack is_cut share:%r wait_ns:%d times:%d stacks_taken:%d rule contention", _DEPTH + 2)
_LINK = object_format("blocker_id name thread wait_ns:%d", _DEPTH + 2)
_HOLDER = object_format("thread tid java_id seen_by share:%r wait_ns:%d doing blocked_on", _DEPTH + 2)
_OTHER_LOCK = object_format("blocker_id name wait_ns:%d", _DEPTH + 4)
_DOING_KEYS = " ".join(f"{what}_ns:%d" for what in DOING)
_HOLDING, _DOING = object_format(_DOING_KEYS, _DEPTH + 1), object_format(_DOING_KEYS, _DEPTH + 3)


def lock_texts(result: Locks) -> Iterator[str]:
    """Give the text of every row, MOST_ROWS at most, as it stands in a list."""
    rows = result.rows.source
    deadlocked = {link.blocker_id for each in result.deadlocks for link in each.links} - {None}
    for of in itertools.islice(result.rows.figures(), MOST_ROWS):
        yield _row(rows, of, deadlocked)


def locks_json(result: Locks) -> Iterator[dict[str, Any]]:
    """Give every row as JSON values."""
    return map(json.loads, lock_texts(result))


def _row(rows: Rows, of: RowFigures, deadlocked: set[int | None]) -> str:
    rule, by, is_one = RULES[of.rule], rows.groups.by, rows.is_one(of)
    return _ROW.text(
        rows.name(of),
        rows.place(of),
        of.blocker_id if is_one else None,
        of.class_name if of.objects == 1 or by in ("class", "place") else "",
        of.identity_hash if is_one and of.is_object else None,
        KINDS[of.kind],
        of_object=(quoted(rows.groups.label[of.group]) if by == "site" else "null", of.objects),
        contention=rule.contention,
        waiting=rule.waiting,
        rule=_rule(of.rule, of.rule_share),
        first_wait=(of.first_thread, rows.stack(of)) if is_one else (None, None),
        is_dead=of.is_dead,
        sums=of,
        metrics=rows.metrics(of),
        others=_only_recorded(rows, of, is_one and of.blocker_id in deadlocked),
    )


def _only_recorded(rows: Rows, of: RowFigures, is_deadlocked: bool) -> tuple[Any, ...]:
    """Return what only rows of a recording have: what waiting cost, where, and who held the lock."""
    (links, is_cycle), holders = rows.chain(of), of.holders
    limit, (sites, more_sites) = rows.bound(of), of.sites
    return (
        _distribution(of.wait),
        _distribution(of.true_hold),
        "null" if rows.cost is None else whole_ns(of.lost_core_ns),
        "null" if limit is None or math.isinf(limit) else repr(limit),
        _list([_site(site) for site in sites]),
        more_sites,
        _list([_holder(each) for each in holders.holders]),
        holders.more,
        _list([_waker(each) for each in of.wakers[0]]),
        of.wakers[1],
        "null" if holders.holding is None else _HOLDING % _of_each_kind(holders.holding),
        _list([_link(each) for each in links]),
        TRUTH[is_cycle],
        TRUTH[is_deadlocked],
        _nested([{"name": each.name, "text": each.text, **each.figures} for each in rows.patterns(of)]),
    )


def _nested(value: Any) -> str:
    """Return the text of a row's member that few rows have."""
    return json_text(value, _DEPTH + 1) if value else "null" if value is None else "[]"


def _list(texts: list[str]) -> str:
    return list_text(texts, _DEPTH + 1)


@lru_cache(maxsize=_KEPT)
def _rule(number: int, share: float) -> str:
    rule = RULES[number]
    return json_text({"id": rule.id, "text": rule.text, "share": share}, _DEPTH + 1)


def _distribution(found: Distribution | None) -> str:
    if found is None:
        return "null"
    plain = (found.p50_ns, found.p99_ns, found.max_ns, round(found.mean_ns), found.count)
    return _WAIT % plain if found.source is None else _HOLD % (*plain, quoted(found.source))


def _site(site: Site) -> str:
    rule = site.rule
    return _SITE % (
        quoted(site.line), stack_text(site.frames, _DEPTH + 3), TRUTH[site.is_cut], site.share, site.thread_time_ns,
        site.times, site.stacks_taken, quoted(rule.id), TRUTH[rule.contention],
    )  # fmt: skip


def _waker(waker: Waker) -> str:
    return _WAKER % (
        quoted(waker.thread), _or_null(waker.tid), _or_null(waker.java_id),
        "null" if waker.line is None else quoted(waker.line), waker.share, waker.times,
    )  # fmt: skip


def _or_null(number: int | None) -> int | str:
    return "null" if number is None else number


def _link(link: Link) -> str:
    return _LINK % (_or_null(link.blocker_id), quoted(link.name), quoted(link.thread), link.wait_ns)


def _holder(holder: Holder) -> str:
    others = [_OTHER_LOCK % (_or_null(each.blocker_id), quoted(each.name), each.wait_ns) for each in holder.blocked_on]
    return _HOLDER % (
        quoted(holder.thread), _or_null(holder.tid), _or_null(holder.java_id),
        stack_text(holder.seen_by, _DEPTH + 3), holder.share, holder.wait_ns,
        _DOING % _of_each_kind(holder.doing), list_text(others, _DEPTH + 3),
    )  # fmt: skip


def _of_each_kind(doing: Mapping[str, int]) -> tuple[int, ...]:
    """Return the times of what holders did, in the order of their keys."""
    return tuple(map(doing.__getitem__, DOING))


def holder_json(holder: Holder) -> dict[str, Any]:
    """Return a holder of a lock as JSON values."""
    found: dict[str, Any] = json.loads(_holder(holder))
    return found
