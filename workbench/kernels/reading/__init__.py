"""Bytes into rows and columns."""
