"""Text that is safe to print: names come from the recorded program and may hold anything."""

from __future__ import annotations

import unicodedata

# Cc controls, Cf formats (bidi overrides, zero width), Cs surrogates, Co private, Cn unassigned, Zl Zp separators:
# they could move the cursor, change colours, or reorder what stands beside them.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(name: str) -> str:
    """Return a name with every character that is not plainly visible spelled out as \\xNN or \\uNNNN."""
    return "".join(_escaped(char) if unicodedata.category(char) in _UNSAFE else char for char in name)


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
