"""Puts a recording's payload into the page that web/ builds."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.report.html.payload import build_payload
from headway.report.output import new_file
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from headway.analyses.overview import Overview
    from headway.store import Recording

_SCRIPT = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)
_ANY_SCRIPT = "script-src 'unsafe-inline'"
_SLOT = '<script type="application/json" id="headway-payload">'


def render_html(
    recording: Recording,
    path: Path | str,
    *,
    overwrite: bool = False,
    found: Overview | None = None,
    placements: Path | None = None,
) -> Path:
    """Write a recording's report to `path` and return it; the file appears whole or not at all.

    `found`: what `overview` gave for the same recording, by those who have asked already. `placements`: a file that
    `headway place --json` wrote meanwhile.

    Raises HeadwayError HW500 (the file exists, unless `overwrite`), HW501 (it can't be written) or HW502 (this
    installation lacks the page), and what the analyses raise.
    """
    return write_page(build_payload(recording, found, placements), path, overwrite=overwrite)


def write_page(payload: dict[str, Any], path: Path | str, *, overwrite: bool = False) -> Path:
    """Write the page with this payload to `path` and return it. Raises as `render_html`."""
    page = fill(_app(), _plainly(payload)).encode("utf-8")
    with new_file(path, overwrite=overwrite) as out:
        out.write(page)
    return Path(path)


def fill(app: str, payload: dict[str, Any]) -> str:
    """Return the page with the payload in its slot. Raises HeadwayError HW502 for a page that can't take it safely."""
    head, slot, tail = _locked(app).partition(_SLOT)
    if not slot:
        raise HeadwayError("HW502", reason="its page has no place for the data")
    return head + slot + script_safe_json(payload) + tail


def _plainly(value: Any) -> Any:
    """Return a payload whose texts hold nothing invisible: a browser heeds the characters that turn the direction of a line."""
    if isinstance(value, str):
        return (
            value
            if value.isprintable()
            else "\n".join("\t".join(map(printable, line.split("\t"))) for line in value.split("\n"))
        )
    if isinstance(value, dict):
        return {_plainly(key): _plainly(each) for key, each in value.items()}
    return [_plainly(each) for each in value] if isinstance(value, (list, tuple)) else value


def _locked(app: str) -> str:
    """Return the page with a policy that lets its own script run, known by its hash, and no other."""
    script = _SCRIPT.search(app)
    if script is None or _ANY_SCRIPT not in app:
        raise HeadwayError("HW502", reason="it has no script, or no policy that says which scripts may run")
    digest = base64.b64encode(hashlib.sha256(script[1].encode("utf-8")).digest()).decode()
    return app.replace(_ANY_SCRIPT, f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'", 1)


def script_safe_json(payload: Any) -> str:
    r"""Return JSON that is inert inside a <script> element, whatever its strings hold.

    No `<` is left, so neither `</script>` nor `<!--` can be in it; U+2028 and U+2029 end lines in older JavaScript; a
    lone surrogate has no UTF-8 form. In JSON all of these can be written as \uXXXX.
    """
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _app() -> str:
    """Return the built page, from the installed package."""
    try:
        return resources.files(__package__).joinpath("app.html").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise HeadwayError("HW502", reason="app.html is not there") from error
