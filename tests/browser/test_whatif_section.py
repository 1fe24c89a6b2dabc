"""The report's section "What if" in a real Chromium: cores by changes, intervals, and the reason of a refusal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.report.html import build_payload, render_html
from headway.report.html.page import write_page
from headway.store import open_recording
from support.drivers.opened_report import AXE, Opened
from unit.analyses.whatif.test_whatif_explained import STAGE

pytestmark = pytest.mark.browser


def opened(browser: Browser, recording: Path, page: Path, width: int) -> tuple[Page, Opened]:
    shown = browser.new_page(viewport={"width": width, "height": 900})
    return shown, Opened(shown, render_html(open_recording(recording), page))


@pytest.mark.parametrize("width", [1280, 400])
def test_the_grid_has_a_time_with_its_interval_for_each_number_of_cores_and_change(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    page, shown = opened(browser, STAGE.write(tmp_path / "a.headway"), tmp_path / "a.html", width)
    section = page.locator("#added-whatif")
    expect(section).to_contain_text("its replay takes 900 ns, 0% off")
    times, limits = section.locator("table").all()
    rows = [row.locator("td").all_inner_texts() for row in times.locator("tbody tr").all()]
    assert times.locator("thead th").all_inner_texts() == ["change", "1 core", "3 cores", "6 cores", "12 cores"]
    assert rows[0][0] == "unchanged"
    assert rows[0][2].startswith("900 ns (393 ns")  # 510 ns without locks, less what another run of 900 ns differs by
    assert rows[1][2].startswith("510 ns (")
    assert "serial section: three" in limits.inner_text()
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run('#added-whatif').then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert shown.complaints == []
    page.close()


def test_a_run_that_can_not_be_replayed_has_the_reason_instead(browser: Browser, tmp_path: Path) -> None:
    """Nobody knows who released the lock to whom."""
    recording = replace(STAGE, wakers={thread: [(-1, 1)] * 2 for thread in range(3)})
    page, shown = opened(browser, recording.write(tmp_path / "a.headway"), tmp_path / "a.html", 1280)
    expect(page.locator("#added-whatif")).to_contain_text("Nothing is predicted")
    expect(page.locator("#added-whatif")).to_contain_text("HW823")
    assert shown.complaints == []
    page.close()


CHANGE = "without lock at org.apache.lucene.index.DocumentsWriterPerThreadPool.getAndLock:{0} and without I/O at {0}"


@pytest.mark.parametrize(("width", "is_whole"), [(1400, True), (400, False)])
def test_changes_with_long_names_can_be_read_and_their_table_is_no_wider_than_a_large_page(
    width: int, is_whole: bool, browser: Browser, tmp_path: Path
) -> None:
    """On a small screen it may be moved sideways: names must not be squeezed to a letter on a line."""
    rows = [[CHANGE.format(number), *["45.6 ms (38.2 ms to 51.9 ms)"] * 4] for number in (170, 171, 172)]
    columns = ["change", "1 core", "2 cores", "4 cores", "8 cores"]
    section = {
        **{"name": "whatif", "package": "headway", "title": "What if", "sentences": ["Best."]},
        **{"tables": [{"title": "times", "columns": columns, "rows": rows, "left_out": 0}], "scatter": None, "heat_map": None},
    }  # fmt: skip
    recording = open_recording(STAGE.write(tmp_path / "a.headway"))
    path = write_page({**build_payload(recording), "sections": [section]}, tmp_path / "a.html")
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, path)
    box = page.locator("#added-whatif .scroll")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth") == is_whole
    first = page.locator("#added-whatif tbody td:first-child").first
    assert first.evaluate("cell => cell.clientWidth") >= 100
    page.close()
