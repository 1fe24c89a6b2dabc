"""Columns of threads for rows in which an agent names them by their Java ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.model.wire import HW_FOREIGN_OWNER, HW_MANY_THREADS, HW_VIRTUAL_THREADS

if TYPE_CHECKING:
    import numpy as np

    from headway.record.finalise.threads.thread_table import RecordedThreads


def thread_columns(threads: RecordedThreads, number: int, java_ids: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return columns of threads by the ids that a JVM has for them, `number`: of its agent."""
    import numpy as np
    import pyarrow as pa

    of_java = threads.thread_of_java[number]
    ids = np.array([of_java.get(java_id, -1) for java_id in java_ids.tolist()], dtype=np.int32)
    shown = java_ids
    for stands_for, here in ((HW_MANY_THREADS, -1), (HW_VIRTUAL_THREADS, -2), (HW_FOREIGN_OWNER, -3)):
        shown = np.where(shown == stands_for, here, shown)
    return {"thread_id": pa.array(ids, mask=ids < 0), "java_id": shown}
