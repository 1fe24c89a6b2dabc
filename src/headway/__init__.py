"""headway: where the cores of a JVM program went, and what would bring them back.

The folders follow the way of the data: record, store, analyses, report; cli on top, model and errors below.
"""


def __getattr__(name: str) -> str:
    """Return `__version__`, which is looked up when somebody asks: a Ctrl-C meanwhile would be a traceback."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("headway")
    except PackageNotFoundError:  # pragma: no cover - a source tree that was never installed
        return "0+unknown"
