"""How a recorded program uses memory: allocation rates, instruction mix, cache misses, beside published programs."""
