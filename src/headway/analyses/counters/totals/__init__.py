"""Counts that no slices have: of whole CPUs, of sockets, and of threads as a whole."""
