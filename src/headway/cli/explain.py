"""`headway explain`: what a message means, from the one table that defines them all."""

from __future__ import annotations

import difflib
import itertools

import click

from headway.cli import out
from headway.cli.options import print_json
from headway.errors import MESSAGES, HeadwayError, Message


def _closest(written: str) -> str:
    """Return the id most like what was written: of those that begin so, if any do, that with the fewest other characters."""
    wanted = _full_id(written)
    begin = f"HW{written.strip().upper().removeprefix('HW')}"

    def unlikeness(known: str) -> tuple[bool, int, float]:
        differing = sum(a != b for a, b in itertools.zip_longest(wanted, known))
        likeness = difflib.SequenceMatcher(None, wanted, known).ratio()
        return begin == "HW" or not known.startswith(begin), differing, -likeness

    return min(sorted(MESSAGES), key=unlikeness)


def _full_id(written: str) -> str:
    """Return an id as the table has it: 'hw056', '056' and '56' are HW056."""
    digits = written.strip().upper().removeprefix("HW")
    return f"HW{digits.zfill(3)}" if digits.isascii() and digits.isdecimal() else written.strip().upper()


def _as_json(row: Message) -> dict[str, str]:
    return {
        "id": row.id,
        "title": row.title,
        "severity": row.severity,
        "message": row.text_for_people,
        "why": row.why,
        "remedy": row.remedy_for_people,
    }


@click.command(
    epilog="""\b
Examples:
  headway explain HW301
  headway explain 301      # the same
  headway explain          # every message, one line each
  headway explain --json
"""
)
@click.argument("message_id", metavar="[ID]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(message_id: str | None, as_json: bool) -> None:
    """Say what message ID means and what to do about it; without ID, list all."""
    if message_id is None:
        rows = sorted(MESSAGES.values(), key=lambda row: row.id)
        if as_json:
            print_json([_as_json(row) for row in rows])
            return
        for row in rows:
            out.echo(f"{row.id}  {row.title}")
        return
    wanted = _full_id(message_id)
    found = MESSAGES.get(wanted)
    if found is None:
        raise HeadwayError("HW405", id=message_id, closest=_closest(message_id))
    if as_json:
        print_json(_as_json(found))
        return
    out.echo(f"{found.id}: {found.title}\n")
    for label, text in (("what", found.text_for_people), ("why", found.why), ("next", found.remedy_for_people)):
        if text:
            out.echo(click.wrap_text(text, 78, f"{label + ':':6}", " " * 6))
