"""Repeated runs of one command under experiments: plain repeats, one target per run, or whole runs as experiments (end-to-end).

End-to-end the runs alternate: one without any speedup, one with a line made faster, so that each has a neighbour in time to be
compared with. Without targets the first run takes samples, and the lines that most of them fell on are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.record.collect.listener import Listener
from headway.record.program.signals import SignalGate
from headway.record.request.causal_spec import CausalOptions
from headway.record.session.manifest_draft import amend
from headway.record.session.plan import Plan
from headway.record.session.session import record
from headway.store.directory import pinned
from headway.store.manifest import read_manifest_json
from headway.store.manifest_keys import CAUSAL

_SPEEDUPS = (100, 50, 75, 25)
"""In this order for each line: the slope is known best from those that are far from 0 %."""
_MOST_LINES = 3
_LEAST_SHARE = 0.05


def record_causal(plan: Plan, listener: Listener) -> int:
    """Carry out a causal plan; return the exit code for the shell: the first non-zero one of the command's runs, else 0.

    Raises HeadwayError as session.session.record does, and HW614 when there is no line to make faster.
    """
    options = plan.causal
    assert options is not None
    options = options.with_points_of(_known(plan))
    if plan.pid is not None or (options.mode != "end-to-end" and options.repeat == 1):
        return record(replace(plan, causal=replace(options, target=next(iter(options.targets), ""))), listener)
    if options.mode == "end-to-end":
        return _record_all(plan, _end_to_end(plan, options), options, listener)
    return _record_all(plan, _repeated(options), options, listener)


def _known(plan: Plan) -> dict[str, object]:
    """Return what an earlier recording that these runs are added to was asked for."""
    try:
        manifest = read_manifest_json(plan.output)
    except HeadwayError:
        return {}
    return dict(manifest.get("causal") or {}) if manifest.get("kind") == CAUSAL and not plan.force else {}


def _repeated(options: CausalOptions) -> Iterator[CausalOptions]:
    for number in range(options.repeat):
        yield replace(options, target=options.targets[number % len(options.targets)] if options.targets else "")


def _end_to_end(plan: Plan, options: CausalOptions) -> Iterator[CausalOptions]:
    """Yield what each run is to do; lines are looked for when the first run has left its samples."""
    targets = options.targets or tuple(_lines(plan.output)[:_MOST_LINES] if not plan.force else ())
    left = options.repeat
    if not targets:
        yield replace(options, target="", speedup_pct=0)
        left -= 1
        targets = tuple(_lines(plan.output))
        if not targets:
            raise HeadwayError("HW614")
    targets = targets if options.targets else targets[: max(1, min(_MOST_LINES, left // 4))]
    for number in range(left):
        turn = number // 2
        target = targets[turn % len(targets)]
        speedup = _SPEEDUPS[turn // len(targets) % len(_SPEEDUPS)] if number % 2 else 0
        yield replace(options, target=target, speedup_pct=speedup)


def _lines(directory: Path) -> list[str]:
    """Return the lines that most samples of a recording fell on as targets, the first first; [] without any."""
    import pyarrow.parquet as pq

    path = pinned(directory) / "causal_line.parquet"
    if not path.exists():
        return []
    rows = [row for row in pq.read_table(path).to_pylist() if row["kind"] == "line"]
    weights = {
        f"line={row['class_name']}:{row['line_number']}"
        if row["line_number"]
        else f"method={row['class_name']}.{row['method']}": row["cpu_ns"] + row["blocked_ns"]
        for row in rows
    }
    total = sum(weights.values())
    found = sorted((name for name in weights if weights[name] >= _LEAST_SHARE * total), key=lambda name: -weights[name])
    return found if total else []


def _record_all(plan: Plan, runs: Iterator[CausalOptions], options: CausalOptions, listener: Listener) -> int:
    """Make the runs one after another into one recording, until somebody interrupts or nothing can come of it."""
    code, done, reason = 0, 0, ""
    failures: list[Notice] = []
    inner = replace(listener, failed=failures.append, complete=lambda directory: None)
    with SignalGate() as gate:
        for each in runs:
            listener.status(f"run {done + 1} of {options.repeat}: {_label(each)}")
            run_code = record(replace(plan, causal=each, force=plan.force and done == 0), inner, gate)
            code = code or run_code
            done += not failures
            if run_code and options.mode == "end-to-end":
                listener.say(Notice.of("HW615", number=done, wanted=options.repeat, code=run_code))
            reason = _reason_to_stop(plan.output, failures, gate, run_code if done <= 1 else 0)
            if reason:
                break
    for failure in failures:
        listener.failed(failure)
    if done < options.repeat and reason:
        cut = Notice.of("HW613", done=done, wanted=options.repeat, reason=reason)
        listener.say(cut)
        if done and not failures:
            amend(plan.output, notices=[cut])
    if done and not failures:
        listener.complete(plan.output)
    return code


def _reason_to_stop(directory: Path, failures: list[Notice], gate: SignalGate, first_code: int) -> str:
    if failures:
        return "finalising failed"
    ended_by = read_manifest_json(directory).get("ended_by")
    if ended_by == "interrupt" or gate.wants_end():
        return "you interrupted"
    if ended_by == "disk-full":
        return "the disk is full"
    return f"the first run failed with exit code {first_code}" if first_code else ""


def _label(options: CausalOptions) -> str:
    if options.speedup_pct is None:
        return options.target or "experiments"
    if options.speedup_pct == 0:
        return "as it is" if options.target else "samples only"
    return f"{options.target} {options.speedup_pct} % faster"
