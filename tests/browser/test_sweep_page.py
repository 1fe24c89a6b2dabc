"""A sweep's page in a real Chromium: advice first, figures that are the command's, and views that add up."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.analyses.speedups.analysis import answer
from headway.report.html import render_sweep
from headway.report.html.page import write_page
from headway.report.html.speedups import sweep_payload
from headway.store.sweep import Sweep
from support.builders import primitives_builder as build
from support.builders import sweep_builder
from support.drivers.opened_report import Opened, assert_for_everyone, eventually
from support.drivers.recording_cli import HEADWAY, json_of

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return sweep_builder.make(tmp_path_factory.mktemp("sweep") / "made.sweep")


@pytest.fixture(scope="module")
def page_path(sweep: Sweep) -> Path:
    return render_sweep(sweep, sweep.path.with_suffix(".html"))


@pytest.fixture(scope="module")
def expected(sweep: Sweep) -> Any:
    return json_of("speedups", sweep.path)


@pytest.fixture
def opened(browser: Browser, page_path: Path) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield (found := Opened(page, page_path))
    assert found.complaints == []
    page.close()


def table(page: Page, name: str) -> dict[str, list[float | None]]:
    """Return the exact figures of a table over the numbers of threads, row by row."""
    found = page.locator(f"table[data-table='{name}']")
    if not found.count():
        below = {"speedups": "real, computed", "stack": "where the threads go", "times": "execution times"}
        page.locator("details.alternative summary", has_text=below.get(name, name)).click()
        found.wait_for()
    names = found.locator("tbody th").evaluate_all("all => all.map(each => each.title)")
    values = found.locator("tbody tr").evaluate_all(
        """rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => {
          const data = cell.querySelector('data');
          return data ? Number(data.value) : null;
        }))"""
    )
    return dict(zip(names, values, strict=True))


def test_the_advice_comes_first(opened: Opened, expected: Any) -> None:
    page, verdict = opened.page, expected["verdict"]
    assert page.locator("h1, h2").all_inner_texts()[:2] == ["made.sweep", "Verdict"]
    expect(page.locator(".headline")).to_have_text(verdict["text"])
    seen = [sentence.replace("\u202e", "\\u202e") for sentence in verdict["evidence"]]
    assert page.locator("#verdict li").all_inner_texts() == seen
    expect(page.locator(".next code")).to_have_text(verdict["next"])
    row = next(row for row in expected["threads"] if row["threads"] == verdict["threads"])
    shown = page.locator(".tile .value").evaluate_all(
        "all => all.map(e => { const d = e.querySelector('data'); return d ? Number(d.value) : null; })"
    )
    possible = None if verdict["limit"] is None else row["possible"][verdict["limit"]]
    assert shown == [row["real_speedup"], row["computed_speedup"], possible, verdict["gain"]]


def test_it_opens_from_a_file_without_a_request(opened: Opened, page_path: Path) -> None:
    assert opened.requests == [page_path.as_uri()]
    assert opened.page.evaluate("window.hacked") is None


def test_the_speedups_shown_are_those_of_the_command(opened: Opened, expected: Any) -> None:
    shown = table(opened.page, "speedups")
    rows = expected["threads"]
    assert shown["real"] == [row["real_speedup"] for row in rows]
    assert shown["computed"] == [row["computed_speedup"] for row in rows]
    assert shown["computed, from"] == [row["low"] for row in rows]
    assert shown["computed, to"] == [row["high"] for row in rows]
    assert shown["without sequential fraction"] == [row["possible"]["parallel_fraction"] for row in rows]
    assert shown["without all of these"] == [row["possible"]["all"] for row in rows]
    for limit, name in (("parallel_fraction", "sequential fraction"), ("all", "all of these")):
        bounds = [row["possible_intervals"][limit] for row in rows]
        assert shown[f"without {name}, from"] == [low for low, _ in bounds]
        assert shown[f"without {name}, to"] == [high for _, high in bounds]


def test_pairs_of_limits_are_those_of_the_command(opened: Opened, expected: Any) -> None:
    labels = {
        "parallel_fraction": "sequential fraction",
        "load_balance": "load imbalance",
        "work_inflation": "work inflation",
    }
    rows = expected["threads"]
    shown = table(opened.page, "pairs")
    last = rows[-1]
    worth = [
        pair
        for pair in sorted(last["pairs"], key=lambda pair: -pair["speedup"])
        if pair["speedup"] > max(last["possible"][limit] for limit in pair["limits"]) + 0.005
    ]
    assert worth
    assert list(shown) == [" and ".join(labels[limit] for limit in pair["limits"]) for pair in worth[:6]]
    for pair, cells in zip(worth, shown.values(), strict=False):
        of_rows = [{tuple(each["limits"]): each["speedup"] for each in row["pairs"]} for row in rows]
        assert cells == [row.get(tuple(pair["limits"])) for row in of_rows]
    opened.page.locator("#speedup select").select_option("work")
    expect(opened.page.locator("table[data-table='pairs']")).to_have_count(0)


def test_a_region_has_speedups_of_its_own(opened: Opened, expected: Any) -> None:
    page = opened.page
    page.locator("#speedup select").select_option("work")
    shown = table(page, "speedups")
    assert shown["computed"] == [row["regions"]["work"]["computed_speedup"] for row in expected["threads"]]
    assert shown["real"] == [None] * len(expected["threads"])


def test_the_stacks_are_as_high_as_there_are_threads(opened: Opened, expected: Any) -> None:
    page = opened.page
    for row, name in ((row, str(row["threads"])) for row in expected["threads"]):
        assert sum(row["stack"].values()) == pytest.approx(row["threads"]), name
    shown = table(page, "stack")
    sums = [sum(column[i] or 0 for column in shown.values()) for i in range(len(expected["threads"]))]
    assert sums == pytest.approx([row["threads"] for row in expected["threads"]])
    drawn = page.locator("#stack .mark").evaluate_all(
        """marks => marks.map(mark => Object.fromEntries([...mark.querySelectorAll('.segment')]
          .map(each => [each.dataset.limit, Number(each.getAttribute('height'))])))"""
    )
    pixels = [sum(column.values()) for column in drawn]
    scale = pixels[0] / sum(abs(value) for value in expected["threads"][0]["stack"].values())
    for column, row in zip(drawn, expected["threads"], strict=True):
        for limit, height in column.items():
            assert height == pytest.approx(abs(row["stack"][limit]) * scale, abs=0.01)
        assert set(column) == {limit for limit, value in row["stack"].items() if value != 0}


def test_the_efficiencies_and_metrics_are_those_of_the_command(opened: Opened, expected: Any) -> None:
    page, rows = opened.page, expected["threads"]
    shown = table(page, "efficiencies")
    assert shown["parallel fraction"] == [row["efficiencies"]["parallel_fraction"] for row in rows]
    assert shown["load balance"] == [row["efficiencies"]["load_balance"] for row in rows]
    assert all(any(cell is not None for cell in cells) for cells in shown.values())
    pop = table(page, "pop")
    assert pop["global efficiency"] == [row["pop"]["overall"] for row in rows]
    times = table(page, "times")
    assert times["recorded"] == [row["metrics"]["recorded_wall_ns"] for row in rows]
    assert times["not recorded"] == [row["metrics"]["plain_wall_ns"] for row in rows]
    assert table(page, "metrics")["CPU time"] == [row["metrics"]["cpu_ns"] for row in rows]
    flat = table(page, "flat work")
    for frame, cells in flat.items():
        assert cells == [row["flat"]["work"].get(frame) for row in rows]


def blue_pixels(page: Page, section: str) -> int:
    """Return how many pixels of a chart have the colour of its main line; 0 while it is not there."""
    return int(
        page.evaluate(
            """name => {
              const canvas = document.querySelector(`#${name} .plot canvas`);
              if (!canvas?.width) return 0;
              const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
              const context = copy.getContext('2d', {willReadFrequently: true});
              context.drawImage(canvas, 0, 0);
              const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
              let found = 0;
              for (let i = 0; i < data.length; i += 4) found += data[i] === 0 && data[i + 1] === 114 && data[i + 2] === 178;
              return found;
            }""",
            section,
        )
    )


def _is_drawn(page: Page, section: str) -> bool:
    return blue_pixels(page, section) > 30


def test_charts_are_drawn_and_read_with_the_keyboard(opened: Opened, expected: Any) -> None:
    page = opened.page
    for name in ("speedup", "times", "metrics"):
        eventually(page, functools.partial(_is_drawn, page, name), f"the chart {name} drawn")
    page.locator("#speedup .plot").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#speedup .at")).to_have_text("1 thread")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#speedup .at")).to_have_text("2 threads")
    real = expected["threads"][1]["real_speedup"]
    expect(page.locator("#speedup .legend .key", has_text="real")).to_contain_text(f"{real:.2f}")
    low, high = expected["threads"][1]["possible_intervals"]["parallel_fraction"]
    key = page.locator("#speedup .legend .key", has_text="without sequential fraction")
    expect(key).to_contain_text(f"({low:.2f} to {high:.2f})")
    page.locator("#stack .mark[tabindex='0']").focus()
    page.keyboard.press("End")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith(f"4 threads: speedup {expected['threads'][-1]['stack']['speedup']:.2f}")


def test_possible_speedups_are_chosen_for_the_chart(opened: Opened) -> None:
    page = opened.page
    boxes = page.locator("#speedup fieldset input")
    assert boxes.count() >= 1
    name = page.locator("#speedup fieldset label").first.inner_text().strip()
    key = page.locator("#speedup .legend .key", has_text=f"without {name}")
    expect(key).to_have_count(1)
    boxes.first.uncheck()
    expect(key).to_have_count(0)
    boxes.first.check()
    expect(key).to_have_count(1)


def test_flame_graphs_of_two_numbers_of_threads_are_told_apart(opened: Opened) -> None:
    page = opened.page
    page.locator("#flames .flame-choice select").select_option(label="CPU time, 4 threads against 2 threads")
    tree = page.locator("#flames").get_by_role("tree")
    tree.focus()
    page.keyboard.press("ArrowDown")
    said = page.locator("#flames .said")
    expect(said).to_contain_text("points against 2 threads")
    page.locator("#flames .flame-choice select").select_option(label="CPU time, 4 threads")
    expect(said).not_to_contain_text("points against")


def test_a_sweep_with_every_limit_and_no_samples_is_complete(browser: Browser, tmp_path: Path) -> None:
    parts = {"lock_wait_ns": 0.5, "gc_ns": 0.2, "jit_ns": 0.1, "io_ns": 0.1, "spin_ns": 0.2, "uneven": 0.1}
    counts = {n: [build.one_second_each(**parts)] * 3 for n in (2, 4, 8)}
    payload = sweep_payload(answer(build.sweep_runs([build.alone()] * 3, counts)), name="</script>\u202e.sweep")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, write_page({**payload, "no_flames": "nothing was sampled"}, tmp_path / "all.html"))
    expect(page.locator("h1")).to_have_text("</script>\\u202e.sweep")
    expect(page.locator("#flames .missing")).to_have_text("nothing was sampled")
    eventually(page, lambda: page.locator("#stack .segment").count() > 12, "all segments")
    assert opened.complaints == []
    page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_and_nothing_sticks_out(browser: Browser, page_path: Path, scheme: Any, width: int) -> None:
    assert_for_everyone(browser, page_path, scheme=scheme, width=width)


def test_headway_report_takes_a_sweep(sweep: Sweep, tmp_path: Path) -> None:
    done = subprocess.run([*HEADWAY, "report", sweep.path], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "made.html\n"
    assert '"page":"sweep"' in (tmp_path / "made.html").read_text(encoding="utf-8")
