"""What kind of program is it for a machine of several memory nodes: classes of parallelism, data dependencies and locality."""
