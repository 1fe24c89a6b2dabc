"""Causal experiments: agents' notes, live estimates, and the tables of causal recordings."""
