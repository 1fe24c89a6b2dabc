"""Every command over every kind of recording at the edge of what can be: an answer or a message, never a traceback."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway import store
from headway.analyses.counters.types import BY
from headway.cli.main import COMMANDS
from headway.report.registry import exporters
from support.builders.extreme_recordings import EXTREMES

Run = Callable[..., tuple[int, str, str]]
CODES = (0, 1)
"""What docs/reference/commands.md promises: fine, a headway error. 2, wrong usage, is for windows that there are not."""
NOT_A_NUMBER = re.compile(r"(?<![\w$.])[+-]?(?:nan|inf|infinity)(?![\w$])(?! *=)", re.IGNORECASE)
NEEDS_A_PROGRAM = {"run", "record", "sweep", "import", "recover", "dump", "doctor", "place"}
"""Commands that read no recording; each has tests of its own."""
SLIVER = ("--from", "0ns", "--to", "1ns")
MIDDLE = ("--from", "40%", "--to", "41%")
BEYOND = ("--from", "99s", "--to", "100s")
FILE = ("-o", "{out}", "--force")
FORMS: dict[str, list[tuple[Any, ...]]] = {
    "why": [(), ("--json",), ("--cores", 3, *MIDDLE), ("--json", *SLIVER), BEYOND, ("--phase", 1, "--json")],
    "parallelism": [(), ("--json", *SLIVER), ("--kind", "app,gc", *MIDDLE), BEYOND],
    "walltime": [("--cores", "1,2,64"), ("--cores", "1,2,64", "--json")],
    "whatif": [
        (),
        ("--cores", "1,64", "--no-gc", "--clock", "0.5", "--json"),
        ("--cores", "2", "--smt", "2=1.3"),
        ("--no-sleep", ".=0"),
        ("--faster", "A.b=50%"),
        ("--pool", "pool-1=16"),
        ("--queue", "A.b:1=16"),
        ("--balanced", "A.b:1"),
    ],
    "critical-path": [(), ("--json", *SLIVER), ("--thread", "main", "--json", *MIDDLE), BEYOND],
    "threads": [(), ("--json", "--all")],
    "locks": [(), ("--json", "--all"), ("--by", "class", *SLIVER), ("--by", "site", "--json", *MIDDLE), BEYOND],
    "top": [
        ("--tree", "--lines"),
        ("--busiest-thread", "--json", *SLIVER),
        *(("--event", event, "--json") for event in ("lock", "off-cpu", "blame")),
        ("--event", "off-cpu", *MIDDLE),
        BEYOND,
    ],
    "flame": [(*FILE, *MIDDLE), *(("--event", event, *FILE) for event in ("lock", "off-cpu", "blame"))],
    "counters": [
        (),
        ("--metrics", "--json"),
        *(("--by", by, "--metrics", "mix", "--json", *MIDDLE) for by in BY),
        ("--by", "cpu", *SLIVER),
        BEYOND,
    ],
    "objects": [
        (),
        ("--by", "thread-class", "--all", "--json"),
        ("--matrix", "--all"),
        ("--by", "pair", "--json"),
        ("--by", "field"),
    ],
    "numa": [(), ("--cores-per-node", 8, "--nodes", "0/1", "--json"), ("--json", *SLIVER), MIDDLE, BEYOND],
    "numa-map": [(), ("--all", "--json")],
    "memory": [(), ("--json",), ("--iterations", "gc", "--last", 2, "--json")],
    "notes": [("--json",)],
    "query": [("SELECT name, running_ns / 0 AS x FROM thread", "--json"), ("SELECT avg(dur_ns) FROM thread_state",)],
    "report": [FILE],
    "export": [
        ("--format", "perfetto", *FILE),
        ("--format", "pprof", *FILE, *MIDDLE),
        ("--format", "speedscope", "--event", "off-cpu", *FILE),
        ("--format", "coz", *FILE),
        ("--format", "collapsed", "--event", "blame", *FILE),
        ("--format", "csv", *FILE),
        ("--format", "csv", "--table", "all", *FILE),
    ],
    "causal": [("--json",)],
    "speedups": [()],
    "explain": [],
}
"""Each command with its answer as text and as JSON, of the whole and of windows: a sliver, one inside, one beyond the end."""

IN_EVERY_FORM = {
    "everything",
    "usual",
    "zero_length_slices",
    "nothing_executed",
    "samples_of_no_weight",
    "mode_perf",
    "causal",
    "counted",
}
"""Recordings that each form is tried on; on the others only those below, which run every analysis, to keep the suite short."""
SHORT: dict[str, list[tuple[Any, ...]]] = {
    "why": [(), ("--json", *SLIVER)],
    "parallelism": [("--json", *MIDDLE)],
    "critical-path": [("--json",), SLIVER],
    "threads": [("--json", "--all")],
    "locks": [("--by", "site", "--json", *MIDDLE)],
    "top": [("--event", "off-cpu"), ("--event", "blame", "--json"), ("--event", "lock", *SLIVER)],
    "counters": [(), ("--json", *MIDDLE)],
    "notes": [("--json",)],
    "report": [FILE],
    "export": [("--format", "perfetto", *FILE)],
}


def _check(name: str, arguments: tuple[Any, ...], outcome: tuple[int, str, str]) -> None:
    code, out, err = outcome
    assert code in (*CODES, *([2] if "--from" in arguments else [])), f"{name} {arguments}: exit code {code}: {err}"
    assert "Traceback" not in out + err
    assert code == 0 or err.strip(), f"{name} {arguments}: failed without a word"
    assert not NOT_A_NUMBER.search(err), err
    if "--json" in arguments and code == 0:
        json.loads(out, parse_constant=_refuse)
    elif "-o" not in arguments:
        found = NOT_A_NUMBER.search(out)
        assert not found, f"{name} {arguments}: {out[max(0, found.start() - 200) : found.end() + 50]}"


def _refuse(word: str) -> None:
    raise AssertionError(f"JSON has no {word}")


def test_every_command_is_among_those_tried() -> None:
    assert {entry.name for entry in COMMANDS} == {*FORMS, *NEEDS_A_PROGRAM}


def test_every_format_and_every_event_of_profiles_without_samples_is_among_those_tried() -> None:
    assert {words[1] for words in FORMS["export"]} == {entry.name for entry in exporters()}
    for name in ("flame", "top"):
        assert {word for words in FORMS[name] for word in words} >= {"lock", "off-cpu", "blame"}, name


OPENED_ANEW = "usual"
"""The recording that each command opens for itself. Each of the others is opened once for most commands, as a report opens it for
all its sections: half of what a short answer takes is to open a recording and to read its waits.
"""
ENDS_WITH_IT = {"query", "causal"}
"""Commands that shut a recording off, or close it."""


@pytest.mark.parametrize("which", EXTREMES)
def test_every_command_answers_or_says_why_not(
    which: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = EXTREMES[which](tmp_path / f"{which}.headway")
    opened_once = functools.cache(store.open_recording)
    for name, forms in (FORMS if which in IN_EVERY_FORM else SHORT).items():
        is_anew = which == OPENED_ANEW or name in ENDS_WITH_IT
        monkeypatch.setattr(store, "open_recording", opened_once.__wrapped__ if is_anew else opened_once)
        for arguments in forms:
            words = [str(tmp_path / "out") if each == "{out}" else each for each in arguments]
            try:
                outcome = run(name, recording, *words)
            except BaseException as error:
                raise AssertionError(f"{name} {arguments}") from error
            _check(name, arguments, outcome)
