"""Requests kept for inspection: their bytes by name, and the steps to the answer."""
