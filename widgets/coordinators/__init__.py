"""Widgets about what coordinators keep: groups and their offsets, and transactions."""
