"""What all tests share: the profile of hypothesis, so that a machine that stands still for a moment fails no example anywhere,
and files that need not survive a power cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support.drivers import hypothesis_profile as hypothesis_profile


@pytest.fixture(scope="session", autouse=True)
def unflushed_files() -> Iterator[None]:
    """Leave it to the kernel when files that this process writes go to disk.

    To wait for that takes 7 ms for each recording that a test builds, and ten times that where others use the disk. What runs in
    a process of its own, as every command that records does, waits as ever.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield
