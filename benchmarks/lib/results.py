"""Files of benchmark results that later calls extend, so that a long measurement can be made in pieces.

A benchmark measures in sessions (one warm program, say). Each is written as soon as it is there; the figures are computed
from all sessions that the file holds, and say when they were taken.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

Session = dict[str, Any]


class Results:
    """The sessions by program. With `--add` or `--summary` those of earlier calls are kept; else the file begins anew."""

    def __init__(self, benchmark: str, options: argparse.Namespace) -> None:
        """Read what the file holds. Raises SystemExit if it is of another benchmark, or if there is none to add to."""
        self.path: Path | None = options.json
        self.sessions: dict[str, list[Session]] = {}
        self._benchmark = benchmark
        if not (options.add or options.summary):
            return
        if self.path is None:
            raise SystemExit(f"{benchmark}: --add and --summary need --json FILE")
        if not self.path.is_file():
            if options.summary:
                raise SystemExit(f"{benchmark}: {self.path}: no such file")
            return
        body = json.loads(self.path.read_text())
        if body.get("benchmark") != benchmark or "sessions" not in body:
            raise SystemExit(f"{benchmark}: {self.path} holds no sessions of this benchmark")
        self.sessions = body["sessions"]

    def add(self, program: str, session: Session) -> None:
        """Keep a session, in the file as well: what is measured is not lost when a later program fails."""
        stamped = {"taken_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **session}
        self.sessions.setdefault(program, []).append(stamped)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"benchmark": self._benchmark, "sessions": self.sessions}) + "\n")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that let a measurement be taken in pieces."""
    parser.add_argument("--only", "--programs", default="", metavar="NAMES", help="only these programs, with commas")
    parser.add_argument("--add", action="store_true", help="add to what --json FILE holds from earlier calls")
    parser.add_argument("--summary", action="store_true", help="measure nothing: print what --json FILE holds")


def chosen(options: argparse.Namespace, available: tuple[str, ...]) -> tuple[str, ...]:
    """Return the programs to measure now. Raises SystemExit for a name that is none."""
    if options.summary:
        return ()
    names = tuple(filter(None, options.only.split(","))) or available
    if unknown := set(names) - set(available):
        raise SystemExit(f"no program {', '.join(sorted(unknown))}: there is {', '.join(available)}")
    return names
