"""Possible speedups (`headway speedups`): the limits of a program's scaling, and the speedup without each limit."""
