"""Changes a Parquet file's descriptions (Thrift, compact form), for files that no writer makes: two readings in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS = (_I16, _I32, _I64)

Fields = dict[int, tuple[int, Any]]
"""A struct: type and value of each field by its number."""

FILE_GROUPS = 4
GROUP_COLUMNS = 1
CHUNK_META, CHUNK_CRYPTO = 3, 8
META_PATH, META_DATA_OFFSET, META_DICTIONARY_OFFSET, META_STATISTICS = 3, 9, 11, 12
STATISTICS_MOST, STATISTICS_LEAST = (1, 5), (2, 6)
PAGE_TYPE, PAGE_PLAIN_SIZE, PAGE_SIZE, PAGE_CRC, PAGE_V1 = 1, 2, 3, 4, 5
V1_DEFINITION_ENCODING = 3
I32, I64, BINARY, LIST, STRUCT = _I32, _I64, _BINARY, _LIST, _STRUCT


class _Reader:
    def __init__(self, raw: bytes, at: int = 0) -> None:
        self.raw, self.at = raw, at

    def byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def varint(self) -> int:
        found = shift = 0
        while (each := self.byte()) & 128:
            found |= (each & 127) << shift
            shift += 7
        return found | each << shift

    def signed(self) -> int:
        found = self.varint()
        return found >> 1 ^ -(found & 1)

    def value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind in _INTEGERS:
            return self.signed()
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            inner = head & 15
            return inner, [
                self.byte() == _TRUE if inner in (_TRUE, _FALSE) else self.value(inner) for _ in range(count)
            ]
        size = {_BYTE: 1, _DOUBLE: 8}.get(kind) or self.varint()
        self.at += size
        return self.raw[self.at - size : self.at]

    def struct(self) -> Fields:
        found: Fields = {}
        number = 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.signed()
            found[number] = (head & 15, self.value(head & 15))
        return found


def _varint(value: int) -> bytes:
    found = b""
    while value >= 128:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _value(kind: int, value: Any) -> bytes:
    if kind in (_TRUE, _FALSE):
        return b""
    if kind in _INTEGERS:
        return _varint(value << 1 ^ value >> 63)
    if kind == _STRUCT:
        return packed(value)
    if kind in (_LIST, _SET):
        inner, rows = value
        head = bytes([len(rows) << 4 | inner]) if len(rows) < 15 else bytes([240 | inner]) + _varint(len(rows))
        each = [bytes([_TRUE if row else _FALSE]) if inner in (_TRUE, _FALSE) else _value(inner, row) for row in rows]
        return head + b"".join(each)
    return bytes(value) if kind in (_BYTE, _DOUBLE) else _varint(len(value)) + bytes(value)


def packed(fields: Fields) -> bytes:
    """Return a struct as it is written."""
    found, before = b"", 0
    for number, (kind, value) in sorted(fields.items()):
        written = (_TRUE if value else _FALSE) if kind in (_TRUE, _FALSE) else kind
        step = number - before
        found += bytes([step << 4 | written]) if step < 16 else bytes([written]) + _varint(number << 1)
        found += _value(kind, value)
        before = number
    return found + b"\0"


def unpacked(raw: bytes, at: int = 0) -> tuple[Fields, int]:
    """Return the struct at a place, and where it ends."""
    reader = _Reader(raw, at)
    return reader.struct(), reader.at


class Surgery:
    """A Parquet file whose pages and descriptions can be changed; `save` writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        raw = path.read_bytes()
        size = int.from_bytes(raw[-8:-4], "little")
        self.body = raw[: -8 - size]
        self.footer, _ = unpacked(raw, len(raw) - 8 - size)

    def chunks(self, column: str) -> list[Fields]:
        """Return the descriptions of a column, by groups of rows."""
        groups = [group[GROUP_COLUMNS][1][1] for group in self.footer[FILE_GROUPS][1][1]]
        found = [chunk for group in groups for chunk in group]
        return [chunk for chunk in found if chunk[CHUNK_META][1][META_PATH][1][1] == [column.encode()]]

    def metas(self, column: str) -> list[Fields]:
        """Return what is said of a column's values, by groups of rows."""
        return [chunk[CHUNK_META][1] for chunk in self.chunks(column)]

    def page(self, at: int) -> tuple[Fields, bytes]:
        """Return the header and the content of the page at a place."""
        header, begin = unpacked(self.body, at)
        return header, self.body[begin : begin + header[PAGE_SIZE][1]]

    def add(self, header: Fields, content: bytes) -> int:
        """Append a page that is not compressed, and return its place."""
        at = len(self.body)
        sizes = {PAGE_PLAIN_SIZE: (_I32, len(content)), PAGE_SIZE: (_I32, len(content))}
        plain = {number: each for number, each in header.items() if number != PAGE_CRC}
        self.body += packed(plain | sizes) + content
        return at

    def save(self) -> None:
        """Write the file."""
        footer = packed(self.footer)
        self.path.write_bytes(self.body + footer + len(footer).to_bytes(4, "little") + b"PAR1")
