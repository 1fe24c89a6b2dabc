"""Oracles: compute the right answers independently of headway."""
