"""What runs beside the recorded program: collector, counters, the wait for its end, the status line."""
