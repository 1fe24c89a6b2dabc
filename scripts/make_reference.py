"""Write docs/reference from the code: commands from click, messages from errors.MESSAGES, tables from store/tables.py.

What was measured (benchmarks/results) is written by measured.py, which this runs as well.

With --check nothing is written; the exit code is 1 and the names are printed if a page is not what the code would give.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import click
import measured

from headway.cli.main import COMMANDS, cli
from headway.errors import MESSAGES
from headway.store.tables import TABLES

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
MADE = "<!-- Made from the code by scripts/make_reference.py (make reference): change the code, not this page. -->\n\n"
AREAS = {
    "0": "Starting and attaching",
    "1": "What this machine allows",
    "2": "Losses and invariants",
    "3": "Recordings and their files",
    "4": "Analyses and their preconditions",
    "5": "Reports and exports",
    "6": "Causal profiling",
    "7": "Machines of several memory nodes",
    "8": "Objects, memory, and predictions by whatif",
    "9": "Predictions by whatif: what threads share",
}


def commands_page() -> str:
    """Return every command's own help."""
    parts = [MADE, "# Commands\n\n", "What `headway COMMAND --help` prints.\n"]
    parent = click.Context(cli, info_name="headway")
    for entry in COMMANDS:
        command = cli.get_command(parent, entry.name)
        assert command is not None
        context = click.Context(command, info_name=entry.name, parent=parent, terminal_width=80, max_content_width=80)
        parts.append(f"\n## {entry.name}\n\n{entry.summary}\n\n```text\n{command.get_help(context)}\n```\n")
    return "".join(parts)


def _prose(text: str) -> str:
    """Make a message's text safe inside Markdown: its {facts} and <places> are shown as they are."""
    return text.replace("<", "&lt;").replace("|", "\\|")


SEVERITIES = """
Beside a result, a message is a warning if it changes what to believe of the figures or what to do: it is always printed. What
belongs to the recording is printed in full by the command that made it; other commands fold it, and notes, into one line.
`headway notes NAME.headway` prints all in full, JSON has all.
"""
FOLDED = {
    "warning": "",
    "once": " (Told in full when the recording is made; folded elsewhere.)",
    "note": " (A note: folded into one line.)",
}


def messages_page() -> str:
    """Return every message: id, title, text, why, remedy, and whether it is folded."""
    parts = [MADE, "# Messages\n\n", "The same as `headway explain ID`. Words in {braces} are filled in.\n", SEVERITIES]
    area = ""
    for row in sorted(MESSAGES.values(), key=lambda row: row.id):
        if row.id[2] != area:
            area = row.id[2]
            parts.append(f"\n## {AREAS[area]}\n")
        parts.append(
            f"\n### {row.id} {row.title}\n\n> {_prose(row.text_for_people)}\n\n{_prose(row.why)}{FOLDED[row.severity]}\n"
        )
        if row.remedy:
            parts.append(f"\nNext:\n\n```text\n{row.remedy_for_people}\n```\n")
    return "".join(parts)


def tables_page() -> str:
    """Return every table and view: columns, types, meaning."""
    intro = "What `headway query` sees. Times are CLOCK_MONOTONIC nanoseconds; names ending in `_ns` are nanoseconds.\n"
    parts = [MADE, "# Tables\n\n", intro]
    for table in TABLES.values():
        kind = "" if table.sql is None else f"\n\nA view over {', '.join(f'`{name}`' for name in table.needs)}."
        parts.append(f"\n## {table.name}\n\n{_prose(table.meaning)}{kind}\n\n")
        parts.append("| column | type | may be null | meaning |\n| --- | --- | --- | --- |\n")
        for column in table.columns:
            null = "yes" if column.nullable else ""
            parts.append(f"| `{column.name}` | {column.type} | {null} | {_prose(column.meaning)} |\n")
    return "".join(parts)


PAGES = {"commands.md": commands_page, "messages.md": messages_page, "tables.md": tables_page}


def stale() -> list[str]:
    """Return the names of the pages that are not what the code gives."""
    return [
        name
        for name, page in PAGES.items()
        if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text() != page()
    ]


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is stale")
    if parser.parse_args().check:
        names = stale()
        for name in names:
            print(f"docs/reference/{name} is stale: run 'make reference'")
        return 1 if measured.check() or names else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
    measured.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
