"""The report's view of locks in a real Chromium: its figures are the command's, and it is used by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from headway.report.html import render_html
from headway.store import open_recording
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread
from support.drivers.opened_report import AXE, Opened, wait_until
from support.drivers.recording_cli import json_of

pytestmark = pytest.mark.browser
MARKUP = "</script><b>x"
SERVER = (*LOCK_FRAMES, ("org.example.Server", MARKUP), ("java.lang.Thread", "run"))
CLASSES = (LOCK_CLASS, LOCK_CLASS, "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject")
STORE = (*LOCK_FRAMES, ("org.example.Store", "put"), ("java.lang.Thread", "run"))
POOL = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
    ("java.util.concurrent.LinkedBlockingQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    ("java.util.concurrent.ThreadPoolExecutor$Worker", "run"),
)


@pytest.fixture(scope="module")
def recording_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    waits = [
        Wait(0, 0, 100, 400, owner=3, waker=3, stack=0, waker_stack=0),
        Wait(1, 0, 150, 500, owner=3, waker=0, stack=0),
        Wait(2, 1, 600, 700, owner=1, waker=1, stack=2),
        Wait(2, 2, 0, 550, stack=1),
    ]
    holds = [LockHold(0, 3, 50, 400), LockHold(0, 0, 400, 500), LockHold(1, 1, 590, 700)]
    locks = LockRecording(
        [FakeThread(name=f"worker-{i}") for i in range(4)],
        waits,
        holds,
        wall=1000,
        stacks=[SERVER, POOL, STORE],
        classes=CLASSES,
    )
    return locks.write(tmp_path_factory.mktemp("locks") / "made.headway")


@pytest.fixture
def opened(browser: Browser, recording_path: Path, tmp_path: Path) -> Iterator[Opened]:
    report = render_html(open_recording(recording_path), tmp_path / "locks.html")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield (found := Opened(page, report))
    assert found.complaints == []
    page.close()


def command(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json_of("locks", path)
    return rows


def test_the_locks_shown_are_those_of_the_command_contention_first(opened: Opened, recording_path: Path) -> None:
    rows = command(recording_path)
    contended = [row for row in rows if row["contention"]]
    assert 0 < len(contended) < len(rows)
    shown = opened.page.locator("#lock-table tbody tr")
    assert shown.locator("th").all_inner_texts() == [row["place"] for row in contended]
    assert shown.locator("td:nth-child(2)").all_inner_texts() == [row["name"] for row in contended]
    for line, row in zip(shown.all(), contended, strict=True):
        values = line.locator("data").evaluate_all("all => all.map(d => d.value)")
        lost = [] if row["lost_core_ns"] is None else [str(row["lost_core_ns"])]
        counts = [str(row[key]) for key in ("parking_thread_time_ns", "times_parked", "peak_parked")]
        assert [*values[: len(lost)], *values[len(lost) + 1 :]] == [*lost, *counts]
    opened.page.get_by_label("show waiting that is no contention").check()
    expect(shown).to_have_count(len(rows))


def test_a_lock_chosen_by_keyboard_shows_its_holders_and_places(opened: Opened, recording_path: Path) -> None:
    second = [row for row in command(recording_path) if row["contention"]][1]
    button = opened.page.locator("#lock-table button").nth(1)
    button.focus()
    opened.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    detail = opened.page.locator(".lock-detail")
    expect(detail).to_contain_text(second["name"])
    assert detail.locator("tbody th").all_inner_texts() == [holder["thread"] for holder in second["holders"]]
    detail.locator("summary").first.click()
    expect(detail.locator(".stack li").first).to_contain_text("Unsafe.park")


def test_who_woke_the_waiters_is_shown_and_where(opened: Opened, recording_path: Path) -> None:
    row = command(recording_path)[0]
    assert [waker["line"] is None for waker in row["wakers"]] == [True, False]
    shown = opened.page.locator(".lock-detail .wakers li").all_inner_texts()
    for text, waker in zip(shown, row["wakers"], strict=True):
        place = f" at {waker['line']}" if waker["line"] else ""
        assert text == f"50% {waker['thread']}{place} in 1 waits"


@pytest.mark.parametrize("width", [1280, 800, 400])
def test_long_names_are_read_whole_and_widen_no_page(browser: Browser, tmp_path: Path, width: int) -> None:
    place = ("org.example.payments.settlement.clearing.SettlementBatchCoordinator$ClearingHouseSession", "reserveSlot")
    waits = [Wait(0, 0, 100, 400, owner=1, waker=1, stack=0), Wait(2, 1, 100, 900, owner=1, waker=1, stack=0)]
    names = ["main", "settlement-batch-coordinator-clearing-house-session-worker-thread-1", "t"]
    lock_class = "org.example.payments.settlement.clearing.SettlementBatchCoordinatorLockThatIsOfNoOtherClass"
    locks = LockRecording(
        [FakeThread(name=name) for name in names],
        waits,
        wall=1000,
        stacks=[(*LOCK_FRAMES, place)],
        classes=[lock_class] * 2,
    )
    report = render_html(open_recording(locks.write(tmp_path / "a.headway")), tmp_path / "locks.html")
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, report)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for table in page.locator("section.locks, .lock-detail section.scroll").all():
        assert table.evaluate("e => e.scrollWidth <= e.clientWidth"), "all columns are read without scrolling sideways"
    for cell in page.locator("#lock-table th, #lock-table td, .lock-detail tbody th").all():
        assert cell.evaluate("e => e.scrollWidth <= e.clientWidth + 1")
    page.close()


def test_markup_in_a_methods_name_is_text(opened: Opened) -> None:
    expect(opened.page.locator(".lock-detail summary").first).to_contain_text(MARKUP)


def test_bars_are_drawn_where_threads_wait_and_nowhere_else(opened: Opened) -> None:
    painted = """() => [...document.querySelectorAll('#lock-table canvas')].slice(0, 1).map(c => {
        const copy = Object.assign(document.createElement('canvas'), {width: c.width, height: c.height});
        const context = copy.getContext('2d', {willReadFrequently: true});
        context.drawImage(c, 0, 0);
        const pixels = context.getImageData(0, c.height - 1, c.width, 1).data;
        const at = share => pixels[4 * Math.floor(share * (c.width - 1)) + 3] > 0;
        return [at(0.05), at(0.2), at(0.45), at(0.7)];
    })[0]"""
    wait_until(opened.page, f"({painted})()[1]")
    first_waits_from_a_tenth_to_a_half = [False, True, True, False]
    assert opened.page.evaluate(painted) == first_waits_from_a_tenth_to_a_half


def test_the_view_has_no_accessibility_fault_that_axe_finds(opened: Opened) -> None:
    opened.page.evaluate(AXE.read_text())
    found = opened.page.evaluate("axe.run('#locks').then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    assert found == []
