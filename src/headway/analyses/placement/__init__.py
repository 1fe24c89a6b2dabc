"""Where a program should run on a machine of two memory nodes, on one of them or on both: policies, and a simulator of them."""
