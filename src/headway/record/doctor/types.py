"""Result types of `headway doctor`: single checks, native probes, and the collectors that work here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. `concerns` names what depends on it: a mode, `accuracy` or `java`."""

    id: str
    ok: bool
    message: str
    remedy: str = ""
    concerns: str = "accuracy"

    def as_json(self) -> dict[str, Any]:
        """Return the stable form {id, ok, message, remedy, concerns}."""
        return {
            "id": self.id,
            "ok": self.ok,
            "message": self.message,
            "remedy": self.remedy,
            "concerns": self.concerns,
        }


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The result of `probe()`: whether each collector works here, and all checks."""

    ebpf: bool
    perf_switch: bool
    checks: tuple[Check, ...]

    def check(self, check_id: str) -> Check:
        """Return the check with id `check_id`. Raises KeyError when there is none."""
        for check in self.checks:
            if check.id == check_id:
                return check
        raise KeyError(check_id)


@dataclass(frozen=True, slots=True)
class Probes:
    """The results of the native probes, {errno, step, ring_bytes} each. errno is None when the native part is missing."""

    bpf: dict[str, Any]
    perf: dict[str, Any]
    hardware: dict[str, Any]
    missing: str = ""
