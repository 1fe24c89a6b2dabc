"""Every message headway can give that a person may have to act on, defined once.

A `Message` is one row of the table `MESSAGES`: what happened, why, and the next command to run. The CLI, the manifest,
the reports, `headway explain` and the reference docs all read this table. Two things are made from it:

* `HeadwayError(id, **facts)` stops a command (exit code 1);
* `Notice.of(id, **facts)` goes with a result that is still given, and marks it.

Ids are stable: never reuse or renumber one.

A new message is a row of `ROWS` in the file whose first line has its block of ids; then `make reference` writes its page.
A new file of them is named twice below: where it is imported, and in `_ROWS`.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from headway.errors import (
    causal,
    causal_answers,
    files,
    losses,
    lost_cores,
    machine,
    memory,
    numa,
    numa_map,
    numa_recorded,
    objects,
    outputs,
    placement,
    preconditions,
    profiles,
    speedups,
    starting,
    sweeps,
    whatif,
    whatif_tasks,
    windows,
)
from headway.errors.message import WARNING, Message
from headway.errors.plurals import in_number

__all__ = ["MESSAGES", "HeadwayError", "Message", "Notice"]

_ROWS = tuple(
    row
    for block in (
        starting,
        sweeps,
        machine,
        losses,
        files,
        preconditions,
        profiles,
        speedups,
        lost_cores,
        outputs,
        causal,
        causal_answers,
        numa,
        numa_map,
        numa_recorded,
        objects,
        memory,
        whatif,
        whatif_tasks,
        windows,
        placement,
    )
    for row in block.ROWS
)
MESSAGES: dict[str, Message] = {row.id: row for row in _ROWS}
assert len(MESSAGES) == len(_ROWS), "a message id is used twice"
_WORDS = ("path", "directory", "lock")
"""Facts that are names of files or locks: in a remedy, which is a command, one is one word of a shell."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message with its facts filled in: what marks a result. `message` is one line, `remedy` the next command.

    `severity`: that of its row in the table, unless this one matters more or less than most.
    """

    id: str
    message: str
    remedy: str = ""
    severity: str = ""

    @property
    def level(self) -> str:
        """Return how much it matters: a severity of errors/message.py."""
        known = MESSAGES.get(self.id)
        return self.severity or (known.severity if known is not None else WARNING)

    @classmethod
    def of(cls, message_id: str, **facts: Any) -> Notice:
        """Fill in a message of the table.

        Raises KeyError for an unknown id or a fact its templates need and `facts` lacks.
        """
        row = MESSAGES[message_id]
        words = {name: shlex.quote(str(facts[name])) for name in _WORDS if name in facts}
        return cls(row.id, in_number(row.text, facts).format(**facts), row.remedy.format(**facts | words))

    def as_json(self) -> dict[str, str]:
        """Return the stable form {id, message, remedy}."""
        return {"id": self.id, "message": self.message, "remedy": self.remedy}


class HeadwayError(Exception):
    """A command cannot go on: carries the `Notice` that says what, where, why and what to run next."""

    def __init__(self, message_id: str, **facts: Any) -> None:
        """Build the error from the table row `message_id`, filled in with `facts`."""
        self.notice = Notice.of(message_id, **facts)
        super().__init__(f"{self.notice.id}: {self.notice.message}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process of ours have it (pickle)."""
        return _error_of, (self.notice,)


def _error_of(notice: Notice) -> HeadwayError:
    error = HeadwayError.__new__(HeadwayError)
    Exception.__init__(error, f"{notice.id}: {notice.message}")
    error.notice = notice
    return error
