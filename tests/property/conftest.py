"""Property tests use the profile that all share."""

from __future__ import annotations

import hypothesis_profile as hypothesis_profile
