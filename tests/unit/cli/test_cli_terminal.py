"""The terminal report: the verdict first, tables in 80 columns, warnings last."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.analyses import overview as overviews
from headway.analyses.common.units import duration, percent, significant
from headway.analyses.lost_cores.analysis import why
from headway.analyses.overview import overview
from headway.analyses.scheduling.walltime import default_cores
from headway.report.terminal import make_console, render_overview
from headway.report.terminal.printing.text import printable
from headway.store import open_recording
from support.builders import synthetic
from support.builders.synthetic import FakeThread

THREADS = [
    FakeThread("app", 0, [("R", 300), ("B", 200), ("W", 50), ("R", 450)], "main", stolen=[30, 45]),
    FakeThread("gc", 100, [("R", 100), ("W", 200), ("R", 100)], "GC Thread#0"),
    FakeThread("jit", 100, [("R", 100)], "[red]evil[/red]\x1b]0;title\x07"),
]


def shown(path: Path, **facts: Any) -> str:
    synthetic.write(path, THREADS, 1000, **facts)
    out = io.StringIO()
    render_overview(open_recording(path), make_console(out))
    return out.getvalue()


def test_the_verdict_comes_first_then_tables_then_warnings(tmp_path: Path) -> None:
    pauses = [{"pid": 100, "start_ns": synthetic.ORIGIN, "dur_ns": 100, "kind": "gc_pause", "cause": "x"}]
    text = shown(tmp_path / "a.headway", tables={"jvm_phase": pauses}, notices=[{"id": "HW100", "message": "note"}])
    assert "a single thread was active" not in text, "the account says it better"
    places = [
        text.index(part)
        for part in (
            "2 cores x 1.00 us = 2.00 core-us: ",
            "Where the lost cores went",
            "active on average",
            "GC threads took",
            "On 2 cores it took",
            "The host took",
            "Threads active at the same time",
            "By kind of thread",
            "Wall time by number of cores",
            "Threads that ran longest",
            "Warnings",
            "HW100",
        )
    ]
    assert places == sorted(places)
    assert "1 GC pause took 10%" in text.replace("\n", " ").replace("  ", " ")


def test_it_fits_80_columns_and_holds_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    text = shown(tmp_path / "a.headway", notices=[{"id": "HW100", "message": "long " * 60, "remedy": "sudo " * 40}])
    assert max(map(len, text.splitlines())) <= 80
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "[red]evil" in text


@pytest.mark.parametrize("width", [20, 40, 60])
def test_on_a_narrow_terminal_names_are_shortened_and_figures_are_whole(tmp_path: Path, width: int) -> None:
    named = replace(THREADS[0], name="a-thread-with-a-name")
    synthetic.write(tmp_path / "a.headway", [named, *THREADS[1:]], 1000)
    pages = []
    for columns in (80, width):
        console = make_console(io.StringIO())
        console.width = columns
        render_overview(open_recording(tmp_path / "a.headway"), console)
        pages.append([line.rstrip() for line in console.file.getvalue().splitlines()])  # type: ignore[attr-defined]
    figures = re.compile(r" *(app|gc|jit|[0-9]+) +[0-9.]+ [num]?s ")
    wide, narrow = ([re.sub("#.* ", "", line).split() for line in page if figures.match(line)] for page in pages)
    assert len(wide) > 5
    assert narrow == wide
    assert any(line.startswith("a-thread-\N{HORIZONTAL ELLIPSIS} ") for line in pages[1])


def test_without_scheduling_records_it_says_so_and_shows_the_threads(tmp_path: Path) -> None:
    text = shown(tmp_path / "a.headway", mode="agent", notices=[{"id": "HW101", "message": "mode agent (no rights)"}])
    assert "3 threads were seen" in text
    assert "HW101" in text
    assert "GC Thread#0" in text
    assert "Threads active at the same time" not in text


def test_a_withheld_figure_is_shown_with_its_reason(tmp_path: Path) -> None:
    loss = {"source": "sched", "cpu": 0, "start_ns": synthetic.ORIGIN, "dur_ns": 500, "events": 9}
    text = shown(tmp_path / "a.headway", tables={"loss": [loss]}, losses={"events": 9, "spans": 1})
    assert "withheld" in text
    assert "50% of the wall time" in text.replace("\n", " ")


def test_levels_above_eight_are_put_together(tmp_path: Path) -> None:
    rows = [
        dict.fromkeys([f"{what}_{kind}" for what in ("active", "running") for kind in synthetic.KINDS], 0)
        | {"bin_start_ns": synthetic.ORIGIN, "dur_ns": 10, "stolen_ns": 0, "active_app": active}
        for active in (0, 3, 8, 9, 16, 17, 300)
    ]
    synthetic.write(tmp_path / "a.headway", [], 70, activity=rows)
    out = io.StringIO()
    render_overview(open_recording(tmp_path / "a.headway"), make_console(out))
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert ["9-16", "20.0", "ns", "29%"] in [line[:4] for line in lines]
    assert ["257-300", "10.0", "ns", "14%"] in [line[:4] for line in lines]


def test_findings_carry_the_figures_they_are_made_of(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.headway", THREADS, 1000)
    result = overview(open_recording(tmp_path / "a.headway"))
    assert result.parallelism is not None
    assert result.walltime is not None
    by_id = {finding.id: finding for finding in result.findings}
    assert by_id["parallelism"].figures["mean_active"] == result.parallelism.mean_active
    assert by_id["serial"].figures["serial_share"] == result.parallelism.serial_share
    assert by_id["walltime"].figures["measured_ns"] == 1000
    assert by_id["stolen"].figures["stolen_core_ns"] == 75
    assert result.why is not None
    assert by_id["cores"].figures["core_ns"] == result.why.account.core_ns == 2000
    assert by_id["lost_most"].figures["core_ns"] == max(loss.core_ns for loss in result.why.account.lost)
    assert len({notice.id for notice in result.notices}) == len(result.notices)


@pytest.mark.parametrize(
    ("used", "others", "lost", "is_said"),
    [(100, 1800, 100, True), (1100, 900, 0, False), (100, 900, 1000, False), (2000, None, 0, False)],
)
def test_the_verdict_says_first_that_the_cores_were_others_if_they_had_the_largest_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, used: int, others: int | None, lost: int, is_said: bool
) -> None:
    synthetic.write(tmp_path / "a.headway", THREADS, 1000)
    recording = open_recording(tmp_path / "a.headway")
    found = why(recording)
    first = replace(found.account.lost[0], core_ns=lost, share=lost / 2000)
    account = replace(found.account, used_ns={"app": used}, stolen_ns=0, other_processes_ns=others, lost=(first,))
    monkeypatch.setattr(overviews, "why", lambda *_, **__: replace(found, account=account))
    findings = overview(recording).findings
    assert (findings[0].id == "others") == is_said
    if is_said:
        assert findings[0].text.startswith(
            "Other processes had the cores for 90% of the core time, the program for 5.0%"
        )
        out = io.StringIO()
        render_overview(recording, make_console(out))
        assert "Other processes had the cores" in out.getvalue()


def test_a_figure_at_the_end_of_its_interval_is_told_as_the_interval(tmp_path: Path) -> None:
    starved = {f"{what}_{kind}": 0 for what in ("active", "running") for kind in synthetic.KINDS}
    starved |= {
        "bin_start_ns": synthetic.ORIGIN,
        "dur_ns": 8 * 10**9,
        "stolen_ns": 0,
        "active_app": 4,
        "running_app": 1,
    }
    synthetic.write(tmp_path / "a.headway", [], 8 * 10**9, activity=[starved])
    text = next(f.text for f in overview(open_recording(tmp_path / "a.headway")).findings if f.id == "walltime")
    assert "on 4 cores it would take 2.00 s to 4.00 s, on 1 core it would take 8.00 s to 16.0 s." in text


@pytest.mark.parametrize(
    ("recorded", "asked"), [(1, (1, 2, 4)), (2, (1, 2, 4, 8)), (3, (1, 3, 6, 12)), (8, (1, 4, 8, 16, 32))]
)
def test_the_cores_asked_for_by_default_lie_around_the_recorded_ones(recorded: int, asked: tuple[int, ...]) -> None:
    assert default_cores(recorded) == asked


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (999.6, "1.00 us"),
        (1_250_000, "1.25 ms"),
        (999_999_600, "1.00 s"),
        (119e9, "119 s"),
        (125e9, "2 min 5 s"),
        (3600e9 * 2 + 60e9, "2 h 1 min"),
        (-2e6, "-2.00 ms"),
    ],
)
def test_durations_have_three_digits_and_the_unit_that_fits(ns: float, text: str) -> None:
    assert duration(ns) == text


def test_numbers_never_show_an_exponent() -> None:
    assert [significant(x) for x in (0, 0.0001, 0.052, 1.234, 9.996, 99.96, 12345.6)] == [
        *("0", "0", "0.05", "1.23", "10.0", "100", "12346"),
    ]
    assert [percent(x) for x in (0, 0.0004, 0.042, 0.0996, 0.37, 1)] == ["0%", "<0.1%", "4.2%", "10%", "37%", "100%"]


def test_names_are_spelled_out_where_they_are_not_plainly_visible() -> None:
    assert printable("gr\u00fcn \u4e2d \U0001f600") == "gr\u00fcn \u4e2d \U0001f600"
    assert printable("a\x1b[0m\u202eb\n\u2028\u200b") == "a\\x1b[0m\\u202eb\\x0a\\u2028\\u200b"
