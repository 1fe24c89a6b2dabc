"""The HTML report: one file that opens by double click, makes no request, and never grows with the recording.

`payload` gathers what the page shows; `page` puts it into the app that web/ builds.
"""

from headway.report.html.causal import render_causal
from headway.report.html.flame import render_flame
from headway.report.html.page import render_html
from headway.report.html.payload import PAYLOAD_BYTES, build_payload
from headway.report.html.speedups import render_sweep

__all__ = ["PAYLOAD_BYTES", "build_payload", "render_causal", "render_flame", "render_html", "render_sweep"]
