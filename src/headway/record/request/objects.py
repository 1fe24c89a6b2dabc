"""What is asked for of objects: --objects WHAT, as text and as options of the agent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_LARGEST_INTERVAL = 2**31 - 1
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE = re.compile(r"(\d{1,10})([kmg]?)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """How allocations are to be recorded: every one of them, or a sample, one in each `interval_bytes` in the mean.

    `sites`: by the innermost Java frame, too; samples have it always, as it costs nothing there.
    """

    interval_bytes: int = 0
    sites: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest keeps of it."""
        return {"interval_bytes": self.interval_bytes, "sites": self.sites}

    @property
    def agent_parts(self) -> list[str]:
        """Return the agent's options for it."""
        return [f"objects={self.interval_bytes}", *(["object_sites=1"] if self.sites else [])]


def parse(text: str) -> ObjectOptions:
    """Parse `allocations`, `allocations,sites` or `allocations=512k`. Raises ValueError with what is wrong."""
    what, _, more = text.partition(",")
    name, equals, size = what.strip().partition("=")
    if name == "accesses":
        raise ValueError("accesses: reads and writes of objects can't be recorded yet: write allocations")
    if name != "allocations" or more.strip() not in ("", "sites"):
        raise ValueError(f"{text!r}: write allocations, allocations,sites or allocations=512k")
    interval = _bytes(size.strip()) if equals else 0
    return ObjectOptions(interval, sites=bool(more.strip()) or interval > 0)


def _bytes(size: str) -> int:
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"{size!r} is no number of bytes: write 512k, 1m or 65536")
    count = int(match[1]) * _SIZES[match[2].lower()]
    if not count:
        raise ValueError("allocations=0: one in so many bytes, 1 at least; every object is --objects allocations")
    if count > _LARGEST_INTERVAL:
        raise ValueError(f"{size}: the JVM takes less than 2g")
    return count
