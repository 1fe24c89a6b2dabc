"""Blocking events of a file as rows of the staged table `wait`: parks, contended monitor enters, Object.wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.record.jfr.reader import NONE, EventBatch
from headway.record.jfr.threads import ThreadIds

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class _Wait:
    kind: str
    object: str
    owner: str = ""
    waker: str = ""


WAITS: Mapping[str, _Wait] = {
    "jdk.ThreadPark": _Wait("park", "parkedClass"),
    "jdk.JavaMonitorEnter": _Wait("monitor", "monitorClass", owner="previousOwner"),
    "jdk.JavaMonitorWait": _Wait("wait", "monitorClass", waker="notifier"),
}


def waits(batch: EventBatch, threads: ThreadIds) -> pa.Table:
    """Return the rows of a batch of one of `WAITS`."""
    import numpy as np
    import pyarrow as pa

    how = WAITS[batch.event]
    thread_id, java_id, virtual = threads.numbers(batch.ints("eventThread", -1))
    timeout, until = batch.ints("timeout"), batch.ints("until")
    # The JDK writes Long.MIN_VALUE for "none", async-profiler 0.
    is_timed = ((timeout != NONE) & (timeout > 0)) | ((until != NONE) & (until > 0))
    address = batch.ints("address", 0)
    stack = batch.ints("stackTrace", -1)
    classes = batch.text_array(how.object).fill_null("")
    columns = {
        "thread_id": pa.array(thread_id, pa.int32(), mask=thread_id < 0, safe=False),
        "java_id": java_id,
        "is_virtual": virtual,
        "kind": pa.array([how.kind]).take(pa.array(np.zeros(batch.rows, dtype=np.int8))),
        "class_name": classes,
        "address": np.where(address == NONE, 0, address),
        "is_timed": is_timed,
        "start_ns": batch.ints("startTime", 0),
        "dur_ns": np.maximum(batch.ints("duration", 0), 0),
        "stack_id": pa.array(stack, pa.int32(), mask=stack < 0, safe=False),
    }
    for name, column in (("owner", how.owner), ("waker", how.waker)):
        if column in batch.columns:
            columns[f"{name}_thread_id"], columns[f"{name}_java_id"] = threads.ids(batch.ints(column, -1))
    return pa.table(columns)
