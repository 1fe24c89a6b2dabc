"""Recording: from a command or a running process to the tables of a recording.

The order of the packages is in pyproject.toml, where import-linter enforces it.
"""
