"""The account of a predicted run on the terminal: what its cores are lost to, its locks, its critical path, further changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headway.analyses.common.causes import BLOCKED, TITLES, UNKNOWN
from headway.analyses.common.units import core_time, duration, percent, significant
from headway.analyses.lost_cores.text import place_text
from headway.analyses.whatif.ranking import PAIR_GAINS
from headway.analyses.whatif.types import WHOLE_CORES, Change
from headway.errors.plurals import counted
from headway.report.terminal.lock_names import without_package
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.tables import make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from headway.analyses.whatif.types import Predicted, PredictedAccount

LOSSES = 8
"""Losses that are listed."""
_SMALL = 0.001
"""Losses of a smaller part of the core time are not."""


def title_of(cause: str | None) -> str:
    """Return what limits a run in two or three words; '' where nothing does."""
    return "" if cause is None else TITLES.get(cause, cause)


def limit_of(each: Predicted) -> str:
    """Return what limits a predicted run in two or three words; unknown if it has no account of what its threads wait for."""
    is_unknown = each.without_account is not None and each.next_cause == BLOCKED
    return TITLES[UNKNOWN] if is_unknown else title_of(each.next_cause)


def predicted_text(each: Predicted, recorded_cores: int) -> str:
    """Return what is changed, and what the program shares the cores with."""
    return change_text(each.change, recorded_cores, together=each.together)


def change_text(change: Change, recorded_cores: int, *, together: bool = False) -> str:
    """Return a set of changes for people; cores where they are another number, or all that changes."""
    is_only_cores = change == Change(change.cores) and not together
    parts = [
        *([counted(change.cores, "core")] if is_only_cores or change.cores != recorded_cores else []),
        *(["together"] if together else []),
        *([change.smt.text] if change.smt != WHOLE_CORES else []),
        *([f"{change.clock:g}x clock"] if change.clock != 1 else []),
        *([f"{change.io:g}x I/O"] if change.io != 1 else []),
        *([] if change.has_gc else ["no collections"]),
        *[replace(lock, lock=without_package(lock.lock)).text for lock in change.locks],
        *[sleep.text for sleep in change.sleeps],
        *[pool.text for pool in change.pools],
        *[replace(queue, queue=without_package(queue.queue)).text for queue in change.queues],
        *[replace(each, place=without_package(each.place)).text for each in change.balanced],
        *[replace(each, place=without_package(each.place)).text for each in change.waits],
        *[replace(method, method=without_package(method.method)).text for method in change.methods],
    ]
    return ", ".join(parts)


def render_predicted_accounts(predicted: Sequence[Predicted], recorded_cores: int, console: Console) -> None:
    """Print the account of each predicted run; where a change leaves the run as another one does, it is printed once."""
    before: list[Predicted] = []
    for each in predicted:
        if each.account is None:
            continue
        same = next((one for one in before if one.account == each.account), None)
        if same is None:
            _render_account(each, each.account, recorded_cores, console)
            before.append(each)
        else:
            texts = [predicted_text(one, recorded_cores) for one in (each, same)]
            print_line(console, f"{texts[0]}: the cores would go where they go with {texts[1]}", bullet="*")
        _render_further(each, console)


def _render_account(each: Predicted, account: PredictedAccount, recorded_cores: int, console: Console) -> None:
    """Print what a predicted run loses its cores to, and what it waits for."""
    used = sum(account.used_ns.values())
    table = make_table(
        ("lost to", "left"),
        ("core time", "right"),
        ("share", "right"),
        ("where", "left"),
        title=f"Where the cores would go: {predicted_text(each, recorded_cores)}",
    )
    table.add_row("(used)", core_time(used), percent(used / max(account.core_ns, 1)), "")
    if account.idle_ns:
        table.add_row("(idle)", core_time(account.idle_ns), percent(account.idle_ns / max(account.core_ns, 1)), "")
    shown = [loss for loss in account.lost if loss.share >= _SMALL][:LOSSES]
    for loss in shown:
        table.add_row(title_of(loss.cause), core_time(loss.core_ns), percent(loss.share), place_text(loss.place))
    print_table(console, table)
    if more := len(account.lost) - len(shown):
        left = core_time(sum(loss.core_ns for loss in account.lost) - sum(loss.core_ns for loss in shown))
        print_line(console, f"{more} more, {left} in all: --json", bullet=" ")
    for lock in account.locks:
        name = lock.lock if lock.place is None else f"{without_package(lock.place)} ({lock.lock})"
        print_line(console, f"threads wait {duration(lock.waited_ns)} in all for {name}", bullet=" ")
    parts = [f"{part.thread} {part.state} {duration(part.ns)}" for part in account.path]
    print_line(console, f"critical path: {'; '.join(parts)}", bullet=" ")


def _render_further(each: Predicted, console: Console) -> None:
    """Print what further changes gain."""
    for further in each.further:
        text = change_text(further.change, each.change.cores)
        gain = f"{significant(further.gain)}x as fast, {duration(further.wall_ns)}"
        print_line(console, f"then, best of {further.tried}: {text}: {gain}", bullet=" ")
    if each.further and each.further[-1].gain < 1 / (1 - PAIR_GAINS):
        print_line(console, "a further change gains hardly anything from there on", bullet=" ")
