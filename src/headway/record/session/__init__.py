"""One recording: from its plan through capture to its tables."""
