"""What the program's wall time would be after a change: other cores, another clock, another program beside it."""
