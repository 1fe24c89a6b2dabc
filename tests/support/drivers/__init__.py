"""Drivers that start programs, servers and headway itself as a user would."""
