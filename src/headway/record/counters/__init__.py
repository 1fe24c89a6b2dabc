"""Counters of the CPU and of the kernel: which events there are, which of them count here, and in which groups."""
