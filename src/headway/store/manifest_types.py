"""The types of the values in manifest.json that readers look into: a manifest may be anybody's, and hold anything anywhere.

`null` is no value, and right everywhere. Keys that are not listed may hold what they like: nobody looks into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MOST = 1 << 63
_LONGEST_CPU = 9


class _Whole:
    """A number that fits 64 bits; older files may have it with a point."""


class _Number:
    """Any number that is not beyond what 64 bits hold."""


class _PerCpu:
    """Whole numbers by the number of a CPU; older files have a list, of CPU 0, 1, ..."""


_CPU = {"cpu": _Whole, "core": _Whole, "package": _Whole, "node": _Whole, "smt_siblings": [_Whole]}
_HOST = {"kernel": str, "hypervisor": str, "governor": str, "boost": bool, "memory_bytes": _Whole}
_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("state", "created_utc", "headway_version", "mode", "cwd", "ended_by", "kind"), str),
    **dict.fromkeys(
        ("pid", "exit_code", "signal", "recorded_cores", "switches", "jvm_processors", "causal_run"), _Whole
    ),
    **dict.fromkeys(("attached", "with_agent", "arguments_kept"), bool),
    **dict.fromkeys(("steal_ns", "other_ns", "busy_ns"), _PerCpu),
    **dict.fromkeys(("locks", "decoder", "collector", "counters", "thread_counters", "iterations"), dict),
    "quota_cores": _Number,
    "throttled_ns": _Number,
    "window": {"start_ns": _Whole, "end_ns": _Whole},
    "host": {**_HOST, "cpus_online": [_Whole], "topology": [_CPU]},
    "command": [str],
    "affinity": [_Whole],
    "jvms": [{"pid": _Whole, "available_processors": _Whole}],
    "losses": {"events": _Whole},
    "invariants": [{"id": str, "ok": bool, "message": str}],
    "notices": [{"id": str, "message": str, "remedy": str}],
    "tables": dict,
    "objects": {
        **{"interval_bytes": _Whole, "sites": bool},
        "jvms": [{"pid": _Whole, "interval_bytes": _Whole, "is_complete": bool, "begins_late": bool, "problem": str}],
    },
    "sampling": {"events": [str]},
    "rusage": {"user_ns": _Whole, "system_ns": _Whole},
    "import": {"samples": _Whole, "each": _Whole, "cores_used": {"mean": _Number, "peak": _Number}},
    "causal": {"mode": str},
}


def check_types(data: Mapping[str, Any]) -> None:
    """Raise TypeError, which names the first value of a manifest that has the wrong type."""
    for problem in _problems(data, _TYPES, ""):
        raise TypeError(problem)


def _problems(value: Any, kind: Any, name: str) -> Iterator[str]:
    if value is None:
        return
    if not _is(value, kind):
        yield f"{name} is a {type(value).__name__}{f' of {value:.3g}' if isinstance(value, float) else ''}"
    elif isinstance(kind, Mapping):
        for key, inner in kind.items():
            yield from _problems(value.get(key), inner, f"{name}.{key}" if name else key)
    elif isinstance(kind, list):
        for place, each in enumerate(value):
            yield from [f"{name}[{place}] is null"] if each is None else _problems(each, kind[0], f"{name}[{place}]")
    elif kind is _PerCpu:
        for cpu, ns in value.items() if isinstance(value, Mapping) else enumerate(value):
            if not (str(cpu).isdecimal() and len(str(cpu)) <= _LONGEST_CPU):
                yield f"{name} has no CPU {str(cpu)[:_LONGEST_CPU]!r}"
            yield from [f"{name}.{cpu} is null"] if ns is None else _problems(ns, _Whole, f"{name}.{cpu}")


def _is(value: Any, kind: Any) -> bool:
    """Return whether a value itself is of a type, whatever there is in it."""
    if kind in (_Whole, _Number):
        return type(value) in (int, float) and -_MOST <= value < _MOST  # `true` is no number, but a bool an int
    if kind is _PerCpu:
        return isinstance(value, (Mapping, list, tuple))
    if isinstance(kind, list):
        return isinstance(value, (list, tuple))
    return isinstance(value, Mapping if kind is dict or isinstance(kind, Mapping) else kind)
