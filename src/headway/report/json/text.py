"""Writes all JSON that headway's commands print.

To the byte as `json.dumps(value, indent=1, allow_nan=False)` does, in a fraction of the time.

Python's own writer is slow with indentation. A list of a million locks is the same few shapes again and again: what
surrounds the values of an object is made once for its keys, and kept. So is a tuple of strings, which is what a stack is.

Checked    tests/property/test_json_text.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any

_KEPT = 1024
_NEXT_ITEM = re.compile(r",\n *")
_LINE_BREAK = re.compile(r"\n *")


class Mapped:
    """A list of what a function returns of each of some values: each is there while it is written."""

    def __init__(self, function: Callable[[Any], Any], values: Iterable[Any]) -> None:
        """Take the function, and the values in their order."""
        self._items = map(function, values)

    def __iter__(self) -> Iterator[Any]:
        """Give the items; once."""
        return self._items


def json_text(value: Any, depth: int = 0) -> str:
    """Return the JSON text of a value that stands `depth` levels deep in what it is part of. Keys are strings or whole numbers.

    Raises ValueError for infinities and NaN, TypeError for what JSON has no word for.
    """
    return _text(value, "\n" + " " * depth)


def one_line(text: str) -> str:
    """Return what `json_text` wrote in one line, as `json.dumps` writes it: no string in it has a line break as it is."""
    return _LINE_BREAK.sub("", _NEXT_ITEM.sub(", ", text))


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"Out of range float values are not JSON compliant: {value!r}")
    return float.__repr__(value)


_PLAIN: dict[type, Callable[[Any], str]] = {
    str: encode_basestring_ascii,
    int: int.__repr__,
    float: _number,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda _: "null",
}
_plain = _PLAIN.get


def _text(value: Any, line: str) -> str:
    """Return the text of a value. `line`: what begins a line at its depth."""
    plain = _plain(type(value))
    return _nested(value, line) if plain is None else plain(value)


def _nested(value: Any, line: str) -> str:
    """Return the text of what may have parts."""
    inner = line + " "
    if isinstance(value, dict):
        texts = [
            _nested(each, inner) if (plain := _plain(type(each))) is None else plain(each) for each in value.values()
        ]
        return around(tuple(value), line) % tuple(texts)
    if isinstance(value, Mapped):
        texts = [_text(each, inner) for each in value]
        return f"[{inner}{f',{inner}'.join(texts)}{line}]" if texts else "[]"
    if not isinstance(value, list | tuple):
        for kind in (str, int, float):  # a value of a class of its own that is one of these, as of numpy or an enum
            if isinstance(value, kind):
                return _PLAIN[kind](value)
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    if isinstance(value, tuple) and set(map(type, value)) == {str}:
        return _strings(value, line)
    return _items(value, line)


def _items(values: list[Any] | tuple[Any, ...], line: str) -> str:
    inner = line + " "
    return f"[{inner}{f',{inner}'.join([_text(each, inner) for each in values])}{line}]" if values else "[]"


_strings = lru_cache(maxsize=_KEPT)(_items)


@lru_cache(maxsize=_KEPT)
def around(keys: tuple[str | int, ...], line: str, forms: tuple[str, ...] = ()) -> str:
    """Return what is around the values of an object with these keys; each value is %s, or as `forms` have it.

    `line`: what begins a line at the object's depth.
    """
    if not {*map(type, keys)} <= {str, int}:
        raise TypeError(f"keys must be str or int: {keys!r}")
    inner = line + " "
    pairs = zip(keys, forms or ("%s",) * len(keys), strict=True)
    members = [f"{json.dumps(str(key)).replace('%', '%%')}: {form}" for key, form in pairs]
    return f"{{{inner}{f',{inner}'.join(members)}{line}}}" if members else "{}"
