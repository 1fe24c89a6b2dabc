"""What all answers on the terminal share: the console, tables that fit it, notices, text that is safe to print."""
