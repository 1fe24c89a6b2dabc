"""The profile of hypothesis that all tests share; tests/conftest.py imports this module."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A machine that stands still for 100 ms must fail neither an example nor the search for examples. In CI the examples are
# always the same: new ones are looked for at the desk.
settings.register_profile(
    "headway", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
# For `make test-quick`; a test that says how many examples it wants has as many there too.
settings.register_profile("few", settings.get_profile("headway"), max_examples=20)
settings.load_profile("few" if os.environ.get("HEADWAY_EXAMPLES") == "few" else "headway")
