"""Puts the agent into running JVMs, takes out what it wrote, and removes what killed recorders left."""
