"""Finalising: converts the spool (raw records) of a recording into its tables."""
