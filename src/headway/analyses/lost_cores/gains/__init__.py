"""What a program would gain without a loss: bounds of the speedup, and replays of the recording without the waits."""
