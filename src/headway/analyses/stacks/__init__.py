"""Stacks as columns, their weights, and the call tree that weighted stacks merge into."""
