"""Write docs/images/report.png: the report of the demo's recording in a real browser, as the README shows it.

    python scripts/make_picture.py [REPORT.html]

Without a report it takes the newest of `make demo`. Raises SystemExit if there is none.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1100, 1250
NEXT = "Bottle graph"  # the picture ends above this heading


def newest() -> Path:
    """Return the newest report of the demo."""
    reports = sorted((ROOT / "build" / "demo").glob("*.html"), key=lambda page: page.stat().st_mtime)
    if not reports:
        raise SystemExit("make_picture: run 'make demo' first")
    return reports[-1]


def main() -> int:
    """Take the picture; print where it is."""
    from playwright.sync_api import sync_playwright

    page_file = Path(sys.argv[1]) if len(sys.argv) > 1 else newest()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.resolve().as_uri())
        page.wait_for_timeout(500)
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        heading = page.get_by_role("heading", name=NEXT).bounding_box()
        bottom = heading["y"] - 14 if heading else HEIGHT
        page.screenshot(path=PICTURE, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": bottom})
        browser.close()
    print(PICTURE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
