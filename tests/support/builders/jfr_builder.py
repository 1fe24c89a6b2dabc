"""Builds small JFR files, valid or broken on purpose, that no JVM writes. The native tests have the same in C++."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

LONG, INT, TEXT, BOOLEAN, FLOAT = 3, 1, 2, 4, 5
CLASS, SYMBOL, THREAD, STACK, FRAME, METHOD, KIND = 10, 12, 13, 14, 15, 16, 17
_TYPES: dict[int, tuple[str, list[tuple[str, int, str]]]] = {
    INT: ("int", []),
    TEXT: ("java.lang.String", []),
    LONG: ("long", []),
    BOOLEAN: ("boolean", []),
    FLOAT: ("float", []),
    CLASS: ("java.lang.Class", [("name", SYMBOL, "constant")]),
    SYMBOL: ("jdk.types.Symbol", [("string", TEXT, "")]),
    THREAD: (
        "java.lang.Thread",
        [("osName", TEXT, ""), ("osThreadId", LONG, ""), ("javaName", TEXT, ""), ("javaThreadId", LONG, "")],
    ),
    STACK: ("jdk.types.StackTrace", [("truncated", BOOLEAN, ""), ("frames", FRAME, "array")]),
    FRAME: (
        "jdk.types.StackFrame",
        [("method", METHOD, "constant"), ("lineNumber", INT, ""), ("type", KIND, "constant")],
    ),
    METHOD: ("jdk.types.Method", [("type", CLASS, "constant"), ("name", SYMBOL, "constant")]),
    KIND: ("jdk.types.FrameType", [("description", TEXT, "")]),
}
PARK, SAMPLE, LOAD, INFO, CPUS, SETTING, ODD = 50, 51, 52, 53, 54, 55, 56
_EVENTS: dict[int, tuple[str, list[tuple[str, int, str]]]] = {
    PARK: (
        "jdk.ThreadPark",
        [
            ("startTime", LONG, "time"),
            ("duration", LONG, "span"),
            ("eventThread", THREAD, "constant"),
            ("stackTrace", STACK, "constant"),
            ("parkedClass", CLASS, "constant"),
            ("timeout", LONG, ""),
            ("address", LONG, ""),
        ],
    ),
    SAMPLE: (
        "jdk.ExecutionSample",
        [("startTime", LONG, "time"), ("sampledThread", THREAD, "constant"), ("stackTrace", STACK, "constant")],
    ),
    LOAD: (
        "jdk.CPULoad",
        [("startTime", LONG, "time"), ("jvmUser", FLOAT, ""), ("jvmSystem", FLOAT, ""), ("machineTotal", FLOAT, "")],
    ),
    INFO: ("jdk.JVMInformation", [("startTime", LONG, "time"), ("jvmName", TEXT, ""), ("pid", LONG, "")]),
    CPUS: ("jdk.CPUInformation", [("startTime", LONG, "time"), ("hwThreads", INT, "")]),
    SETTING: (
        "jdk.ActiveSetting",
        [("startTime", LONG, "time"), ("id", LONG, ""), ("name", TEXT, ""), ("value", TEXT, "")],
    ),
    ODD: ("org.example.Odd", [("startTime", LONG, "time"), ("what", TEXT, ""), ("amount", LONG, "")]),
}
START_NS = 1_700_000_000_000_000_000
"""When a chunk begins; its ticks are nanoseconds from there."""


def varint(value: int) -> bytes:
    """Encode a whole number."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80 and len(out) < 8:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def text(value: str | None) -> bytes:
    """Encode a text."""
    raw = (value or "").encode()
    return b"\0" if value is None else b"\3" + varint(len(raw)) + raw


def event(kind: int, *values: int | float | str | None) -> bytes:
    """Encode an event with its length; ints become varints, floats floats."""
    body = varint(kind)
    for value in values:
        body += struct.pack(">f", value) if isinstance(value, float) else b""
        body += varint(value) if isinstance(value, int) else b""
        body += text(value) if value is None or isinstance(value, str) else b""
    return sized(body)


def sized(body: bytes) -> bytes:
    """Return an event's bytes behind their length."""
    size = len(body) + 5
    return bytes(size >> 7 * i & 0x7F | (0x80 if i < 4 else 0) for i in range(5)) + body


def metadata() -> bytes:
    """Encode the types that these files have."""
    strings: list[str] = []

    def s(word: str) -> bytes:
        if word not in strings:
            strings.append(word)
        return varint(strings.index(word))

    def element(name: str, attributes: dict[str, str], children: Sequence[bytes]) -> bytes:
        out = s(name) + varint(len(attributes))
        out += b"".join(s(key) + s(value) for key, value in attributes.items())
        return out + varint(len(children)) + b"".join(children)

    def field(name: str, kind: int, how: str) -> bytes:
        attributes = {"name": name, "class": str(kind)}
        attributes |= {"constantPool": "true"} if how == "constant" else {}
        attributes |= {"dimension": "1"} if how == "array" else {}
        notes = {"time": ("70", "TICKS"), "span": ("71", "TICKS")}.get(how)
        inner = [element("annotation", {"class": notes[0], "value": notes[1]}, [])] if notes else []
        return element("field", attributes, inner)

    every = {**_TYPES, **_EVENTS, 70: ("jdk.jfr.Timestamp", []), 71: ("jdk.jfr.Timespan", [])}
    classes = [
        element("class", {"id": str(number), "name": name}, [field(*each) for each in fields])
        for number, (name, fields) in every.items()
    ]
    tree = element("root", {}, [element("metadata", {}, classes)])
    return sized(b"\0\0\0\0" + varint(len(strings)) + b"".join(map(text, strings)) + tree)


def constants(class_name: str = "org/example/Lock", method: str = "run") -> bytes:
    """Encode constants: threads 1 (main) and 2 (worker), stack 1, class 1."""
    by_type: dict[int, list[tuple[int, bytes]]] = {
        SYMBOL: [(1, text(class_name)), (2, text(method))],
        CLASS: [(1, varint(1))],
        METHOD: [(1, varint(1) + varint(2))],
        KIND: [(1, text("JIT compiled"))],
        THREAD: [
            (1, text("main") + varint(101) + text("main") + varint(1)),
            (2, text("worker") + varint(102) + text("worker") + varint(9)),
        ],
        STACK: [(1, b"\0" + varint(1) + varint(1) + varint(42) + varint(1))],
    }
    return pools(by_type)


def pools(by_type: Mapping[int, Sequence[tuple[int, bytes]]]) -> bytes:
    """Encode constants: by type, the number and the value of each."""
    body = b"\0\0\0\0" + varint(len(by_type))
    for kind, values in by_type.items():
        body += varint(kind) + varint(len(values)) + b"".join(varint(index) + value for index, value in values)
    return sized(b"\1" + body)


def chunk(
    events: Sequence[bytes],
    *,
    major: int = 2,
    pools: bytes | None = None,
    dur_ns: int = 1_000_000,
    described: bytes | None = None,
) -> bytes:
    """Encode a file of one chunk; `pools`: its constants, `described`: its types."""
    described, pools = described or metadata(), constants() if pools is None else pools
    rows = b"".join(events)
    whole = 68 + len(described) + len(rows) + len(pools)
    head = b"FLR\0" + struct.pack(">HH", major, 0)
    head += struct.pack(">qqq", whole, 68 + len(described) + len(rows), 68)
    head += struct.pack(">qqqq", START_NS, dur_ns, 0, 1_000_000_000) + struct.pack(">I", 1)
    return head + described + rows + pools


def usual(count: int = 20) -> list[bytes]:
    """Return a file with `count` parks of each of two threads, samples, load readings, and an unknown event."""
    events = [
        event(INFO, 0, "OpenJDK", 4711),
        event(CPUS, 0, 4),
        event(SETTING, 0, SAMPLE, "period", "20 ms"),
        event(SETTING, 0, PARK, "threshold", "10 ms"),
        event(LOAD, 1000, 0.5, 0.25, 0.875),
        event(LOAD, 2000, 0.25, 0.0, 0.5),
    ]
    for i in range(count):
        events.append(event(PARK, 1000 * i, 600, 1, 1, 1, 0, 0x1000))
        events.append(event(PARK, 1000 * i + 300, 400, 2, 1, 1, 0, 0x1000))
        events.append(event(SAMPLE, 1000 * i + 10, 1 + i % 2, 1))
        events.append(event(ODD, 1000 * i, f"what {i}", -i))
    return events
