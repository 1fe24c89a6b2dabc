"""Tables of accesses by whose the objects are: rows of JVMs that do not tell, threads of one name, and many threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.objects.analysis import objects
from headway.analyses.objects.types import AccessAnswer, Accessed, AccessPair, Counts, Owned
from headway.report.analyses.object_owners import matrix_table
from headway.report.analyses.objects import ObjectsAnalysis
from headway.store import open_recording
from support.builders.allocation_spool_builder import access_recording


@pytest.mark.parametrize("by", ["class", "thread", "thread-class", "site", "pair"])
def test_what_a_jvm_without_owners_accesses_is_of_unknown_owners_in_every_table(by: str, tmp_path: Path) -> None:
    """Of `Book` there are accesses, and no rows of owners."""
    recording = open_recording(access_recording(tmp_path / "a.headway", with_owners=True))
    analysis = ObjectsAnalysis()
    section = analysis.section(analysis.run(recording, None, by=by))
    rows = [row for table in section.tables for row in table.rows if row[0] == "Book"]
    assert [row[-3:] for row in rows] == ([(0, 0, 1400)] if by == "class" else [])
    assert all(table.rows for table in section.tables)


def test_two_threads_of_one_name_are_two_rows_and_two_columns_of_the_matrix() -> None:
    owned = Owned(Counts(), Counts(), Counts())
    pairs = [
        AccessPair(1, "w", java_id, java_id, "w", owner, owner, Counts(count))
        for java_id, owner, count in ((21, 21, 5), (21, 22, 3), (22, 22, 7))
    ]
    table = matrix_table(AccessAnswer(Accessed(15, 0, 0, 0, 0, 0), (), (), owned=owned, pairs=tuple(pairs)))
    assert table.columns == ("thread", "w #21", "w #22")
    assert table.rows == (("w #21", 5, 3), ("w #22", 0, 7))


def test_pairs_that_are_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_recording(access_recording(tmp_path / "a.headway", with_owners=True))
    whole = objects(recording, "pair").accesses
    assert whole is not None
    assert len(whole.pairs) > 2
    monkeypatch.setattr("headway.analyses.objects.owners.MOST_GROUPS", 2)
    cut = objects(recording, "pair")
    assert cut.accesses is not None
    assert cut.accesses.pairs == whole.pairs[:2]
    (notice,) = [each.message for each in cut.notices if each.id == "HW849"]
    assert f"and {len(whole.pairs) - 2} smaller ones are left out" in notice


def test_the_matrix_has_the_busiest_threads_and_says_of_how_many() -> None:
    owned = Owned(Counts(), Counts(), Counts())
    pairs = [AccessPair(1, f"w{each}", each, each, "w1", 1, 1, Counts(each)) for each in (1, 2, 3)]
    table = matrix_table(AccessAnswer(Accessed(6, 0, 0, 0, 0, 0), (), (), owned=owned, pairs=tuple(pairs)), 2)
    assert [row[0] for row in table.rows] == ["w2", "w3"]
    assert table.title.endswith("(2 of 3: --all)")
