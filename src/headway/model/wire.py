"""The spool's wire format as Python reads it: its numbers, and where the fields of a file's header lie.

Made from native/wire/records.h and stored_slices.h by scripts/make_shared.py (make reference): change these, not this file.
"""

from typing import NamedTuple


class Field(NamedTuple):
    """Where a field lies in its struct, in bytes, and its numpy format; `V` and a size for what is no number."""

    offset: int
    form: str


HW_SPOOL_MAGIC = b"HWSPOOL\x00"
HW_SPOOL_VERSION = 1
HW_HEADER_BYTES = 4096
HW_COMM_BYTES = 16
HW_COUNTERS = 16
HW_COUNTER_GROUPS = 8
HW_MANY_THREADS = 9223372036854775807
HW_ACCESS_KINDS = 6
HW_VIRTUAL_THREADS = 9223372036854775806
HW_OWNED_KINDS = 4
HW_FOREIGN_OWNER = 9223372036854775805
HW_WINDOW_GROUP_SHIFT = 27
HW_UNKNOWN_NODE = 65535
HW_LINE_KINDS = 3
HW_LOCK_MAGIC = b"HWLOCKS\x00"
HW_LOCK_VERSION = 2
HW_LOCK_CLASSES = 4096
HW_LOCK_CLASS_BYTES = 128
HW_SOURCE_SCHED = 1
HW_SOURCE_LIFECYCLE = 2
HW_SOURCE_AGENT = 3
HW_PRODUCER_EBPF = 1
HW_PRODUCER_PERF_SWITCH = 2
HW_PRODUCER_AGENT = 3
HW_CLOSE_UNREPORTED = 0
HW_CLOSE_PENDING = 1
HW_CLOSE_DONE = 2
HW_CLOSE_CUT = 3
HW_SWITCH = 1
HW_WAKING = 2
HW_LOSS = 3
HW_COUNTS = 4
HW_FORK = 16
HW_EXIT = 17
HW_RENAME = 18
HW_EXEC = 19
HW_SNAPSHOT = 20
HW_SCHEDSTAT = 21
HW_AGENT_CHUNK = 32
HW_JVM_INFO = 33
HW_THREAD_START = 34
HW_THREAD_END = 35
HW_PHASE = 36
HW_VTHREAD_START = 37
HW_VTHREAD_END = 38
HW_THREAD_NAME = 39
HW_METHOD = 40
HW_STACK = 41
HW_BLOCKER = 42
HW_BLOCKER_DEAD = 43
HW_BLOCK = 44
HW_HOLD = 45
HW_LOCKS_CAPPED = 46
HW_WAITING_STACK = 47
HW_VTHREAD_MOUNT = 48
HW_VTHREAD_UNMOUNT = 49
HW_JAVA_CLASS = 50
HW_ALLOCATION = 51
HW_ACCESS = 52
HW_ACCESS_OWNERS = 53
HW_ACCESS_PAIR = 54
HW_ACCESS_WRITERS = 55
HW_ACCESS_WRITER_PAIR = 56
HW_LINE_PLACE = 57
HW_LINE_WRITES = 58
HW_LINE_SHARE = 59
HW_ACCESS_WINDOW = 63
HW_ACCESS_NODES = 64
HW_ACCESS_NODE_PAIR = 65
HW_ACCESS_NODE_WRITER_PAIR = 66
HW_IN_UNKNOWN = 0
HW_IN_FUTEX = 1
HW_IN_TIMED_FUTEX = 2
HW_IN_SLEEP = 3
HW_IN_POLL = 4
HW_IN_FILE = 5
HW_IN_SOCKET = 6
HW_IN_CHILD = 7
HW_IN_OTHER = 8
HW_IN_NO_CALL = 9
HW_SW_PREEMPT = 1
HW_SW_PREV_OURS = 2
HW_SW_NEXT_OURS = 4
HW_SW_NO_EXEC = 8
HW_SW_OTHERS = 32
HW_SW_COUNTED = 64
HW_WK_NEW = 1
HW_WK_IRQ = 2
HW_WK_WAKER_OURS = 4
HW_TH_DAEMON = 1
HW_TH_VIRTUAL = 2
HW_TH_CARRIER = 4
HW_TH_ATTACHED = 8
HW_PH_GC_PAUSE = 1
HW_PH_STARTUP = 2
HW_PH_SHUTDOWN = 3
HW_BK_PARK = 1
HW_BK_MONITOR = 2
HW_BK_WAIT = 3
HW_BL_TIMED = 1
HW_BL_OPEN = 2
HW_BL_ATTACHED = 4
HW_BL_VIRTUAL = 8
HW_BL_PINNED = 16
HW_BL_END_GUESSED = 32
HW_BL_TOGETHER = 64
HW_BL_AGAIN = 128
HW_BL_SLEEP = 256
HW_BL_OWNS_MONITOR = 512
HW_ST_NATIVE = 1
HW_ST_SLEEP = 2
HW_ST_WAIT = 3
HW_ST_PARK = 4
HW_LINE_SAME_PLACE = 0
HW_LINE_SAME_LINE = 1
HW_LINE_NEXT_LINE = 2
SLICE_BLOCKED_STATE_MASK = 3
SLICE_WAKER_IRQ = 4
SLICE_IS_OPEN = 8
SLICE_RUNNABLE_UNKNOWN = 16
SLICE_STOLEN_UNKNOWN = 32

HW_SPOOL_HEADER_BYTES = 88
HW_SPOOL_HEADER = {
    "magic": Field(0, "V8"),
    "version": Field(8, "<u4"),
    "source": Field(12, "<u4"),
    "producer": Field(16, "<u4"),
    "cpu": Field(20, "<u4"),
    "pid": Field(24, "<u4"),
    "host_pid": Field(28, "<u4"),
    "created_ns": Field(32, "<i8"),
    "realtime_ns": Field(40, "<i8"),
    "stop": Field(48, "<u4"),
    "chunk_bytes": Field(52, "<u4"),
    "next_chunk": Field(56, "<u8"),
    "limit_bytes": Field(64, "<u8"),
    "lost": Field(72, "<u8"),
    "end": Field(80, "<u4"),
    "counters": Field(84, "<u2"),
    "counter_groups": Field(86, "<u2"),
}

HW_RECORD_BYTES = 16
HW_RECORD = {
    "ts_ns": Field(0, "<i8"),
    "type": Field(8, "<u2"),
    "size": Field(10, "<u2"),
    "tid": Field(12, "<u4"),
}

HW_STACK_FRAME_BYTES = 8
HW_STACK_FRAME = {
    "method_id": Field(0, "<u4"),
    "line": Field(4, "<i4"),
}

HW_LOCK_HEADER_BYTES = 88
HW_LOCK_HEADER = {
    "magic": Field(0, "V8"),
    "version": Field(8, "<u4"),
    "pid": Field(12, "<u4"),
    "created_ns": Field(16, "<i8"),
    "slot_bytes": Field(24, "<u4"),
    "slots": Field(28, "<u4"),
    "classes": Field(32, "<u4"),
    "forgotten": Field(36, "<u4"),
    "dropped": Field(40, "<u8"),
    "threads_parked": Field(48, "<u8"),
    "capped_ns": Field(56, "<i8"),
    "updated_ns": Field(64, "<i8"),
    "below_threshold": Field(72, "<u8"),
    "untimed_holds": Field(80, "<u8"),
}

HW_LOCK_SLOT_BYTES = 128
HW_LOCK_SLOT = {
    "sequence": Field(0, "<u4"),
    "blocker_id": Field(4, "<u4"),
    "parked_now": Field(8, "<u4"),
    "peak_parked": Field(12, "<u4"),
    "times_parked": Field(16, "<u8"),
    "times_measured": Field(24, "<u8"),
    "first_ns": Field(32, "<i8"),
    "last_ns": Field(40, "<i8"),
    "thread_time_ns": Field(48, "<u8"),
    "real_time_ns": Field(56, "<u8"),
    "identity_hash": Field(64, "<u4"),
    "class_index": Field(68, "<u4"),
    "kind": Field(72, "<u2"),
    "is_dead": Field(74, "<u2"),
    "first_java_id": Field(76, "<u4"),
    "first_stack_id": Field(80, "<u4"),
    "forgotten": Field(84, "<u4"),
    "holds": Field(88, "<u8"),
    "hold_ns": Field(96, "<u8"),
    "spare": Field(104, "V24"),
}
