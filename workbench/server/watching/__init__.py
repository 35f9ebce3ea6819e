"""Requests kept for who wants to look at them: their bytes by name, and the steps to the answer."""
