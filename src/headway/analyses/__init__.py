"""What the recordings mean: one package for each question, above the layers that the questions share.

The order of the packages, lowest first, is in pyproject.toml, where import-linter enforces it.
"""
