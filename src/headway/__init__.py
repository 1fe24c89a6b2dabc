"""headway: how parallel a JVM program really is, and what it would gain from more cores.

The folders follow the way of the data: record, store, analyses, report; cli on top, model and errors below.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("headway")
except PackageNotFoundError:  # pragma: no cover - a source tree that was never installed
    __version__ = "0+unknown"
