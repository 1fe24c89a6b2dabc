"""The report's view of counters in a real Chromium: the figures of the command, sorting by keyboard, the picture over time."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headway.report.html import render_html
from headway.store import open_recording
from support.builders.counted_builder import ORIGIN_NS, CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.drivers.opened_report import AXE, Opened, eventually
from support.drivers.recording_cli import json_of

pytestmark = pytest.mark.browser
MS = 1_000_000


@pytest.fixture(scope="module")
def recording_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    slices = [
        CountedSlice(0, 0, 0, 40 * MS, (80 * MS, 40 * MS)),
        CountedSlice(1, 1, 20 * MS, 30 * MS, (90 * MS, 20 * MS)),
        CountedSlice(2, 2, 50 * MS, 20 * MS, None),
    ]
    path = tmp_path_factory.mktemp("counters") / "a.headway"
    counted_recording(path, slices, 100 * MS, (("cycles", "instructions"),), ("app", "app", "gc"))
    reads = {"counter": 0, "enabled_ns": 100 * MS, "running_ns": 100 * MS}
    unit = {
        "unit": "imc",
        "scales": [{"event": "imc/reads/", "scale": 0.5, "unit": "MiB"}],
        "step": "software clocks",
        "groups": [{"events": ["imc/reads/"]}],
        "absent": [],
        "from_ns": ORIGIN_NS,
        "to_ns": ORIGIN_NS + 100 * MS,
        "cpus": [0, 1],
        "rows": [{**reads, "cpu": 0, "value": 500}, {**reads, "cpu": 1, "value": 31}],
    }
    edit(path, socket_counters=[unit])
    return path


def test_the_table_has_the_figures_of_the_command_and_is_sorted_by_keyboard(
    browser: Browser, recording_path: Path, tmp_path: Path
) -> None:
    said = {row["tid"]: row for row in json_of("counters", recording_path)["threads"]}
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, render_html(open_recording(recording_path), tmp_path / "a.html"))
    section = page.locator("#counters")
    expect(section).to_contain_text("Counted: CPI (cycles and instructions, hence what an instruction takes).")
    lines = page.locator("#counter-table tbody tr")
    assert [int(tid) for tid in lines.locator("td:nth-child(3)").all_inner_texts()] == [4000, 4001, 4002]
    for line, row in zip(lines.all(), said.values(), strict=True):
        values = line.locator("data").evaluate_all("all => all.map(d => Number(d.value))")
        figures = [*row["counts"].values(), *row["metrics"].values()]
        assert values == [row["cpu_ns"], *(each["value"] for each in figures if each["value"] is not None)]
    button = page.locator("#counter-table thead button").nth(4)
    button.focus()
    page.keyboard.press("Enter")
    heading = page.locator("#counter-table thead th").nth(4)
    expect(heading).to_have_attribute("aria-sort", "descending")
    tids = lines.locator("td:nth-child(3)")
    eventually(page, lambda: tids.all_inner_texts() == ["4001", "4000", "4002"], "sorted by cycles")
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    eventually(page, lambda: tids.all_inner_texts() == ["4000", "4001", "4002"], "what is not known stays last")
    expect(section).to_contain_text("shaded: threads ran, and what they counted is not known")
    assert opened.complaints == []
    page.close()


def test_units_of_whole_sockets_are_a_table_of_their_own(
    browser: Browser, recording_path: Path, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, render_html(open_recording(recording_path), tmp_path / "a.html"))
    lines = page.locator("#socket-units tbody tr").all_inner_texts()
    assert [" ".join(line.split()) for line in lines] == ["imc/reads/ \u2013 0 250 MiB", "imc/reads/ \u2013 1 15.5 MiB"]
    assert "imc" not in page.locator("#counter-table").inner_text()
    assert opened.complaints == []
    page.close()


def test_axe_finds_nothing_and_nothing_sticks_out(browser: Browser, recording_path: Path, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, render_html(open_recording(recording_path), tmp_path / "a.html"))
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run('#counters').then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert opened.complaints == []
    page.close()
