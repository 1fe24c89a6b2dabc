"""The sampled events that stand for CPU time: the recorder requests them by these names and stores all of them as `cpu`."""

CPU_TIME_EVENTS = ("cpu", "cpu-clock")


def stored_as(name: str) -> str:
    """Return the event under which the samples of one that was asked for are in the table `sample`."""
    return "cpu" if name in CPU_TIME_EVENTS else name
