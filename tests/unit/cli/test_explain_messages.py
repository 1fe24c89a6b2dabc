"""The messages of the analyses: what is never formatted must not hold facts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.errors import MESSAGES, Notice

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("message_id", sorted(MESSAGES))
def test_titles_and_reasons_are_plain_text(message_id: str) -> None:
    row = MESSAGES[message_id]
    assert "{" not in row.title + row.why


def test_in_the_next_command_a_files_name_is_one_word_of_a_shell() -> None:
    notice = Notice.of("HW508", path=Path("my runs/first.headway"), reason="it's gone")
    assert "my runs/first.headway" in notice.message
    assert shlex.split(notice.remedy)[:3] == ["headway", "why", "my runs/first.headway"]


def test_in_the_next_command_a_locks_name_is_one_word_of_a_shell() -> None:
    lock = "com.acme.Store.it's $here:3"
    remedy = Notice.of("HW831", path="a.headway", lock=lock).remedy
    assert shlex.split(remedy)[:5] == ["headway", "whatif", "a.headway", "--no-wait", lock]


def test_no_message_is_explained_with_a_format_in_it(run: Run) -> None:
    """Whoever asks what a message means reads {share}, and nothing of how a program writes it."""
    by_id = {each["id"]: each for each in json.loads(run("explain", "--json")[1])}
    assert [*by_id] == sorted(MESSAGES)
    for each in by_id.values():
        for text in (each["message"], each["remedy"]):
            assert not re.search(r"\{\w+[:!]", text), f"{each['id']}: {text}"
            assert not re.fullmatch(r"\{\w+\}", text), f"{each['id']}: {text} says nothing"


def test_an_explained_message_names_its_facts(run: Run) -> None:
    said = " ".join(run("explain", "HW414")[1].split())
    assert "fewer than {cores} of them ran, for {share} of the CPU time" in said
    assert "{{name}} for the text {name}, sh" in " ".join(run("explain", "HW080")[1].split())
    assert run("explain", "HW303")[1].splitlines()[-1] == (
        "next: it depends on what happened: the message itself ends with it"
    )
