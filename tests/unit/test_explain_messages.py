"""The messages of the analyses: what is never formatted must not hold facts."""

from __future__ import annotations

import pytest

from headway.errors import MESSAGES


@pytest.mark.parametrize("message_id", sorted(MESSAGES))
def test_titles_and_reasons_are_plain_text(message_id: str) -> None:
    row = MESSAGES[message_id]
    assert "{" not in row.title + row.why
