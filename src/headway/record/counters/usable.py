"""Which of the events that were asked for count here: each is tried by a loop that is known to make it count.

An event that opens need not count: virtual machines hide counters, some processors offer events that read zero, and a watchdog
may have taken the counter. What does not count is absent, with its reason, and never zero.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, Notice
from headway.model.counter_ladder import by_reason, plain_name, step_of
from headway.record.counters.events import ARITHMETIC, DEVICES, Event, event, known_names, why_shared
from headway.record.counters.socket_units import socket_units
from headway.record.machine.host import online_cpus, parse_cpu_list

Group = tuple[Event, ...]
_UNSTEADY = 4
"""So many times as much in one run of the loop as in the other is no count of the loop."""
_TRIES = 3
_ALL_THE_TIME = 1 - 1e-3
MOST_AT_ONCE = 16
"""Events in a recording: more than these are in no group."""


@dataclass(frozen=True, slots=True)
class Absent:
    """An event that is not counted, and why."""

    event: str
    reason: str

    def as_json(self) -> dict[str, str]:
        """Return the form that the manifest and `--json` have."""
        return {"event": self.event, "reason": self.reason}


def absent_notice(absent: Sequence[Absent], *, is_default: bool = False) -> Notice:
    """Return the warning HW107, which names the events that can't be counted here, grouped by the reason why.

    `is_default`: nobody named the events, and others of the list are counted: that is the note HW125.
    """
    reasons = by_reason((each.event, each.reason) for each in absent)
    message = "HW125" if is_default else "HW107"
    return Notice.of(message, events="; ".join(f"{', '.join(events)} ({reason})" for reason, events in reasons.items()))


@dataclass(frozen=True, slots=True)
class Usable:
    """The groups that count here, and what of those asked for does not."""

    groups: tuple[Group, ...]
    absent: tuple[Absent, ...]

    @property
    def step(self) -> str:
        """Return the step of the ladder that the groups allow."""
        return step_of([[each.name for each in group] for group in self.groups])

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest keeps: {step, groups [{events}], absent [{event, reason}]}."""
        return {
            "step": self.step,
            "groups": [{"events": [each.name for each in group]} for group in self.groups],
            "absent": [each.as_json() for each in self.absent],
        }

    def without_groups(self, reason: str) -> Usable:
        """Return that none of the groups is counted, for one reason."""
        names = dict.fromkeys(each.name for group in self.groups for each in group)
        return Usable((), (*self.absent, *(Absent(name, reason) for name in names)))

    def without_mode(self, mode: str) -> Usable:
        """Return that none is counted, as a recording in another mode than ebpf reads no counters."""
        return self.without_groups(f"the recording is made in mode {mode}")


def usable(groups: Sequence[Group], *, is_default: bool) -> Usable:
    """Try groups, and return those of their events that count.

    Raises HeadwayError HW104 for a group that was asked for and is larger than what this CPU counts at once; of the groups that
    are counted by default such a one is cut.
    """
    absent: dict[str, Absent] = {}
    kept: list[Group] = []
    for group in groups:
        left = _counting(group, absent, is_default)
        if left:
            kept.append(left)
    names = {each.name for group in kept for each in group}
    return Usable(tuple(kept), tuple(each for each in absent.values() if each.event not in names))


def _counting(group: Group, absent: dict[str, Absent], is_default: bool) -> Group:
    """Return the events of a group that count together; notes those that don't in `absent`."""
    absent |= {each.name: Absent(each.name, _SEVERAL_KINDS) for each in group if _counts_on_some_cores(each)}
    left = tuple(each for each in group if not _counts_on_some_cores(each))
    while left:
        tried = _tried([left])[0]
        failed = next((i for i, each in enumerate(tried) if each["errno"] not in (0, errno.ECANCELED)), None)
        too_large = failed is None and not any(each["running_ns"] for each in tried)
        if (failed or too_large) and len(left) > 1 and _all_count_alone(left):
            if not is_default:
                raise HeadwayError("HW104", events=",".join(each.name for each in left))
            left = left[:-1]
            continue
        if failed is not None:
            absent[left[failed].name] = Absent(left[failed].name, why_refused(left[failed], tried[failed]["errno"]))
            left = (*left[:failed], *left[failed + 1 :])
            continue
        reasons = [_why_not_counting(each, seen) for each, seen in zip(left, tried, strict=True)]
        if not any(reasons):
            return left
        if all(reason is None or reason.startswith(_DIFFERENT) for reason in reasons) and _is_steady(left):
            return left
        absent |= {e.name: Absent(e.name, why) for e, why in zip(left, reasons, strict=True) if why is not None}
        left = tuple(each for each, why in zip(left, reasons, strict=True) if why is None)
    return left


def _all_count_alone(group: Group) -> bool:
    return all(tried[0]["errno"] == 0 and tried[0]["running_ns"] for tried in _tried([(each,) for each in group]))


def _is_steady(group: Group) -> bool:
    """Try again: other work of the machine may have disturbed the first time."""
    return any(
        all(_why_not_counting(each, seen) is None for each, seen in zip(group, _tried([group])[0], strict=True))
        for _ in range(_TRIES)
    )


_SEVERAL_KINDS = "the processor has cores of several kinds (hybrid), and each event counts on those of one kind alone"
_DIFFERENT = "two readings of the same loop differ"


def _why_not_counting(event: Event, seen: Mapping[str, Any]) -> str | None:
    """Return why a reading of the known loop is no count; None: it is one."""
    if not event.exercise:
        return None  # nothing that a loop can do makes it count
    if not seen["running_ns"]:
        return _why_not_running()
    few, many = sorted((seen["first"], seen["second"]))
    if not many:
        return _migrates_nowhere(event) or "it opens, and reads zero in a loop that makes it count"
    if many > _UNSTEADY * few:
        return f"{_DIFFERENT}: {few} and {many}"
    return None


def _migrates_nowhere(event: Event) -> str | None:
    is_migration = plain_name(event.name) in ("cpu-migrations", "migrations")
    return "there is one CPU to run on" if is_migration and len(os.sched_getaffinity(0)) < 2 else None


def _why_not_running() -> str:
    if _read("/proc/sys/kernel/nmi_watchdog") == "1":
        return "it never got a counter: others have them, one of them the NMI watchdog (kernel.nmi_watchdog is 1)"
    return "it never got a counter: others have them"


def why_refused(event: Event, reason: int) -> str:
    """Return why the kernel does not open an event."""
    if reason in (errno.EACCES, errno.EPERM):
        level = _read("/proc/sys/kernel/perf_event_paranoid")
        return f"the kernel refuses it to this user (kernel.perf_event_paranoid is {level}, or a seccomp filter)"
    if reason in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV) and event.needs_pmu and not _has_pmu():
        return "no counters of the processor are to be seen here: a virtual machine whose host hides them, as a rule"
    if reason in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "this processor or kernel has no such event"
    if reason == errno.ENOSPC:
        return "no place is free: a processor watches few addresses at a time"
    if reason == errno.EINVAL and (event.user_only or event.kernel_only):
        return "it can't be counted for one side of the kernel's border alone: leave out :u or :k"
    if reason == errno.EBUSY:
        return "another tool has taken the counters for itself"
    return f"the kernel does not open it ({os.strerror(reason)})"


def _has_pmu() -> bool:
    """Return whether the kernel found counters of the processor."""
    names = {path.name for path in DEVICES.glob("*")}
    return bool(names & {"cpu", "cpu_core", "cpu_atom"}) or any(name.startswith(("armv", "arm_")) for name in names)


def _counts_on_some_cores(event: Event) -> bool:
    """Return whether an event counts on one kind of a processor's cores alone: what ran on others would be taken for a turn."""
    kinds = _kinds_of_cores()
    return bool(kinds) and (event.needs_pmu or event.name.partition("/")[0] in kinds)


def _kinds_of_cores() -> set[str]:
    """Return the counting units of cores that some of the machine's CPUs are not of: cpu_core, armv8_cortex_a53 ..."""
    online = set(online_cpus())
    kinds = set()
    for file in DEVICES.glob("*/cpus"):
        with contextlib.suppress(ValueError):
            if not online <= {*parse_cpu_list(_read(str(file)) or "")}:
                kinds.add(file.parent.name)
    return kinds


def native_events(groups: Sequence[Group]) -> list[list[Any]]:
    """Return groups as the native part takes them."""
    from headway import _native

    return [
        [
            _native.CounterEvent(
                e.name, e.type, e.config, e.config1, e.config2, e.bp_type, e.user_only, e.kernel_only, e.exercise
            )
            for e in group
        ]
        for group in groups
    ]


def _tried(groups: Sequence[Group]) -> list[list[dict[str, Any]]]:
    from headway import _native

    tried: list[list[dict[str, Any]]] = _native.try_counters(native_events(groups))
    return tried


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def at_once(counted: Sequence[Event]) -> int | None:
    """Return how many counters of the processor a group can have, of some events that count; None: none is the processor's.

    One of them is counted several times in one group, until the group does not count any more; MOST_AT_ONCE stands for more.
    """
    own = [each for each in counted if each.needs_pmu and not each.exercise & ~ARITHMETIC]
    if not own:
        return None
    one = next((each for each in own if each.name == "instructions"), own[0])
    counters = 1
    while counters < MOST_AT_ONCE:
        tried = _tried([(one,) * (counters + 1)])[0]
        if any(each["errno"] or not each["running_ns"] for each in tried):
            break
        counters += 1
    return counters


def _takes_turns(one: Event) -> bool:
    """Return whether an event that is counted alone had a counter for a part of the time only, as others use them as well."""
    seen = _tried([(one,)])[0][0]
    return bool(0 < seen["running_ns"] < seen["enabled_ns"] * _ALL_THE_TIME)


def events_here() -> dict[str, Any]:
    """Return which of the events that have names count on this machine by thread, and which units count for whole sockets.

    {step, counted [event], in_turn [event], at_once, absent [{event, reason}], per_socket [{unit, cpus, events [{event, unit}]}]}
    """
    units = socket_units()
    shared = {name: why_shared(unit.name, unit.cpus) for unit in units for name, _ in unit.named}
    absent = {name: Absent(name, reason) for name, reason in shared.items()}
    counted: list[Event] = []
    for name in known_names():
        if name in shared:
            continue
        try:
            one = event(name)
        except HeadwayError as error:  # a term that only a newer perf understands
            absent[name] = Absent(name, error.notice.message)
            continue
        if _counting((one,), absent, is_default=True):
            counted.append(one)
    names = [each.name for each in counted]
    pairs = [group for group in (("cycles", "instructions"),) if {*group} <= {*names}]
    return {
        "step": step_of([*pairs, *((name,) for name in names)]),
        "counted": names,
        "in_turn": [each.name for each in counted if each.needs_pmu and _takes_turns(each)],
        "at_once": at_once(counted),
        "absent": [each.as_json() for each in absent.values()],
        "per_socket": [each.as_json() for each in units],
    }
