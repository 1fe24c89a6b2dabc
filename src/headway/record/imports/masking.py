"""Masks secrets in JFR events that contain arguments, system properties or environment variables."""

from __future__ import annotations

from dataclasses import replace

from headway.model.secrets import masked_text, masked_value
from headway.record.jfr.reader import EventBatch

_LINES: dict[str, dict[str, bool]] = {
    "jdk.JVMInformation": {"jvmArguments": True, "jvmFlags": True, "javaArguments": False},
    "jdk.SystemProcess": {"commandLine": False},
    "jdk.ProcessStart": {"command": False},
}
"""Event -> field that is a command line -> whether it is made of options alone."""
_PAIRS: dict[str, tuple[str, str]] = {
    "jdk.InitialSystemProperty": ("key", "value"),
    "jdk.InitialEnvironmentVariable": ("key", "value"),
    "jdk.InitialSecurityProperty": ("key", "value"),
    "jdk.SecurityPropertyModification": ("key", "value"),
    "jdk.StringFlag": ("name", "value"),
    "jdk.StringFlagChanged": ("name", "newValue"),
}
"""Event -> fields of a name and of its value."""


def masked_batch(batch: EventBatch) -> EventBatch:
    """Return a batch with values that look like secrets masked; batches without arguments are returned unchanged."""
    for name, options_only in _LINES.get(batch.event, {}).items():
        batch = _with_texts(batch, name, [None if each is None else masked_text(each, options_only=options_only) for each in
                                          batch.text_list(name)])  # fmt: skip
    if batch.event in _PAIRS:
        key, value = _PAIRS[batch.event]
        rows = zip(batch.text_list(key), batch.text_list(value), strict=True)
        batch = _with_texts(
            batch, value, [None if text is None else masked_value(name or "", text) for name, text in rows]
        )
    return batch


def _with_texts(batch: EventBatch, name: str, values: list[str | None]) -> EventBatch:
    """Return a batch with other values in a column of text; as it is where it has no such column."""
    import numpy as np

    column = batch.columns.get(name)
    if column is None or column.kind != "text":
        return batch
    new = list(dict.fromkeys(value for value in values if value is not None))
    place = {value: len(batch.texts) + i for i, value in enumerate(new)}
    places = np.array([-1 if value is None else place[value] for value in values], dtype=column.values.dtype)
    columns = {**batch.columns, name: replace(column, values=places)}
    return replace(batch, columns=columns, texts=[*batch.texts, *new])
