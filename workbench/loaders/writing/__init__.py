"""Columns of records into the log of a partition."""
