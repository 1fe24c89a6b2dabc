"""What was not counted: records lost, counters taken by others, and what a CPU can count at most meanwhile."""
