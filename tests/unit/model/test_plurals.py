"""Nouns agree with their number, in sentences that are put together and in messages of the table."""

from __future__ import annotations

import pytest

from headway.errors import Notice
from headway.errors.plurals import counted, in_number


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [(1, "core", "1 core"), (2, "core", "2 cores"), (1.0, "core", "1 core"), (2.5, "core", "2.5 cores"), (0, "wait", "0 waits"),
     (2, "switch", "2 switches"), (3, "process", "3 processes")],
)  # fmt: skip
def test_a_number_stands_with_its_noun(count: float, noun: str, text: str) -> None:
    assert counted(count, noun) == text


def test_large_numbers_are_grouped_where_that_is_asked_for() -> None:
    assert counted(1234567, "wait", grouped=True) == "1,234,567 waits"


@pytest.mark.parametrize(
    ("template", "facts", "found"),
    [
        ("{threads} threads on {cores} cores: some", {"threads": 4, "cores": 1}, "4 threads on 1 core: some"),
        ("{some} of {all} threads are not sampled", {"some": 1, "all": 1}, "1 of 1 thread is not sampled"),
        ("{waits:,} single waits were read", {"waits": 1}, "1 single wait was read"),
        ("{cores:g} cores, {waits} waits", {"cores": 0.1, "waits": 11}, "0.1 cores, 11 waits"),
        ("{count} switches were missing", {"count": 1}, "1 switch was missing"),
        ("worker-{n}: {name} threads", {"n": 1, "name": "1 rows"}, "worker-1: 1 rows threads"),
        ("{path} lacks rows", {"path": "1 rows"}, "1 rows lacks rows"),
    ],
)
def test_templates_with_a_plural_are_right_of_one_and_facts_stay_as_they_are(
    template: str, facts: dict[str, object], found: str
) -> None:
    assert in_number(template, facts).format(**facts) == found


def test_messages_are_right_of_one_core() -> None:
    assert "on 1 core:" in Notice.of("HW462", threads=4, cores=1).message
