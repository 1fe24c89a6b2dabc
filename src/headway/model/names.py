"""What threads are called that have no name."""

from __future__ import annotations

import re

_FIRST_JDK = 21
"""The first one whose virtual threads the agent sees as such; before, they are a preview."""


def virtual_name(java_id: int) -> str:
    """Return the name of a virtual thread without one, by its Thread.getId()."""
    return f"virtual thread #{java_id}"


def name_by_id(java_id: int) -> str:
    """Return the name of a thread of which nothing but its Thread.getId() is known."""
    return f"thread #{java_id}"


def is_main_thread(java_id: int | None, name: str | None) -> bool:
    """Return whether a thread is its JVM's first Java thread, by its Thread.getId(): that was always 1, in JDK 25 it is 3."""
    return java_id == 1 or (java_id == 3 and name == "main")


def may_have_virtual_threads(java_version: str) -> bool:
    """Return whether a JVM of this `java.version` (1.8.0_392, 17.0.9, 25-ea) can have any; not where it is not known."""
    found = re.match(r"(?:1\.)?(\d+)", java_version)
    return found is not None and int(found[1]) >= _FIRST_JDK
