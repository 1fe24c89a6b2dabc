"""The rule of each wait: by its stack, and by what threads did where a stack does not tell."""
