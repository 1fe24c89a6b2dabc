"""A report opened in a real browser, from its file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page, Request


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
