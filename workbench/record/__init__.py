"""Batches and records in memory, and how they are compressed."""
