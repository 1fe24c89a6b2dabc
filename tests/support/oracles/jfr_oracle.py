"""JFR files as the JDK's own `jfr print --json` tells them, in a form in which headway's reader can be compared: events as
multisets of rows, so that the order of events with equal times does not matter.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from headway.record.jfr.reader import NONE, EventBatch, EventColumn, FileTimes, JfrFile

JFR = "/usr/lib/jvm/java-17-openjdk-amd64/bin/jfr"
Rows = dict[str, Counter[str]]


def printed(path: Path) -> Rows:
    """Return event -> its rows, as the JDK sees them."""
    command = [JFR, "print", "--json", "--stack-depth", "2048", str(path)]
    payload = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    found: Rows = defaultdict(Counter)
    for event in payload["recording"]["events"]:
        values = {name: _theirs(value) for name, value in event["values"].items()}
        if event["type"] == "headway.Zoo":  # it prints a char as text, and forgets that an int has no sign
            values["letter"] = ord(event["values"]["letter"])
            values["unsignedNumber"] &= 0xFFFFFFFF
        found[event["type"]][_row(values)] += 1
    return dict(found)


def read(path: Path) -> Rows:
    """Return the same as headway's reader sees it."""
    file = JfrFile(path, times=FileTimes.WALL)
    stacks: dict[int, list[int]] = defaultdict(list)
    batches = []
    for batch in file:
        batches.append(batch)
        rows = file.stacks()
        for stack, frame in zip(rows["stack_id"].tolist(), rows["frame_id"].tolist(), strict=True):
            stacks[stack].append(frame)
    assert file.problems == []
    frames = [
        {"in": row["class_name"], "method": row["method"], "line": row["line"]} for row in file.frames().to_pylist()
    ]
    threads = [[each.os_tid, each.java_id, each.java_name, each.os_name] for each in file.threads()]
    found: Rows = defaultdict(Counter)
    for batch in batches:
        columns = {name: _ours(batch, column, threads, stacks, frames) for name, column in batch.columns.items()}
        if batch.event == "jdk.ActiveSetting":
            del columns["event"]  # the name of what its id stands for: the reader adds it
        for row in zip(*columns.values(), strict=True):
            found[batch.event][_row(dict(zip(columns, row, strict=True)))] += 1
    return dict(found)


def _ours(batch: EventBatch, column: EventColumn, threads: list[Any], stacks: dict[int, list[int]], frames: Any) -> Any:
    """Return a column's values in the form of `_theirs`."""
    values: list[Any] = column.values.tolist()
    if column.kind == "text":
        return [_text(batch.texts[each]) if each >= 0 else None for each in values]
    if column.kind == "thread":
        return [threads[each] if each >= 0 else None for each in values]
    if column.kind == "stack":
        return [[frames[frame] for frame in stacks[each]] if each >= 0 else None for each in values]
    if column.kind == "boolean":
        return [bool(each) for each in values]
    if column.kind == "real":
        return [_real(each) for each in values]
    return [None if each == NONE else each for each in values]


def _row(values: dict[str, Any]) -> str:
    return json.dumps(_flat("", values), sort_keys=True)


def _flat(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Spell out objects inside an event as the reader's columns are: heapSpace.start."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            found |= _flat(f"{name}{key}.", value)
        else:
            found[name + key] = _none(value)
    return found


def _none(value: Any) -> Any:
    return None if value in ("", None, []) else value


def _text(text: str) -> Any:
    """Constants of several fields are JSON in a text column."""
    if text.startswith(("{", "[")) and text not in ("[", "{"):
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return value if isinstance(value, (dict, list)) else text
    return text


def _real(value: float) -> Any:
    """The JDK prints a float with as few digits as tell it from its neighbours."""
    single = float(np.float32(value))
    return single if single == single and abs(single) != float("inf") else str(single)


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_SPAN = re.compile(r"PT(?=.)(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(\.\d+)?S)?")


def _theirs(value: Any) -> Any:
    """Bring a value of `jfr print` into the reader's form."""
    if isinstance(value, list):
        return [_theirs(each) for each in value]
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value - (1 << 64) if value >= 1 << 63 else value  # an unsigned long
    if isinstance(value, str):
        return _time(value)
    return _object(value) if isinstance(value, dict) else value


def _object(value: dict[str, Any]) -> Any:
    if "frames" in value:
        return [
            {
                "in": _class(each["method"] and each["method"]["type"]),
                "method": (each["method"] or {}).get("name") or "",
                "line": each["lineNumber"] if each["lineNumber"] > 0 else None,
            }
            for each in value["frames"]
        ] or None
    if "osThreadId" in value:
        return [value["osThreadId"], value["javaThreadId"], value["javaName"] or "", value["osName"] or ""]
    if "descriptor" in value and "type" in value:
        return f"{_class(value['type'])}.{value['name']}"
    if "modifiers" in value:
        return _class(value)
    inner = {name: _none(_theirs(each)) for name, each in value.items()}
    return next(iter(inner.values())) if len(inner) == 1 else inner


def _class(value: dict[str, Any] | None) -> str:
    return "" if value is None else (value["name"] or "").replace("/", ".")


def _time(text: str) -> Any:
    if text.startswith("-999999999-01-01T"):  # the least time there is: none
        return None
    if found := _TIME.fullmatch(text):
        zone = "+00:00" if found[3] == "Z" else found[3]
        return int(datetime.fromisoformat(found[1] + zone).timestamp()) * 10**9 + _fraction(found[2])
    if found := _SPAN.fullmatch(text):
        hours, minutes, seconds = (int(found[i] or 0) for i in (1, 2, 3))
        total = (hours * 3600 + minutes * 60 + seconds) * 10**9
        total += -_fraction(found[4]) if text.startswith("PT-") else _fraction(found[4])
        # Forever, and never: what the JDK counts in milliseconds or seconds does not fit nanoseconds.
        return (
            (1 << 63) - 1
            if total >= 1 << 63 or total // 10**9 >= 9_223_372_036
            else None
            if total < -(1 << 62)
            else total
        )
    return text


def _fraction(text: str | None) -> int:
    return int(((text or ".")[1:] + "0" * 9)[:9])
