"""The tables of waits for locks, and of the carriers that virtual threads had."""
