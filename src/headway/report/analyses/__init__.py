"""Headway's own analyses as the seam has them (report/analysis.py): one module each, named in registry.py."""
