"""A real Chromium without a network, and a report opened in it from its file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from headway.report.html import render_html
from headway.store import open_recording
from support.builders.recording_builder import Shape, make
from support.drivers.opened_report import CHROMIUM, FLAGS, Opened

expect.set_options(timeout=100_000)  # it waits no longer than it must


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=100_000)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def recording_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("browser") / "made.headway", Shape(markup=True))


@pytest.fixture(scope="session")
def report(recording_path: Path) -> Path:
    return render_html(open_recording(recording_path), recording_path.with_suffix(".html"))


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield (found := Opened(page, report))
    assert found.complaints == []
    page.close()
