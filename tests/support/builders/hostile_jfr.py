"""Builds JFR files that are small and mean harm: they name one long text again and again."""

from __future__ import annotations

from support.builders import jfr_builder as jfr


def long_name_of_every_field() -> bytes:
    """A file whose description of types names one long text 140,000 times."""
    strings = ["", "root", "metadata", "class", "field", "id", "name", "1", "int", "9", "A", "x" * 500_000]

    def element(name: str, attributes: dict[str, str], inside: list[bytes]) -> bytes:
        words = b"".join(jfr.varint(strings.index(word)) for pair in attributes.items() for word in pair)
        head = jfr.varint(strings.index(name)) + jfr.varint(len(attributes)) + words
        return head + jfr.varint(len(inside)) + b"".join(inside)

    field = element("field", {"name": strings[-1], "id": "1"}, [])
    types = [
        element("class", {"id": "1", "name": "int"}, []),
        element("class", {"id": "9", "name": "A"}, [field] * 140_000),
    ]
    tree = element("root", {}, [element("metadata", {}, types)])
    described = jfr.sized(b"\0\0\0\0" + jfr.varint(len(strings)) + b"".join(map(jfr.text, strings)) + tree)
    return jfr.chunk([], described=described)


def long_name_of_every_thread() -> bytes:
    """A file of 10,000 threads that share a name of 100,000 characters: two bytes name it."""
    name = b"\2" + jfr.varint(1)
    threads = [(i, name + jfr.varint(i) + name + jfr.varint(i)) for i in range(1, 10_001)]
    pools = {jfr.TEXT: [(1, jfr.text("x" * 100_000))], jfr.THREAD: threads, jfr.STACK: [(1, b"\0" + jfr.varint(0))]}
    return jfr.chunk([jfr.event(jfr.SAMPLE, i, i + 1, 1) for i in range(10_000)], pools=jfr.pools(pools))


def long_text_in_every_class(count: int = 60_000) -> bytes:
    """A file of as many classes, which all have one name of a million characters."""
    classes = [(i, jfr.varint(1)) for i in range(1, count + 1)]
    pools = {
        jfr.SYMBOL: [(1, jfr.text("x" * 1_000_000))],
        jfr.CLASS: classes,
        jfr.METHOD: [(i, jfr.varint(i) + jfr.varint(1)) for i in range(1, count + 1)],
        jfr.THREAD: [(1, jfr.text("a") + jfr.varint(1) + jfr.text("a") + jfr.varint(1))],
        jfr.STACK: [
            (i, b"\0" + jfr.varint(1) + jfr.varint(i) + jfr.varint(1) + jfr.varint(1)) for i in range(1, count + 1)
        ],
    }
    return jfr.chunk([jfr.event(jfr.SAMPLE, i, 1, i + 1) for i in range(count)], pools=jfr.pools(pools))


def long_names_in_every_frame(frames: int, name_bytes: int) -> bytes:
    """A file with a sample for each thousand frames, lines of one method whose class has as long a name as it has."""
    lines = range(1, frames + 1)
    stacks = [
        b"\0" + jfr.varint(len(part)) + b"".join(jfr.varint(1) + jfr.varint(line) + jfr.varint(1) for line in part)
        for part in (lines[at : at + 1000] for at in range(0, frames, 1000))
    ]
    pools = {
        jfr.SYMBOL: [(1, jfr.text("x" * name_bytes)), (2, jfr.text("y" * name_bytes))],
        jfr.CLASS: [(1, jfr.varint(1))],
        jfr.METHOD: [(1, jfr.varint(1) + jfr.varint(2))],
        jfr.KIND: [(1, jfr.text("JIT compiled"))],
        jfr.THREAD: [(1, jfr.text("a") + jfr.varint(1) + jfr.text("a") + jfr.varint(1))],
        jfr.STACK: [*enumerate(stacks, 1)],
    }
    return jfr.chunk([jfr.event(jfr.SAMPLE, i, 1, i) for i in range(1, len(stacks) + 1)], pools=jfr.pools(pools))
