"""Parallel regions: when each is active, in which threads, and what its threads spend their time on."""
