"""What every page has: the kinds of threads, who made it, and messages."""

from __future__ import annotations

from typing import NotRequired, TypeAlias, TypedDict

from headway.model.kinds import COUNTED

VOCABULARIES = {"KINDS": ("Kind", COUNTED)}
Kind: TypeAlias = "str"


class MadeBy(TypedDict):
    """Of what, when and by which headway a page was made."""

    headway: str
    recorded_utc: str
    recording: str


class NoticePayload(TypedDict):
    """A message."""

    id: str
    message: str
    remedy: str
    level: NotRequired[str]
    """ "warning" (also where it is missing), "note" or "once": how much it matters."""
