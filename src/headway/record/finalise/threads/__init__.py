"""The table of threads: lives that the kernel recorded, joined with what agents report, and their kinds."""
