"""The form of one row of the table of messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter

WARNING = "warning"
"""It changes what to believe of the figures, or what to do: always shown."""
ONCE = "once"
"""It belongs to the recording: shown when that is made, and by `headway notes`; other commands fold it into one line."""
NOTE = "note"
"""What the figures say already, or a circumstance that is as a rule so: folded into one line."""


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that can go wrong or weaken a result. `text` and `remedy` are str.format templates over the facts.

    `severity`: how much a notice of it matters beside a result; as an error any of them stops the command.
    """

    id: str
    title: str
    text: str
    why: str
    remedy: str
    severity: str = WARNING

    @property
    def text_for_people(self) -> str:
        """Return the text with {name} for each fact, without its format; the title where the text is one fact alone."""
        return self.title if _ONE_FACT.fullmatch(self.text) else _without_formats(self.text)

    @property
    def remedy_for_people(self) -> str:
        """Return the next command in the same way."""
        if _ONE_FACT.fullmatch(self.remedy):
            return "it depends on what happened: the message itself ends with it"
        return _without_formats(self.remedy)


_ONE_FACT = re.compile(r"\{\w+\}")


def _without_formats(template: str) -> str:
    return "".join(text + (f"{{{name}}}" if name else "") for text, name, _, _ in Formatter().parse(template))
