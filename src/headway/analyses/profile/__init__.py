"""Profiles (`headway top`, `headway flame`): the weight of an event by method, caller and thread."""
