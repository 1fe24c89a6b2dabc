"""What is said of a process that could not be attached to: what the system says of it, unless it has ended meanwhile."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from headway.errors import HeadwayError
from headway.record.agent.attach import _as_messages
from headway.record.target_process.served_files import ServedError

ERRORS: dict[str, Callable[[], Exception]] = {
    "HW069" if os.geteuid() == 0 else "HW021": lambda: PermissionError(errno.EACCES, "Permission denied"),
    "HW074": lambda: ServedError("/tmp", "fuse"),
    "HW024": lambda: TimeoutError("it took too long"),
    "HW026": lambda: OSError(errno.EINVAL, "Invalid argument"),
    "HW071": lambda: ValueError("no number"),
}


@pytest.mark.parametrize("expected", ERRORS)
def test_an_error_of_a_process_that_runs_is_a_message_of_its_own(expected: str) -> None:
    with pytest.raises(HeadwayError) as raised, _as_messages(os.getpid()):
        raise ERRORS[expected]()
    assert raised.value.notice.id == expected


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_whatever_comes_of_a_process_that_ends_meanwhile_it_is_said_to_have_ended(
    error: Callable[[], Exception],
) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # a zombie keeps its number
    try:
        with pytest.raises(HeadwayError) as raised, _as_messages(child):
            raise error()
        assert raised.value.notice.id == "HW020"
    finally:
        os.waitpid(child, 0)
