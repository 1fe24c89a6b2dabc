"""Reads JFR files: those of other tools, and those that async-profiler writes while headway records."""
