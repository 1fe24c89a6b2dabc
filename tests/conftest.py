"""What all tests share: the profile of hypothesis, so that a machine that stands still for a moment fails no example anywhere."""

from __future__ import annotations

from support.drivers import hypothesis_profile as hypothesis_profile
