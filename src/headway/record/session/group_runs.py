"""The runs of `--counters-by-runs`: one for each group of counters, and one in which all of them count, in turn if need be."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.counters.usable import Usable
from headway.record.session.manifest_draft import amend
from headway.record.session.plan import Plan

KEY = "counters_by_runs"
"""Of a run's manifest: {run, of, in_turn}. The analyses (counters/by_runs.py) join those that are not in turn."""


def plans_of(plan: Plan) -> list[Plan]:
    """Return what each run of a series records: the same again and again, or one group of counters each, and then all.

    Where fewer than two groups count here there is nothing to take apart, and one run; so it is in modes that count threads as a
    whole, whose groups are not those of slices.
    """
    if not plan.counters_by_runs:
        return [plan] * plan.repeat
    counted = plan.counted
    if counted is None or len(counted.groups) < 2:
        return [plan]
    runs = [Usable((group,), counted.absent) for group in counted.groups]
    return [dataclasses.replace(plan, counted=each, repeat=len(runs) + 1) for each in (*runs, counted)]


def note_run(plans: Sequence[Plan], number: int, directory: Path) -> None:
    """Note in a finished recording which run of several it is."""
    counted = plans[number - 1].counted
    if not plans[0].counters_by_runs or len(plans) < 2 or counted is None:
        return
    is_last = number == len(plans)
    events = ", ".join(dict.fromkeys(each.name for group in counted.groups for each in group))
    notices = [] if is_last else [Notice.of("HW119", path=plans[0].output, runs=len(plans), events=events)]
    facts = {KEY: {"run": number, "of": len(plans), "in_turn": is_last}}
    with contextlib.suppress(OSError, HeadwayError):  # what keeps the manifest from being written was told already
        amend(directory, notices=notices, **facts)
