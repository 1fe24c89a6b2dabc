"""The lock tables of a recording in memory: waits, objects, and the stacks at which threads wait."""
