"""Series of runs: sweeps over numbers of threads, and repeated causal runs."""
