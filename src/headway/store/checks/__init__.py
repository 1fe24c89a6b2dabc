"""Checks of a table's file before it is read: a recording may be anybody's, and its files may hold anything."""
