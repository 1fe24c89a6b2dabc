"""Frozen value types that every stage shares. No I/O here."""

from headway.model.kinds import Kind

__all__ = ["Kind"]
