"""Threads of one name among those that hold a lock or end its waits, as one line for people.

Programs start threads of one name again and again: six lines that read alike tell nobody which is which. JSON keeps them apart,
by their ids.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from headway.analyses.locks.types import Holder, OtherLock, Waker
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from headway.analyses.locks.types import Lock

_Who = TypeVar("_Who", Holder, Waker)


def holder_groups(row: Lock) -> list[list[Holder]]:
    """Return the threads that held a lock while others waited, in groups of one name; who was waited for longest first."""
    groups: dict[str, list[Holder]] = {}
    for holder in row.holders:
        groups.setdefault(holder.thread, []).append(holder)
    return sorted(groups.values(), key=lambda group: -sum(each.wait_ns for each in group))


def waker_groups(row: Lock) -> list[list[Waker]]:
    """Return the threads that ended waits for a lock, in groups of one name and place; who ended most waits first."""
    groups: dict[tuple[str, str | None], list[Waker]] = {}
    for waker in row.wakers:
        groups.setdefault((waker.thread, waker.line), []).append(waker)
    return sorted(groups.values(), key=lambda group: -sum(each.times for each in group))


def holders_by_name(row: Lock) -> list[Holder]:
    """Return who held what a row waits for, those of one name as one, by the time waited for them."""
    return [_holder(group, row.more_holders) for group in holder_groups(row)]


def wakers_by_name(row: Lock) -> list[Waker]:
    """Return who ended the waits of a row and where, those of one name and place as one, by how often."""
    return [_waker(group, row.more_wakers) for group in waker_groups(row)]


def _holder(group: list[Holder], left_out: int) -> Holder:
    if len(group) == 1:
        return group[0]
    locks: dict[tuple[int | None, str], int] = {}
    for each in group:
        for other in each.blocked_on:
            key = (other.blocker_id, other.name)
            locks[key] = locks.get(key, 0) + other.wait_ns
    others = [OtherLock(number, name, ns) for (number, name), ns in locks.items()]
    return dataclasses.replace(
        _named(group, left_out),
        seen_by=tuple(dict.fromkeys(how for each in group for how in each.seen_by)),
        share=sum(each.share for each in group),
        wait_ns=sum(each.wait_ns for each in group),
        doing=_summed(each.doing for each in group),
        blocked_on=tuple(sorted(others, key=lambda each: -each.wait_ns)),
    )


def _waker(group: list[Waker], left_out: int) -> Waker:
    if len(group) == 1:
        return group[0]
    share, times = sum(each.share for each in group), sum(each.times for each in group)
    return dataclasses.replace(_named(group, left_out), share=share, times=times)


def _named(group: list[_Who], left_out: int) -> _Who:
    """Return the first of a group with the name of all: a thread that woke from several stacks is still one."""
    threads = len({(each.tid, each.java_id) for each in group})
    if threads == 1:
        return group[0]
    number = f"{threads} or more threads" if left_out else counted(threads, "thread")  # of the others some, too
    return dataclasses.replace(group[0], thread=f"{group[0].thread} ({number})", tid=None, java_id=None)


def _summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for what, ns in part.items():
            total[what] = total.get(what, 0) + ns
    return total
