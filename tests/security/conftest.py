"""What several attacks need: a user who is not root, and a place for what an attach records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.drivers.ordinary_user import OrdinaryUser, ordinary_user


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as created_user:
        yield created_user


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    directory = tmp_path / "recording"
    directory.mkdir(mode=0o700)
    return directory
