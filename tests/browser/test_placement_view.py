"""The report's view of placements in a real Chromium: the figures of the records, the strip over time, nothing amiss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.report.html import render_html
from headway.report.html.placements import MOST_NOTES
from headway.store import open_recording
from support.builders.placement_records import S, placement_records, write_records
from support.drivers.opened_report import AXE, Opened, eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, recording_path: Path, tmp_path: Path) -> Iterator[Page]:
    """Open a recording of 3 s; placing began a second before it, and moved the program in its middle."""
    recording = open_recording(recording_path)
    (pid,) = recording.query("SELECT min(pid) FROM thread").fetchall()[0]
    records = placement_records(pid, recording.window_ns[0] - S)
    records[4]["at_ns"] -= S  # memory moved while it was recorded
    path = write_records(tmp_path / "placed.jsonl", records)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, render_html(recording, tmp_path / "a.html", placements=path))
    yield page
    assert opened.complaints == []
    page.close()


def test_each_time_on_a_placement_has_its_reason_and_what_came_of_it(page: Page) -> None:
    section = page.locator("#placements")
    expect(section).to_contain_text("1 move between node 1 and all 2 nodes, judged by lines of work.log.")
    expect(section).to_contain_text("Ended: somebody asked to end.")
    rows = [" ".join(text.split()) for text in page.locator("#placement-table tbody tr").all_inner_texts()]
    assert rows == [
        "0.0 s 1.00 s all nodes as it was started 0 \u2013 \u2013",
        "1.0 s 2.00 s node 1 to compare 7 0.50 64 MiB",
    ]


def test_the_strip_is_as_long_as_each_time_and_half_as_high_on_one_node(page: Page) -> None:
    strip = page.locator("#placements .placements")
    whole = strip.bounding_box()
    every, one = (strip.locator(f".{name}").bounding_box() for name in ("all", "one"))
    assert whole is not None
    assert every is not None
    assert one is not None
    assert every["width"] == pytest.approx(whole["width"] / 3, abs=1)
    assert one["width"] == pytest.approx(2 * whole["width"] / 3, abs=1)
    assert one["x"] == pytest.approx(every["x"] + every["width"], abs=1)
    assert one["height"] == pytest.approx(every["height"] / 2, abs=1)


def test_notes_beyond_those_that_are_shown_are_counted(browser: Browser, recording_path: Path, tmp_path: Path) -> None:
    recording = open_recording(recording_path)
    (pid,) = recording.query("SELECT min(pid) FROM thread").fetchall()[0]
    start, *_ = placement_records(pid, recording.window_ns[0])
    notes = [{"event": "note", "at_ns": start["at_ns"] + 1, "text": "balanced"}] * (MOST_NOTES + 2)
    page = browser.new_page()
    placements = write_records(tmp_path / "placed.jsonl", [start, *notes])
    opened = Opened(page, render_html(recording, tmp_path / "a.html", placements=placements))
    expect(page.locator("#placements")).to_contain_text("2 later notes are in the records.")
    assert page.locator("#placements p", has_text="balanced").count() == MOST_NOTES
    assert opened.complaints == []
    page.close()


def test_axe_finds_nothing_and_nothing_sticks_out(page: Page) -> None:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run('#placements').then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.set_viewport_size({"width": 400, "height": 900})
    eventually(page, lambda: page.evaluate("document.documentElement.scrollWidth") <= 400, "as wide as the page")


def test_without_records_there_is_no_such_section(browser: Browser, recording_path: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    Opened(page, render_html(open_recording(recording_path), tmp_path / "a.html"))
    assert page.locator("#placements").count() == 0
    page.close()
