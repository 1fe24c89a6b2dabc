"""Estimates what causal experiments show, from arrays with one row per experiment: the same while recording and afterwards.

comparisons    what was measured, and which baseline each experiment is held against
noise          how much visits vary between experiments that should be equal
lines          the fit of one line, from comparisons to a slope
curves         the program's speedup at each virtual speedup, and the slope through them
latency        a pair's visits and time, from what was in flight
"""
