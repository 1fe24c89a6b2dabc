"""Imports (`headway import`): files of JFR and async-profiler, collapsed stacks, and counters become recordings."""
