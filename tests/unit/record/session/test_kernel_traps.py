"""What headway keeps away from because some kernels do not survive it."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[4]


def test_no_perf_event_stops_itself_which_hangs_linux_6_16_and_6_17() -> None:
    """Neither one of headway's nor, since 4.2.1, one of the async-profiler that it brings along."""
    sources = [path for kind in ("*.cpp", "*.h", "*.c") for path in (REPOSITORY / "native").rglob(kind)]
    assert len(sources) > 100
    assert [path for path in sources if re.search("IOC_REFRESH", path.read_text(errors="replace"))] == []
    pom = (REPOSITORY / "java" / "pom.xml").read_text()
    version = re.search(r"<async-profiler\.version>([0-9.]+)<", pom)
    assert version is not None
    assert tuple(map(int, version[1].split("."))) >= (4, 2, 1)
