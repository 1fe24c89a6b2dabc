"""Overhead benchmarks on warm programs: common options, and the loop over programs to a verdict."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from lib import harness, programs, results

Sessions = dict[str, list[results.Session]]
Verdicts = list[tuple[str, bool]]


def arguments(description: str | None, pairs: str) -> argparse.ArgumentParser:
    """Return a parser with the common options; `pairs` says of what there are so many."""
    parser = harness.arguments(description)
    results.arguments(parser)
    parser.add_argument("--pairs", type=int, help=pairs)
    parser.add_argument("--runs", type=int, default=4, help="in a block (4)")
    parser.add_argument("--warm-up", type=float, metavar="S", help="at most so many seconds (20; 10 with --quick)")
    return parser


def carry_out(
    name: str,
    options: argparse.Namespace,
    measure: Callable[[str, argparse.Namespace], dict[str, Any]],
    summarise: Callable[[Sessions], tuple[dict[str, Any], Verdicts]],
) -> int:
    """Measure each program and print the results; return 0 if the targets are reached."""
    options.warm_up = options.warm_up or (10.0 if options.quick else 20.0)
    options.pairs = options.pairs or (5 if options.quick else 12)
    measured = results.Results(name, options)
    for program in results.chosen(options, programs.available()):
        harness.progress(f"{name}: {program}, {options.pairs} pairs")
        measured.add(program, measure(program, options))
    figures, verdicts = summarise(measured.sessions)
    return harness.finish(options, name, {**figures, "sessions": measured.sessions}, verdicts)
