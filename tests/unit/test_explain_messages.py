"""The messages of the analyses: what is never formatted must not hold facts."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from headway.errors import MESSAGES, Notice


@pytest.mark.parametrize("message_id", sorted(MESSAGES))
def test_titles_and_reasons_are_plain_text(message_id: str) -> None:
    row = MESSAGES[message_id]
    assert "{" not in row.title + row.why


def test_in_the_next_command_a_files_name_is_one_word_of_a_shell() -> None:
    told = Notice.of("HW508", path=Path("my runs/first.headway"), reason="it's gone")
    assert "my runs/first.headway" in told.message
    assert shlex.split(told.remedy)[:3] == ["headway", "report", "my runs/first.headway"]
