"""The critical path (`headway critical-path`): at each instant, the thread whose work or wait delays the program's end."""
