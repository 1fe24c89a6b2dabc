"""A report opened in a real browser, from its file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
AXE = Path(__file__).parents[3] / "web/node_modules/axe-core/axe.min.js"


def wait_until(page: Page, condition: str, timeout_s: float = 100) -> None:
    """Wait for a JavaScript expression to be true. Playwright's own wait evaluates strings in the page, which its policy bars."""
    deadline = time.monotonic() + timeout_s
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"never true: {condition}"
        page.wait_for_timeout(20)


def eventually(page: Page, look: Callable[[], bool], what: str, timeout_s: float = 100) -> None:
    """Wait until `look` is true: the page answers what a person does in its own time."""
    deadline = time.monotonic() + timeout_s
    while not look():
        assert time.monotonic() < deadline, f"never: {what}"
        page.wait_for_timeout(20)


class Opened:
    """A report in a page, with all that the browser complained about and every request it made."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._asked)
        page.goto(path.as_uri())
        wait_until(page, "performance.getEntriesByName('headway-painted').length > 0")

    def _said(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)


def open_table(page: Page, label: str) -> Locator:
    """Unfold the table behind a picture and return it."""
    details = page.locator("details.alternative", has=page.locator("summary", has_text=label))
    details.locator("summary").click()
    details.locator("table").wait_for()
    return details.locator("table")


def exact_values(row: Locator) -> list[str | None]:
    """Return the exact figures behind a row's cells, None where a cell says that one is unknown."""
    values: list[str | None] = row.locator("td").evaluate_all(
        "cells => cells.map(cell => cell.querySelector('data')?.value ?? null)"
    )
    return values


def assert_for_everyone(browser: Browser, path: Path, *, scheme: Literal["light", "dark"], width: int) -> None:
    """Open a page with all that folds unfolded: axe finds no fault in it, and nothing sticks out sideways."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = Opened(page, path)
    for summary in page.locator("details > summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]][:3]) for v in found["violations"]] == []
    assert len(found["passes"]) > 20
    assert opened.complaints == []
    page.close()
