"""Scheduling: how many threads are active over time, how parallel the program is, and its predicted time on other core counts."""
