"""The views of a recording as SQL over its tables; `tables.py` describes their columns.

Row by row only: no windows, no ASOF joins, none of DuckDB's own functions, so that Spark runs the same text.
"""

from headway.store import packing

THREAD_STATE = """
SELECT s.thread_id, t.tid, t.start_ns AS thread_start_ns,
       s.start_ns - COALESCE(s.runnable_ns, 0) - s.blocked_ns AS start_ns, s.blocked_ns AS dur_ns,
       CAST(NULL AS BIGINT) AS exec_ns,
       CASE s.blocked_state WHEN 2 THEN 'uninterruptible' WHEN 3 THEN 'stopped' ELSE 'sleeping' END AS state,
       CAST(NULL AS SMALLINT) AS cpu, w.tid AS waker_tid,
       CASE WHEN s.waker_irq THEN 'irq' WHEN s.waker_id = -1 THEN NULL ELSE 'thread' END AS waker_context
FROM slice s JOIN thread t ON t.thread_id = s.thread_id LEFT JOIN thread w ON w.thread_id = s.waker_id
WHERE s.blocked_ns > 0
UNION ALL
SELECT s.thread_id, t.tid, t.start_ns, s.start_ns - s.runnable_ns, s.runnable_ns, NULL, 'runnable', NULL, NULL, NULL
FROM slice s JOIN thread t ON t.thread_id = s.thread_id
WHERE s.runnable_ns > 0
UNION ALL
SELECT s.thread_id, t.tid, t.start_ns, s.start_ns, s.running_ns, s.running_ns - s.stolen_ns, 'running', s.cpu,
       NULL, NULL
FROM slice s JOIN thread t ON t.thread_id = s.thread_id
WHERE s.running_ns > 0
"""
"""One row per non-empty state. The joins only fetch tids from the small table `thread`: each slice stands alone."""

SLICE = """
SELECT thread_id, (end_ticks - running_ticks) * tick_ns AS start_ns, blocked_ticks * tick_ns AS blocked_ns,
       CASE WHEN (flags & 16) = 0 THEN runnable_ticks * tick_ns END AS runnable_ns, running_ticks * tick_ns AS running_ns,
       CASE WHEN (flags & 32) = 0 THEN stolen_ticks * tick_ns END AS stolen_ns, cpu,
       CAST(flags & 3 AS UTINYINT) AS blocked_state, {blocked_in} AS blocked_in, waker_id,
       (flags & 4) <> 0 AS waker_irq, (flags & 8) <> 0 AS is_open,
       {counts}
FROM {file}
""".replace(
    "{counts}",
    ", ".join(
        f"CASE WHEN {{{name}}} >= 0 THEN {{{name}}} END AS {name}" for name in (*packing.COUNTS, *packing.UNCOUNTED)
    ),
)
"""The table `slice` from its file: `packing.py` says how it is stored."""
