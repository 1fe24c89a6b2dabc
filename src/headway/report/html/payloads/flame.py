"""Flame graphs, packed (report/html/flame_pack.py)."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from headway.analyses.stacks.types import KINDS
from headway.report.html.payloads.common import MadeBy, NoticePayload

VOCABULARIES = {"FRAME_KINDS": ("FrameKind", (*KINDS, "all", "smaller"))}
FrameKind: TypeAlias = "str"
"""What a frame is: `FlameFrames.kinds` holds one letter per frame, "a" for the first of these."""


class FlameFrames(TypedDict):
    """Names of frames, which all graphs of a page share. Frame 0 is the root, frame 1 what was merged: "(N smaller)"."""

    names: list[str]
    kinds: str


class PackedTree(TypedDict):
    """A call tree in depth-first order, each column unsigned LEB128 in base64."""

    nodes: int
    ups: str
    """How many levels up from the node before this one's parent lies: 0 where that node is the parent."""
    frames: str
    self: str
    """Weight of the frame itself, without what it calls."""
    other: str | None
    """The same in the profile that this one is compared with; null without one."""
    merged: str
    """For each frame 1, in order: how many frames were merged into it."""


Unit: TypeAlias = "Literal['ns', 'bytes', 'count']"


class Versus(TypedDict):
    """The profile that one is compared with."""

    name: str
    total: int


class Flame(TypedDict):
    """One flame graph."""

    event: str
    """What the samples count: "cpu", "wall", ..."""
    label: str
    """One line for people: what this graph shows."""
    unit: Unit
    total: int
    versus: Versus | None
    merged: PackedTree
    by_thread: PackedTree | None
    """The same with threads as the first level; null where the threads are not known."""
    notes: list[str]
    """Why less is shown than was recorded, or other things to know; empty: nothing."""


class FlameSet(TypedDict):
    """The flame graphs of a page."""

    frames: FlameFrames
    graphs: list[Flame]


class FlamePage(TypedDict):
    """The payload of a page with a flame graph and nothing else (`headway flame`)."""

    version: Literal[1]
    page: Literal["flame"]
    made: MadeBy
    title: str
    notices: list[NoticePayload]
    flames: FlameSet
