"""Flame graphs in a real Chromium: widths are the profile's sums, names do nothing, and no mouse is needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect

from headway.report.html import render_flame, render_html
from headway.store import Recording, open_recording
from support.builders.flame_pages import Stacks, diff_of, profile_of, wide_profile
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.recording_builder import Shape, make
from support.builders.synthetic import FakeThread
from support.drivers.opened_report import Opened, assert_for_everyone, eventually

pytestmark = pytest.mark.browser
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u202egnp.exe\x1b[31m\x00&amp;"
MS = 1_000_000
STACKS: Stacks = {
    ("T::run", "T::work", "K::read"): 300 * MS,
    ("T::run", "T::work"): 100 * MS,
    ("T::run", "V::gc", "K::read"): 150 * MS,
    ("T::run", "V::gc", f"H::{HOSTILE}"): 50 * MS,
    ("T::run",): 40 * MS,
    ("N::start", "K::read"): 360 * MS,
}
KINDS = {"K::read": "kernel", "V::gc": "jvm", "N::start": "native", "T::work": "inlined"}
COLOURS = {
    **{"java": (159, 208, 238), "inlined": (205, 230, 247), "native": (243, 181, 138)},
    **{"jvm": (227, 179, 207), "kernel": (201, 195, 232)},
}


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return open_recording(make(tmp_path_factory.mktemp("flame") / "made.headway", Shape(slices=200)))


@pytest.fixture(scope="session")
def page_path(recording: Recording) -> Path:
    threads: Stacks = {("main", *path): weight * 3 // 4 for path, weight in STACKS.items()}
    threads |= {("worker", *path): weight // 4 for path, weight in STACKS.items()}
    by_thread = profile_of(threads, {**KINDS, "main": "thread", "worker": "thread"})
    found = profile_of(STACKS, KINDS)
    return render_flame(found, recording.path.with_suffix(".html"), recording=recording, by_thread=by_thread)


@pytest.fixture
def opened(browser: Browser, page_path: Path) -> Iterator[Opened]:
    with show(browser, page_path) as found:
        yield found


@contextlib.contextmanager
def show(browser: Browser, path: Path, **options: Any) -> Iterator[Opened]:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, **options)
    yield (found := Opened(page, path))
    assert found.complaints == []
    page.close()


def row_of_pixels(page: Page, row: int) -> list[tuple[int, int, int]]:
    """Return the colours of a row of boxes, above its text and below the outline of a chosen box."""
    flat = page.evaluate(
        """row => {
          const canvas = document.querySelector('.flame canvas');
          const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
          const context = copy.getContext('2d', {willReadFrequently: true});
          context.drawImage(canvas, 0, 0);
          const data = context.getImageData(0, row * 18 + 3, canvas.width, 1).data;
          return [...data].filter((_, i) => i % 4 < 3);
        }""",
        row,
    )
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


def boxes(stacks: Stacks, width: int) -> list[tuple[int, str, float, float]]:
    """Return (row, frame, from, to) of what a graph has to show: by adding up the stacks, the obvious way."""
    found = []

    def place(path: tuple[str, ...], x: float) -> None:
        below = {stack[: len(path) + 1] for stack in stacks if stack[: len(path)] == path and len(stack) > len(path)}
        weights = {each: sum(w for stack, w in stacks.items() if stack[: len(each)] == each) for each in below}
        for each in sorted(weights, key=lambda key: -weights[key]):
            wide = weights[each] * width / sum(stacks.values())
            found.append((len(each), each[-1], x, x + wide))
            place(each, x)
            x += wide

    place((), 0.0)
    return found


def test_every_box_is_as_wide_as_the_sum_of_its_stacks(opened: Opened) -> None:
    width = opened.page.evaluate("document.querySelector('.flame canvas').width")
    surface = (255, 255, 255)
    shown = {row: row_of_pixels(opened.page, row) for row in range(1, 4)}
    expected = boxes(STACKS, width)
    assert len(expected) == 8
    for row, frame, low, high in expected:
        colour = COLOURS[KINDS.get(frame, "java")]
        for x in range(width):
            if low + 1 <= x < high - 2:
                assert shown[row][x] == colour, (frame, x, low, high)
    # What no box covers is empty, to the pixel at its edges.
    for row, pixels in shown.items():
        taken = [(low, high) for at, _, low, high in expected if at == row]
        for x, pixel in enumerate(pixels):
            if all(x + 1 <= low or x >= high for low, high in taken):
                assert pixel == surface, (row, x)


def exact(page: Page) -> dict[str, list[int]]:
    details = page.locator("details.alternative", has=page.locator("summary", has_text="frames with most weight"))
    details.locator("summary").click()
    rows = details.locator("tbody tr")
    return dict(
        zip(
            rows.locator("th").evaluate_all("all => all.map(each => each.title)"),
            rows.evaluate_all("all => all.map(row => [...row.querySelectorAll('data')].map(d => Number(d.value)))"),
            strict=True,
        )
    )


def test_the_table_holds_the_profiles_exact_sums(opened: Opened) -> None:
    found = exact(opened.page)
    wanted: dict[str, list[int]] = {}
    for stack, weight in STACKS.items():
        for frame in set(stack):
            wanted.setdefault(frame, [0, 0])[1] += weight
        wanted[stack[-1]][0] += weight
    assert found == {as_shown(name): values for name, values in wanted.items()}


def as_shown(name: str) -> str:
    name = name.replace("::", ".")
    for unseen in "\u202e\x1b\x00":
        name = name.replace(unseen, f"\\u{ord(unseen):04x}")
    return name


def test_it_opens_from_a_file_without_a_request(opened: Opened, page_path: Path) -> None:
    assert opened.requests == [page_path.as_uri()]


def test_names_are_text_whatever_they_hold(opened: Opened) -> None:
    names = exact(opened.page)
    (hostile,) = [name for name in names if name.startswith("H.")]
    assert "</script><script>window.hacked=1" in hostile
    assert "\\u202egnp.exe\\u001b[31m\\u0000&amp;" in hostile
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img").count() == 0


# --- moving around --------------------------------------------------------------------------------------------------


def spoken(page: Page) -> str:
    """Return what a screen reader says of the frame in focus."""
    return str(
        page.evaluate(
            """() => {
              const tree = document.querySelector('[role=tree]');
              return document.getElementById(tree.getAttribute('aria-activedescendant')).textContent;
            }"""
        )
    )


def expect_spoken(page: Page, beginning: str) -> None:
    eventually(page, lambda: spoken(page).startswith(beginning), f"{beginning} in focus")


def drawn(page: Page) -> int:
    return int(page.evaluate("document.querySelector('.flame canvas').dataset.inLayout"))


def test_it_is_read_zoomed_and_left_with_the_keyboard_alone(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Search").focus()
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "tree":
            break
    expect(page.get_by_role("tree")).to_be_focused()
    assert page.get_by_role("tree").evaluate("e => getComputedStyle(e).outlineStyle") != "none"
    whole = drawn(page)
    assert whole == 9
    page.keyboard.press("ArrowDown")
    expect_spoken(page, "T.run (Java), 640 ms (640,000,000 ns), 64% of all, itself 40.0 ms, 4.0%")
    item = page.get_by_role("treeitem")
    expect(item).to_have_attribute("aria-level", "2")
    expect(item).to_have_attribute("aria-setsize", "2")
    page.keyboard.press("ArrowRight")
    expect_spoken(page, "N.start (native), 360 ms")
    page.keyboard.press("ArrowRight")
    expect_spoken(page, "N.start")  # the last one
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    expect_spoken(page, "T.work (Java, inlined), 400 ms")
    page.keyboard.press("Enter")
    eventually(page, lambda: drawn(page) == 4, "the zoomed frame, its callers and what it calls")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    eventually(page, lambda: drawn(page) == 7, "everything below T.run")
    page.keyboard.press("Backspace")
    eventually(page, lambda: drawn(page) == 4, "one step back")
    page.keyboard.press("Escape")
    eventually(page, lambda: drawn(page) == whole, "everything")
    page.keyboard.press("Home")
    expect_spoken(page, "all, 1.00 s")
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()


def canvas_box(page: Page) -> FloatRect:
    box = page.locator(".flame canvas").bounding_box()
    assert box
    return box


def test_a_click_zooms_and_one_on_a_caller_goes_back(opened: Opened) -> None:
    page = opened.page
    box = canvas_box(page)
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 2.5 * 18)
    expect(page.locator(".tip strong")).to_have_text("V.gc (JVM)")
    expect(page.locator(".tip")).to_contain_text("200 ms (200,000,000 ns), 20% of all")
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + 2.5 * 18)
    eventually(page, lambda: drawn(page) == 5, "V.gc, what it calls, and its callers")
    page.mouse.move(1, 1)  # the box under the pointer is tinted
    expect(page.locator(".tip")).to_have_count(0)
    jvm = COLOURS["jvm"]
    pixels = row_of_pixels(page, 2)
    assert pixels[10] == pixels[len(pixels) // 2] == pixels[-10] == jvm
    expect(page.locator(".said")).to_contain_text("V.gc (JVM): 200 ms")
    page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + 9)
    eventually(page, lambda: drawn(page) == 9, "everything again")


def test_search_tells_the_share_of_what_matches_once(opened: Opened) -> None:
    page = opened.page
    box = page.get_by_label("Search")
    box.fill("READ")
    expect(page.locator(".count")).to_have_text("3 places match: 81% of all, 810 ms")
    found = row_of_pixels(page, 3)
    assert found[20] == (240, 228, 66)
    box.fill("/^T/")
    expect(page.locator(".count")).to_have_text("2 places match: 64% of all, 640 ms")
    box.fill("/(/")
    expect(page.locator(".count")).to_contain_text("is not a regular expression")
    box.fill("nobody")
    expect(page.locator(".count")).to_have_text("0 places match: 0% of all, 0 ns")
    box.fill("")
    expect(page.locator(".count")).to_have_text("1.00 s in all")


def test_flame_is_the_icicle_upside_down_and_up_goes_deeper(opened: Opened) -> None:
    page = opened.page
    rows = [row_of_pixels(page, row) for row in range(1, 4)]
    page.get_by_label("Layout").select_option("flame")
    eventually(page, lambda: row_of_pixels(page, 0)[5:15] == rows[2][5:15], "the innermost frames on top")
    assert [row_of_pixels(page, 2 - i) for i in range(3)] == rows
    page.get_by_role("tree").focus()
    page.keyboard.press("ArrowUp")
    expect_spoken(page, "T.run")


def test_by_thread_the_first_level_is_threads(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Threads").select_option("by")
    page.get_by_role("tree").focus()
    page.keyboard.press("ArrowDown")
    expect_spoken(page, "main (thread), 750 ms (750,000,000 ns), 75% of all")
    page.keyboard.press("ArrowRight")
    expect_spoken(page, "worker (thread), 250 ms")
    page.keyboard.press("ArrowDown")
    expect_spoken(page, "T.run (Java), 160 ms")
    page.get_by_label("Threads").select_option("merged")
    eventually(page, lambda: drawn(page) == 9, "the merged graph")


def test_two_profiles_are_coloured_by_the_change_of_the_share(
    browser: Browser, recording: Recording, tmp_path: Path
) -> None:
    before: Stacks = {("a", "x"): 50 * MS, ("b",): 25 * MS, ("gone",): 25 * MS}
    after: Stacks = {("a", "x"): 50 * MS, ("b",): 150 * MS}
    path = render_flame(diff_of(before, after), tmp_path / "diff.html", recording=recording, versus="the <old> one")
    with show(browser, path) as opened:
        page = opened.page
        width = len(row_of_pixels(page, 1))
        more, less = (229, 124, 102), (120, 176, 222)
        first = row_of_pixels(page, 1)
        assert first[width // 3] == more  # b: from a quarter to three quarters
        assert first[width * 7 // 8] == less  # a: from a half to a quarter
        page.get_by_role("tree").focus()
        page.keyboard.press("ArrowDown")
        expect_spoken(page, "b (Java), 150 ms (150,000,000 ns), 75% of all, itself 150 ms, 75%, +50.0 points against")
        page.get_by_label("Widths").select_option("other")
        eventually(page, lambda: row_of_pixels(page, 1)[width // 4] == less, "a takes half of the other")
        assert row_of_pixels(page, 1)[width * 7 // 8] == less  # gone, which only the other has
        page.get_by_label("Colour").select_option("kind")
        eventually(page, lambda: row_of_pixels(page, 1)[width // 4] == COLOURS["java"], "coloured by kind")


# --- size -----------------------------------------------------------------------------------------------------------


def test_of_a_hundred_thousand_stacks_only_what_can_be_seen_is_drawn(
    browser: Browser, recording: Recording, tmp_path: Path
) -> None:
    found = wide_profile()
    path = render_flame(found, tmp_path / "wide.html", recording=recording)
    assert path.stat().st_size < 8_000_000 + 500_000
    with show(browser, path) as opened:
        page = opened.page
        width = int(page.evaluate("document.querySelector('.flame canvas').clientWidth"))
        tree = found.tree
        scale = width / found.total
        # Boxes of at least 0.3 px, and the root; a caller's narrower callees count as one box where their sum is seen.
        wide = tree.total_weight * scale >= 0.3
        narrow: dict[int, int] = {}
        for parent, weight in zip(tree.parent[~wide].tolist(), tree.total_weight[~wide].tolist(), strict=True):
            narrow[parent] = narrow.get(parent, 0) + weight
        blocks = sum(w * scale >= 0.3 for p, w in narrow.items() if p < 0 or wide[p])
        assert drawn(page) == 1 + int(wide.sum()) + blocks
        assert drawn(page) < 9 * width / 0.3
        assert int(page.evaluate("document.querySelector('.flame canvas').dataset.drawn")) <= drawn(page)
        expect(page.locator(".rest")).to_have_count(0)  # nothing was merged: all of it is in the file
        page.get_by_label("Search").fill("step77")
        expect(page.locator(".count")).to_contain_text("places match")
        page.get_by_role("tree").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert 0 < drawn(page) < 9 * width / 0.3


def test_what_was_merged_is_said_and_shown_with_its_sum(browser: Browser, recording: Recording, tmp_path: Path) -> None:
    from headway.report.html.flame_pack import pack
    from headway.report.html.page import write_page
    from headway.report.html.profile import flame_graph

    stacks: Stacks = {("root", "wide"): 10**9, **{("root", f"small{i}"): 10**5 for i in range(3000)}}
    flames = pack([flame_graph(profile_of(stacks))], 30_000)
    payload = {"version": 1, "page": "flame", "title": "t", "notices": [], "flames": flames}
    facts = {"headway": "1", "recorded_utc": "", "recording": "x"}
    with show(browser, write_page({**payload, "made": facts}, tmp_path / "merged.html")) as opened:
        expect(opened.page.locator(".rest")).to_contain_text("smaller ones are merged")
        table = exact(opened.page)
        merged = [values for name, values in table.items() if name.startswith("(smaller)")]
        kept = [values for name, values in table.items() if name.startswith("small")]
        assert merged == [[10**5 * (3000 - len(kept_all(flames)))] * 2]
        assert all(values == [10**5, 10**5] for values in kept)


def kept_all(flames: dict[str, Any]) -> list[str]:
    return [name for name in flames["frames"]["names"] if name.startswith("small")]


# --- for everyone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_and_nothing_sticks_out(browser: Browser, page_path: Path, scheme: Any, width: int) -> None:
    assert_for_everyone(browser, page_path, scheme=scheme, width=width)


def test_dark_is_dark_and_print_is_light(browser: Browser, page_path: Path) -> None:
    with show(browser, page_path, color_scheme="dark") as opened:
        page = opened.page
        assert row_of_pixels(page, 1)[20] == (29, 95, 138)
        page.emulate_media(media="print")
        eventually(page, lambda: row_of_pixels(page, 1)[20] == COLOURS["java"], "the light colours in print")
        assert not page.get_by_label("Search").is_visible()


def test_the_colours_of_frames_leave_their_names_readable(opened: Opened) -> None:
    for scheme in ("light", "dark"):
        opened.page.emulate_media(color_scheme=scheme)
        faint = opened.page.evaluate(
            """() => {
              const style = getComputedStyle(document.documentElement);
              const part = v => v <= 10 ? v / 3294 : ((v / 255 + 0.055) / 1.055) ** 2.4;
              const light = name => [1, 3, 5].map(i => part(parseInt(style.getPropertyValue(name).trim().slice(i, i + 2), 16)))
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
              const names = [...document.styleSheets].flatMap(s => [...s.cssRules]).flatMap(r => [...(r.style ?? [])])
                .filter(name => name.startsWith('--frame-'));
              const text = light('--text');
              return [...new Set(names)].filter(name => {
                const [a, b] = [light(name), text].sort((x, y) => y - x);
                return (a + 0.05) / (b + 0.05) < 4.5;
              });
            }"""
        )
        assert faint == [], scheme


# --- in the report --------------------------------------------------------------------------------------------------


def test_the_report_of_a_recording_with_locks_shows_where_threads_blocked(browser: Browser, tmp_path: Path) -> None:
    stack = (*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))
    waits = [Wait(0, 0, 100, 400, owner=3, waker=3, stack=0), Wait(1, 0, 150, 500, owner=3, waker=0, stack=0)]
    holds = [LockHold(0, 3, 50, 400), LockHold(0, 0, 400, 500)]
    locks = LockRecording([FakeThread() for _ in range(4)], waits, holds, wall=1000, stacks=[stack])
    report = render_html(open_recording(locks.write(tmp_path / "locks.headway")), tmp_path / "locks.html")
    with show(browser, report) as opened:
        section = opened.page.locator("#flames")
        choices = section.locator(".flame-choice label")
        if choices.count():
            section.get_by_label("blocked in contention").check()
        expect(section.locator(".count")).to_contain_text("in all")
        section.get_by_role("tree").focus()
        opened.page.keyboard.press("ArrowDown")
        item = section.get_by_role("treeitem")
        expect(item).to_contain_text(re.compile(r"^java\.lang\.Thread\.run \(Java\), 650 ns \(650 ns\), 100% of all"))


def test_a_report_without_samples_says_why_there_is_no_flame_graph(
    browser: Browser, recording: Recording, tmp_path: Path
) -> None:
    with show(browser, render_html(recording, tmp_path / "plain.html")) as opened:
        expect(opened.page.locator("#flames .missing")).to_contain_text("no stacks were sampled")
