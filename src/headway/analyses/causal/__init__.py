"""Causal profiling (`headway causal`): how much faster the whole program gets when one line gets faster."""
