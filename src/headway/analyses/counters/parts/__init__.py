"""Which part of a slice's counts falls to what: slices, windows of time, virtual threads, holds of locks."""
