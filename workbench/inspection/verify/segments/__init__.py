"""Verify one segment: its log and its indexes, read once."""
