"""What all tests share: the profile of hypothesis, so that a machine that stands still for a moment fails no example anywhere,
and files that need not survive a power cut.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.cli.main import invoke
from support.drivers import hypothesis_profile as hypothesis_profile

Run = Callable[..., tuple[int, str, str]]
CHECKOUT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what runs programs of this checkout as other users where these cannot reach it, as below a root's home."""
    closed = [place for place in (CHECKOUT, *CHECKOUT.parents) if not place.stat().st_mode & stat.S_IXOTH]
    for item in items if closed else ():
        if item.get_closest_marker("other_users"):
            item.add_marker(pytest.mark.skip(reason=f"other users cannot reach this checkout: chmod o+x {closed[-1]}"))


@pytest.fixture(scope="session", autouse=True)
def unflushed_files() -> Iterator[None]:
    """Leave it to the kernel when files that this process writes go to disk.

    To wait for that takes 7 ms for each recording that a test builds, and ten times that where others use the disk. What runs in
    a process of its own, as every command that records does, waits as ever.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """A command's exit code, and what it wrote to standard output and to standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = invoke([str(each) for each in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return call
