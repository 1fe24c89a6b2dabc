"""How counts went in a run: in bins of time, and by iterations."""
