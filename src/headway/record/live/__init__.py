"""A running program, looked at without a recording: the locks of a JVM, the counters of a process's threads."""
