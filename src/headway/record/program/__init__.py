"""The recorded program as a child process: its start, its signals, its process group, its root directory."""
