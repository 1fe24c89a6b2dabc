"""Puts a recording's payload into the page that web/ builds."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.report.html.payload import build_payload
from headway.report.output import new_file

if TYPE_CHECKING:
    from headway.store import Recording

_SLOT = '<script type="application/json" id="headway-payload">'


def render_html(recording: Recording, path: Path | str, *, overwrite: bool = False) -> Path:
    """Write a recording's report to `path` and return it; the file appears whole or not at all.

    Raises HeadwayError HW500 (the file exists, unless `overwrite`), HW501 (it can't be written) or HW502 (this
    installation lacks the page), and what the analyses raise.
    """
    return write_page(build_payload(recording), path, overwrite=overwrite)


def write_page(payload: dict[str, Any], path: Path | str, *, overwrite: bool = False) -> Path:
    """Write the page with this payload to `path` and return it. Raises as `render_html`."""
    page = fill(_app(), payload).encode("utf-8")
    with new_file(path, overwrite=overwrite) as out:
        out.write(page)
    return Path(path)


def fill(app: str, payload: dict[str, Any]) -> str:
    """Return the page with the payload in its slot."""
    head, slot, tail = app.partition(_SLOT)
    if not slot:
        raise HeadwayError("HW502", reason="its page has no place for the data")
    return head + slot + script_safe_json(payload) + tail


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
