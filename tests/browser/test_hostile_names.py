"""Reports whose every text is hostile, in a real Chromium: no script but the page's own runs, no request leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from headway.report.html import render_causal, render_html
from headway.store import open_recording
from support.builders import causal_builder, recording_builder, sample_builder
from support.builders.hostile_recording import HOSTILE, RAW, spoil
from support.builders.synthetic import FakeThread
from support.drivers.opened_report import Opened

pytestmark = pytest.mark.browser
IMAGE = "<img src=http://127.0.0.1:9/x onerror=window.hacked=1><a href=javascript:window.hacked=1>x</a><base href=http://127.0.0.1:9/>"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("hostile")
    switches = recording_builder.make(place / "s.headway", recording_builder.Shape(threads=9, slices=400, markup=True))
    threads = [FakeThread(states=[("R", 900)], name=IMAGE)]
    taken: list[sample_builder.Sample] = [(0, 10 * n, 10, ("App.main", f"App.{IMAGE}")) for n in range(9)]
    samples = sample_builder.write(place / "p.headway", threads, 1000, {"cpu": taken})
    causal = causal_builder.write(
        place / "c.headway", causal_builder.data_of(causal_builder.CausalModel({"half": causal_builder.serial(0.5)}))
    )
    recordings = {"switches": switches, "samples": samples, "causal": causal}
    for name, path in recordings.items():
        with_hostile = open_recording(spoil(path, place / f"hostile-{name}.headway"))
        render = render_causal if name == "causal" else render_html
        recordings[name] = render(with_hostile, place / f"{name}.html")
    return recordings


@pytest.fixture(params=["switches", "samples", "causal"])
def shown(browser: Browser, pages: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[tuple[Opened, Path]]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    yield (opened := Opened(page, pages[request.param])), pages[request.param]
    assert opened.complaints == []
    page.close()


def test_names_are_text_and_nothing_else(shown: tuple[Opened, Path]) -> None:
    opened, path = shown
    page = opened.page
    for summary in page.locator("details > summary").all():
        summary.evaluate("each => each.parentElement.open = true")
    page.mouse.move(600, 400)
    page.wait_for_timeout(50)
    assert "evil" in page.content()
    assert page.evaluate("window.hacked") is None
    assert opened.requests == [path.as_uri()]
    assert page.evaluate("document.querySelectorAll('script').length") == 2  # the data, and the page's own
    assert page.evaluate("document.querySelectorAll('img, iframe, object, embed, base, form').length") == 0
    assert page.evaluate("[...document.links].every(each => each.getAttribute('href').startsWith('#'))")
    assert page.evaluate(
        "[...document.querySelectorAll('*')].every(e => [...e.attributes].every(a => !/^on/i.test(a.name)))"
    )
    assert page.url.split("#")[0] == path.as_uri()
    assert set(RAW) & set(page.inner_text("body") + page.title()) == set()
    assert HOSTILE not in page.title()


def test_a_script_that_got_into_the_page_would_not_run(
    browser: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    """The policy of the page holds by itself: its own script is known by its hash."""
    text = pages["switches"].read_text()
    broken = tmp_path / "broken.html"
    bad = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1><iframe src='javascript:parent.hacked=1'></iframe>"
    broken.write_text(text.replace("<body>", f"<body>{bad}<base href='http://127.0.0.1:9/'>", 1))
    page = browser.new_page()
    blocked: list[str] = []
    page.on("requestfailed", lambda request: blocked.append(request.url if request.failure == "csp" else ""))
    opened = Opened(page, broken)
    page.wait_for_timeout(50)
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.baseURI") == broken.as_uri()
    assert [each for each in opened.requests if each not in (broken.as_uri(), *blocked)] == []
    assert any("Content Security Policy" in each for each in opened.complaints)
    page.close()
