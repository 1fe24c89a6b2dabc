"""Text that is safe to print: names come from the recorded program and may hold anything."""

from __future__ import annotations

import re
import unicodedata

# Cc controls, Cf formats (bidi overrides, zero width), Cs surrogates, Co private, Cn unassigned, Zl Zp separators:
# they could move the cursor, change colours, or reorder what stands beside them.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_UNUSUAL = re.compile(r"[^ -~]")
_UNUSUAL_IN_LINES = re.compile(r"[^\n -~]")


def printable(name: str) -> str:
    """Return a name with every character that is not plainly visible spelled out as \\xNN or \\uNNNN."""
    return name if name.isprintable() else _UNUSUAL.sub(_escaped, name)


def printable_lines(text: str) -> str:
    """Return a text of several lines as `printable` does, its line breaks kept."""
    return text if text.replace("\n", "").isprintable() else _UNUSUAL_IN_LINES.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if unicodedata.category(char) not in _UNSAFE:
        return char
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
