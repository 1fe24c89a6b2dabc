"""What the counters of the CPUs and of the kernel counted, by thread, kind, CPU and phase."""
