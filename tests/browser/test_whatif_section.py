"""The report's section "What if" in a real Chromium: cores by changes, intervals, and the reason of a refusal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.report.html import render_html
from headway.store import open_recording
from support.drivers.opened_report import AXE, Opened
from unit.test_whatif_explained import STAGE

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
    assert [row[0] for row in rows] == ["1", "3", "6", "12"]
    assert rows[1][1].startswith("900 ns (510 ns")
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
