"""A causal recording's page in a real Chromium: curves that are the answer's, hot beside decisive, keys, hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.report.html.causal import build_causal
from headway.report.html.page import write_page
from headway.report.html.source_lines import Sources
from support.builders import causal_page_builder as build
from support.drivers.opened_report import Opened, assert_for_everyone, exact_values, open_table

pytestmark = pytest.mark.browser
ANSWER = build.answer()
FIRST = ANSWER.lines[0]


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("causal")
    (directory / "a").mkdir()
    (directory / "a/Store.java").write_text("".join(f"\tint x{i} = {i};\n" for i in range(1, 90)), encoding="utf-8")
    (directory / "a/Evil.java").write_text(f"// 1\n// 2\n// {build.EVIL}\n", encoding="utf-8")
    payload = build_causal(ANSWER, Sources([directory]), name=build.EVIL)
    return write_page(payload, directory / "made.html")


@pytest.fixture
def opened(browser: Browser, page_path: Path) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield (found := Opened(page, page_path))
    assert found.complaints == []
    page.close()


def circles(page: Page, within: str) -> list[dict[str, float]]:
    """Return the dots of a curve: their virtual speedup, place and radius."""
    found: list[dict[str, float]] = page.locator(f"{within} circle.experiment").evaluate_all(
        "all => all.map(e => ({virtual: +e.dataset.virtual, x: +e.getAttribute('cx'), y: +e.getAttribute('cy'), "
        "r: +e.getAttribute('r')}))"
    )
    return found


def zero(page: Page, within: str) -> dict[str, float]:
    """Return the line at 0 of a curve."""
    found: dict[str, float] = page.locator(f"{within} line.zero").evaluate(
        "e => ({x1: +e.getAttribute('x1'), x2: +e.getAttribute('x2'), y: +e.getAttribute('y1')})"
    )
    return found


def test_the_verdict_comes_first_and_nothing_is_asked_of_a_network(opened: Opened, page_path: Path) -> None:
    page = opened.page
    expect(page.locator("h2").first).to_have_text("Verdict")
    expect(page.locator(".headline")).to_contain_text("Making Store.java:42 half as slow")
    assert opened.requests == [page_path.as_uri()]


def test_the_large_curve_has_the_answer_s_points(opened: Opened) -> None:
    page = opened.page
    page.locator("#chosen svg").wait_for()
    dots, base = circles(page, "#chosen"), zero(page, "#chosen")
    assert [dot["virtual"] for dot in dots] == [point.virtual_speedup_pct for point in FIRST.points]
    # One scale: y is linear in the program's speedup with 0 on its line, x in the virtual one from edge to edge.
    per_pct = (base["y"] - dots[-1]["y"]) / FIRST.points[-1].program_speedup_pct
    assert per_pct > 1
    for dot, point in zip(dots, FIRST.points, strict=True):
        assert base["y"] - dot["y"] == pytest.approx(point.program_speedup_pct * per_pct, abs=0.01)
        across = base["x1"] + (base["x2"] - base["x1"]) * point.virtual_speedup_pct / 100
        assert dot["x"] == pytest.approx(across, abs=0.01)
    radii = [dot["r"] for dot in dots]
    assert radii == sorted(radii)
    assert radii[0] < radii[-1]
    assert page.locator("#chosen path.band").count() == 1
    most = page.locator("#chosen circle.most").evaluate("e => [+e.getAttribute('cx'), +e.getAttribute('cy')]")
    curve = FIRST.curve
    assert curve is not None
    assert curve.maximum_at_pct == 50
    assert most[0] == pytest.approx((base["x1"] + base["x2"]) / 2, abs=0.01)
    assert base["y"] - most[1] == pytest.approx((curve.maximum_pct or 0) * per_pct, abs=0.01)


def test_the_table_below_the_curve_is_the_answer_s(opened: Opened) -> None:
    table = open_table(opened.page, "the experiments with this line")
    rows = table.locator("tbody tr")
    assert rows.count() == len(FIRST.points)
    for i, point in enumerate(FIRST.points):
        shown = [float(value or "nan") for value in exact_values(rows.nth(i))]
        interval = [point.program_speedup_pct, point.low_pct, point.high_pct]
        assert shown == [*interval, point.visits, point.experiments, point.gc_experiments]


def test_all_small_curves_have_one_scale(opened: Opened) -> None:
    page = opened.page
    tried = [line for line in ANSWER.lines if line.points]
    page.locator("[data-line='0'] svg").wait_for()
    assert page.locator(".multiple").count() == len(tried)
    base = zero(page, "[data-line='0']")["y"]
    per_pct = (base - circles(page, "[data-line='0']")[-1]["y"]) / FIRST.points[-1].program_speedup_pct
    for i, line in enumerate(tried):
        dots = circles(page, f"[data-line='{i}']")
        for dot, point in zip(dots, line.points, strict=True):
            assert base - dot["y"] == pytest.approx(point.program_speedup_pct * per_pct, abs=0.01), line.line


def test_a_line_that_needs_more_experiments_is_grey_and_says_how_long(opened: Opened) -> None:
    page = opened.page
    weak = page.locator(".multiple.weak")
    assert weak.count() == 1
    expect(weak.locator(".multiple-outcome")).to_have_text("needs 3 more minutes")  # 150 s
    grey = weak.locator("circle.experiment").first.evaluate("e => getComputedStyle(e).fill")
    strong = page.locator(".multiple:not(.weak) circle.experiment").first.evaluate("e => getComputedStyle(e).fill")
    assert grey != strong
    assert weak.locator("circle.most").count() == 0


def bars(page: Page) -> dict[str, tuple[float, float | None, float, float]]:
    """Return per line: its share and gain as figures, and the widths of their bars."""
    rows: list[dict[str, Any]] = page.locator(".two-sided [data-row]").evaluate_all(
        """rows => rows.map(row => ({
          name: row.querySelector('button').title,
          share: +row.querySelector('.left data').value,
          gain: row.querySelector('.right data') ? +row.querySelector('.right data').value : null,
          left: row.querySelector('.left .bar').style.width, right: row.querySelector('.right .bar')?.style.width ?? '0%',
        }))"""
    )
    return {
        row["name"]: (row["share"], row["gain"], float(row["left"].rstrip("%")), float(row["right"].rstrip("%")))
        for row in rows
    }


def test_hot_and_decisive_are_told_apart(opened: Opened) -> None:
    shown = bars(opened.page)
    assert len(shown) == len(ANSWER.lines)
    hot, cold = shown["Hot.java:100"], shown["Store.java:42"]
    assert (hot[0], hot[1]) == (60, 0)
    assert cold[:2] == (3, FIRST.curve.maximum_pct if FIRST.curve else None)
    for share, gain, left, right in shown.values():
        assert left == pytest.approx(hot[2] * share / 60, abs=0.01)
        assert right == pytest.approx(abs(gain or 0) / 40 * cold[3], abs=0.01)
    assert shown["Lock.java:9"][1] == pytest.approx(-20)
    assert shown["Never.java:1"][1] is None
    red = opened.page.locator(".two-sided .bar.loss")
    assert red.count() == 1


def test_the_table_of_lines_is_the_answer_s(opened: Opened) -> None:
    rows = open_table(opened.page, "all lines").locator("tbody tr")
    for i, line in enumerate(ANSWER.lines):
        curve = line.curve
        most = (curve.maximum_pct, curve.maximum_low_pct, curve.maximum_high_pct, curve.slope) if curve else (None,) * 4
        expected = [line.samples_pct, line.blocked_pct, *most, line.experiments]
        assert [None if value is None else float(value) for value in exact_values(rows.nth(i))][:7] == expected


def test_lines_are_chosen_with_the_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator(".multiple[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#chosen h3")).to_have_text("Order.java:7")
    expect(page.locator("[data-line='1']")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("#chosen h3")).to_have_text("GC pauses")
    page.keyboard.press("Home")
    expect(page.locator("#chosen h3")).to_have_text("Store.java:42")
    page.locator("#chosen .mark[tabindex='0']").focus()
    page.keyboard.press("End")
    said = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert said == "line 100% faster: program +39.5%, +38.0% to +42.0%; 21 experiments"


def test_a_bar_leads_to_its_curve(opened: Opened) -> None:
    page = opened.page
    page.locator(".two-sided button", has_text="Hot.java:100").click()
    expect(page.locator("#chosen h3")).to_have_text("Hot.java:100")
    expect(page.locator("#curves")).to_be_focused()
    expect(page.locator(".two-sided button", has_text="Never.java:1")).to_be_disabled()


def test_another_progress_point_has_its_own_curves(opened: Opened) -> None:
    page = opened.page
    page.locator("#curves select").select_option(label="order (latency)")
    expect(page.locator(".multiple")).to_have_count(1)
    points = FIRST.curves[1].points
    base = zero(page, "#chosen")["y"]
    dots = circles(page, "#chosen")
    per_pct = (base - dots[-1]["y"]) / points[-1].program_speedup_pct
    for dot, point in zip(dots, points, strict=True):
        assert base - dot["y"] == pytest.approx(point.program_speedup_pct * per_pct, abs=0.01)


def test_the_source_around_the_line_is_shown_with_the_line_marked(opened: Opened) -> None:
    page = opened.page
    expect(page.locator("#chosen .source .target .text")).to_have_text("int x42 = 42;")
    numbers = page.locator("#chosen .source .number").all_inner_texts()
    assert numbers == [str(i) for i in range(37, 48)]


def test_hostile_names_and_sources_are_text_only(opened: Opened) -> None:
    page = opened.page
    page.locator(".multiple.weak").click()
    expect(page.locator("#chosen h3")).to_contain_text("</script><script>window.hacked=1</script>\\u202eevil")
    expect(page.locator("#chosen .source .target .text")).to_contain_text("<script>window.hacked=1</script>\\u202eevil")
    assert page.evaluate("window.hacked") is None
    assert "\u202e" not in page.locator("body").inner_text()


def test_progress_points_are_listed_with_rates_and_latency(opened: Opened) -> None:
    rows = opened.page.locator("table[data-table='progress'] tbody tr")
    for i, point in enumerate(ANSWER.progress_points):
        shown = [None if value is None else float(value) for value in exact_values(rows.nth(i))]
        assert shown[2:] == [point.hits, point.hits_per_s, point.latency_ns]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_it_is_for_everyone(browser: Browser, page_path: Path, scheme: Any, width: int) -> None:
    assert_for_everyone(browser, page_path, scheme=scheme, width=width)


def test_a_page_without_an_experiment_says_so(browser: Browser, tmp_path: Path) -> None:
    path = write_page(build_causal(build.answer((), progress_points=(), notices=())), tmp_path / "empty.html")
    page = browser.new_page()
    found = Opened(page, path)
    expect(page.locator("#curves .missing")).to_contain_text("No experiment counts")
    expect(page.locator("#warnings .missing")).to_contain_text("nothing stood in the way")
    assert found.complaints == []
    page.close()


def test_hundreds_of_lines_are_reached_and_drawn_when_asked_for(browser: Browser, tmp_path: Path) -> None:
    lines = tuple(build.line(f"Many.java:{i}", 0.05, build.curve("gain", 0.5 - i / 20000)) for i in range(1, 3001))
    path = write_page(build_causal(build.answer(lines)), tmp_path / "many.html")
    page = browser.new_page()
    found = Opened(page, path)
    expect(page.locator(".multiple")).to_have_count(24)
    page.locator("#curves .toolbar button").click()
    expect(page.locator(".multiple")).to_have_count(len(build_causal(build.answer(lines))["lines"]))
    expect(page.locator("#compare .rest").last).to_contain_text("more lines are not on this page")
    assert found.complaints == []
    page.close()
