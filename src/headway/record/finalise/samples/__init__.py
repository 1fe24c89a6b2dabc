"""The tables of async-profiler's samples and of their stacks."""
