"""Messages about causal recordings, by the same rules while they run (session/experiments.py) and at their end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headway.errors import MESSAGES, Notice
from headway.record.causal.notes import Notes

OF_NOTES = frozenset(
    (
        "HW602",
        "HW603",
        "HW604",
        "HW605",
        "HW606",
        "HW607",
        "HW608",
        "HW609",
        "HW611",
        "HW612",
        "HW617",
        "HW618",
        "HW638",
        "HW653",
        "HW654",
    )
)
"""Messages that are made from the notes of all runs, anew each time."""
NO_AGENT = frozenset(("HW012", "HW013", "HW014", "HW053", "HW054", "HW060"))
"""Messages that tell why there is no agent."""

PATIENCE_NS = 5_000_000_000
"""So long a program may work without its class being loaded, its point visited, or anything of it in scope."""
_LEAST_SAMPLED_NS = 100_000_000
"""So much CPU time tells what a program does: less, and it waits."""
_AT_ONCE = {
    "no_method": "HW603",
    "no_line": "HW603",
    "no_line_numbers": "HW604",
    "ambiguous": "HW605",
    "refused": "HW612",
}
_MEMBER = {"no_method": "method", "no_line": "line"}

Asked = Mapping[str, Any]
"""What the manifest keeps under `causal`: progress, scope, mode ..."""


def key(notice: Notice) -> str:
    """Return a message's key: messages with the same key say the same, with other details."""
    return notice.message if notice.id == "HW609" else f"{notice.id} {notice.message.partition(':')[0]}"


def near_notices(notes: Notes, *, is_late: bool, yet: str = "") -> Iterator[Notice]:
    """Yield notices about points that were not found; about classes not loaded only when it `is_late`.

    `yet`: " yet" while the program may still load them.
    """
    placed = {(each["name"], each["where"]) for each in notes.points.values() if each["places"] > 0}
    for each in notes.near.values():
        reason = each["reason"]
        near = f"; near: {', '.join(each['near'])}" if each["near"] else ""
        facts = {"name": each["name"], "where": each["where"], "near": near}
        is_placed = (each["name"], each["where"]) in placed
        if reason == "no_class" and is_late and not is_placed:
            is_loaded = _class_of(each["where"]) in each["near"]
            yield Notice.of("HW617", **facts) if is_loaded else Notice.of("HW602", yet=yet, **facts)
        elif reason in _AT_ONCE and (not is_placed or reason == "ambiguous"):
            facts["where"] = f"{_MEMBER[reason]} {_member(each['where'])}" if reason in _MEMBER else each["where"]
            yield Notice.of(_AT_ONCE[reason], **facts)


def _class_of(where: str) -> str:
    """Return the class of CLASS.METHOD(...) or CLASS:LINE."""
    if ":" in where:
        return where.rpartition(":")[0]
    return where.partition("(")[0].rpartition(".")[0]


def _member(where: str) -> str:
    """Return the method or the line of CLASS.METHOD(...) or CLASS:LINE."""
    if ":" in where:
        return where.rpartition(":")[2]
    head, bracket, tail = where.partition("(")
    return head.rpartition(".")[2] + bracket + tail


def never_visited(all_notes: Sequence[Notes], calls: Iterable[str] = ()) -> Iterator[Notice]:
    """Yield each point that was found but never visited; `calls`: points that the program counts by name."""
    visited: set[tuple[str, str]] = set()
    counted: dict[tuple[str, str], str] = {}
    for notes in all_notes:
        for point in notes.points.values():
            key = (point["name"], point["where"])
            if point["kind"] == "candidate":
                continue
            if notes.hits(point["id"]):
                visited.add(key)
            elif point["places"] > 0:
                counted[key] = point["where"]
    visited_names = {name for name, _ in visited}
    for name, where in counted:
        if (name, where) not in visited:
            yield Notice.of("HW606", name=name, where=where)
    for name in calls:
        if name not in visited_names and name not in {each for each, _ in counted}:
            yield Notice.of("HW606", name=name, where=f'headway.api.Progress.point("{name}")')


def out_of_scope(all_notes: Sequence[Notes], scope: Sequence[str]) -> Iterator[Notice]:
    """Yield HW607 when there are samples but none is in scope."""
    outside_ns = sum(notes.profile.get("out_of_scope_ns", 0) for notes in all_notes)
    if outside_ns < _LEAST_SAMPLED_NS or any(row[3] for notes in all_notes for row in notes.profile.get("lines", ())):
        return
    names = list(dict.fromkeys(name for notes in all_notes for name in notes.profile.get("out_of_scope_methods", ())))
    shown = f" ({', '.join(scope)})" if scope else ""
    yield Notice.of("HW607", scope=shown, methods=", ".join(names[:5]) or "code that is not Java")


def problems(all_notes: Iterable[Notes]) -> Iterator[Notice]:
    """Yield what agents failed to do."""
    for notes in all_notes:
        pid = notes.begin["pid"] if notes.begin is not None else "?"
        has_lock = any(notes.lines.get(each["target"], {}).get("kind") == "lock" for each in notes.experiments)
        for message_id, text in notes.problems:
            if message_id != "HW640" or not has_lock:  # its class came later than the agent waits for
                yield _problem(message_id, text, pid)


def _problem(message_id: str, text: str, pid: Any) -> Notice:
    """Return an agent's problem in the words of the table, where its template has nothing but the text to fill in."""
    if message_id in MESSAGES and message_id != "HW609":
        try:
            return Notice.of(message_id, pid=pid, text=text, reason=text)
        except KeyError:
            pass
    return Notice.of("HW609", pid=pid, text=text)


def without_target(all_notes: Sequence[Notes], target: str, warmup_ms: int = 0) -> Iterator[Notice]:
    """Yield HW639 when no JVM has the target (`line=C:42`, `method=C.m`), with where samples are instead."""
    kind, _, where = target.partition("=")
    began = [notes for notes in all_notes if notes.begin is not None and _could_find(notes, warmup_ms)]
    if kind not in ("line", "method") or not began:
        return
    if any(each["target"] >= 0 for notes in all_notes for each in notes.experiments):
        return
    sampled: dict[str, int] = {}
    for notes in began:
        for number, cpu_ns, blocked_ns, _ in notes.profile.get("lines", ()):
            row = notes.lines.get(number)
            if row is not None and (kind == "method" or row["line"] > 0):
                name = f"{row['class']}.{row['method']}" if kind == "method" else f"{row['class']}:{row['line']}"
                sampled[name] = sampled.get(name, 0) + cpu_ns + blocked_ns
    if where in sampled:
        return
    names = sorted(sampled, key=lambda name: (not name.startswith(_class_of(where)), -sampled[name]))[:_NEAR]
    yield Notice.of("HW639", what=f"{kind} {where}", near=f"; sampled were {', '.join(names)}" if names else "")


_NEAR = 5
_LEAST_WORKED_NS = 500_000_000
"""Less CPU time than that, and the program may have ended before it came by its target."""


def _could_find(notes: Notes, warmup_ms: int) -> bool:
    """Tell whether a JVM has worked long enough, its warm-up apart, for experiments on a target to have begun."""
    lived_ns = notes.last_ns - notes.begin["ns"] if notes.begin is not None else 0
    return notes.sampled_ns >= _LEAST_WORKED_NS and lived_ns >= warmup_ms * 1_000_000 + 2 * _LEAST_WORKED_NS


def too_short(all_notes: Sequence[Notes], facts: Mapping[str, Any]) -> Iterator[Notice]:
    """Yield HW608 when a program ended before one experiment was complete, with how long one would take."""
    began = [notes for notes in all_notes if notes.begin is not None and notes.begin["mode"] == "experiments"]
    complete = any(each["complete"] for notes in began for each in notes.experiments)
    if not began or complete or facts.get("ended_by") != "exit":
        return
    ran_s = max((notes.last_ns - notes.begin["ns"]) / 1e9 for notes in began if notes.begin is not None)
    visits = max((notes.hits(point) for notes in began for point in notes.points), default=0)
    if not visits:
        return  # that the point is never visited is told already
    warmup_s = (facts.get("warmup_ms") or 0) / 1e3
    rate = visits / max(ran_s, 1e-3)
    needed_s = max(warmup_s + 2 * max(_EXPERIMENT_S, _VISITS / rate), 1.5 * ran_s)
    yield Notice.of(
        "HW608", ran=f"{ran_s:.1f} s", needed=f"{needed_s:.0f} s" if needed_s >= 10 else f"{needed_s:.1f} s"
    )


_EXPERIMENT_S = 0.5
_VISITS = 20
"""An experiment's length, and how many visits it needs at least (native/agent/causal/experiments/planner.h)."""


def of_runs(runs: Sequence[tuple[Notes, Mapping[str, Any]]]) -> Iterator[Notice]:
    """Yield the messages that mark these runs' results: (notes, facts of the run) of each JVM."""
    all_notes = [notes for notes, _ in runs]
    asked = runs[-1][1]
    placed = {
        (point["name"], point["where"]) for notes in all_notes for point in notes.points.values() if point["places"] > 0
    }
    seen: set[Notice] = set()
    for notes in all_notes:
        for notice, key in ((each, _key(each, notes)) for each in near_notices(notes, is_late=True)):
            if notice not in seen and (notice.id == "HW605" or key not in placed):
                seen.add(notice)
                yield notice
    if asked.get("mode") != "suggest":
        calls = [each["name"] for each in asked.get("progress") or () if not each["where"]]
        yield from never_visited(all_notes, calls)
    yield from out_of_scope(all_notes, asked.get("scope") or ())
    yield from dict.fromkeys(problems(all_notes))
    missing = list(without_target(all_notes, asked.get("target") or "", asked.get("warmup_ms") or 0))
    yield from missing or too_short(all_notes, asked)


def _key(notice: Notice, notes: Notes) -> tuple[str, str] | None:
    """Return which point a notice of `near_notices` is about."""
    return next((key for key in notes.near if notice.message.startswith(f"{key[0]}: ")), None)
