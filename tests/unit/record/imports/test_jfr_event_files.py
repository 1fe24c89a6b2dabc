"""Tables of events: what becomes of an event that is laid out otherwise later in the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq

from headway.record.imports.event_files import EventFiles
from headway.record.imports.threads import ThreadIds
from headway.record.jfr.reader import EventBatch, EventColumn

INTEGERS, REALS = np.array([3, 4], np.int64), np.array([0.5, 1.5])
PLACES = np.array([0, -1], np.int32)


def batch(event: str, **fields: tuple[str, Any]) -> EventBatch:
    """Two rows of an event; fields are (kind, values)."""
    columns = {name: EventColumn(name, kind, False, values) for name, (kind, values) in fields.items()}
    return EventBatch(event, 2, columns, ["one text"])


def written(tmp_path: Path, *batches: EventBatch) -> dict[str, dict[str, list[Any]]]:
    """Write batches; return what each table holds."""
    files = EventFiles(tmp_path, cast("ThreadIds", None))  # no column is a thread
    for each in batches:
        files.write(each)
    assert files.left_out == 0
    return {name: pq.read_table(tmp_path / f"{name}.parquet").to_pydict() for name in files.close()}


def test_an_event_with_other_fields_later_keeps_the_columns_of_the_first(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        batch("a.Order", size=("integer", INTEGERS)),
        batch("a.Order", size=("integer", INTEGERS), late=("boolean", INTEGERS)),
        batch("a.Order"),
    )
    assert found == {"jfr_a_Order": {"size": [3, 4, 3, 4, None, None]}}


def test_an_event_whose_field_is_of_another_type_later_is_a_table_of_its_own(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        batch("a.Order", size=("integer", INTEGERS)),
        batch("a.Order", size=("real", REALS)),
        batch("a.Order", size=("text", PLACES)),
        batch("a.Order", size=("real", REALS)),
        batch("a.Order", size=("integer", INTEGERS)),
    )
    assert found == {
        "jfr_a_Order": {"size": [3, 4, 3, 4]},
        "jfr_a_Order_2": {"size": [0.5, 1.5, 0.5, 1.5]},
        "jfr_a_Order_3": {"size": ["one text", None]},
    }


def test_a_table_of_another_event_is_not_taken_for_it(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        batch("a.Order_2", size=("real", REALS)),
        batch("a.Order", size=("integer", INTEGERS)),
        batch("a.Order", size=("real", REALS)),
    )
    assert found == {
        "jfr_a_Order_2": {"size": [0.5, 1.5]},
        "jfr_a_Order": {"size": [3, 4]},
        "jfr_a_Order_3": {"size": [0.5, 1.5]},
    }


def test_fields_that_differ_in_case_alone_are_columns_that_sql_tells_apart(tmp_path: Path) -> None:
    found = written(tmp_path, batch("a.Order", id=("integer", INTEGERS), ID=("integer", INTEGERS + 1)))
    assert found == {"jfr_a_Order": {"id": [3, 4], "ID_": [4, 5]}}
