"""Columns of a table, from numbers in which negative ones mean none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def optional(values: NDArray[Any], below: int = 0) -> pa.Array:
    """Return a column of numbers in which values `below` that mean none."""
    import pyarrow as pa

    if not len(values) or values.min() >= below:  # as most: no mask has to be made, nor turned into bits
        return pa.array(values)
    return pa.array(values, mask=values < below)


def named(codes: NDArray[Any], names: Sequence[str] | pa.Array) -> pa.DictionaryArray:
    """Return a column of text: places in `names`, negative for none."""
    import numpy as np
    import pyarrow as pa

    indices = optional(codes.astype(np.int32, copy=False))
    return pa.DictionaryArray.from_arrays(
        indices, names if isinstance(names, pa.Array) else pa.array(names, pa.string())
    )
