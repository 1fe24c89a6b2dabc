"""The report's heat map of whose objects threads use, in a real Chromium: the numbers of --json, by kind, sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from headway.report.html import render_html
from headway.store import open_recording
from support.builders.allocation_spool_builder import access_recording
from support.drivers.opened_report import AXE, Opened, exact_values
from support.drivers.recording_cli import json_of

pytestmark = pytest.mark.browser
KINDS = ("field reads", "field writes", "element reads", "element writes")
NAMES = {-2: "(virtual threads)", -1: "(many threads)", 0: "(unknown)"}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return access_recording(tmp_path_factory.mktemp("owners") / "a.headway", with_owners=True)


def command_counts(recording: Path) -> dict[tuple[str, str], tuple[int, ...]]:
    """Return by accessor and owner what the command says of each kind."""
    pairs: list[dict[str, Any]] = json_of("objects", recording)["pairs"]
    return {
        (each["accessor"] or NAMES[each["java_id"]], each["owner"] or NAMES[each["owner_java_id"]]): tuple(
            each[what][how] for what in ("tuple", "array") for how in ("read", "write")
        )
        for each in pairs
    }


def shown(table: Locator) -> dict[tuple[str, str], int]:
    """Return by row and column what the heat map shows."""
    heads = [text.rstrip(" ↑↓") for text in table.locator("thead th").all_text_contents()]
    found = {}
    for row in table.locator("tbody tr").all():
        name = row.locator("th").inner_text()
        for head, value in zip(heads[1:], exact_values(row), strict=True):
            found[name, head] = int(value or "-1")
    return found


@pytest.mark.parametrize("width", [1280, 400])
def test_the_heat_map_has_the_numbers_of_json_and_sorts_by_them(
    browser: Browser, recording: Path, tmp_path: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    opened = Opened(page, render_html(open_recording(recording), tmp_path / "a.html"))
    heat = page.locator("#added-objects figure.heat")
    stated = command_counts(recording)
    for kind, name in [(None, "all accesses"), *enumerate(KINDS)]:
        heat.locator("select").select_option(label=name)
        cells = shown(heat.locator("table"))
        for (accessor, owner), counts in stated.items():
            assert cells[accessor, owner] == (sum(counts) if kind is None else counts[kind])
        groups = ("own objects", "others'", "unknown owner")
        for accessor in {accessor for accessor, _ in stated}:
            assert sum(cells[accessor, group] for group in groups) == sum(
                value for (row, column), value in cells.items() if row == accessor and column not in groups
            )
    own = heat.locator("td.own")
    expect(own).to_have_count(1)
    button = heat.locator("thead button", has_text="others'")
    button.click()
    expect(heat.locator("thead th", has_text="others'")).to_have_attribute("aria-sort", "descending")
    column = [int(exact_values(row)[1] or "-1") for row in heat.locator("tbody tr").all()]
    assert column == sorted(column, reverse=True)
    button.focus()
    page.keyboard.press("Enter")
    assert [int(exact_values(row)[1] or "-1") for row in heat.locator("tbody tr").all()] == sorted(column)
    page.evaluate(AXE.read_text())
    found = page.evaluate(
        "axe.run('#added-objects').then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))"
    )
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.complaints == []
    page.close()


def test_a_recording_without_owners_has_no_heat_map(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    without = access_recording(tmp_path / "a.headway")
    opened = Opened(page, render_html(open_recording(without), tmp_path / "a.html"))
    expect(page.locator("#added-objects")).to_contain_text("Reads and writes by class")
    expect(page.locator("figure.heat")).to_have_count(0)
    assert opened.complaints == []
    page.close()
