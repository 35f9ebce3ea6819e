"""Widgets about what a broker's disk holds: what fills it, and what its checkpoints say."""
