"""The report's first view in a real Chromium: where the cores went, by the same figures as the command, without a mouse."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from headway.analyses.lost_cores.text import SMALL, SMALL_GAIN
from headway.analyses.lost_cores.types import Loss
from headway.analyses.scheduling.bottle_graph import bottle_graph
from headway.report.html import build_payload, render_html
from headway.report.html.lost_cores import why_values
from headway.report.html.page import write_page
from headway.store import open_recording
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.lost_cores_page_builder import BIN_NS, BINNED, BINS, MARKUP, account, why_result
from support.builders.synthetic import FakeThread
from support.drivers.opened_report import AXE, Opened, eventually, exact_values, open_table
from support.drivers.recording_cli import headway, json_of
from support.drivers.workloads import JAVAS, java_command

pytestmark = pytest.mark.browser


@pytest.fixture
def known(browser: Browser, recording_path: Path, tmp_path: Path) -> Iterator[Opened]:
    """Open the report of a made-up recording with an account that is known to the ns."""
    recording = open_recording(recording_path)
    values = why_values(why_result(), bottle_graph(recording))
    payload = {**build_payload(recording), "why": values, "wall_ns": BINS * BIN_NS}
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield (found := Opened(page, write_page(payload, tmp_path / "known.html")))
    assert found.complaints == []
    page.close()


def command_json(*arguments: str | Path) -> Any:
    return json_of(*arguments)


def shown_losses(page: Page) -> list[tuple[str, list[float]]]:
    """Return cause and exact figures (core time, share; likely gain and bound where they are worth saying) of each loss."""
    found = page.locator("#why .losses > li").evaluate_all(
        "all => all.map(e => [e.dataset.cause, [...e.querySelectorAll('.loss-title data')].map(d => Number(d.value))])"
    )
    return [(cause, figures) for cause, figures in found]


def sentence(page: Page) -> list[float]:
    """Return the exact figures of the first sentence."""
    data = page.locator("#why .headline").first.locator("data")
    return [float(value) for value in data.evaluate_all("all => all.map(d => d.value)")]


# --- the same figures as the command --------------------------------------------------------------------------------


def is_small(loss: Any) -> bool:
    return bool(loss["share"] < SMALL and (loss["likely_speedup"] or 1) < 1 + SMALL_GAIN)


def assert_as_the_command_says(page: Page, expected: Any) -> None:
    core_ns, used = expected["core_ns"], sum(ns or 0 for ns in expected["used"].values())
    taken = [ns for ns in (expected["stolen_ns"], expected["other_processes_ns"]) if ns is not None]
    causes = sorted(expected["by_cause"].values(), reverse=True)[:3]
    whole = [expected["cores"], expected["wall_ns"], core_ns]
    parts = [ns / core_ns for ns in (used, *taken, expected["lost_ns"], *causes)]
    assert sentence(page) == pytest.approx([*whole, *parts])
    shown = shown_losses(page)
    ranked = sorted(expected["lost"], key=is_small)  # what is small is folded away
    assert 0 < len(shown) <= 30
    for (cause, figures), loss in zip(shown, ranked, strict=False):
        assert (cause, figures[:2]) == (loss["cause"], [loss["core_ns"], loss["share"]])
        gains = [each for each in (loss["likely_speedup"], loss["bound_speedup"]) if each is not None]
        assert figures[2:] == (gains if gains and gains[-1] >= 1.005 else [])


def test_the_first_view_says_what_the_command_says(opened: Opened, recording_path: Path) -> None:
    assert opened.page.locator("h1, h2").all_inner_texts()[1] == "Where the cores went"
    assert_as_the_command_says(opened.page, command_json("why", recording_path))


def test_the_stack_and_the_bins_add_up_to_all_cores(opened: Opened, recording_path: Path) -> None:
    expected = command_json("why", recording_path)
    rows = open_table(opened.page, "parts of").locator("tbody tr").all()
    total = sum(float(exact_values(row)[-1] or "nan") for row in rows)
    assert total == pytest.approx(expected["core_ns"], rel=1e-3)
    values = open_table(opened.page, "core time in each of").locator("tbody data")
    over_time = sum(float(value) for value in values.evaluate_all("all => all.map(d => d.value)"))
    assert over_time == pytest.approx(expected["core_ns"], rel=1e-3)


def test_the_bottle_graph_has_a_box_per_thread_narrow_ones_on_top(opened: Opened, recording_path: Path) -> None:
    boxes = bottle_graph(open_recording(recording_path)).bottles
    rows = open_table(opened.page, "boxes").locator("tbody tr").all()
    shown = [exact_values(row) for row in rows]
    assert [float(values[4] or "nan") for values in shown] == sorted(box.width for box in boxes)
    assert sum(int(values[2] or 0) for values in shown) == sum(box.height_ns for box in boxes)
    rectangles = opened.page.locator("#why .bottle")
    widths = rectangles.evaluate_all("all => all.map(e => e.width.baseVal.value)")
    heights = rectangles.evaluate_all("all => all.map(e => e.height.baseVal.value)")
    assert widths == sorted(widths)
    assert heights[-1] / heights[0] == pytest.approx(int(shown[-1][2] or 0) / int(shown[0][2] or 0), rel=0.01)


# --- over time ------------------------------------------------------------------------------------------------------


def test_the_picture_is_as_high_as_there_are_cores_at_every_time(known: Opened) -> None:
    """Above the top of the stack there is nothing; below it every pixel is painted."""
    rows = known.page.evaluate(
        """() => {
          const canvas = document.querySelector('#why .plot canvas');
          const over = document.querySelector('#why .u-over').getBoundingClientRect();
          const outer = canvas.getBoundingClientRect();
          const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
          const context = copy.getContext('2d', {willReadFrequently: true});
          context.drawImage(canvas, 0, 0);
          const at = (x, cores) => {
            const y = over.bottom - (cores / (2 * 1.08)) * over.height - outer.top;
            return context.getImageData(over.left - outer.left + x * over.width, y, 1, 1).data[3];
          };
          return [0.03, 0.13, 0.23, 0.45, 0.55, 0.83].map(x => [at(x, 2.08), at(x, 1.9), at(x, 1.0), at(x, 0.1)]);
        }"""
    )
    assert rows == [[0, 255, 255, 255]] * 6


def test_the_picture_is_read_bin_by_bin_with_the_keyboard(known: Opened) -> None:
    page = known.page
    page.locator("#why .plot").focus()
    said = page.locator("#why .said")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text(
        "0.0 s + 100 ms: JVM start 1.35, JVM 0.40, JIT 0.20, stolen by the host 0.05", use_inner_text=True
    )
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(said).to_have_text(re.compile(r"^3\.0 s \+ 100 ms: application 1\.10, lock contention 0\.60, other proc"))
    keys = page.locator("#why .legend").first.locator(".key")
    eventually(page, lambda: "lock contention\n0.60" in keys.all_inner_texts(), "the legend holds the bin's figures")
    for key, values in BINNED.items():
        assert values[30] == 0 or any(f"{values[30] / BIN_NS:.2f}" in text for text in keys.all_inner_texts()), key


def test_a_zoom_here_is_a_zoom_of_the_lanes_and_phases_keep_to_it(known: Opened) -> None:
    page = known.page
    page.locator("#why .plot").focus()
    page.keyboard.press("+")
    expect(page.locator(".count")).to_contain_text("5.00 s in sight")
    buttons = page.locator("#why .phases button")
    # In sight: 2.5 s to 7.5 s; the phases end at 0.5, 3, 6 and 10 s.
    assert [button.is_visible() for button in buttons.all()] == [False, True, True, True]
    strip, third = page.locator("#why .phases").bounding_box(), buttons.nth(2).bounding_box()
    over = page.locator("#why .u-over").bounding_box()
    assert strip
    assert third
    assert over
    assert third["width"] / strip["width"] == pytest.approx(3 / 5, abs=0.01)
    assert (strip["x"], strip["width"]) == pytest.approx((over["x"], over["width"]), abs=2)


# --- phases ---------------------------------------------------------------------------------------------------------


def test_a_phase_chosen_by_keyboard_shows_its_own_account(known: Opened) -> None:
    page = known.page
    buttons = page.locator("#why .phases button")
    assert page.locator("#why .phases [tabindex='0']").count() == 1
    buttons.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(buttons.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(buttons.nth(2)).to_have_attribute("aria-pressed", "true")
    of_phase = page.locator("#why .of-phase")
    expect(of_phase).to_contain_text("Phase 3: 3.00 s to 6.00 s, 2.90 threads active, 35% lost")
    third = account(30 * BIN_NS, 60 * BIN_NS)
    assert [cause for cause, _ in shown_losses(page)] == [loss.cause for loss in third.lost]
    assert [figures[:2] for _, figures in shown_losses(page)] == [[loss.core_ns, loss.share] for loss in third.lost]
    parts = page.locator("#why [data-part='lock_contention']")
    expect(parts).to_have_attribute("aria-label", "lost to lock contention: 0.6 cores, 30%")
    of_phase.get_by_role("button", name="Show the whole recording").click()
    expect(of_phase).to_have_text("")
    assert shown_losses(page)[0][0] == "serial_section"
    expect(parts).to_have_attribute("aria-label", "lost to lock contention: 0.18 cores, 9.0%")


# --- losses ---------------------------------------------------------------------------------------------------------


def test_a_loss_has_its_place_its_bound_and_what_says_so(known: Opened) -> None:
    loss = known.page.locator("#why li[data-cause='lock_contention']")
    expect(loss.locator(".loss-place")).to_contain_text("org.example.OrderBook.match:112")
    expect(loss.locator(".loss-place")).to_contain_text("(OrderBook.lock)")
    expect(loss.locator(".loss-place")).to_contain_text("held by worker-3")
    expect(loss.locator(".loss-bound")).to_have_text("; without it likely 1.05, at most 1.10 times as fast")
    not_replayed = known.page.locator("#why li[data-cause='io'] .loss-bound")
    expect(not_replayed).to_have_text("; without it at most 1.02 times as fast")
    loss.locator("summary").click()
    expect(loss.locator(".evidence li").nth(1)).to_contain_text("3 threads waited for it at once")
    rest = known.page.locator("#why details", has_text=re.compile("further loss")).first
    expect(rest.locator("li").first).to_be_hidden()


def test_losses_that_are_all_small_are_folded_and_none_is_put_before_a_larger_one(
    browser: Browser, recording_path: Path, tmp_path: Path
) -> None:
    """The first in order may lose less than the next, so neither is singled out; a larger one alone is on show."""
    whole = account()
    first, second = (
        dataclasses.replace(loss, share=share, likely_speedup=1.001)
        for loss, share in zip(whole.lost, (2e-4, 9e-4), strict=False)
    )
    cases: tuple[tuple[tuple[Loss, Loss], list[str], str], ...] = (
        ((first, second), [], "2 losses below 0.1% of the core time"),
        ((first, dataclasses.replace(second, share=0.5)), [second.cause], "1 loss below 0.1% of the core time"),
        (
            (first, dataclasses.replace(second, likely_speedup=1.19)),
            [second.cause],
            "1 loss below 0.1% of the core time",
        ),
    )
    for number, (losses, shown, folded) in enumerate(cases):
        locks = dataclasses.replace(why_result(), account=dataclasses.replace(whole, lost=losses), phases=())
        payload = {**build_payload(open_recording(recording_path)), "why": why_values(locks), "wall_ns": BINS * BIN_NS}
        page = browser.new_page()
        opened = Opened(page, write_page(payload, tmp_path / f"{number}.html"))
        on_show = page.locator("#why .losses > li:visible")
        assert [each.get_attribute("data-cause") for each in on_show.all()] == shown
        no_line = page.get_by_text("No loss is 0.1% of the core time or more.")
        expect(no_line).to_have_count(0 if shown else 1)
        page.locator("#why details > summary", has_text=folded).click()
        assert on_show.count() == 2
        assert opened.complaints == []
        page.close()


def test_markup_in_names_and_evidence_is_text(known: Opened) -> None:
    page = known.page
    shown = MARKUP.replace("\u202e", "\\u202e")
    expect(page.locator("#why li[data-cause='imbalance'] .loss-place")).to_contain_text(shown)
    page.locator("#why li[data-cause='lock_contention'] summary").click()
    expect(page.locator("#why li[data-cause='lock_contention'] .evidence")).to_contain_text(shown)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_the_stack_is_one_tab_stop_and_its_parts_touch(known: Opened) -> None:
    page = known.page
    marks = page.locator("#why [data-part]")
    assert page.locator("#why [data-part][tabindex='0']").count() == 1
    marks.first.focus()
    page.keyboard.press("End")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label == "lost to unknown: 0.01 cores, 0.4%"
    spans = page.locator("#why .stack-holder .segment").evaluate_all(
        "all => all.map(e => [e.x.baseVal.value, e.x.baseVal.value + e.width.baseVal.value])"
    )
    assert all(before[1] == pytest.approx(after[0], abs=0.01) for before, after in itertools.pairwise(spans))
    widths = [end - start for start, end in spans]
    assert widths[0] / sum(widths) == pytest.approx(sum(BINNED["used_app"]) / (2 * BINS * BIN_NS), abs=1e-3)


# --- for everyone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_with_a_phase_chosen(known: Opened, scheme: Any, width: int) -> None:
    page = known.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("#why .phases button").nth(1).click()
    for summary in page.locator("#why details > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run('#why', {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]][:3]) for v in found["violations"]] == []


# --- further into the report ----------------------------------------------------------------------------------------


def test_a_loss_leads_to_its_lock_and_to_its_method(browser: Browser, tmp_path: Path) -> None:
    stack = (*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))
    waits = [
        Wait(0, 0, 100, 400, owner=3, waker=3, stack=0),
        Wait(1, 0, 150, 500, owner=3, waker=0, stack=0),
        Wait(2, 1, 600, 700, owner=1, waker=1, stack=1),
    ]
    holds = [LockHold(0, 3, 50, 400), LockHold(0, 0, 400, 500), LockHold(1, 1, 590, 700)]
    stacks = [stack, (*LOCK_FRAMES, ("org.example.Store", "put"), ("java.lang.Thread", "run"))]
    locks = LockRecording(
        [FakeThread() for _ in range(4)], waits, holds, wall=1000, stacks=stacks, classes=(LOCK_CLASS,) * 2
    )
    recording = open_recording(locks.write(tmp_path / "made.headway"))
    payload = build_payload(recording)
    why = why_values(why_result())
    second = payload["locks"]["rows"][1]["name"]
    loss = next(each for each in why["account"]["losses"] if each["cause"] == "lock_contention")
    loss |= {"lock": second, "method": "org.example.Server.handle"}
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, write_page({**payload, "why": why}, tmp_path / "links.html"))
    row = page.locator("#why li[data-cause='lock_contention']")
    row.get_by_role("button", name="see this lock").press("Enter")
    expect(page.locator("#locks")).to_be_focused()
    expect(page.locator("#lock-table button[aria-pressed='true']")).to_have_text("org.example.Store.put:4")
    expect(page.locator(".lock-detail")).to_contain_text(second)
    row.get_by_role("button", name="find it in the flame graphs").press("Enter")
    expect(page.locator("#flames")).to_be_focused()
    expect(page.locator("#flames").get_by_label("Search")).to_have_value("org.example.Server.handle")
    expect(page.locator("#flames .count")).to_contain_text("1 place matches: 87%")  # 650 of 750 ns
    serial = page.locator("#why li[data-cause='serial_section']")
    expect(serial.get_by_role("button")).to_have_count(0)  # no graph has its method
    assert opened.complaints == []
    page.close()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")
def test_the_report_of_a_real_program_says_what_the_command_says(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "phases.headway"
    program = java_command(JAVAS["jdk17"], "Phases", 150)
    done = headway("record", "-o", path, "--locks", "--sample", "cpu", "--", *program)
    assert done.returncode == 0, done.stderr
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    opened = Opened(page, render_html(open_recording(path), tmp_path / "phases.html"))
    assert_as_the_command_says(page, command_json("why", path))
    phases = command_json("why", path)["phases"]
    assert page.locator("#why .phases button").count() == (len(phases) if len(phases) > 1 else 0)
    expect(page.locator("#flames .flame-choice")).to_contain_text("code that kept cores idle")
    length = page.locator("#why table[data-table='path by state'] data")
    on_path = [int(value) for value in length.evaluate_all("all => all.map(d => d.value)")[::2]]
    assert sum(on_path) == open_recording(path).wall_ns
    assert opened.complaints == []
    page.close()
