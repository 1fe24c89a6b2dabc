"""Tables of programs: joined by name and suite, refused with the line where they can't be used, bounded whoever wrote them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.analyses.numa import tables
from headway.analyses.numa.columns import COLUMNS, ThreadRange, read_cell
from headway.analyses.numa.tables import read_tables
from headway.errors import HeadwayError

Run = Callable[..., tuple[int, str, str]]
HEAD = "application,main_instructions_pct,workers,imbalance_instructions_pct\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(*paths: Path) -> tuple[str, str]:
    with pytest.raises(HeadwayError) as caught:
        read_tables(paths)
    return caught.value.notice.id, caught.value.notice.message


def test_tables_are_joined_by_program_and_a_suite_is_told_by_any_of_them(tmp_path: Path) -> None:
    one = write(tmp_path, "1.csv", HEAD + "h2,29,8,1\nnew,1,7-8,3\n")
    two = write(tmp_path, "2.csv", "suite,program,accesses_m,accesses_m_per_s\ndacapo,h2,51518,103\n")
    first, second = read_tables([one, two]).programs
    assert (first.name, first.suite, second.name, second.suite) == ("h2", "dacapo", "new", None)
    assert (first.number("main_instructions_pct"), first.number("accesses_m")) == (29, 51518)
    assert (first.range("workers"), second.range("workers")) == (ThreadRange(8, 8), ThreadRange(7, 8))
    assert first.sources["accesses_m"] == str(two)


def test_two_programs_of_one_name_are_two_where_all_tables_have_suites(tmp_path: Path) -> None:
    one = write(tmp_path, "1.csv", "suite,program,workers\na,h2,8\nb,h2,2\n")
    two = write(tmp_path, "2.csv", "suite,program,shared_read_pct,shared_write_pct\nb,h2,3,0\n")
    first, second = read_tables([one, two]).programs
    assert (first.number("shared_read_pct"), second.number("shared_read_pct")) == (None, 3)
    nameless = write(tmp_path, "3.csv", "program,mb\nh2,1\n")
    found, message = refused(one, nameless)
    assert found == "HW706"
    assert "3.csv, line 2: h2 is in the suites a, b" in message


def test_an_empty_cell_is_not_known_and_empty_lines_are_none(tmp_path: Path) -> None:
    path = write(tmp_path, "1.csv", "\ufeff" + HEAD + "\na,,8,\n , , , \n")
    (program,) = read_tables([path]).programs
    assert program.values == {"workers": ThreadRange(8, 8)}


def test_a_figure_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "1.csv", HEAD + "a,1,8,2\n")
    assert refused(path, path)[0] == "HW701"
    twice = write(tmp_path, "2.csv", HEAD + "a,1,8,2\na,1,8,2\n")
    found, message = refused(twice)
    assert (found, "line 3" in message) == ("HW701", True)


def test_what_is_missing_beside_other_columns_and_what_nobody_knows_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "1.csv", "application,workers,shared_read_pct,wrokers,note\na,8,3,,x\n")
    missing, unknown = read_tables([path]).notices
    assert (missing.id, unknown.id) == ("HW702", "HW707")
    assert "main_instructions_pct, imbalance_instructions_pct, shared_write_pct" in missing.message
    assert "wrokers, note" in unknown.message


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (HEAD.encode(), "no lines below its head line"),
        (b"name,workers\na,8\n", "no column application or program"),
        (b"application,program,workers\na,a,8\n", "both a column application and a column program"),
        (b"application,wrokers\na,8\n", "none of its columns has a known name"),
        (b"application,workers,workers\na,8,8\n", "column workers is there twice"),
        (b"application,workers\n,8\n", "line 2: no name of a program"),
        (b"application,workers\na,8,9\n", "line 2: 3 cells, the head line has 2"),
        (b"application,workers\na,nan\n", "workers: 'nan' is no whole number"),
        (b"application,workers\na,9-8\n", "begins above its end"),
        (b"application,workers\na,-1\n", "no whole number"),
        (b"application,workers\na,1e3\n", "no whole number"),
        ("application,workers\na,\u0668\n".encode(), "no whole number"),
        (b"application,cpi\na,NaN\n", "'NaN' is no number"),
        (b"application,cpi\na,inf\n", "'inf' is no number"),
        (b"application,cpi\na,1e300\n", "more than 1e+18"),
        (b"application,cpi\na,1e999\n", "more than 1e+18"),
        (b"application,cpi\na,-1\n", "is no number that is 0 or more"),
        (b"application,shared_read_pct\na,101\n", "is more than 100 %"),
        (b"application,parallelism\na,fast\n", "'fast' is none of single-threaded"),
        (b"application,workers\n\xff,8\n", "it is not CSV text"),
        (b'application,workers\n"a,8\n', "it is not CSV text"),
        (b"application,workers\n" + b"a" * 201 + b",8\n", "a cell of 201 characters"),
        (b"application,workers" + b",x" * 200 + b"\n", "202 columns"),
        (b"PAR1\x00\x00", "no"),
    ],
)
def test_a_table_that_can_not_be_used_is_an_error_with_its_line(
    run: Run, tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    code, out, err = run("numa", "--table", path)
    assert (code, out) == (1, "")
    assert err.startswith("HW700: ")
    assert reason in " ".join(err.split())


def test_only_an_ordinary_file_of_bounded_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none"):
        assert refused(path)[0] == "HW700"
    path = write(tmp_path, "x.csv", HEAD + "".join(f"p{each},1,8,2\n" for each in range(9)))
    monkeypatch.setattr(tables, "MOST_PROGRAMS", 9)
    assert len(read_tables([path]).programs) == 9
    monkeypatch.setattr(tables, "MOST_ROWS", 17)
    other = write(tmp_path, "y.csv", HEAD + "".join(f"q{each},1,8,2\n" for each in range(9)))
    assert "more than 17 lines" in refused(path, other)[1]
    monkeypatch.setattr(tables, "MOST_PROGRAMS", 8)
    assert "line 10: more than 8 programs" in refused(path)[1]
    monkeypatch.setattr(tables, "MOST_BYTES", 100)
    assert "more than" in refused(path)[1]
    monkeypatch.setattr(tables, "MOST_TABLES", 1)
    assert "at most 1 tables" in refused(path, path)[1]


def test_names_that_hold_escapes_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    name = "[bold]\x1b[31mred\u202e"
    path = write(tmp_path, "x.csv", HEAD + f"{name},1,8,2\n{name}2,1,8,2\n")
    for arguments in ((), ("--program", name), ("--program", "none")):
        _, out, err = run("numa", "--table", path, *arguments)
        assert "[bold]" in out + err
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err
    code, out, _ = run("numa", "--table", path, "--json")
    assert code == 0
    assert json.loads(out)["programs"][0]["application"] == name


def test_a_table_without_workers_answers_that_nothing_is_determined(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "x.csv", "suite,program,objects_k,mb,objects_k_per_s\nmine,a,1,1,1\nmine,b,2,2,2\n")
    code, out, err = run("numa", "--table", path, "--json")
    assert (code, err) == (0, "")
    said = json.loads(out)
    assert [notice["id"] for notice in said["warnings"]] == ["HW704"]
    for each in said["programs"]:
        assert (each["parallelism"], each["guideline"], each["advice"]) == (None, None, [])
        assert len(each["undetermined"]) == 3
        assert each["memory"]["average_object_bytes"]["value"] == pytest.approx(1048.576)
    assert "the tables don't tell how parallel" in " ".join(run("numa", "--table", path)[1].split())


def test_no_table_both_a_recording_and_a_table_and_an_unknown_program_are_refused(
    run: Run, recording: Path, tmp_path: Path
) -> None:
    assert run("numa")[0] == 2
    assert run("numa", recording, "--table", "t.csv")[0] == 2
    path = write(tmp_path, "x.csv", HEAD + "sunflow,1,8,2\n")
    code, _, err = run("numa", "--table", path, "--program", "sunflwo")
    assert code == 1
    assert err.startswith("HW708: ")
    assert "spelled most like it is sunflow" in " ".join(err.split())


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_takes_a_plain_cell_and_an_empty_one(column: str) -> None:
    assert read_cell(column, "  ") is None
    plain = {"parallelism": "imbalanced", "data_dependencies": "read-only", "locality_bound": "no"}.get(column, "7")
    assert read_cell(column, plain) in (plain, 7.0, ThreadRange(7, 7))
