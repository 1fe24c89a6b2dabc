"""Compares JSON values with TypedDicts: every key there, none more, and every value of its type."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, is_typeddict


def differences(value: Any, kind: Any, names: dict[str, Any], where: str = "") -> list[str]:
    """Return how a value differs from a type; `names` are those that annotations use."""
    while isinstance(kind, str | typing.ForwardRef):  # an annotation, or an alias that is one
        text = kind if isinstance(kind, str) else kind.__forward_arg__
        kind = eval(text, {**vars(typing), **names})
    if is_typeddict(kind):
        return _of_dict(value, kind, names, where)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        found = [differences(value, each, names, where) for each in args]
        return min(found, key=len) if all(found) else []
    if origin is Literal:
        return [] if value in args else [f"{where}: {value!r} is none of {args}"]
    if origin in (list, tuple):
        return _of_list(value, origin, args, names, where)
    if origin is dict:
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            return [f"{where}: {value!r} is no object"]
        return [one for key, each in value.items() for one in differences(each, args[1], names, f"{where}.{key}")]
    return _of_plain(value, kind, where)


def _of_list(value: Any, origin: type, args: tuple[Any, ...], names: dict[str, Any], where: str) -> list[str]:
    if not isinstance(value, list):
        return [f"{where}: {value!r} is no list"]
    if origin is tuple and len(value) != len(args):
        return [f"{where}: {value!r} are not {len(args)} values"]
    kinds = args if origin is tuple else args * len(value)
    return [
        one
        for i, (each, kind) in enumerate(zip(value, kinds, strict=True))
        for one in differences(each, kind, names, f"{where}[{i}]")
    ]


def _of_dict(value: Any, kind: Any, names: dict[str, Any], where: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{where}: {value!r} is no {kind.__name__}"]
    names = {**names, **vars(__import__(kind.__module__, fromlist=["x"]))}
    hints = {name.removesuffix("_"): hint for name, hint in kind.__annotations__.items()}
    found = [f"{where}: {key} is not in {kind.__name__}" for key in value if key not in hints]
    for key, hint in hints.items():
        text = hint.__forward_arg__ if isinstance(hint, typing.ForwardRef) else hint
        optional = str(text).startswith("NotRequired") or get_origin(text) is NotRequired
        if isinstance(text, str) and optional:
            text = text.removeprefix("NotRequired[").removesuffix("]")
        if key in value:
            found += differences(value[key], text, names, f"{where}.{key}")
        elif not optional:
            found.append(f"{where}: {key} of {kind.__name__} is missing")
    return found


def _of_plain(value: Any, kind: Any, where: str) -> list[str]:
    if kind is None or kind is type(None):
        return [] if value is None else [f"{where}: {value!r} is not null"]
    if kind is float:
        return (
            []
            if isinstance(value, int | float) and not isinstance(value, bool)
            else [f"{where}: {value!r} is no number"]
        )
    if kind is int:
        return (
            [] if isinstance(value, int) and not isinstance(value, bool) else [f"{where}: {value!r} is no whole number"]
        )
    return [] if isinstance(value, kind) else [f"{where}: {value!r} is no {kind.__name__}"]
