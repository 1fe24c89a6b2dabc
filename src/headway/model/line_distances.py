"""How near to each other two places are that threads write to in turn, as table `line_share` has it, by the number in records."""

from __future__ import annotations

from typing import Literal, TypeAlias

Distance: TypeAlias = Literal["same", "line", "pair"]
"""The very same field or element; elsewhere within the same 64 bytes; elsewhere within the same 128."""
LINE_DISTANCES: tuple[Distance, ...] = ("same", "line", "pair")
