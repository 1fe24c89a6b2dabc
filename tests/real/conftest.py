"""Programs of others, recorded as a person would record them: what these tests need."""

from __future__ import annotations

import pytest

from support.drivers import real_servers


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    """Build the programs, if they are not."""
    real_servers.build()
