"""Immutable value types that all layers share, without I/O."""

from headway.model.kinds import Kind

__all__ = ["Kind"]
