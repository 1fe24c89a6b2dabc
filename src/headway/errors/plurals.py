"""How many of something, in words: "1 core", "2 cores", "1 thread is", whichever sentence it stands in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NOUNS = (
    "CPUs|JVMs|calls|cores|events|experiments|figures|files|lines|locks|messages|objects|parks|pauses|places|processors|records"
    "|repeats|rows|runs|samples|spans|stacks|switches|threads|times|waits"
)
_VERBS = {"are": "is", "were": "was", "have": "has"}
_COUNT = re.compile(rf"(\{{\w+(?:![rs])?(?::[^{{}}]*)?\}}) ((?:[a-z]+ )?)({_NOUNS})\b(?: ({'|'.join(_VERBS)})\b)?")
"""A fact of a template before a noun in the plural, such as "{count} more threads are"."""


def counted(count: float, noun: str, *, grouped: bool = False) -> str:
    """Return a number and its noun, given in the singular: "1 core", "2.5 cores", "3 switches"; `grouped`: "1,234 waits"."""
    number = f"{count:g}" if isinstance(count, float) else f"{count:,}" if grouped else str(count)
    return f"{number} {noun}" if count == 1 else f"{number} {plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun that these messages use."""
    return f"{noun}es" if noun.endswith(("s", "ch", "sh", "x")) else f"{noun}s"


def in_number(template: str, facts: Mapping[str, Any]) -> str:
    """Return a template with "{count} threads are" as "{count} thread is" where that fact is 1: templates have the plural only.

    Facts themselves are not looked into: a file may be called "1 rows".
    """

    def agreeing(found: re.Match[str]) -> str:
        fact, between, noun, verb = found.groups()
        if fact.format(**facts) != "1":
            return found[0]
        one = noun.removesuffix("es") if noun == "switches" else noun.removesuffix("s")
        return f"{fact} {between}{one}{f' {_VERBS[verb]}' if verb else ''}"

    return _COUNT.sub(agreeing, template)
