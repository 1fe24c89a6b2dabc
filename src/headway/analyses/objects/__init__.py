"""Objects: who allocates what."""
