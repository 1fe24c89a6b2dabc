"""Places a running program on one memory node or on all of them, by measured spells, and undoes it at the end."""
