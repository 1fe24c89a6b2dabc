"""The types of the values in manifest.json that readers look into: a manifest may be anybody's, and hold anything anywhere.

`null` is no value, and right everywhere. Keys that are not listed may hold what they like: nobody looks into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway.model.machine_limits import MOST_MEMORY_NODES

_MOST = 1 << 63
_LONGEST_CPU = 9
LONGEST_NS = 1 << 60
"""Of a recording: 36 years. The time of several cores in it still fits 64 bits."""


class _Whole:
    """A number that fits 64 bits; older files may have it with a point."""


class _Number:
    """Any number that is not beyond what 64 bits hold."""


class _Moment:
    """A time, ns, by any clock: sums and differences of such times fit 64 bits."""


class _Node:
    """The number of a memory node."""


class _Cores:
    """A number of cores; 0: not known."""


class _PerCpu:
    """Whole numbers by the number of a CPU; older files have a list, of CPU 0, 1, ..."""


_BOUNDS: Mapping[Any, tuple[int, int]] = {
    **dict.fromkeys((_Whole, _Number), (-_MOST, _MOST - 1)),
    _Moment: (-(1 << 61), 1 << 61),
    _Cores: (0, 1 << 20),
    _Node: (0, MOST_MEMORY_NODES - 1),
}
"""The least and the most of each kind of number."""
_CPU = {"cpu": _Whole, "core": _Whole, "package": _Whole, "node": _Whole, "smt_siblings": [_Whole]}
_HOST = {"kernel": str, "hypervisor": str, "governor": str, "boost": bool, "memory_bytes": _Whole}
_LEFT_OUT = ("classes_left_out", "loaded_before", "methods_left_out", "instructions_left_out", "threads_left_out")
_OF_WINDOWS = ("window_ms", "window_period_ms", "windows", "windows_incomplete")
_ACCESSES = {"pid": _Whole, "problem": str, "is_complete": bool}
_TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("state", "created_utc", "headway_version", "mode", "cwd", "ended_by", "kind"), str),
    **dict.fromkeys(("pid", "exit_code", "signal", "switches", "jvm_processors", "causal_run"), _Whole),
    "recorded_cores": _Cores,
    **dict.fromkeys(("attached", "with_agent", "arguments_kept"), bool),
    **dict.fromkeys(("steal_ns", "other_ns", "busy_ns"), _PerCpu),
    **dict.fromkeys(("locks", "decoder", "collector", "counters", "thread_counters", "iterations", "heap_nodes"), dict),
    "quota_cores": _Number,
    "throttled_ns": _Number,
    "window": {"start_ns": _Moment, "end_ns": _Moment},
    "host": {**_HOST, "cpus_online": [_Whole], "topology": [_CPU], "memory_nodes": [_Node]},
    "command": [str],
    "affinity": [_Whole],
    "jvms": [{"pid": _Whole, "available_processors": _Whole}],
    "losses": {"events": _Whole},
    "invariants": [{"id": str, "ok": bool, "message": str}],
    "notices": [{"id": str, "message": str, "remedy": str}],
    "tables": dict,
    "objects": {
        **{"interval_bytes": _Whole, "sites": bool, "scope": [str]},
        "jvms": [{"pid": _Whole, "interval_bytes": _Whole, "is_complete": bool, "begins_late": bool, "problem": str}],
    },
    "accesses": {
        "jvms": [{**_ACCESSES, **dict.fromkeys(("classes", "instructions", *_LEFT_OUT, *_OF_WINDOWS), _Whole)}]
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
    nodes = (data.get("host") or {}).get("memory_nodes") or ()
    if len(nodes) > MOST_MEMORY_NODES:
        raise TypeError(f"host.memory_nodes has {len(nodes):,} nodes")
    window = data.get("window") or {}
    length_ns = (window.get("end_ns") or 0) - (window.get("start_ns") or 0)
    if length_ns > LONGEST_NS:
        raise TypeError(f"window is {length_ns:.3g} ns long")


def _problems(value: Any, kind: Any, name: str) -> Iterator[str]:
    if value is None:
        return
    if not _is(value, kind):
        is_number = isinstance(value, float) or (type(value) is int and isinstance(kind, type) and kind in _BOUNDS)
        yield f"{name} is a {type(value).__name__}{f' of {value:.3g}' if is_number else ''}"
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
    if isinstance(kind, type) and kind in _BOUNDS:
        least, most = _BOUNDS[kind]
        return type(value) in (int, float) and least <= value <= most  # `true` is no number, but a bool an int
    if kind is _PerCpu:
        return isinstance(value, (Mapping, list, tuple))
    if isinstance(kind, list):
        return isinstance(value, (list, tuple))
    return isinstance(value, Mapping if kind is dict or isinstance(kind, Mapping) else kind)
