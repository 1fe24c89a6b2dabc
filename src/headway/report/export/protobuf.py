"""The protobuf wire format, as far as writing a trace needs it: no generated code, and whole columns at a time.

A field is its number and wire type as a varint, then its value (https://protobuf.dev/programming-guides/encoding). Varints
may be padded: a decoder takes any of up to ten bytes, which lets equal messages be laid out as rows of an array.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_VARINT, _DOUBLE, _BYTES = 0, 1, 2


LONGEST_NAME = 255
"""Characters of a name that is repeated with every event: a stranger's may be long, and a trace grow without end."""


def varint(value: int) -> bytes:
    """Encode an integer; one below zero as 64 bits, as the format has it."""
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """Encode an integer field."""
    return varint(field << 3 | _VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    """Encode a double field."""
    return varint(field << 3 | _DOUBLE) + struct.pack("<d", value)


def message(field: int, payload: bytes) -> bytes:
    """Encode a field that holds a message, or bytes."""
    return varint(field << 3 | _BYTES) + varint(len(payload)) + payload


def text(field: int, value: str) -> bytes:
    """Encode a string field; what has no UTF-8 form is replaced."""
    return message(field, value.encode("utf-8", "replace"))


def name(field: int, value: str) -> bytes:
    """Encode a string field that names something again and again; a long one ends in "..."."""
    return text(field, value if len(value) <= LONGEST_NAME else value[: LONGEST_NAME - 3] + "...")


def packed(field: int, values: NDArray[Any]) -> bytes:
    """Encode a packed repeated integer field, values >= 0."""
    return message(field, varints(values))


def varints(values: NDArray[Any]) -> bytes:
    """Encode integers >= 0 as varints one after another."""
    import numpy as np

    left = np.asarray(values).astype(np.uint64)
    size = np.ones(len(left), dtype=np.int64)
    for k in range(1, 10):
        size += left >= np.uint64(1 << 7 * k)
    at = np.cumsum(size) - size
    out = np.empty(int(size.sum()), dtype=np.uint8)
    for k in range(int(size.max(initial=0))):
        more = size > k
        byte = (left[more] >> np.uint64(7 * k)).astype(np.uint8) & 127
        out[at[more] + k] = byte | (128 * (size[more] > k + 1)).astype(np.uint8)
    return out.tobytes()


def padded(values: NDArray[Any], size: int) -> NDArray[np.uint8]:
    """Encode integers >= 0 as varints of exactly `size` bytes each, shape (n, size); they must fit in 7 * size bits."""
    import numpy as np

    column = np.asarray(values).astype(np.uint64)[:, None] >> (np.arange(size, dtype=np.uint64) * np.uint64(7))
    more = np.array([128] * (size - 1) + [0], dtype=np.uint8)
    return (column.astype(np.uint8) & np.uint8(127)) | more
