"""Where the cores went, on the terminal: one sentence, then the ten lines that a person needs, then how to see the rest."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from headway.analyses.common import causes
from headway.analyses.common.causes import TITLES
from headway.analyses.common.units import core_time, duration, percent, significant
from headway.analyses.lost_cores.text import (
    cpi_text,
    holders_cpi_sentence,
    idle_sentence,
    interval_text,
    is_worth_a_line,
    method_text,
    others_sentence,
    sentence,
    thread_text,
)
from headway.errors.plurals import counted
from headway.report.terminal.lock_names import short_place, without_package
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import UNKNOWN, make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from headway.analyses.counters.types import Figure
    from headway.analyses.lost_cores.types import Account, Loss, Phase, Place, Why

LINES = 10
"""Causes of the table."""
DETAILS = 3
"""Causes that get their evidence printed."""
SENTENCES = 2
PLACE_WIDTH = 26
FIGURES_WIDTH = 37
"""What the columns of figures and their gaps take."""


def render_why(result: Why, console: Console, name: str = "NAME.headway") -> None:
    """Print everything: the sentence, the causes, their evidence, the phases, and what weakens the figures."""
    render_account(result.account, console)
    if result.cpi is not None and result.cpi.value is not None:
        print_line(console, f"cycles an instruction of the program's threads: {_cpi(result.cpi)}", bullet="*")
    if len(result.phases) > 1:
        print_table(console, phases_table(result.phases))
        console.print(
            Text(f"One of them by itself: headway why {shlex.quote(printable(name))} --phase K"), soft_wrap=True
        )
    _print_rest(result, console, name)
    print_notices(console, result.notices)


def render_account(account: Account, console: Console) -> None:
    """Print the sentence, the largest causes and the evidence of the first of them."""
    if idle := idle_sentence(account):
        print_line(console, idle, bullet="*")
    if others := others_sentence(account):
        print_line(console, others, bullet="*")
    print_line(console, sentence(account), bullet="*")
    shown = largest(account)
    if shown:
        print_table(console, causes_table(shown, console.width))
    for loss in shown[:DETAILS]:
        if loss.evidence:
            sentences = loss.evidence[: SENTENCES + len(loss.doubts)]  # doubts come first in it
            cpi = holders_cpi_sentence(loss.figures or {})
            sentences = sentences if not cpi or cpi in sentences else (*sentences, cpi)
            interval = interval_text(loss)
            sentences = (interval, *sentences) if interval else sentences
            print_line(console, f"{TITLES[loss.cause]}: {'. '.join(sentences)}.", bullet="  -")


def largest(account: Account) -> list[Loss]:
    """Return the losses that get a line."""
    return [loss for loss in account.lost if is_worth_a_line(loss)][:LINES]


def _print_rest(result: Why, console: Console, name: str) -> None:
    """Say what is not shown, and how to see it."""
    account = result.account
    shown = largest(account)
    more = len(account.lost) - len(shown)
    console.print()
    if more:
        numbers = set(map(id, shown))
        left = core_time(sum(loss.core_ns for loss in account.lost if id(loss) not in numbers))
        text = f"{more} more, {left} in all" if shown else f"{counted(more, 'small loss')}, {left} in all"
        console.print(Text(f"{text}: headway why {shlex.quote(printable(name))} --json"), soft_wrap=True)
    if not shown:
        return
    if doubts := sorted({each for loss in shown for each in loss.doubts}):
        console.print(f"?: in doubt, see {', '.join(doubts)}.")
    console.print("share is of core time; likely and bound are of wall time.")
    console.print(f"The order is that of what would likely be gained{_but_for_locks(shown)}.")
    if any(loss.cause in (causes.START, causes.END) for loss in shown):
        console.print("The JVM's own start and end come below all that likely gains 1.05x or more.")
    console.print(
        "A bound is the most that could be gained if this cause alone vanished: a fix that saves more gains more."
    )


def _but_for_locks(shown: Sequence[Loss]) -> str:
    """Return the exception from the order, where there is one."""
    gains = [(loss.cause, loss.ordering_speedup) for loss in shown]
    is_before = any(
        cause in (causes.LOCK, causes.CONDITION)
        and any(later > gain for of, later in gains[at + 1 :] if of in (causes.SLEEP, causes.IO))
        for at, (cause, gain) in enumerate(gains)
    )
    return (
        "; a lock comes before the sleep of its holders that would gain hardly more, or may gain no more"
        if is_before
        else ""
    )


# --- tables ------------------------------------------------------------------------------------------------------------


def causes_table(losses: Sequence[Loss], width: int = 80) -> Table:
    """Return the causes: what, where, how much, and what it could give. Places take what of `width` the rest leaves."""
    titles = [f"{TITLES[loss.cause]} ?" if loss.doubts else TITLES[loss.cause] for loss in losses]
    room = max(PLACE_WIDTH, width - max(map(len, titles), default=0) - FIGURES_WIDTH)
    several = len({loss.place.pid for loss in losses} - {None}) > 1
    table = make_table(
        ("lost to", "left"),
        ("where", "left"),
        ("core time", "right"),
        ("share", "right"),
        ("likely", "right"),
        ("bound", "right"),
        title="Where the lost cores went",
    )
    table.padding = (0, 1, 0, 0)
    for column in table.columns[:2]:
        column.overflow = "fold"
    for title, loss in zip(titles, losses, strict=True):
        likely, bound = (
            UNKNOWN if each is None else f"{significant(each)}x" for each in (loss.likely_speedup, loss.bound_speedup)
        )
        where = Text(_in_lines(loss.place, room, with_process=several))
        table.add_row(title, where, core_time(loss.core_ns), percent(loss.share), likely, bound)
    return table


def phases_table(phases: Sequence[Phase]) -> Table:
    """Return the phases: when, how parallel, what was lost and to what most."""
    is_counted = any(phase.cpi for phase in phases)
    table = make_table(
        ("phase", "right"),
        ("from", "right"),
        ("to", "right"),
        ("active", "right"),
        ("lost", "right"),
        ("most of it to", "left"),
        title="Phases",
    )
    if is_counted:
        table.add_column("CPI", justify="right", no_wrap=True)
    for phase in phases:
        account = phase.account
        worst = max(account.lost, key=lambda loss: loss.core_ns, default=None)
        most = "" if worst is None else f"{TITLES[worst.cause]} {percent(worst.share)}"
        table.add_row(
            str(phase.number),
            duration(account.start_ns),
            duration(account.end_ns),
            significant(phase.active),
            percent(account.lost_ns / (account.core_ns or 1)),
            most,
            *([_cpi(phase.cpi)] if is_counted else []),
        )
    return table


def _cpi(figure: Figure | None) -> str:
    """Return cycles per instruction, with the interval where it is not exact."""
    if figure is None or figure.value is None:
        return UNKNOWN
    return cpi_text(figure.value, figure.low, figure.high)


def _in_lines(place: Place, width: int, *, with_process: bool) -> str:
    """Return a place as `fitted_place` does; a method whose class has no room beside it goes below the class."""
    text = fitted_place(place, width, with_process=with_process)
    if not text.startswith("…"):
        return text
    class_name, dot, method = without_package(printable(method_text(place))).rpartition(".")
    return f"{shortened(class_name, width)}\n  {short_place(method, width - 2)}" if dot else text


def fitted_place(place: Place, width: int, *, with_process: bool = False) -> str:
    """Return a place that is no longer than `width`: what says least goes first, the method and line never.

    That is: the package, the object, the thread (which stays where it is all there is).
    """
    thread = thread_text(place)
    if thread and with_process and place.pid is not None:
        thread += f" of {place.pid}"
    method, lock = method_text(place), place.lock or ""
    for with_thread in (thread, "") if method or lock else (thread,):
        for with_lock in (lock, "") if method else (lock,):
            for name in dict.fromkeys((method, without_package(method))):
                text = ", ".join(filter(None, (name, with_lock)))
                text = printable(f"{text} ({with_thread})" if with_thread and text else text or with_thread)
                if cell_len(text) <= width:
                    return text
    return short_place(printable(method), width) if method else shortened(printable(lock or thread), width)


def shortened(text: str, width: int) -> str:
    """Return a text that is no longer than `width`: package names go first, then the middle."""
    if len(text) <= width:
        return text
    words = [without_package(word) for word in text.split(" ")]
    text = " ".join(words)
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
