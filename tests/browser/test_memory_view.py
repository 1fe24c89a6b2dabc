"""The report's memory section in a real Chromium: any two figures beside the published programs, the reader's own marked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.analyses.numa.published import published
from headway.report.html import render_html
from headway.store import open_recording
from support.builders.memory_builder import Worker, memory_recording
from support.drivers.opened_report import AXE, Opened
from support.drivers.recording_cli import json_of

pytestmark = pytest.mark.browser
S = 1_000_000_000


@pytest.fixture(scope="module")
def memory_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    workers = (
        Worker("main", 1, S // 10, objects=1000, bytes=1 << 20),
        Worker("w1", 21, 1 * S, objects=10_000, bytes=10 << 20, arrays=5000, array_length=50_000),
        Worker("w2", 22, 1 * S, objects=20_000, bytes=40 << 20),
    )
    return memory_recording(tmp_path_factory.mktemp("memory") / "a.headway", workers, 4 * S)


@pytest.fixture
def page(browser: Browser, memory_path: Path, tmp_path: Path) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, render_html(open_recording(memory_path), tmp_path / "a.html"))
    yield page
    assert opened.complaints == []
    page.close()


def figures(path: Path) -> dict[str, Any]:
    return {name: each["value"] for name, each in json_of("memory", path)["figures"].items()}


def test_the_points_are_the_published_programs_and_the_recorded_one(page: Page, memory_path: Path) -> None:
    own = figures(memory_path)
    plot = page.locator("figure.scatter")
    plot.locator("select").first.select_option(label="mean object, bytes")
    plot.locator("select").nth(1).select_option(label="arrays, % of objects")
    plot.locator("summary").click()
    rows = plot.locator("tbody tr")
    expect(rows).to_have_count(
        1 + sum({"average_object_bytes", "array_rate_pct"} <= {*each.figures} for each in published())
    )
    shown = {
        row.locator("td").first.inner_text(): [
            float(value) for value in row.locator("data").evaluate_all("all => all.map(d => d.value)")
        ]
        for row in rows.all()
    }
    assert shown["this program"] == [own["average_object_bytes"], own["array_rate_pct"]]
    for each in published():
        assert shown[each.name] == [each.figures["average_object_bytes"], each.figures["array_rate_pct"]]


def test_points_lie_where_their_figures_are(page: Page) -> None:
    """By the logarithm, as mean sizes of objects differ by more than thirty times: equal ratios are equal distances."""
    plot = page.locator("figure.scatter")
    plot.locator("select").first.select_option(label="mean object, bytes")
    plot.locator("select").nth(1).select_option(label="arrays, % of objects")
    expect(plot.locator("svg circle.other")).to_have_count(31)
    at = {
        name: (float(x), float(y))
        for name, x, y in plot.locator("svg circle.other").evaluate_all(
            "all => all.map(c => [c.querySelector('title').textContent, c.getAttribute('cx'), c.getAttribute('cy')])"
        )
    }
    size = {each.name: math.log(each.figures["average_object_bytes"]) for each in published()}
    names = sorted(size, key=lambda name: size[name])
    first, last = names[0], names[-1]
    for name in names:
        part = (size[name] - size[first]) / (size[last] - size[first])
        assert at[name][0] == pytest.approx(at[first][0] + part * (at[last][0] - at[first][0]), abs=0.01)
    share = {each.name: each.figures["array_rate_pct"] for each in published()}
    assert [at[name][1] for name in sorted(share, key=lambda name: share[name])] == sorted(
        (y for _, y in at.values()), reverse=True
    )


def test_axe_finds_nothing_and_nothing_sticks_out(page: Page) -> None:
    page.evaluate(AXE.read_text())
    for section in ("#added-memory", "#added-numa"):
        found = page.evaluate(
            f"axe.run('{section}').then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))"
        )
        assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_the_classes_are_those_of_the_command(page: Page, memory_path: Path) -> None:
    (program,) = json_of("numa", memory_path)["programs"]
    section = page.locator("#added-numa")
    for text in program["undetermined"]:
        expect(section).to_contain_text(f"Not determined: {text}.")
    if program["parallelism"] is not None:
        expect(section).to_contain_text(f"Parallelism: {program['parallelism']}")
