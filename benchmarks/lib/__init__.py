"""Shared code of the benchmarks: paired runs, the measured programs, and the files of results."""
