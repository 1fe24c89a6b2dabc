"""The views of a recording as SQL over its tables; `tables.py` describes their columns.

Row by row, or sums by thread: no windows, no ASOF joins, none of DuckDB's own functions, so that Spark runs the same text.
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

OBJECT_KINDS = ("tuple_read", "tuple_write", "array_read", "array_write")
"""Kinds of accesses to objects, by the names of the published table 5.4; the tables have them with an s at the end."""
_ALLOCATED = {
    "tuple_allocations": "CASE WHEN class_name = '' OR class_name LIKE '%[]' THEN 0 ELSE objects END",
    "tuple_total_size": "CASE WHEN class_name = '' OR class_name LIKE '%[]' THEN 0 ELSE bytes END",
    "array_allocations": "CASE WHEN class_name LIKE '%[]' THEN objects ELSE 0 END",
    "array_total_size": "CASE WHEN class_name LIKE '%[]' THEN bytes ELSE 0 END",
    "array_total_length": "array_length",
    "unknown_allocations": "CASE WHEN class_name = '' THEN objects ELSE 0 END",
    "unknown_total_size": "CASE WHEN class_name = '' THEN bytes ELSE 0 END",
    "allocations_variance": "objects_error * objects_error",
    "total_size_variance": "bytes_error * bytes_error",
}
_ACCESSED = {
    **{kind: f"{kind}s" for kind in OBJECT_KINDS},
    "static_read": "static_reads",
    "static_write": "static_writes",
}
_OWNED = {f"{kind}_{whose}": f"{kind}s_{whose}" for whose in ("local", "shared") for kind in OBJECT_KINDS}
_NODE_SORTS = {
    "near": "cpu_node = page_node",
    "far": "cpu_node <> page_node",
    "samples": "1 = 1",
}
_SAMPLED = {
    f"{kind}_{name}": f"CASE WHEN kind = '{kind}s' AND {condition} THEN samples ELSE 0 END"
    for kind in OBJECT_KINDS
    for name, condition in _NODE_SORTS.items()
} | {f"{kind}_sampled": f"CASE WHEN kind = '{kind}s' THEN accesses ELSE 0 END" for kind in OBJECT_KINDS}
_PARTS = {"allocation": _ALLOCATED, "access": _ACCESSED, "access_owner": _OWNED, "access_node": _SAMPLED}


def _part(table: str) -> str:
    """Return the SELECT of one table's sums, with nulls in the columns of the others."""
    columns = [
        f"{text if of == table else 'NULL'} AS {name}" for of, parts in _PARTS.items() for name, text in parts.items()
    ]
    return f"""SELECT pid, thread_id, java_id, CASE WHEN thread_id IS NULL THEN java_id END AS unnamed_id, {", ".join(columns)}
  FROM {table}"""


def _sum(name: str, rows: str) -> str:
    """Return the sum of a column: 0 where a thread has no rows of a table, null where nobody has any."""
    return f"CASE WHEN max(n.{rows}) > 0 THEN CAST(COALESCE(sum(p.{name}), 0) AS BIGINT) END"


def _of_owners(kind: str) -> str:
    """Return the columns of one kind of accesses by the object's owner, and by the node of its page."""
    count, own, others = (
        _sum(kind, "accesses"),
        _sum(f"{kind}_local", "owners"),
        _sum(f"{kind}_shared", "owners"),
    )
    return f"""{count} AS {kind}, {own} AS {kind}_own, {others} AS {kind}_shared,
  CASE WHEN {own} + {others} > {count} THEN 0 ELSE {count} - {own} - {others} END AS {kind}_unknown_owner,
  CASE WHEN {{memory_nodes}} = 1 THEN {count} ELSE {_estimated(kind, "near")} END AS {kind}_local,
  CASE WHEN {{memory_nodes}} = 1 THEN {count} * 0 ELSE {_estimated(kind, "far")} END AS {kind}_remote"""


def _estimated(kind: str, sort: str) -> str:
    """Return accesses by the node of their page, as samples have it: of those that were sampled; null where none was."""
    counted = f"LEAST(sum(p.{kind}), sum(p.{kind}_sampled))"
    share = f"CAST(sum(p.{kind}_{sort}) AS DOUBLE) / sum(p.{kind}_samples)"
    return f"CASE WHEN sum(p.{kind}_samples) > 0 THEN CAST(FLOOR({counted} * {share}) AS BIGINT) END"


THREAD_OBJECTS = f"""
SELECT p.pid, p.thread_id, COALESCE(t.java_id, max(p.java_id)) AS java_id, t.name AS thread_name, t.kind AS thread_kind,
  t.start_ns AS thread_start_ns, COALESCE(t.java_end_ns, t.end_ns) AS thread_end_ns,
  {", ".join(f"{_sum(name, 'allocations')} AS {name}" for name in [*_ALLOCATED][:7])},
  sqrt(sum(p.allocations_variance)) AS allocations_error, sqrt(sum(p.total_size_variance)) AS total_size_error,
  {", ".join(map(_of_owners, OBJECT_KINDS))},
  {_sum("static_read", "accesses")} AS static_read, {_sum("static_write", "accesses")} AS static_write
FROM ({" UNION ALL ".join(map(_part, _PARTS))}) p LEFT JOIN thread t ON t.thread_id = p.thread_id
CROSS JOIN (SELECT (SELECT count(*) FROM allocation) AS allocations, (SELECT count(*) FROM access) AS accesses,
  (SELECT count(*) FROM access_owner) AS owners) n
WHERE COALESCE(t.kind, '') <> 'headway'
GROUP BY p.pid, p.thread_id, p.unnamed_id, t.java_id, t.name, t.kind, t.start_ns, t.end_ns, t.java_end_ns
"""
"""What each thread allocated, read and wrote. {memory_nodes}: how many memory nodes the machine has, NULL where not known."""
