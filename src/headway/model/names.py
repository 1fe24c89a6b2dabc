"""Names as text: for threads without a name, and for bytes that are not UTF-8."""

from __future__ import annotations

import re

_FIRST_JDK = 21
"""The first one whose virtual threads the agent sees as such; before, they are a preview."""


def virtual_name(java_id: int) -> str:
    """Return the name of an unnamed virtual thread, by its Thread.getId()."""
    return f"virtual thread #{java_id}"


def name_by_id(java_id: int) -> str:
    """Return the name of a thread of which only the Thread.getId() is known."""
    return f"thread #{java_id}"


def is_main_thread(java_id: int | None, name: str | None) -> bool:
    """Return whether a thread is its JVM's first Java thread, by its Thread.getId(): 1, in JDK 25 it is 3."""
    return java_id == 1 or (java_id == 3 and name == "main")


def may_have_virtual_threads(java_version: str) -> bool:
    """Return whether JVMs of this `java.version` (1.8.0_392, 17.0.9, 25-ea) can have virtual threads; False for unknown ones."""
    found = re.match(
        r"(?:1\.)?([0-9]{1,9})(?![0-9])", java_version
    )  # a JVM may say thousands of digits, which `int` refuses
    return found is not None and int(found[1]) >= _FIRST_JDK


LARGEST_WHOLE_NUMBER = 10**18 - 1
"""Of 18 digits: all such numbers fit 63 bits."""


def whole_number(digits: str) -> int | None:
    """Return the number that a text has in decimal digits and fits 63 bits, None for any other text: `int` takes "²" for one, and
    refuses thousands of digits.
    """
    return int(digits) if re.fullmatch(r"[0-9]{1,18}", digits) else None


def text(raw: bytes) -> str:
    r"""Decode a name; bytes that are not UTF-8 are escaped as \xNN."""
    return raw.decode("utf-8", errors="backslashreplace")
