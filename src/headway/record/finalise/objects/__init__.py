"""The tables of what agents counted of objects: allocations, accesses, memory nodes, cache lines."""
