"""The report in a real Chromium: what it shows is what the commands say, and it can be used without a mouse."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Page, expect

from headway.report.html import build_payload, render_html
from headway.report.html.page import write_page
from headway.report.terminal.printing.text import printable
from headway.store import open_recording
from headway.store.writer import write_recording
from support.builders.recording_builder import MARKUP_NAME, ONE_THREAD, Shape, make
from support.drivers.opened_report import Opened, assert_for_everyone, eventually, exact_values, open_table
from support.drivers.recording_cli import json_of

pytestmark = pytest.mark.browser


def command_json(*arguments: str | Path) -> Any:
    return json_of(*arguments)


def test_it_opens_without_a_request_or_a_word_on_the_console(opened: Opened, report: Path) -> None:
    opened.page.wait_for_timeout(300)
    assert opened.requests == [report.as_uri()]
    assert opened.complaints == []


def test_the_verdict_comes_after_the_cores_and_its_figures_are_those_of_the_command(
    opened: Opened, recording_path: Path
) -> None:
    expected = command_json("parallelism", recording_path)
    headings = opened.page.locator("h1, h2").all_inner_texts()
    assert headings[:3] == ["org.example.Made --size <big>", "Where the cores went", "Verdict"]
    tiles = dict(
        zip(
            opened.page.locator(".tile dt").all_inner_texts(),
            opened.page.locator(".tile .value data").evaluate_all("all => all.map(d => Number(d.value))"),
            strict=True,
        )
    )
    busy = sum(expected["running_core_ns"].values())
    assert tiles == {
        "Wall time": expected["wall_ns"],
        "Mean active threads": expected["mean_active"],
        "Mean running threads": expected["mean_running"],
        "One active thread": expected["serial_share"],
        "No active thread": expected["idle_share"],
        "GC": expected["running_core_ns"]["gc"] / busy,
        "JIT": expected["running_core_ns"]["jit"] / busy,
        "Stolen": expected["stolen_core_ns"] / busy,
    }
    shown = opened.page.locator(".notice-id").all_inner_texts()
    assert {warning["id"] for warning in expected["warnings"]} <= set(shown)


def test_the_table_of_contents_leads_to_every_part_of_the_page(opened: Opened) -> None:
    page = opened.page
    links = page.get_by_role("navigation", name="Contents").get_by_role("link")
    headings = page.locator("main section.part > h2").all_inner_texts()
    assert len(headings) >= 7
    assert links.all_inner_texts() == headings
    for link, title in zip(links.all(), headings, strict=True):
        target = page.locator(link.get_attribute("href") or "#none")
        assert target.locator("h2").first.inner_text() == title
    links.get_by_text("Facts").click()
    expect(page.locator("#facts h2")).to_be_in_viewport()
    assert page.url.endswith("#facts")


def test_the_levels_shown_are_those_of_the_command(opened: Opened, recording_path: Path) -> None:
    expected = command_json("parallelism", recording_path)
    rows = open_table(opened.page, "wall time at each number of threads").locator("tbody tr").all()
    levels, running = expected["levels"], expected["running_levels"]
    assert len(rows) == len(levels)
    for row, level in zip(rows, levels, strict=True):
        j = level["active"]
        assert row.locator("th").inner_text() == str(j)
        active, _share, corrected, on_cpu, on_cpu_corrected, *kinds = exact_values(row)
        assert (active, corrected) == (str(level["ns"]), str(level["corrected_ns"]))
        assert on_cpu == str(running[j]["ns"] if j < len(running) else 0)
        assert j >= len(running) or on_cpu_corrected == str(running[j]["corrected_ns"])
        by_kind = [expected["by_kind"][kind] for kind in ("app", "gc", "jit", "vm")]
        assert kinds == [str(rows[j]["ns"] if j < len(rows) else 0) for rows in by_kind]


def test_the_predictions_shown_are_those_of_the_command(opened: Opened, recording_path: Path) -> None:
    rows = open_table(opened.page, "predicted wall time").locator("tbody tr").all()
    cores = [row.locator("th").inner_text() for row in rows]
    expected = command_json("walltime", recording_path, "--cores", ",".join(cores))["predictions"]
    for row, prediction in zip(rows, expected, strict=True):
        ns, low, high, *_ = exact_values(row)
        wanted = [prediction[key] for key in ("ns", "low_ns", "high_ns")]
        assert [ns, low, high] == [None if value is None else str(value) for value in wanted]


def test_the_threads_shown_are_those_of_the_command(opened: Opened, recording_path: Path) -> None:
    rows = open_table(opened.page, "the times of 24 threads").locator("tbody tr").all()
    expected = {row["tid"]: row for row in command_json("threads", recording_path)}
    assert len(rows) == len(expected)
    for row in rows:
        wanted = expected[int(row.locator("td").nth(1).inner_text())]
        assert row.locator("th").text_content() == printable(wanted["name"])
        running, _stolen, runnable, blocked, switches = exact_values(row)[2:7]
        assert running == str(wanted["running_ns"])
        assert (runnable, blocked) == (str(wanted["runnable_ns"]), str(wanted["blocked_ns"]))
        assert switches == str(wanted["switches"])
        assert exact_values(row)[9:11] == [str(wanted["bottle_height_ns"]), f"{wanted['bottle_width']:g}"]


def test_the_profile_over_time_adds_up_to_the_mean(opened: Opened, recording_path: Path) -> None:
    expected = command_json("parallelism", recording_path)
    rows = open_table(opened.page, "mean active threads in each of").locator("tbody tr")
    values = rows.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('data')].slice(0, 4).reduce((s, d) => s + Number(d.value), 0))"
    )
    assert sum(values) / len(values) == pytest.approx(expected["mean_active"], rel=1e-5)


def test_markup_in_a_threads_name_is_text(opened: Opened) -> None:
    shown = opened.page.locator(".name .text").all_inner_texts()
    assert any(name.startswith("</script><script>window.hacked=1") for name in shown)
    assert printable(MARKUP_NAME) in opened.page.locator(".name").evaluate_all(
        "all => all.map(e => e.title.split('\\n')[0])"
    )
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img").count() == 0


# --- finding threads ------------------------------------------------------------------------------------------------


def names(page: Page) -> list[str]:
    return page.locator(".name .text").all_inner_texts()


def test_search_finds_text_tids_and_regular_expressions(opened: Opened) -> None:
    page = opened.page
    box = page.get_by_label("Search")
    everything = names(page)
    box.fill("WORKER-1")
    assert sorted(names(page)) == sorted(name for name in everything if "worker-1" in name)
    box.fill("4000")
    assert names(page) == ["main"]
    box.fill("/^(GC|JIT) Thread#\\d$/")
    assert sorted(names(page)) == sorted(name for name in everything if re.match(r"^(GC|JIT) Thread#\d$", name))
    expect(page.locator(".count")).to_contain_text("of 24 threads")
    box.fill("/(/")
    expect(page.locator(".count")).to_contain_text("is not a regular expression")
    box.fill("nobody")
    expect(page.locator("#threads .missing")).to_have_text("No thread on show matches “nobody”.")
    box.fill("")
    assert names(page) == everything


def test_threads_sort_by_running_time_start_name_and_kind(opened: Opened, recording_path: Path) -> None:
    page = opened.page
    rows = open_recording(recording_path).query("SELECT name, kind, running_ns, start_ns FROM thread").fetchall()
    by_running = sorted(rows, key=lambda row: -row[2])
    by_start = sorted(rows, key=lambda row: row[3])
    first = {row[0]: row[0].replace("\u2028", " ") for row in rows}
    assert names(page)[0] == first[by_running[0][0]]
    page.get_by_label("Sort by").select_option("start")
    assert [n for n in names(page) if "<" not in n] == [row[0] for row in by_start if "<" not in row[0]]
    page.get_by_label("Sort by").select_option("name")
    workers = [int(name.split("-")[1]) for name in names(page) if name.startswith("worker-")]
    assert workers == sorted(workers)
    page.get_by_label("Sort by").select_option("kind")
    kinds = {row[0]: row[1] for row in rows}
    order = [kinds[name] for name in names(page) if name in kinds]
    assert order == sorted(order)


# --- moving around --------------------------------------------------------------------------------------------------


def in_sight(page: Page) -> float:
    """Return the length of the span in sight in ms, as the page says it."""
    text = page.locator(".count").inner_text()
    match = re.search(r"([\d.]+) (s|ms|µs) in sight", text)
    assert match, text
    return float(match[1]) * {"s": 1000, "ms": 1, "µs": 0.001}[match[2]]


def expect_in_sight(page: Page, ms: float, rel: float = 0) -> None:
    """Wait until the page says that a span of this length is in sight."""
    eventually(page, lambda: in_sight(page) == pytest.approx(ms, rel=rel or None), f"{ms} ms in sight")


def cursor_pixels(page: Page) -> int:
    """Return how many pixels of the lanes have the colour of the keyboard's cursor."""
    return int(
        page.evaluate(
            """() => {
              const canvas = document.querySelector('.lanes canvas');
              const data = canvas.getContext('2d').getImageData(0, 24, canvas.width, canvas.height - 24).data;
              let found = 0;
              for (let i = 0; i < data.length; i += 4) found += data[i] < 40 && data[i + 1] < 120 && data[i + 2] > 230;
              return found;
            }"""
        )
    )


def pixels(page: Page) -> str:
    return str(page.evaluate("document.querySelector('.lanes canvas').toDataURL()"))


def test_the_lanes_are_drawn_in_the_colours_of_their_states(opened: Opened) -> None:
    colours = opened.page.evaluate(
        """() => {
          const canvas = document.querySelector('.lanes canvas');
          const data = canvas.getContext('2d').getImageData(0, 24, canvas.width, canvas.height - 24).data;
          const found = {};
          for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) {
            const colour = [data[i], data[i + 1], data[i + 2]].join();
            found[colour] = (found[colour] ?? 0) + 1;
          }
          return found;
        }"""
    )
    for colour in ("0,158,115", "230,159,0", "195,202,210", "86,180,233"):  # running, runnable, sleeping, other
        assert colours.get(colour, 0) > 50


def test_wheel_drag_buttons_and_double_click_zoom(opened: Opened) -> None:
    page = opened.page
    canvas = page.locator(".lanes canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    whole = pixels(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + 100
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(page.locator(".count")).not_to_contain_text("3.00 s in sight")
    assert in_sight(page) < 2000
    eventually(page, lambda: pixels(page) != whole, "the lanes drawn anew")

    page.get_by_role("button", name="All").click()
    expect_in_sight(page, 3000)
    assert page.get_by_role("button", name="All").is_disabled()

    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
    page.mouse.up()
    expect_in_sight(page, 750, rel=0.02)
    page.mouse.dblclick(x, y)
    expect_in_sight(page, 3000)
    page.get_by_role("button", name="Zoom in").click()
    expect_in_sight(page, 1500)
    page.get_by_role("button", name="Zoom out").click()
    expect_in_sight(page, 3000)


def test_a_zoom_in_the_chart_over_time_is_a_zoom_in_the_lanes(opened: Opened) -> None:
    page = opened.page
    over = page.locator("#timeline .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 50, steps=4)
    page.mouse.up()
    expect_in_sight(page, 600, rel=0.02)


def test_the_pointer_reads_the_exact_state(opened: Opened, recording_path: Path) -> None:
    page = opened.page
    canvas = page.locator(".lanes canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 24 + 12)
    expect(page.locator(".tip strong")).to_have_text("main (app, tid 4000)")
    recording = open_recording(recording_path)
    (tip,) = page.locator(".tip span").all_inner_texts()
    shape = (
        r"(running on CPU 0|runnable|sleeping|uninterruptible|stopped) for [\d.]+ \S+ \(([\d,]+) ns\) from ([\d.]+) s"
    )
    match = re.fullmatch(shape, tip)
    assert match, tip
    start_ns = recording.window_ns[0] + round(float(match[3]) * 1e9)
    states = recording.query("SELECT state, dur_ns FROM thread_state WHERE tid = 4000 AND start_ns = ?", [start_ns])
    assert states.fetchall() == [(match[1].split(" ")[0], int(match[2].replace(",", "")))]
    middle = recording.window_ns[0] + recording.wall_ns / 2
    assert start_ns <= middle + 2e6
    assert start_ns + int(match[2].replace(",", "")) >= middle - 2e6


def test_the_lanes_are_read_and_zoomed_with_the_keyboard_alone(opened: Opened, recording_path: Path) -> None:
    page = opened.page
    page.get_by_label("Search").focus()
    for _ in range(6):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "listbox":
            break
    threads = page.get_by_role("listbox", name="Threads")
    expect(threads).to_be_focused()

    page.keyboard.press("ArrowRight")
    recording = open_recording(recording_path)
    states = recording.query("SELECT state FROM thread_state WHERE tid = 4000 ORDER BY start_ns LIMIT 3").fetchall()
    for i, (state,) in enumerate(states):
        if i:
            page.keyboard.press("ArrowRight")
        expect(page.locator("#threads .said")).to_contain_text(f"main (app, tid 4000): {state}")

    order = page.locator("[role=option]").evaluate_all("all => all.map(e => e.id)")
    page.keyboard.press("ArrowDown")
    expect(threads).to_have_attribute("aria-activedescendant", order[1])
    page.keyboard.press("End")
    expect(threads).to_have_attribute("aria-activedescendant", order[-1])
    assert page.locator(f"#{order[-1]}").is_visible()
    page.keyboard.press("Home")
    expect(threads).to_have_attribute("aria-activedescendant", order[0])

    page.keyboard.press("+")
    expect_in_sight(page, 1500)
    eventually(page, lambda: cursor_pixels(page) > 100, "the cursor in sight: the zoom goes where it is")
    before = pixels(page)
    page.keyboard.press("Shift+ArrowRight")
    eventually(page, lambda: pixels(page) != before, "the lanes moved")
    expect_in_sight(page, 1500)
    page.keyboard.press("-")
    page.keyboard.press("0")
    expect_in_sight(page, 3000)


def test_the_chart_over_time_is_read_bin_by_bin_with_the_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator("#timeline .plot").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#timeline .at").inner_text()
    page.keyboard.press("ArrowRight")
    second = page.locator("#timeline .at").inner_text()
    assert re.match(r"0\.000.* s \+ 5\.00 ms: [\d.]+ threads", first)
    assert second.startswith("0.005")
    page.keyboard.press("+")
    expect_in_sight(page, 1500)


def test_bars_and_predictions_are_one_tab_stop_each_and_read_with_arrows(opened: Opened, recording_path: Path) -> None:
    page = opened.page
    expected = command_json("parallelism", recording_path)
    assert page.locator("#levels [tabindex='0'].mark").count() == 1
    page.locator("#levels .mark").first.focus()
    page.keyboard.press("ArrowRight")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("1 thread: active for ")
    page.keyboard.press("End")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label.startswith(f"{expected['max_active']} threads: active for ")
    page.locator("#walltime .mark[tabindex='0']").focus()
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("16 cores: ")


def test_every_control_shows_its_focus(opened: Opened) -> None:
    page = opened.page
    page.evaluate("document.body.focus()")
    unseen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        where, shown = page.evaluate(
            """() => {
              const e = document.activeElement;
              if (e === document.body) return ["end", true];
              const seen = [e, e.querySelector('.hit'), e.closest('.lanes')].filter(Boolean).map(x => getComputedStyle(x));
              const shown = seen.some(s => (s.outlineStyle !== 'none' && s.outlineWidth !== '0px') || s.strokeWidth === '2px');
              return [e.outerHTML.slice(0, 60), shown];
            }"""
        )
        if where == "end":
            break
        if not shown:
            unseen.append(where)
    assert unseen == []


# --- for everyone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing(browser: Browser, report: Path, scheme: Any, width: int) -> None:
    assert_for_everyone(browser, report, scheme=scheme, width=width)


@pytest.mark.parametrize("width", [1280, 768, 400])
def test_nothing_sticks_out_sideways(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, report)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


@pytest.mark.parametrize("width", [1280, 768, 400])
def test_no_row_of_the_verdicts_figures_has_gaps(browser: Browser, report: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, report)
    tops = page.locator(".tile").evaluate_all("all => all.map(tile => tile.getBoundingClientRect().top)")
    assert len({tops.count(top) for top in tops}) == 1
    page.close()


def test_dark_is_dark_and_reduced_motion_stands_still(browser: Browser, report: Path) -> None:
    page = browser.new_page(color_scheme="dark", reduced_motion="reduce")
    Opened(page, report)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(16, 20, 24)"
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].filter(e => getComputedStyle(e).transitionDuration !== '0s').length"
    )
    assert moving == 0
    page.close()


# --- never empty without a reason -----------------------------------------------------------------------------------


def open_made(browser: Browser, path: Path) -> Opened:
    page = browser.new_page()
    return Opened(page, render_html(open_recording(path), path.with_suffix(".html")))


def test_a_recording_without_thread_states_says_so_in_every_view(browser: Browser, tmp_path: Path) -> None:
    manifest = {"mode": "agent", "window": {"start_ns": 0, "end_ns": 10**9}, "recorded_cores": 2}
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]})}
    opened = open_made(browser, write_recording(tmp_path / "agent.headway", manifest, tables))
    for view in ("timeline", "levels", "walltime", "threads"):
        expect(opened.page.locator(f"#{view} .missing")).to_contain_text("mode agent recorded no scheduling")
    assert names(opened.page) == ["main"]
    opened.page.get_by_role("listbox", name="Threads").focus()
    opened.page.keyboard.press("ArrowRight")
    expect(opened.page.locator("#threads .said")).to_have_text("main (app, tid 1): alive; its states were not recorded")
    assert opened.complaints == []
    opened.page.close()


def test_pauses_that_are_not_drawn_are_counted(browser: Browser, tmp_path: Path) -> None:
    opened = open_made(browser, make(tmp_path / "pauses.headway", Shape(slices=400, pauses=1234)))
    expect(opened.page.locator("#timeline .legend")).to_contain_text("the 1,000 longest; 234 more are not drawn")
    opened.page.close()


def test_threads_without_a_lane_are_summed_up(browser: Browser, tmp_path: Path) -> None:
    path = make(tmp_path / "many.headway", Shape(threads=700, slices=2000))
    opened = open_made(browser, path)
    expect(opened.page.locator(".count")).to_contain_text("160 of 700 threads")
    rest = opened.page.locator("#threads .rest")
    rows = command_json("threads", path)[160:]
    assert rest.locator("data").evaluate_all("all => all.map(d => Number(d.value))") == [
        540,
        *(sum(row[key] for row in rows) for key in ("running_ns", "runnable_ns", "blocked_ns", "switches")),
    ]
    opened.page.close()


def test_withheld_predictions_are_said_with_their_reason(
    browser: Browser, recording_path: Path, tmp_path: Path
) -> None:
    page = browser.new_page()
    html = render_html(open_recording(recording_path), tmp_path / "whole.html").read_text(encoding="utf-8")
    head, slot, tail = html.partition('id="headway-payload">')
    data, end, rest = tail.partition("</script>")
    payload = json.loads(data)
    payload["walltime"]["predictions"][-1].update(ns=None, low_ns=None, high_ns=None, withheld="too far away")
    changed = tmp_path / "withheld.html"
    changed.write_text(head + slot + json.dumps(payload).replace("<", "\\u003c") + end + rest, encoding="utf-8")
    opened = Opened(page, changed)
    expect(page.locator(".withheld li")).to_have_text("16 cores withheld: too far away")
    expect(page.locator("#walltime .mark").last).to_have_attribute("aria-label", "16 cores: withheld, too far away")
    assert opened.complaints == []
    page.close()


def test_the_bare_app_says_that_it_holds_no_recording(browser: Browser, tmp_path: Path) -> None:
    import headway.report.html as package

    app = Path(package.__file__).with_name("app.html")
    page = browser.new_page()
    page.goto(app.as_uri())
    expect(page.locator("#app")).to_contain_text("holds no recording")
    page.close()


@pytest.mark.parametrize("width", [400, 800])
def test_no_chart_scrolls_sideways_however_many_threads_there_are(browser: Browser, tmp_path: Path, width: int) -> None:
    recording = make(tmp_path / "many.headway", Shape(threads=160, slices=3000, cpus=48))
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, render_html(open_recording(recording), tmp_path / "many.html"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#levels svg .mark").count() > 10
    assert page.locator(".svg-holder").evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length") == 0
    # Neither the names of columns nor the numbers of phases run into each other, or are cut.
    for boxes in (
        page.locator("#levels svg .mark .label").evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().toJSON())"
        ),
        page.locator(".phases button").evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())"),
    ):
        assert len(boxes) > 1
        assert all(one["right"] <= other["left"] + 3 for one, other in itertools.pairwise(boxes))
    assert page.locator(".phases button").evaluate_all("all => all.every(e => e.scrollWidth <= e.clientWidth)")
    page.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_names_of_threads_that_differ_at_their_ends_are_told_apart(
    browser: Browser, recording_path: Path, tmp_path: Path, width: int
) -> None:
    payload = build_payload(open_recording(recording_path))
    wanted = [f"connection-pool-of-{'orders' * number}-http-nio-8080-exec-{number}" for number in (1, 2, 3)]
    for lane, name in zip(payload["threads"]["lanes"], wanted, strict=False):
        lane["name"] = name
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, write_page(payload, tmp_path / "names.html"))
    shown = names(page)
    assert set(wanted) <= set(shown)
    ends = page.locator(".name .text:has(.end)").evaluate_all(
        """all => all.map(text => {
          const end = text.querySelector('.end');
          const [its, room] = [end, text].map(e => e.getBoundingClientRect());
          return [end.textContent, its.left >= room.left && its.right <= room.right + 1];
        })"""
    )
    assert [f"xec-{number}" for number in (1, 2, 3)] == sorted(end for end, _ in ends if end.startswith("xec-"))
    assert all(is_seen for _, is_seen in ends)
    assert page.locator(".name .pid").count() == 0
    page.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_threads_of_several_processes_carry_the_number_of_their_process(
    browser: Browser, recording_path: Path, tmp_path: Path, width: int
) -> None:
    payload = build_payload(open_recording(recording_path))
    for number, lane in enumerate(payload["threads"]["lanes"]):
        lane["pid"] = 23512 + number % 2
    page = browser.new_page(viewport={"width": width, "height": 900})
    Opened(page, write_page(payload, tmp_path / "two.html"))
    shown = page.locator(".name").evaluate_all("all => all.map(e => [e.title, e.querySelector('.pid').innerText])")
    assert {number for _, number in shown} == {"23512", "23513"}
    assert all(f"process {number}, tid " in title for title, number in shown)
    assert page.locator(".name").evaluate_all("all => all.every(e => e.scrollWidth <= e.clientWidth)")
    page.close()
