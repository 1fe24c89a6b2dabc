"""How fast a report of ten million switches opens: from navigation to the first full paint of all its charts.

The report is made once; then a fresh browser context opens the file again and again. The page marks the second frame
after its charts were drawn (performance mark `headway-painted`, whose time counts from the start of the navigation).
Target: the median below one second, and a payload of at most 2 MB.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from lib import harness
from support.builders.recording_builder import Shape, make
from support.drivers.opened_report import CHROMIUM, FLAGS

TARGET_MS = 1000.0


def open_once(browser: Browser, path: Path) -> float:
    """Return the time in ms from the start of the navigation to the second frame after the charts were drawn."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(path.as_uri())
    while not (marks := page.evaluate("performance.getEntriesByName('headway-painted').map(mark => mark.startTime)")):
        page.wait_for_timeout(10)
    context.close()
    return float(marks[0])


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--switches", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, help="times that it is opened (15; 5 with --quick)")
    parser.add_argument("--recording", type=Path, help="open the report of this recording instead of a made-up one")
    arguments = parser.parse_args()
    repeats = arguments.repeats or (5 if arguments.quick else 15)

    from headway.report.html import PAYLOAD_BYTES, build_payload, render_html
    from headway.report.html.page import script_safe_json
    from headway.store import open_recording

    with tempfile.TemporaryDirectory() as folder:
        path = arguments.recording
        if path is None:
            shape = Shape(threads=arguments.threads, slices=arguments.switches, cpus=8, wall_ns=60 * 10**9, pauses=3000)
            path = make(Path(folder, "made.headway"), shape)
        recording = open_recording(path)
        begun = time.process_time()
        html = render_html(recording, Path(folder, "report.html"))
        made_s = time.process_time() - begun
        payload = len(script_safe_json(build_payload(recording)).encode())
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            open_once(browser, html)  # the browser's own first page is not the report's
            times = sorted(open_once(browser, html) for _ in range(repeats))
            browser.close()
        size = os.path.getsize(html)
    median = statistics.median(times)
    print(f"recording: {recording.manifest.switches or 0:,} switches")
    print(f"report: {size:,} bytes, payload {payload:,} (at most {PAYLOAD_BYTES:,})")
    print(
        f"made in {made_s:.1f} s of CPU time; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MiB"
    )
    print(f"open: median {median:.0f} ms, fastest {times[0]:.0f}, slowest {times[-1]:.0f}, of {len(times)}")
    figures = {"median_ms": median, "open_ms": times, "payload_bytes": payload, "report_bytes": size, "made_s": made_s}
    verdicts = [
        (f"opens in {median:.0f} ms (median), target below {TARGET_MS:.0f} ms", median < TARGET_MS),
        (f"payload {payload:,} bytes, target at most {PAYLOAD_BYTES:,}", payload <= PAYLOAD_BYTES),
    ]
    return harness.finish(arguments, "report_open", figures, verdicts)


if __name__ == "__main__":
    sys.exit(main())
