"""Compressed bytes to bytes and back."""
