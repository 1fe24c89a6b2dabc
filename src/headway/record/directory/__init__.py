"""The directory of a recording, and the one recorder that a process may have."""
