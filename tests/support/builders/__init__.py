"""Builders of recordings, spools and result values with known content."""
