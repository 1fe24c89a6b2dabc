"""The interface through which a recording reports what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.errors import Notice


@dataclass(slots=True)
class Listener:
    """Callbacks of a recording: `say` gets messages, `complete` each recording as soon as its tables exist.

    `failed` gets why a recording has no tables although its program ran to the end: the exit code is the program's all the
    same. `progress` gets the share of finalising that is done, 0 to 1; `status` how far experiments or an attached recording
    are, now and then ("": over); `tell` gets what is no warning but belongs to one.
    """

    say: Callable[[Notice], None] = lambda notice: None
    failed: Callable[[Notice], None] = lambda notice: None
    complete: Callable[[Path], None] = lambda directory: None
    progress: Callable[[float], None] = lambda share: None
    status: Callable[[str], None] = lambda text: None
    tell: Callable[[str], None] = lambda text: None
