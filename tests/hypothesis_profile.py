"""How hypothesis searches here; a folder whose tests use it imports this module in its conftest.py."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A machine that stands still for 100 ms must fail neither an example nor the search for examples. In CI the examples are
# always the same: new ones are looked for at the desk.
settings.register_profile(
    "headway", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("headway")
