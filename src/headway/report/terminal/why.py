"""Where the cores went, on the terminal: one sentence, then the ten lines that a person needs, then how to see the rest."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.units import duration, percent, significant
from headway.analyses.why_text import SMALL, place_text, sentence
from headway.analyses.why_types import TITLES
from headway.report.terminal.tables import UNKNOWN, _table
from headway.report.terminal.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from headway.analyses.why_types import Account, Loss, Phase, Why

LINES = 10
"""Causes of the table."""
DETAILS = 3
"""Causes that get their evidence printed."""
SENTENCES = 2
PLACE_WIDTH = 26


def render_why(result: Why, console: Console, name: str = "NAME.headway") -> None:
    """Print everything: the sentence, the causes, their evidence, the phases, and what weakens the figures."""
    from headway.report import terminal

    render_account(result.account, console)
    if len(result.phases) > 1:
        terminal.print_table(console, phases_table(result.phases))
        console.print(
            Text(f"One of them by itself: headway why {shlex.quote(printable(name))} --phase K"), soft_wrap=True
        )
    _print_rest(result, console, name)
    terminal.print_notices(console, result.notices)


def render_account(account: Account, console: Console) -> None:
    """Print the sentence, the largest causes and the evidence of the first of them."""
    from headway.report import terminal

    terminal.print_line(console, sentence(account), bullet="*")
    shown = largest(account)
    if shown:
        terminal.print_table(console, causes_table(shown))
    for loss in shown[:DETAILS]:
        if loss.evidence:
            terminal.print_line(console, f"{TITLES[loss.cause]}: {'. '.join(loss.evidence[:SENTENCES])}.", bullet="  -")


def largest(account: Account) -> list[Loss]:
    """Return the losses that get a line."""
    return [loss for loss in account.lost if loss.core_ns > SMALL * account.core_ns][:LINES]


def _print_rest(result: Why, console: Console, name: str) -> None:
    """Say what is not shown, and how to see it."""
    account = result.account
    shown = set(map(id, largest(account)))
    more = [loss for loss in account.lost if id(loss) not in shown]
    console.print()
    if more:
        left = duration(sum(loss.core_ns for loss in more))
        console.print(
            Text(f"{len(more)} more, {left} in all: headway why {shlex.quote(printable(name))} --json"), soft_wrap=True
        )
    if any(loss.doubts for loss in account.lost):
        doubts = sorted({each for loss in account.lost for each in loss.doubts})
        console.print(f"?: in doubt, see {', '.join(doubts)}.")
    console.print("The order is that of what would likely be gained.")
    console.print("A bound is the most that could be gained if the cause vanished, not a forecast.")


# --- tables ------------------------------------------------------------------------------------------------------------


def causes_table(losses: Sequence[Loss]) -> Table:
    """Return the causes: what, where, how much, and what it could give."""
    table = _table(
        ("lost to", "left"),
        ("where", "left"),
        ("core time", "right"),
        ("share", "right"),
        ("likely", "right"),
        ("bound", "right"),
        title="Where the lost cores went",
    )
    table.padding = (0, 1, 0, 0)
    for loss in losses:
        likely, bound = (
            UNKNOWN if each is None else f"{significant(each)}x" for each in (loss.likely_speedup, loss.bound_speedup)
        )
        where = Text(shortened(printable(place_text(loss.place)), PLACE_WIDTH))
        title = f"{TITLES[loss.cause]} ?" if loss.doubts else TITLES[loss.cause]
        table.add_row(title, where, duration(loss.core_ns), percent(loss.share), likely, bound)
    return table


def phases_table(phases: Sequence[Phase]) -> Table:
    """Return the phases: when, how parallel, what was lost and to what most."""
    table = _table(
        ("phase", "right"),
        ("from", "right"),
        ("to", "right"),
        ("active", "right"),
        ("lost", "right"),
        ("most of it to", "left"),
        title="Phases",
    )
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
        )
    return table


def shortened(text: str, width: int) -> str:
    """Return a text that is no longer than `width`: package names go first, then the middle."""
    if len(text) <= width:
        return text
    words = [_without_package(word) for word in text.split(" ")]
    text = " ".join(words)
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}~{text[len(text) - (width - 1 - head) :]}"


def _without_package(word: str) -> str:
    """Return org.example.Store.put:4 as Store.put:4; what is no such name stays."""
    parts = word.split(".")
    for at, part in enumerate(parts):
        if part[:1].isupper():
            return ".".join(parts[at:])
    return word
