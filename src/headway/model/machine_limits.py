"""Limits of machines: what no number from a command line or a manifest can be above."""

MAX_CORES = 8192
"""The largest number of CPUs a Linux kernel can be built for (CONFIG_NR_CPUS on x86-64): more cores are no question."""

MOST_MEMORY_NODES = 1024
"""The kernel knows no more (MAX_NUMNODES)."""
